// SPDX-License-Identifier: Apache-2.0
#include "text/scopes.hpp"

#include <algorithm>
#include <limits>

#include "ir/naming.hpp"

namespace ptxloom::text {
namespace {

// "%r12" is %r and 12; a number with leading zeros counts as part of the name.
struct Numbered {
  std::string_view stem;
  std::uint32_t number = 0;
};
std::optional<Numbered> split(std::string_view name) {
  std::size_t stem = name.size();
  while (stem > 0 && name[stem - 1] >= '0' && name[stem - 1] <= '9') --stem;
  const std::string_view digits = name.substr(stem);
  if (digits.empty() || digits.size() > 7 || (digits.size() > 1 && digits[0] == '0')) return std::nullopt;
  std::uint32_t number = 0;
  for (const char digit : digits) number = 10 * number + static_cast<std::uint32_t>(digit - '0');
  return Numbered{name.substr(0, stem), number};
}

void lower(std::unordered_map<std::string_view, std::uint32_t>& lowest, const Numbered& name) {
  std::uint32_t& number = lowest.try_emplace(name.stem, name.number).first->second;
  number = std::min(number, name.number);
}

[[noreturn]] void fail_duplicate(const Token& name) {
  fail(name, "duplicate-name", std::string(name.text) + " is declared twice",
       "give one of them another name");
}

}  // namespace

Scopes::Scopes(ir::Function& function, const Globals& globals, std::size_t& registers_left)
    : function_(function), globals_(globals), registers_left_(registers_left) {
  open();
}

void Scopes::reserve(const Token& at, std::uint64_t registers) {
  if (registers > registers_left_)
    fail(at, "too-many-registers", "the module declares more registers than ptxloom reads",
         "declare only the registers that are used");
  registers_left_ -= registers;
}

// ---- names in the function ----

bool Scopes::is_free(std::string_view name) const {
  if (taken_.contains(name) || globals_.contains(name)) return false;
  const std::optional<Numbered> numbered = split(name);
  if (!numbered) return true;
  const auto range = taken_ranges_.find(numbered->stem);
  return range == taken_ranges_.end() || numbered->number >= range->second;
}

// A name that is not used for anything else in the function or the module.
std::string_view Scopes::unique(std::string_view name) {
  std::string_view free = name;
  while (!is_free(free))
    free = made_.emplace_back(std::string(name) + "_" +
                              std::to_string(++suffixes_.try_emplace(name, 1).first->second));
  taken_.insert(free);
  if (const std::optional<Numbered> numbered = split(free)) lower(lowest_numbers_, *numbered);
  return free;
}

bool Scopes::is_free_stem(std::string_view stem, std::uint32_t count) const {
  const auto lowest = lowest_numbers_.find(stem);
  return !taken_ranges_.contains(stem) && (lowest == lowest_numbers_.end() || lowest->second >= count);
}

std::string_view Scopes::unique_stem(std::string_view stem, std::uint32_t count) {
  std::string_view free = stem;
  while (!is_free_stem(free, count))
    free = made_.emplace_back(std::string(stem) + "_" +
                              std::to_string(++suffixes_.try_emplace(stem, 1).first->second) + "_");
  taken_ranges_.emplace(free, count);
  return free;
}

// ---- declarations ----

void Scopes::declare(const Token& name, Name what) {
  Scope& scope = scopes_.back();
  if (const std::optional<Numbered> numbered = split(name.text)) {
    const auto range = scope.ranges.find(numbered->stem);
    if (range != scope.ranges.end() && numbered->number < range->second.count) fail_duplicate(name);
    lower(scope.lowest_numbers, *numbered);
  }
  if (!scope.names.emplace(name.text, what).second) fail_duplicate(name);
}

void Scopes::add_range(const Token& stem, Range range) {
  Scope& scope = scopes_.back();
  const auto lowest = scope.lowest_numbers.find(stem.text);
  const bool overlaps = lowest != scope.lowest_numbers.end() && lowest->second < range.count;
  if (overlaps || !scope.ranges.emplace(stem.text, range).second) fail_duplicate(stem);
}

void Scopes::add_register(Type type, std::string name, bool element) {
  function_.registers.push_back({.type = type, .number = 0, .name = std::move(name), .element = element});
}

ir::Register Scopes::declare_register(const Token& name, Type type) {
  reserve(name, 1);
  const auto id = static_cast<std::uint32_t>(function_.registers.size());
  declare(name, {.kind = Name::Kind::reg, .index = id});
  add_register(type, std::string(unique(name.text)));
  return {id};
}

void Scopes::declare_registers(const Token& stem, Type type, std::int64_t count) {
  reserve(stem, static_cast<std::uint64_t>(count));
  const auto first = static_cast<std::uint32_t>(function_.registers.size());
  const auto n = static_cast<std::uint32_t>(count);
  add_range(stem, {.first = first, .count = n});
  // %r1<20> and %r<20> both contain %r10: names with such a stem are made unique individually.
  const bool numbered = stem.text.back() >= '0' && stem.text.back() <= '9';
  const std::string_view name = numbered ? stem.text : unique_stem(stem.text, n);
  // Names that the printer generates itself need not be stored.
  const ir::RegisterClass& cls = ir::kRegisterClasses[ir::register_class(type)];
  const bool plain = cls.type == type && cls.prefix == name;
  for (std::uint32_t i = 0; i < n; ++i) {
    if (plain) {
      function_.registers.push_back({.type = type, .number = i, .name = {}});
    } else if (numbered) {
      add_register(type, std::string(unique(made_.emplace_back(std::string(name) + std::to_string(i)))));
    } else {
      add_register(type, std::string(name) + std::to_string(i));
    }
  }
}

void Scopes::declare_vectors(const Token& name, Type type, std::uint32_t width,
                             std::optional<std::int64_t> count) {
  const auto n = static_cast<std::uint64_t>(count.value_or(1));
  if (n > std::numeric_limits<std::uint32_t>::max()) reserve(name, n);
  reserve(name, n * width);
  const auto first = static_cast<std::uint32_t>(function_.registers.size());
  const auto elements = static_cast<unsigned char>(width);
  if (count) {
    add_range(name, {first, static_cast<std::uint32_t>(n), elements});
  } else {
    declare(name, {.kind = Name::Kind::vector, .count = elements, .index = first});
  }
  for (std::uint64_t i = 0; i < n; ++i) {
    const std::string base = std::string(name.text) + (count ? std::to_string(i) : "") + "_";
    for (std::uint32_t e = 0; e < width; ++e)
      add_register(type, std::string(unique(made_.emplace_back(base + kElements[e]))), true);
  }
}

std::string Scopes::declare_symbol(const Token& name, Place place) {
  declare(name, {.kind = Name::Kind::symbol, .index = static_cast<std::uint32_t>(function_.symbols.size())});
  element_bytes_.push_back(place.element_bytes);
  return function_.symbols.emplace_back(ir::Symbol{std::string(unique(name.text)), place.space}).name;
}

void Scopes::declare_label(const Token& name) {
  declare(name, {.kind = Name::Kind::label, .index = static_cast<std::uint32_t>(function_.labels.size())});
  function_.labels.emplace_back(unique(name.text));
}

// ---- lookup ----

std::optional<Name> Scopes::find(std::string_view name) {
  const std::optional<Numbered> numbered = split(name);
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (numbered && !scope->ranges.empty()) {
      const auto range = scope->ranges.find(numbered->stem);
      if (range != scope->ranges.end() && numbered->number < range->second.count)
        return element_of(range->second, numbered->number);
    }
    if (scope->names.empty()) continue;
    if (const auto found = scope->names.find(name); found != scope->names.end()) return found->second;
  }
  if (const std::optional<Name> padded = find_padded(name)) return padded;
  if (const std::optional<Name> element = find_element(name)) return element;
  return find_global(name);
}

