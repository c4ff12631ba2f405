// SPDX-License-Identifier: Apache-2.0
#include "exec/machine/printer.hpp"

#include <cstdio>
#include <utility>

namespace ptxloom::exec {

void Printer::write(const Printed& text) const {
  if (print_) return print_(text);
  std::fwrite(text.text.data(), 1, text.text.size(), stdout);
}

void Printer::write_all(Waiting& waiting) const {
  for (const Printed& text : std::exchange(waiting.texts, {})) write(text);
}

void Printer::add(std::uint64_t cluster, Printed text) {
  const std::scoped_lock lock(mutex_);
  if (at_once_ || cluster == first_) return write(text);
  waiting_[cluster].texts.push_back(std::move(text));
}

void Printer::ended(std::uint64_t cluster) {
  if (at_once_) return;
  const std::scoped_lock lock(mutex_);
  waiting_[cluster].ended = true;
  for (auto next = waiting_.begin(); next != waiting_.end() && next->first == first_;
       next = waiting_.begin()) {
    write_all(next->second);
    if (!next->second.ended) return;
    waiting_.erase(next);
    ++first_;
  }
}

void Printer::flush() {
  const std::scoped_lock lock(mutex_);
  for (auto& [cluster, waiting] : waiting_) write_all(waiting);
}

}  // namespace ptxloom::exec
