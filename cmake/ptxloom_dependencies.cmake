# SPDX-License-Identifier: Apache-2.0
# Third-party code: fmt is linked; nlohmann/json and xxHash are headers used inside src/ only; CLI11 serves the
# command line tool, Catch2 the tests. Of CUDA only headers are needed, as its libraries are opened at run time.
find_package(Threads REQUIRED)
# A project that includes this one with add_subdirectory may have these as targets of its own.
if(NOT TARGET fmt::fmt)
  find_package(fmt 9 REQUIRED)
endif()
if(NOT TARGET nlohmann_json::nlohmann_json)
  find_package(nlohmann_json 3.11 REQUIRED)
endif()

find_path(PTXLOOM_XXHASH_INCLUDE xxhash.h REQUIRED)
mark_as_advanced(PTXLOOM_XXHASH_INCLUDE)
add_library(ptxloom_xxhash INTERFACE)
target_include_directories(ptxloom_xxhash SYSTEM INTERFACE "${PTXLOOM_XXHASH_INCLUDE}")

if(PTXLOOM_CLI)
  find_package(CLI11 2 QUIET)
  if(NOT CLI11_FOUND)
    message(WARNING "CLI11 was not found: building without the command line tool. "
                    "Install it (Debian, Ubuntu: apt-get install libcli11-dev) or silence this with -DPTXLOOM_CLI=OFF.")
    set(PTXLOOM_CLI OFF)
  endif()
endif()
if(PTXLOOM_TESTS)
  find_package(Catch2 3 QUIET)
  if(NOT Catch2_FOUND)
    message(FATAL_ERROR "The tests need Catch2 3, which was not found. Run ./dev build, which installs it, "
                        "or configure with -DPTXLOOM_TESTS=OFF.")
  endif()
endif()

if(PTXLOOM_CUDA)
  find_path(PTXLOOM_CUDA_INCLUDE NAMES nvJitLink.h
            HINTS "${PROJECT_BINARY_DIR}/cuda/include" ENV CUDA_HOME ENV CUDA_PATH
            PATHS /usr/local/cuda /opt/cuda PATH_SUFFIXES include
            DOC "Folder with cuda.h, nvJitLink.h and nvrtc.h")
  foreach(header cuda.h nvJitLink.h nvrtc.h)
    if(NOT EXISTS "${PTXLOOM_CUDA_INCLUDE}/${header}")
      message(FATAL_ERROR "The CUDA header ${header} was not found. Run ./dev build, which fetches it; or set "
                          "PTXLOOM_CUDA_INCLUDE to the folder that has it; or configure with -DPTXLOOM_CUDA=OFF.")
    endif()
  endforeach()
  message(STATUS "CUDA headers: ${PTXLOOM_CUDA_INCLUDE}")
  # Programs run from the build folder find the libraries that ./dev fetched into it.
  list(APPEND CMAKE_BUILD_RPATH "${PTXLOOM_CUDA_INCLUDE}/../lib")
endif()
add_library(ptxloom_cuda_headers INTERFACE)
if(PTXLOOM_CUDA)
  target_include_directories(ptxloom_cuda_headers SYSTEM INTERFACE "${PTXLOOM_CUDA_INCLUDE}")
endif()
