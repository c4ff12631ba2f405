// SPDX-License-Identifier: Apache-2.0
#pragma once

// The version of the headers, for the preprocessor. CMakeLists.txt reads it from here; library_version() of
// record.hpp is that of the library that is linked.
#define PTXLOOM_VERSION_MAJOR 0
#define PTXLOOM_VERSION_MINOR 1
#define PTXLOOM_VERSION_PATCH 0

/// Grows with every release: 100 for 0.1.0, 10203 for 1.2.3.
#define PTXLOOM_VERSION_NUMBER \
  (PTXLOOM_VERSION_MAJOR * 10000 + PTXLOOM_VERSION_MINOR * 100 + PTXLOOM_VERSION_PATCH)

/// "0.1.0"
#define PTXLOOM_VERSION                       \
  PTXLOOM_VERSION_TEXT(PTXLOOM_VERSION_MAJOR) \
  "." PTXLOOM_VERSION_TEXT(PTXLOOM_VERSION_MINOR) "." PTXLOOM_VERSION_TEXT(PTXLOOM_VERSION_PATCH)
#define PTXLOOM_VERSION_TEXT(number) PTXLOOM_VERSION_TEXT_OF(number)
#define PTXLOOM_VERSION_TEXT_OF(number) #number
