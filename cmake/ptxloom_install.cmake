# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where, and find_package(ptxloom CONFIG).
include(CMakePackageConfigHelpers)

# Shared libraries and programs find each other wherever they are installed.
set_target_properties(ptxloom_core ptxloom PROPERTIES INSTALL_RPATH "$ORIGIN")
file(RELATIVE_PATH libraries "/${CMAKE_INSTALL_LIBEXECDIR}" "/${CMAKE_INSTALL_LIBDIR}")
foreach(program ptxloom_worker ptxloom_mpi ptxloom_tool)
  if(TARGET ${program})
    set_target_properties(${program} PROPERTIES INSTALL_RPATH "$ORIGIN/${libraries}")
  endif()
endforeach()

set(config_folder "${CMAKE_INSTALL_LIBDIR}/cmake/ptxloom")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/ptxloom" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.hpp")
install(TARGETS ptxloom_core ptxloom ptxloom_public_headers EXPORT ptxloomTargets)
install(EXPORT ptxloomTargets NAMESPACE ptxloom:: DESTINATION "${config_folder}")
install(TARGETS ptxloom_worker RUNTIME DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}")
if(TARGET ptxloom_mpi)
  install(TARGETS ptxloom_mpi LIBRARY DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}")
endif()
if(TARGET ptxloom_tool AND NOT PTXLOOM_SANITIZE)
  install(TARGETS ptxloom_tool)
endif()

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/ptxloomConfig.cmake.in"
                              "${PROJECT_BINARY_DIR}/ptxloomConfig.cmake" INSTALL_DESTINATION "${config_folder}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/ptxloomConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/ptxloomConfig.cmake" "${PROJECT_BINARY_DIR}/ptxloomConfigVersion.cmake"
        DESTINATION "${config_folder}")
