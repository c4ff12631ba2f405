// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ptxloom {

/// This machine's name, for people and for file names; "host" if it has none.
std::string host_name();

}  // namespace ptxloom
