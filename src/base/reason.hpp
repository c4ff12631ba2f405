// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>

namespace ptxloom {

/// What went wrong, in words for people: of an exception of the standard library not the name of its type.
std::string reason_of(const std::exception& exception);

}  // namespace ptxloom
