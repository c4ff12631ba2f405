# SPDX-License-Identifier: Apache-2.0
# Installs the build in ${build} into a fresh folder, builds a template library against it, and uses that with the
# installed tool.
# -D build=<folder> -D generator=<CMake generator> -D compiler=<C++ compiler>
include("${CMAKE_CURRENT_LIST_DIR}/../run.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/../says.cmake")
set(work "${build}/template_library")
file(REMOVE_RECURSE "${work}")
run(${CMAKE_COMMAND} --install "${build}" --prefix "${work}/installed")
run(${CMAKE_COMMAND} -S "${CMAKE_CURRENT_LIST_DIR}" -B "${work}/build" -G "${generator}"
    "-DCMAKE_CXX_COMPILER=${compiler}" "-DCMAKE_PREFIX_PATH=${work}/installed")
run(${CMAKE_COMMAND} --build "${work}/build")

set(scale "${work}/build/libscale.so")
says("${scale}" 0 "gemm.*, scale [(]" doctor)
says("${scale}" 0 "correct: 1001 elements compared" run scale --set n=1001 factor=0.1 threads=256 --device cpu)
says("${scale}" 0 "[.]entry scale" emit scale --set n=7)
says("${scale}" 0 "threads=" tune scale --set n=100 --device cpu --budget 3evals)
says("${scale}" 2 "bad-value" run scale --set n=0 --device cpu)
says("${scale}" 2 "unknown-template.*scale" run no_such --device cpu)
says("${scale}:${scale}" 2 "template-name.*scale" emit scale --set n=7)
says("${work}/build/libscale_of_another_version.so" 2 "ptxloom 0[.]0[.]9.*template-version" emit scale --set n=7)
says("${work}/build/libscale_of_another_version.so" 0 "template-version|ptxloom 0[.]0[.]9" doctor)
says("${work}/build/libscale_of_one_name.so" 2 "one_name[.]so: the space of scale has two parameters 'factor' .bad-space.*rename one of them" emit scale --set n=7)
says("${work}/build/libscale_of_one_name.so" 0 "two parameters 'factor'" doctor)
says("${work}/none.so" 2 "none[.]so.*template-library" emit scale --set n=7)
says("${work}/build/CMakeCache.txt" 2 "CMakeCache[.]txt.*template-library" emit gemm --set m=8 n=8 k=8)
