// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>

namespace [[gnu::visibility("default")]] ptxloom {

/// A problem or a configuration: values of parameters by name, as the command line and the tuning records
/// have them.
using Settings = std::map<std::string, std::string, std::less<>>;

}  // namespace ptxloom
