// SPDX-License-Identifier: Apache-2.0
#include "conform/subject.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "spec/database.hpp"

namespace ptxloom::conform_kernels {
namespace {

// Affects where a value is cached and how much is fetched, not the value.
bool is_hint(const Specs& specs, std::string_view word) {
  if (word.starts_with("L1::") || word.starts_with("L2::")) return true;
  for (const spec::WordClass& group : specs.database().vocabulary().classes()) {
    if (group.name == "cache") return std::ranges::find(group.words, word) != group.words.end();
  }
  return false;
}

/// The opcode without hints, and its operands without those of hints.
std::string essence(const Specs& specs, Variant variant) {
  std::string text;
  for (std::string_view rest = variant.opcode(); !rest.empty();) {
    const std::string_view word = rest.substr(0, rest.find('.'));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    if (!is_hint(specs, word)) text += "." + std::string(word);
  }
  for (const OperandSpec& operand : variant.operands())
    if (variant.conform(operand.name) != "hint") text += " " + operand.name + operand.describe();
  return text;
}

// An address or a handle whose value is up to the chip.
bool is_unpublished(Variant variant, const OperandSpec& operand) {
  return variant.conform(operand.name) == "unpublished";
}

std::string why_not(Variant variant) {
  if (const std::string said = variant.conform("not"); !said.empty()) return said;
  const Around made = around(variant);
  bool results = made.global || made.shared, unpublished = false;
  for (const OperandSpec& operand : variant.operands()) {
    const std::string said = variant.conform(operand.name);
    switch (operand.kind) {
      case OperandSpec::Kind::address:
        if (said.empty()) return "it reads or writes memory in its own way";
        break;
      case OperandSpec::Kind::symbol:
        if (said.empty()) return "it names a variable or function";
        break;
      case OperandSpec::Kind::label:
        if (said.empty()) return "it branches";
        break;
      case OperandSpec::Kind::literal:
        if (said != "published") return "it reads a special register whose value no manual gives";
        break;
      case OperandSpec::Kind::value:
        if (operand.direction == OperandSpec::Direction::in) break;
        is_unpublished(variant, operand) ? unpublished = true : results = true;
    }
  }
  if (!results && unpublished) return "the encoding of its result is not published";
  return results ? "" : "it has no result";
}

std::vector<std::int64_t> numbers(std::string_view list) {
  std::vector<std::int64_t> values;
  while (!list.empty()) {
    const auto end = std::from_chars(list.data(), list.data() + list.size(), values.emplace_back()).ptr;
    list.remove_prefix(std::min(list.size(), static_cast<std::size_t>(end - list.data()) + 1));
  }
  return values;
}

// The values with which a literal-only operand is tried: those that the specs name, all if there are few, or
// both ends and some in between.
std::vector<std::int64_t> literals(Variant variant, const OperandSpec& operand) {
  constexpr std::int64_t kFew = 4;
  if (const std::string named = variant.conform(operand.name); !named.empty()) return numbers(named);
  if (!operand.choices.empty()) return operand.choices;
  if (!operand.range) return {0};
  const auto [first, last] = *operand.range;
  const std::int64_t count = (last - first) / operand.step + 1, tried = std::min(count, kFew);
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < tried; ++i)
    values.push_back(first + (count - 1) * i / std::max<std::int64_t>(tried - 1, 1) * operand.step);
  return values;
}

// One subject with the first value of each literal, one for each other value of each, and one with the last
// value of all.
void append_with_literals(Subject subject, std::vector<Subject>& into) {
  const std::span<const OperandSpec> operands = subject.variant.operands();
  std::vector<std::vector<std::int64_t>> values(operands.size());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const OperandSpec& operand = operands[i];
    if (operand.kind != OperandSpec::Kind::value || operand.registers_allowed || !operand.literal_allowed)
      continue;
    values[i] = literals(subject.variant, operands[i]);
    subject.immediates[i] = values[i].front();
  }
  into.push_back(subject);
  Subject last = subject;
  std::size_t varied = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (values[i].size() < 2) continue;
    ++varied;
    last.immediates[i] = values[i].back();
    for (const std::int64_t value : std::span(values[i]).subspan(1)) {
      Subject& other = into.emplace_back(subject);
      other.immediates[i] = value;
    }
  }
  if (varied > 1) into.push_back(last);
}

void place_operands(Subject& subject) {
  const std::span<const OperandSpec> operands = subject.variant.operands();
  subject.immediates.resize(operands.size());
  subject.around = around(subject.variant);
  for (int i = 0; i < static_cast<int>(operands.size()); ++i) {
    const OperandSpec& operand = operands[static_cast<std::size_t>(i)];
    if (operand.kind != OperandSpec::Kind::value || !operand.registers_allowed) continue;
    const std::string said = subject.variant.conform(operand.name);
    const bool inside = said == "fragment" || said == "unpublished";
    for (int element = 0; element < operand.registers(); ++element) {
      if (inside) {
        subject.inside.add(i, element, operand.type);
        continue;
      }
      if (operand.direction != OperandSpec::Direction::out) subject.in.add(i, element, operand.type);
      if (operand.direction != OperandSpec::Direction::in) subject.out.add(i, element, operand.type);
    }
  }
}

}  // namespace

void Record::add(int operand, int element, const Type& type) {
  const int size = type == pred              ? 4
                   : type.whole_bytes() <= 2 ? std::max(type.whole_bytes(), 1)
                                             : type.whole_bytes();
  bytes = (bytes + size - 1) / size * size;
  fields.push_back({.operand = operand, .element = element, .type = type, .bytes = size, .offset = bytes});
  bytes += size;
}

void Record::pad() { bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment; }

Type element_type(const Subject& subject, const Field& field) {
  const std::string& name = subject.variant.operands()[static_cast<std::size_t>(field.operand)].name;
  if (const std::string type = subject.variant.fragment(name).type; !type.empty()) {
    if (const auto found = find_type(type)) return *found;
  }
  if (field.type.lanes == 1) return field.type;
  const std::string_view packed = field.type.name;
  const auto found = find_type(packed.substr(0, packed.rfind('x')));
  return found ? *found : field.type;
}

std::vector<Subject> subjects(const Specs& specs, std::string_view form, const Target& target) {
  std::vector<Variant> variants = specs.variants(form);
  std::erase_if(variants, [&](Variant v) { return v.undocumented() || !v.since(target); });
  // Among variants that differ only by hints, the plainest represents all.
  std::ranges::stable_sort(variants, {}, [](Variant v) { return v.opcode().size(); });
  std::set<std::string> known;
  std::vector<Subject> all;
  for (const Variant& variant : variants) {
    if (!known.insert(essence(specs, variant)).second) continue;
    Subject subject{.variant = variant, .around = {}, .immediates = {}, .why_not = why_not(variant)};
    if (!subject.why_not.empty()) {
      all.push_back(std::move(subject));
      continue;
    }
    place_operands(subject);
    subject.in.pad();
    subject.out.pad();
    append_with_literals(std::move(subject), all);
  }
  return all;
}

}  // namespace ptxloom::conform_kernels
