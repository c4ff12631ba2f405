// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

// Where undefined bits come from: the instruction that takes them from memory that nobody has written, or
// from a lane that does not take part. Bits carry its number.
namespace ptxloom::exec {

class Origins {
 public:
  using Id = std::uint32_t;
  static constexpr Id kRegister = ~Id{0};          ///< a register that nobody has set
  static constexpr Id kUnwritten = kRegister - 1;  ///< memory that nobody has written

  struct Origin {
    std::uint32_t op = 0;  ///< index into Code::operations
    std::string does;      ///< "loads them from shared memory that nobody has written"
  };

  /// The origin at an instruction; `place` tells apart several of one instruction, and `does` is called once
  /// for each.
  template <class F>
  Id find(std::uint32_t op, std::uint64_t place, F does) {
    const auto [entry, added] = ids_.try_emplace({op, place}, static_cast<Id>(origins_.size()));
    if (added) origins_.push_back({op, does()});
    return entry->second;
  }
  /// `id`: one that `find` returned.
  const Origin& at(Id id) const { return origins_[id]; }

 private:
  std::map<std::pair<std::uint32_t, std::uint64_t>, Id> ids_;
  std::vector<Origin> origins_;
};

}  // namespace ptxloom::exec
