# SPDX-License-Identifier: Apache-2.0
# Configures and builds the project beside this file, which includes ptxloom by FetchContent.
# -D source=<of ptxloom> -D build=<folder> -D generator=<CMake generator> -D compiler=<C++ compiler> -D cuda=<headers>
include("${CMAKE_CURRENT_LIST_DIR}/../run.cmake")
set(work "${build}/fetched")
file(REMOVE_RECURSE "${work}")

run(${CMAKE_COMMAND} -S "${CMAKE_CURRENT_LIST_DIR}" -B "${work}" -G "${generator}" "-DFETCHCONTENT_SOURCE_DIR_PTXLOOM=${source}"
    "-DCMAKE_CXX_COMPILER=${compiler}" "-DPTXLOOM_CUDA_INCLUDE=${cuda}")
run(${CMAKE_COMMAND} --build "${work}" --target consumer)
run("${work}/consumer")
