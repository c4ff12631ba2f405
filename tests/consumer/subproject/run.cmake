# SPDX-License-Identifier: Apache-2.0
# Configures and builds the project beside this file, which includes ptxloom with add_subdirectory.
# -D source=<of ptxloom> -D build=<folder> -D generator=<CMake generator> -D compiler=<C++ compiler> -D cuda=<headers>
include("${CMAKE_CURRENT_LIST_DIR}/../run.cmake")
set(work "${build}/subproject")
file(REMOVE_RECURSE "${work}")

run(${CMAKE_COMMAND} -S "${CMAKE_CURRENT_LIST_DIR}" -B "${work}" -G "${generator}" "-Dptxloom=${source}"
    "-DCMAKE_CXX_COMPILER=${compiler}" "-DPTXLOOM_CUDA_INCLUDE=${cuda}")
run(${CMAKE_COMMAND} --build "${work}" --target consumer)
run("${work}/consumer")
run(${CMAKE_COMMAND} --install "${work}" --prefix "${work}/installed")  # nothing of ptxloom is the parent's to install
if(EXISTS "${work}/installed/include/ptxloom")
  message(FATAL_ERROR "ptxloom was installed with the project that includes it")
endif()
