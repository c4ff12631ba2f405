// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>

namespace ptxloom {

/// What went wrong, in words for people: standard library exceptions are not described by their type name.
std::string reason_of(const std::exception& exception);

}  // namespace ptxloom
