// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ptxloom/ir.hpp"
#include "text/token_stream.hpp"

// Names of a kernel while it is read. Scopes nest (each inline asm statement brings its own), IR has one
// scope: what shadows a name is called something else in the kernel ("p_2"). Views point into the text being
// read.
namespace ptxloom::text {

struct Name {
  enum class Kind : unsigned char { reg, symbol, label };
  Kind kind = Kind::reg;
  std::uint32_t index = 0;  ///< into the kernel's registers, symbols or labels
};

class Scopes {
 public:
  /// `globals` are the variables of the module; they become symbols of the kernel once they are used.
  Scopes(ir::Kernel& kernel, const std::unordered_set<std::string_view>& globals);

  void open() { scopes_.emplace_back(); }
  void close() { scopes_.pop_back(); }
  std::size_t depth() const { return scopes_.size(); }

  void declare_register(const Token& name, Type type);
  /// `%r<count>`: %r0 ... up to count - 1.
  void declare_registers(const Token& stem, Type type, std::int64_t count);
  /// Gives the name that the variable or parameter has in the kernel.
  std::string declare_symbol(const Token& name);
  void declare_label(const Token& name);

  std::optional<Name> find(std::string_view name);

 private:
  struct Range {
    std::uint32_t first = 0, count = 0;
  };
  struct Scope {
    std::unordered_map<std::string_view, Name> names;
    std::unordered_map<std::string_view, Range> ranges;
  };
  void declare(const Token& name, Name what);
  std::string unique(std::string name);
  void reserve(const Token& at, std::int64_t registers) const;

  ir::Kernel& kernel_;
  const std::unordered_set<std::string_view>& globals_;
  std::vector<Scope> scopes_;
  std::unordered_set<std::string> taken_;
};

}  // namespace ptxloom::text
