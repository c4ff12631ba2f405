// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ptxloom/ir.hpp"
#include "text/token_stream.hpp"

// The names of a function while it is read. Scopes nest (each call and each inline asm statement has its
// own), but the IR has a single scope: a name that shadows another is renamed in the function ("p_2"). Vector
// registers become as many scalar ones (`v.x` is v_x). Views point into the text being read.
namespace ptxloom::text {

struct Name {
  enum class Kind : unsigned char { reg, vector, symbol, label };
  Kind kind = Kind::reg;
  unsigned char count = 1;  ///< registers of a vector, which are consecutive
  std::uint32_t index = 0;  ///< into the function's registers, symbols or labels
};

/// The state space of a variable or function, and the size of its elements: `x[3]` is x plus three of them. 0
/// if it is not an array.
struct Place {
  ir::Space space = ir::Space::global;
  std::uint32_t element_bytes = 0;
};
/// What a module has declared.
using Globals = std::unordered_map<std::string_view, Place>;

/// Elements of a vector: `v.x` is also called `v.r`.
inline constexpr std::string_view kElements = "xyzw", kColours = "rgba";

class Scopes {
 public:
  /// `globals` become symbols of the function when they are used. At most `registers_left` registers may be
  /// declared.
  Scopes(ir::Function& function, const Globals& globals, std::size_t& registers_left);

  void open() { scopes_.emplace_back(); }
  void close() { scopes_.pop_back(); }
  std::size_t depth() const { return scopes_.size(); }

  ir::Register declare_register(const Token& name, Type type);
  /// `%r<count>`: %r0 ... up to count - 1.
  void declare_registers(const Token& stem, Type type, std::int64_t count);
  /// `.v4 .f32 v`, or `v<count>`.
  void declare_vectors(const Token& name, Type type, std::uint32_t width, std::optional<std::int64_t> count);
  /// Returns the name of the variable or parameter in the function.
  std::string declare_symbol(const Token& name, Place place);
  void declare_label(const Token& name);

  std::optional<Name> find(std::string_view name);
  std::uint32_t element_bytes(std::uint32_t symbol) const { return element_bytes_[symbol]; }

 private:
  struct Range {
    std::uint32_t first = 0, count = 0;
    unsigned char width = 1;  // registers per element of the range
  };
  struct Scope {
    std::unordered_map<std::string_view, Name> names;
    std::unordered_map<std::string_view, Range> ranges;                  // by stem
    std::unordered_map<std::string_view, std::uint32_t> lowest_numbers;  // of names a range may contain
  };

  void declare(const Token& name, Name what);
  void add_range(const Token& stem, Range range);
  static Name element_of(const Range& range, std::uint32_t number);
  std::optional<Name> find_padded(std::string_view name) const;
  std::optional<Name> find_element(std::string_view name);
  std::optional<Name> find_global(std::string_view name);
  std::string_view unique(std::string_view name);
  std::string_view unique_stem(std::string_view stem, std::uint32_t count);
  bool is_free(std::string_view name) const;
  bool is_free_stem(std::string_view stem, std::uint32_t count) const;
  void add_register(Type type, std::string name, bool element = false);
  void reserve(const Token& at, std::uint64_t registers);

  ir::Function& function_;
  const Globals& globals_;
  std::size_t& registers_left_;
  std::vector<Scope> scopes_;
  std::vector<std::uint32_t> element_bytes_;                            // by symbol
  std::unordered_set<std::string_view> taken_;                          // names in the function
  std::unordered_map<std::string_view, std::uint32_t> taken_ranges_;    // r<12>, by stem
  std::unordered_map<std::string_view, std::uint32_t> lowest_numbers_;  // of r3 and r7, by stem
  std::unordered_map<std::string_view, int> suffixes_;                  // the latest suffix given to a name
  std::deque<std::string> made_;                                        // names that do not occur in the text
};

}  // namespace ptxloom::text
