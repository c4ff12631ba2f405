// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>

#include "ptxloom/builder_arithmetic.hpp"

/// \file
/// Arrays in shared, constant and global memory, loads and stores. A store to a narrower integer keeps the
/// low bits. An element of a shared, constant or global array whose index is a literal must lie in the array:
/// else Error(usage, "outside-array"). A vector access moves 2, 4 or, where the target has it, 8 adjacent
/// elements; its address is a multiple of its size.
namespace [[gnu::visibility("default")]] ptxloom {

/// The PTX type of a C++ arithmetic type: s32 for int, f32 for float.
template <class T>
  requires std::is_arithmetic_v<T>
constexpr Type type_of() {
  if constexpr (std::is_same_v<T, double>) return f64;
  if constexpr (std::is_same_v<T, float>) return f32;
  constexpr bool is_signed = std::is_signed_v<T>;
  if constexpr (sizeof(T) == 1) return is_signed ? s8 : u8;
  if constexpr (sizeof(T) == 2) return is_signed ? s16 : u16;
  if constexpr (sizeof(T) == 4) return is_signed ? s32 : u32;
  return is_signed ? s64 : u64;
}

/// The builder's layer for arrays, loads and stores.
class MemoryBuilder : public ArithmeticBuilder {
 public:
  using ArithmeticBuilder::ArithmeticBuilder;

  /// An array of `count` elements in the kernel's static shared memory. `alignment` is in bytes; 0: that of
  /// the type.
  Shared shared(Type type, std::uint64_t count, std::string name, std::uint32_t alignment = 0,
                Caller at = Caller::current());
  /// The kernel's dynamic shared memory (`.extern .shared`), whose size the launch gives. `alignment` is in
  /// bytes.
  Shared dynamic_shared(std::string name, std::uint32_t alignment = 128, Caller at = Caller::current());
  /// An array in `.const` or `.global` memory with these initial values, for all kernels and functions of the
  /// module. The host can write it by its name (Kernel::write_variable).
  ///@{
  template <class T>
  Global constant(std::string name, std::span<const T> values, Caller at = Caller::current()) {
    return variable("const", type_of<T>(), values.size(), std::move(name), std::as_bytes(values), at);
  }
  template <class T>
  Global constant(std::string name, std::initializer_list<T> values, Caller at = Caller::current()) {
    return constant(std::move(name), std::span<const T>(values.begin(), values.size()), at);
  }
  template <class T>
  Global global(std::string name, std::span<const T> values, Caller at = Caller::current()) {
    return variable("global", type_of<T>(), values.size(), std::move(name), std::as_bytes(values), at);
  }
  template <class T>
  Global global(std::string name, std::initializer_list<T> values, Caller at = Caller::current()) {
    return global(std::move(name), std::span<const T>(values.begin(), values.size()), at);
  }
  ///@}
  /// The same for elements of any type, given as bytes. Without values the array is zero when the module is
  /// loaded. `space` is "const" or "global": else Error(usage, "bad-space").
  Global variable(std::string_view space, Type type, std::uint64_t count, std::string name,
                  std::span<const std::byte> values = {}, Caller at = Caller::current());
  /// The address of an array, in its own state space.
  ///@{
  Reg address_of(Shared array, Caller at = Caller::current());
  Reg address_of(Global array, Caller at = Caller::current());
  ///@}
  /// An address as a number in a register: base and offset, added. It has the size of its base: 32 bits in
  /// shared memory, unless the base is a 64-bit register.
  Reg address_of(const Address& address, Caller at = Caller::current());
  /// The address `base + offset` as an operand. `offset` is in bytes.
  ///@{
  static Address at(Reg base, std::int64_t offset = 0);
  static Address at(Shared array, std::int64_t offset = 0);
  ///@}

  /// Loads an element.
  Reg load(const Element& element, Caller at = Caller::current());
  /// Loads `count` adjacent elements with one instruction.
  std::vector<Reg> load(const Element& first, int count, Caller at = Caller::current());
  /// Stores a register or a literal; or a vector, to adjacent elements with one instruction.
  void store(const Element& element, Arg value, Caller at = Caller::current());
  /// The same at an address in a state space: "global", "shared", "local", "const", "param";
  /// "shared::cluster" ...
  ///@{
  Reg load(std::string_view space, Type type, Address address, Caller at = Caller::current());
  void store(std::string_view space, Type type, Address address, Arg value, Caller at = Caller::current());
  ///@}

 protected:
  void require_alignment(const Operation& operation, std::string_view name, std::uint32_t alignment) const;
};

}  // namespace ptxloom
