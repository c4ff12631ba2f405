# SPDX-License-Identifier: Apache-2.0
# Installs the build in ${build} into a fresh folder, builds samples/template against it, and uses that family with the
# installed tool: emitted, run in the executor, which judges it, tuned and refused.
# -D build=<folder> -D source=<checkout> -D generator=<CMake generator> -D compiler=<C++ compiler>
include("${CMAKE_CURRENT_LIST_DIR}/../run.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/../says.cmake")
set(work "${build}/swiglu")
file(REMOVE_RECURSE "${work}")
run(${CMAKE_COMMAND} --install "${build}" --prefix "${work}/installed")
run(${CMAKE_COMMAND} -S "${source}/samples/template" -B "${work}/build" -G "${generator}"
    "-DCMAKE_CXX_COMPILER=${compiler}" "-DCMAKE_PREFIX_PATH=${work}/installed" "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")
run(${CMAKE_COMMAND} --build "${work}/build")

set(swiglu "${work}/build/libswiglu.so")
says("${swiglu}" 0 "[.]entry swiglu" emit swiglu --set m=64 n=64 k=64)
# Odd sizes and pitches, every type, every warp grid, less than one tile and several, k below and above all stages.
says("${swiglu}" 0 "correct: 2627 elements compared" run swiglu --set m=71 n=37 k=45 --device cpu)
says("${swiglu}" 0 "correct: 1 elements compared" run swiglu --set m=1 n=1 k=1 tile_m=128 warps_m=4 stages=4 --device cpu)
says("${swiglu}" 0 "correct: 8415 elements compared" run swiglu --set m=33 n=255 k=300 lda=301 ldb=307 ldd=261 tile_n=32 warps_m=1 --device cpu)
says("${swiglu}" 0 "correct: 12288 elements compared" run swiglu --set type=f16 m=128 n=96 k=128 tile_m=128 tile_n=128 stages=2 --device cpu)
says("${swiglu}" 0 "correct: 7000 elements compared" run swiglu --set type=f16 d=f32 m=100 n=70 k=33 lda=36 tile_m=32 warps_m=2 --device cpu)
says("${swiglu}" 0 "correct" run swiglu --set m=200 n=300 k=1000 --device cpu)
says("${swiglu}" 0 "tile_m=" tune swiglu --set m=70 n=40 k=64 --device cpu --budget 4evals)
says("${swiglu}" 2 "missing-parameter.*parameters m, n and k" run swiglu --set m=64 n=64 --device cpu)
says("${swiglu}" 2 "bad-stride.*contiguous" run swiglu --set m=64 n=64 k=64 ldd=63 --device cpu)
says("${swiglu}" 2 "bad-value" run swiglu --set m=0 n=64 k=64 --device cpu)
says("${swiglu}" 1 "no-configuration.*fewer warps_m" run swiglu --set m=64 n=64 k=64 tile_m=32 warps_m=4 --device cpu)
