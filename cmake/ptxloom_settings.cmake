# SPDX-License-Identifier: Apache-2.0
# Language level, warnings, sanitizers and ccache, the same for every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# A project that includes this one with add_subdirectory chooses its own build type.
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# What a unity file includes is named relative to the checkout, for ccache; CMake before 4.0 does not know this.
set(CMAKE_UNITY_BUILD_RELOCATABLE ON)

find_program(PTXLOOM_CCACHE ccache)
mark_as_advanced(PTXLOOM_CCACHE)
if(PTXLOOM_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths below the checkout are hashed as relative ones, so that all checkouts share what was compiled. The key has the
  # headers themselves (CCACHE_DEPEND), not their preprocessed text: a precompiled header that is older than a comment
  # in one of them does not know its `#pragma once`, and everything in it would be defined twice.
  set(CMAKE_CXX_COMPILER_LAUNCHER env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
      CCACHE_SLOPPINESS=pch_defines,time_macros "${PTXLOOM_CCACHE}")
endif()

set(PTXLOOM_SANITIZE "" CACHE STRING "Sanitizers, as in -fsanitize=; empty for none")

option(PTXLOOM_QUICK_BUILD "Compile what is not HOT (see ptxloom_layer) at -O1; ./dev does, for shorter builds" OFF)
mark_as_advanced(PTXLOOM_QUICK_BUILD)

# Of layers without loops that users wait for (see ptxloom_layer), and of code that takes longer to compile than it ever
# runs: the tool and the tests. Sanitized, -O0 takes half of -O1.
if(PTXLOOM_SANITIZE)
  set(PTXLOOM_OPTIMISE_TOOL -O0)
  set(PTXLOOM_OPTIMISE_TESTS -O0)
else()
  if(PTXLOOM_QUICK_BUILD)
    set(PTXLOOM_OPTIMISE_COLD $<$<CONFIG:Release>:-O1>)
  endif()
  set(PTXLOOM_OPTIMISE_TOOL $<$<CONFIG:Release>:-Og>)
  set(PTXLOOM_OPTIMISE_TESTS $<$<CONFIG:Release>:-Og>)
endif()

# Linked privately by every target of ours; never installed.
add_library(ptxloom_options INTERFACE)
target_compile_options(ptxloom_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor
  -Wno-missing-field-initializers # a designated initialiser leaves out what has a default
  $<$<BOOL:${PTXLOOM_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  if(CMAKE_UNITY_BUILD)
    target_compile_options(ptxloom_options INTERFACE -Wno-subobject-linkage) # takes each file for a header
  endif()
  # False alarms of g++ 12 and 13 inside std::string and std::vector when optimising.
  target_compile_options(ptxloom_options INTERFACE -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread
                         -Wno-array-bounds -Wno-maybe-uninitialized)
  if(CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    target_compile_options(ptxloom_options INTERFACE -Wno-dangling-reference)
  endif()
endif()
if(PTXLOOM_SANITIZE)
  # -g1: enough for the lines of a stack trace. Bad pointers are the address sanitizer's: checked twice, files take
  # longer to compile. Only exec reads bytes as other types, and has `alignment` back.
  add_compile_options(-fsanitize=${PTXLOOM_SANITIZE} -fno-sanitize-recover=undefined -fno-omit-frame-pointer -O1 -g1)
  if(PTXLOOM_SANITIZE MATCHES "address" AND PTXLOOM_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize=null,object-size,vptr,pointer-overflow,alignment)
  endif()
  add_link_options(-fsanitize=${PTXLOOM_SANITIZE})
endif()

# ptxloom_exact_floats(<layer>): floating arithmetic is what is written (a * b + c is rounded twice), nobody looks at
# its flags, and g++ does not take loops over lanes apart before it makes vectors of them.
function(ptxloom_exact_floats layer)
  target_compile_options(ptxloom_${layer} PRIVATE -ffp-contract=off -fno-trapping-math -fno-math-errno
                         $<$<CXX_COMPILER_ID:GNU>:-fno-loop-unroll-and-jam>)
endfunction()
