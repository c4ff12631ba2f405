// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "conform/subject.hpp"

// The roles of operands, and of the memory of a set, in a product D = A * B + C, as the specs name them in
// `conform`: "left": "A", "right": "memory+2048", "addend": "memory+4096 f32", "scale": "SA SB". "A memory"
// means A, or memory if A is a descriptor of it.
namespace ptxloom::conform_kernels {

enum class Role : std::uint8_t { none, left, right, addend, scale };

class Roles {
 public:
  explicit Roles(const Subject& subject);

  /// Whether the instruction is a product.
  bool any() const { return !places_.empty(); }
  Role of(std::string_view operand) const;
  /// Whether the same memory holds both factors, so that they must be drawn alike.
  bool shared() const;

  /// A part of a warp's memory, up to the start of the next.
  struct Region {
    std::size_t from = 0;
    Role role = Role::none;
    Type type;
  };
  /// In ascending order; empty if no factor is in memory.
  std::vector<Region> regions() const;

  /// Types of elements; b32 if there is none.
  Type left() const { return type_of(Role::left); }
  Type right() const { return type_of(Role::right); }
  Type sum() const { return type_of(Role::addend); }
  bool scaled() const;

 private:
  struct Place {
    Role role = Role::none;
    std::string operand;  ///< empty: memory
    std::size_t from = 0;
    Type type;
  };
  void read(Role role, std::string_view key);
  void add(Role role, const std::string& word, bool in_memory);
  Type type_of(Role role) const;

  const Subject* subject_;
  std::vector<Place> places_;
};

}  // namespace ptxloom::conform_kernels
