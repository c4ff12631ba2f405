// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "conform/subject.hpp"

namespace ptxloom::conform_kernels {
namespace {

// Required by the statements around instructions, and by those that acquire a tensor map.
constexpr Version kLeast{.major = 7, .minor = 8}, kLeastWithMaps{.major = 8, .minor = 3};

}  // namespace

std::string entry_name(std::size_t subject) { return "k" + std::to_string(subject); }

std::string module_text(std::span<const Subject> subjects, std::span<const std::size_t> which,
                        const Target& target) {
  Version version = kLeast;
  std::set<std::string> functions;
  for (const std::size_t i : which) {
    version = std::max(
        {version, *subjects[i].variant.since(target), subjects[i].around.maps ? kLeastWithMaps : kLeast});
    functions.insert(subjects[i].around.module);
  }
  std::string text =
      fmt::format(".version {}\n.target {}\n.address_size 64\n", to_string(version), target.name());
  for (const std::string& function : functions) text += function + "\n";
  for (const std::size_t i : which) text += kernel_text(subjects[i], entry_name(i));
  return text;
}

}  // namespace ptxloom::conform_kernels
