// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The version of the headers, for the preprocessor. CMakeLists.txt reads it from here. library_version() of
/// record.hpp is the version of the library that is linked.

/// The major version. As in Semantic Versioning, a new one may break programs; while it is 0 so may a new
/// minor version.
#define PTXLOOM_VERSION_MAJOR 0
/// The minor version.
#define PTXLOOM_VERSION_MINOR 1
/// The patch version.
#define PTXLOOM_VERSION_PATCH 0

/// A number that grows with every release: 100 for 0.1.0, 10203 for 1.2.3.
#define PTXLOOM_VERSION_NUMBER \
  (PTXLOOM_VERSION_MAJOR * 10000 + PTXLOOM_VERSION_MINOR * 100 + PTXLOOM_VERSION_PATCH)

/// The version as a string: "0.1.0"
#define PTXLOOM_VERSION                       \
  PTXLOOM_VERSION_TEXT(PTXLOOM_VERSION_MAJOR) \
  "." PTXLOOM_VERSION_TEXT(PTXLOOM_VERSION_MINOR) "." PTXLOOM_VERSION_TEXT(PTXLOOM_VERSION_PATCH)
/// For PTXLOOM_VERSION only.
///@{
#define PTXLOOM_VERSION_TEXT(number) PTXLOOM_VERSION_TEXT_OF(number)
#define PTXLOOM_VERSION_TEXT_OF(number) #number
///@}
