// SPDX-License-Identifier: Apache-2.0
#include "text/scopes.hpp"

#include <algorithm>

#include "ir/naming.hpp"

namespace ptxloom::text {
namespace {

constexpr std::size_t kMostRegisters = 1U << 20;

// "%r12" is %r and 12; a number with leading zeros is part of the name.
struct Numbered {
  std::string_view stem;
  std::uint32_t number = 0;
};
std::optional<Numbered> split(std::string_view name) {
  const std::size_t stem = name.find_last_not_of("0123456789") + 1;
  const std::string_view digits = name.substr(stem);
  if (digits.empty() || digits.size() > 7 || (digits.size() > 1 && digits[0] == '0')) return std::nullopt;
  std::uint32_t number = 0;
  for (const char digit : digits) number = 10 * number + static_cast<std::uint32_t>(digit - '0');
  return Numbered{name.substr(0, stem), number};
}

}  // namespace

Scopes::Scopes(ir::Kernel& kernel, const std::unordered_set<std::string_view>& globals)
    : kernel_(kernel), globals_(globals) {
  open();
}

void Scopes::reserve(const Token& at, std::int64_t registers) const {
  if (registers < 0 || static_cast<std::uint64_t>(registers) > kMostRegisters - kernel_.registers.size())
    fail(at, "too-many-registers",
         "a kernel may declare " + std::to_string(kMostRegisters) + " registers at most");
}

// A name that means nothing else in the kernel: no variable of the module, no number of a range that is
// printed whole.
std::string Scopes::unique(std::string name) {
  const std::optional<Numbered> numbered = split(name);
  const bool ranged = numbered && taken_.contains(std::string(numbered->stem) + "<>");
  if (!ranged && !globals_.contains(name) && taken_.insert(name).second) return name;
  for (int n = 2;; ++n)
    if (std::string other = name + "_" + std::to_string(n); taken_.insert(other).second) return other;
}

void Scopes::declare(const Token& name, Name what) {
  if (scopes_.back().names.emplace(name.text, what).second) return;
  fail(name, "duplicate-name", std::string(name.text) + " is declared twice",
       "give one of them another name");
}

void Scopes::declare_register(const Token& name, Type type) {
  reserve(name, 1);
  declare(name, {Name::Kind::reg, static_cast<std::uint32_t>(kernel_.registers.size())});
  kernel_.registers.push_back({.type = type, .number = 0, .name = unique(std::string(name.text))});
}

void Scopes::declare_registers(const Token& stem, Type type, std::int64_t count) {
  reserve(stem, count);
  const auto first = static_cast<std::uint32_t>(kernel_.registers.size());
  const auto n = static_cast<std::uint32_t>(count);
  if (!scopes_.back().ranges.emplace(stem.text, Range{first, n}).second)
    fail(stem, "duplicate-name", std::string(stem.text) + "<> is declared twice",
         "give one of them another name");
  // The printer's own names need not be stored; a second range of the same name is another scope's.
  const ir::RegisterClass& cls = ir::kRegisterClasses[ir::register_class(type)];
  const bool plain =
      cls.type == type && cls.prefix == stem.text && taken_.insert(std::string(stem.text) + "<>").second;
  kernel_.registers.reserve(first + n);
  for (std::uint32_t i = 0; i < n; ++i) {
    std::string name = plain ? std::string() : unique(std::string(stem.text) + std::to_string(i));
    kernel_.registers.push_back({.type = type, .number = plain ? i : 0, .name = std::move(name)});
  }
}

std::string Scopes::declare_symbol(const Token& name) {
  declare(name, {Name::Kind::symbol, static_cast<std::uint32_t>(kernel_.symbols.size())});
  return kernel_.symbols.emplace_back(unique(std::string(name.text)));
}

void Scopes::declare_label(const Token& name) {
  declare(name, {Name::Kind::label, static_cast<std::uint32_t>(kernel_.labels.size())});
  kernel_.labels.push_back(unique(std::string(name.text)));
}

std::optional<Name> Scopes::find(std::string_view name) {
  const std::optional<Numbered> numbered = split(name);
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (numbered) {
      const auto range = scope->ranges.find(numbered->stem);
      if (range != scope->ranges.end() && numbered->number < range->second.count)
        return Name{Name::Kind::reg, range->second.first + numbered->number};
    }
    if (const auto found = scope->names.find(name); found != scope->names.end()) return found->second;
  }
  const auto global = globals_.find(name);
  if (global == globals_.end()) return std::nullopt;
  const Name symbol{Name::Kind::symbol, static_cast<std::uint32_t>(kernel_.symbols.size())};
  kernel_.symbols.emplace_back(name);
  scopes_.front().names.emplace(*global, symbol);
  return symbol;
}

}  // namespace ptxloom::text
