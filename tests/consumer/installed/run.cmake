# SPDX-License-Identifier: Apache-2.0
# Installs the build in ${build} into a fresh folder, then configures, builds and runs this project against it.
# -D build=<folder> -D generator=<CMake generator> -D compiler=<C++ compiler> -D flags=<sanitizers, or empty>
include("${CMAKE_CURRENT_LIST_DIR}/../run.cmake")
set(work "${build}/consumer")
file(REMOVE_RECURSE "${work}")

if(flags)
  set(flags "-DCMAKE_CXX_FLAGS=-fsanitize=${flags}")
endif()
run(${CMAKE_COMMAND} --install "${build}" --prefix "${work}/installed")
run(${CMAKE_COMMAND} -S "${CMAKE_CURRENT_LIST_DIR}" -B "${work}/build" -G "${generator}"
    "-DCMAKE_CXX_COMPILER=${compiler}" "-DCMAKE_PREFIX_PATH=${work}/installed" ${flags})
run(${CMAKE_COMMAND} --build "${work}/build")
run("${work}/build/my_program")
