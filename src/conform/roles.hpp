// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "conform/subject.hpp"

// What operands, and the memory of a set, are to a product D = A * B + C, as the specs name them in
// `conform`: "left": "A", "right": "memory+2048", "addend": "memory+4096 f32", "scale": "SA SB". "A memory"
// is A, or memory where A is a descriptor of it.
namespace ptxloom::conform_kernels {

enum class Role : std::uint8_t { none, left, right, addend, scale };

class Roles {
 public:
  explicit Roles(const Subject& subject);

  /// Whether the instruction is a product.
  bool any() const { return !places_.empty(); }
  Role of(std::string_view operand) const;
  /// The same memory holds both factors, so that they must be drawn alike.
  bool shared() const;

  /// Part of the memory that a warp has, up to where the next begins.
  struct Region {
    std::size_t from = 0;
    Role role = Role::none;
    Type type;
  };
  /// In ascending order; empty where no factor is in memory.
  std::vector<Region> regions() const;

  /// Types of elements; b32 where there is none.
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