// `r01` of r<8>.
std::optional<Name> Scopes::find_padded(std::string_view name) const {
  const std::size_t stem = name.find_last_not_of("0123456789") + 1;
  const std::size_t digits = std::min(name.find_first_not_of('0', stem), name.size() - 1);
  if (stem >= name.size() || digits == stem) return std::nullopt;
  const std::optional<Numbered> number = split(name.substr(digits));
  for (auto scope = scopes_.rbegin(); number && scope != scopes_.rend(); ++scope) {
    const auto range = scope->ranges.find(name.substr(0, stem));
    if (range != scope->ranges.end() && number->number < range->second.count)
      return element_of(range->second, number->number);
  }
  return std::nullopt;
}

Name Scopes::element_of(const Range& range, std::uint32_t number) {
  return {.kind = range.width == 1 ? Name::Kind::reg : Name::Kind::vector,
          .count = range.width,
          .index = range.first + number * range.width};
}

std::optional<Name> Scopes::find_element(std::string_view name) {
  if (name.size() < 3 || name[name.size() - 2] != '.') return std::nullopt;
  const std::size_t element = std::min(kElements.find(name.back()), kColours.find(name.back()));
  const std::string_view base = name.substr(0, name.size() - 2);
  if (element == std::string_view::npos || base.find('.') != base.npos) return std::nullopt;
  const std::optional<Name> vector = find(base);
  if (!vector || vector->kind != Name::Kind::vector || element >= vector->count) return std::nullopt;
  return Name{.kind = Name::Kind::reg, .index = vector->index + static_cast<std::uint32_t>(element)};
}

std::optional<Name> Scopes::find_global(std::string_view name) {
  const auto global = globals_.find(name);
  if (global == globals_.end()) return std::nullopt;
  const Name symbol{.kind = Name::Kind::symbol,
                    .index = static_cast<std::uint32_t>(function_.symbols.size())};
  element_bytes_.push_back(global->second.element_bytes);
  function_.symbols.push_back({std::string(name), global->second.space});
  scopes_.front().names.emplace(global->first, symbol);
  return symbol;
}

}  // namespace ptxloom::text
