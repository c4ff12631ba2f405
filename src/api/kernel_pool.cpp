// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ptxloom/runner.hpp"

namespace ptxloom {
namespace {

/// The lines that are not comments, and the options: everything that the machine code depends on.
std::string key_of(std::string_view ptx, std::string_view entry, const LinkOptions& link) {
  std::string key;
  key.reserve(ptx.size());
  while (!ptx.empty()) {
    const std::string_view line = ptx.substr(0, std::min(ptx.find('\n'), ptx.size() - 1) + 1);
    if (!line.starts_with("//")) key += line;
    ptx.remove_prefix(line.size());
  }
  key +=
      fmt::format("{} {} {} {} {}", entry, link.optimisation, link.debug, link.line_info, link.max_registers);
  for (const std::string& option : link.extra) key += ' ' + option;
  return key;
}

}  // namespace

Kernel KernelPool::find(std::string_view ptx, std::string_view entry, const LinkOptions& link,
                        const std::function<Kernel()>& load) {
  std::string key = key_of(ptx, entry, link);
  {
    const std::scoped_lock lock(mutex_);
    if (const auto known = kernels_.find(key); known != kernels_.end()) return known->second;
  }
  Kernel kernel = load();
  const std::scoped_lock lock(mutex_);
  return kernels_.try_emplace(std::move(key), std::move(kernel)).first->second;
}

std::size_t KernelPool::size() const {
  const std::scoped_lock lock(mutex_);
  return kernels_.size();
}

}  // namespace ptxloom
