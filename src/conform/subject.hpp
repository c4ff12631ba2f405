// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "conform/around.hpp"
#include "ptxloom/specs.hpp"

// A variant to compare, and the memory layout of its operands: each thread has a record of inputs and one of
// results, with a field for each register and, for instructions with an address, a slot of global or shared
// memory that they access.
namespace ptxloom::conform_kernels {

struct Field {
  int operand = 0;  ///< index among the variant's operands
  int element = 0;  ///< index in a vector
  Type type;        ///< of the register's value: "f16x2", "b32"
  int bytes = 4;    ///< in memory; a predicate takes four
  int offset = 0;   ///< in the record
};

struct Record {
  std::vector<Field> fields;
  int bytes = 0;

  void add(int operand, int element, const Type& type);
  /// Pads so that the records of all threads are aligned like the first.
  void pad();
  static constexpr int kAlignment = 16;
};

inline constexpr int kSlotBytes = 320;  // per thread: 40 KB per thread block, enough for the matrices of
                                        // wgmma

struct Subject {
  Variant variant;
  Around around;
  std::vector<std::int64_t> immediates;  ///< by operand, for those that must be literals
  Record in, out;
  Record inside;             ///< registers that are neither loaded nor stored
  std::string why_not = {};  ///< why it cannot be compared; empty if it can
};

/// All subjects of a form: one for each variant of the target (variants that differ only by hints count as
/// one) and, for literal-only operands, for some of their values.
std::vector<Subject> subjects(const Specs& specs, std::string_view form, const Target& target);

/// The type of one element in a register: from its fragment map, or the packed type.
Type element_type(const Subject& subject, const Field& field);

/// PTX text of a kernel `name` that runs the subject's instruction once per thread. Its parameters are the
/// addresses of the records `in` and `out`, of the slots, of the place where shared memory is saved
/// (`tiles`), and of the tensor maps, kMapBytes apart; then `data`, if the subject uses it.
std::string kernel_text(const Subject& subject, std::string_view name);

/// Some of the subjects as a module; entry_name gives the kernel of each. It uses the lowest PTX version that
/// they allow.
std::string module_text(std::span<const Subject> subjects, std::span<const std::size_t> which,
                        const Target& target);
std::string entry_name(std::size_t subject);

inline constexpr int kBlockThreads = 128;
inline constexpr int kDataBytes = 1024;
inline constexpr int kWarpThreads = 32;
inline constexpr int kMapBytes = 256;  // a tensor map, and what the kernel must know about it

}  // namespace ptxloom::conform_kernels
