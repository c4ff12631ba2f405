// SPDX-License-Identifier: Apache-2.0
#include "insn/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/dotted.hpp"
#include "base/nearest.hpp"
#include "conform/around.hpp"
#include "ptxloom/error.hpp"

namespace ptxloom::insn {
namespace {

/// Why this operand cannot be given; empty if it can.
std::string obstacle(const Variant& variant, const OperandSpec& operand, const FormRule& rule) {
  if (rule.operands.contains(operand.name)) return {};
  const std::string text = conform_kernels::address_text(variant, operand);
  switch (operand.kind) {
    case OperandSpec::Kind::address:
      if (text.find("_global") == text.npos && text.find("_shared") == text.npos &&
          text.find("_generic") == text.npos && text.find("_peer") == text.npos)
        return "it reads or writes memory in its own way";
      return {};
    case OperandSpec::Kind::symbol:
      return "it names a variable or function";
    case OperandSpec::Kind::label:
      return "it branches";
    case OperandSpec::Kind::literal:
    case OperandSpec::Kind::value:
      return {};
  }
  return {};
}

std::string why_not(const Variant& variant, const FormRule& rule) {
  if (!rule.skip.empty()) return rule.skip;
  if (!rule.ready) {
    if (const std::string said = variant.conform("not"); !said.empty()) return said;
    if (!variant.conform("before").empty() || !variant.conform("after").empty())
      return "it stands among other statements, and specs/measure/forms.json does not say how to repeat it";
  }
  for (const OperandSpec& operand : variant.operands()) {
    if (std::string found = obstacle(variant, operand, rule); !found.empty()) return found;
  }
  return {};
}

/// The first number of a text such as "4,14" or "16..64/8".
std::int64_t first_number(std::string_view text, std::int64_t otherwise) {
  std::int64_t value = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::int64_t literal_of(const Variant& variant, const OperandSpec& operand, const FormRule& rule) {
  if (const auto given = rule.operands.find(operand.name); given != rule.operands.end())
    return first_number(given->second, 0);
  if (!operand.choices.empty()) return operand.choices.front();
  const std::int64_t least = operand.range ? operand.range->first : 0;
  return first_number(variant.conform(operand.name), least);
}

Row row_of(const Variant& variant, const FormRule& rule, std::string essence) {
  Row row{.variant = variant,
          .rule = &rule,
          .essence = std::move(essence),
          .why_not = why_not(variant, rule),
          .literals = {}};
  for (const OperandSpec& operand : variant.operands())
    row.literals.push_back(literal_of(variant, operand, rule));
  return row;
}

void append_rows(const Specs& specs, const Target& target, std::string_view form, const Rules& rules,
                 std::vector<Row>& into) {
  const FormRule& rule = rules.of(form);
  std::vector<Variant> variants = specs.variants(form);
  std::erase_if(variants, [&](const Variant& v) {
    return v.undocumented() || !v.since(target) || !has_all(v, rule.only);
  });
  std::ranges::stable_sort(
      variants, {}, [](const Variant& v) { return std::pair(v.opcode().size(), v.operands().size()); });
  std::set<std::string> known;
  for (const Variant& variant : variants) {
    std::string essence = rules.essence(variant.opcode(), rule);
    // Operands of hints and conditions make no other row: the shortest list stands for all.
    if (!known.insert(essence).second) continue;
    into.push_back(row_of(variant, rule, std::move(essence)));
  }
}

[[noreturn]] void refuse(const Specs& specs, const Target& target, std::string_view selection) {
  std::vector<std::string> known;
  bool elsewhere = !specs.match(selection).empty();
  for (const std::string_view name : specs.forms()) {
    const Specs::FormInfo form = specs.info(name);
    known.emplace_back(form.name);
    known.emplace_back(form.family);
    elsewhere |= form.name == selection || begins_with_words(form.family, selection);
  }
  if (elsewhere)
    throw Error(ErrorKind::refused, "not-on-target",
                fmt::format("{} does not have '{}'", target.name(), selection),
                fmt::format("ptxloom list --target {} shows what it has", target.name()));
  throw Error(ErrorKind::usage, "unknown-form",
              fmt::format("there is no form, family or instruction '{}'", selection),
              fmt::format("did you mean '{}'? ptxloom list shows all", nearest(selection, known)));
}

}  // namespace

std::vector<Row> rows(const Specs& specs, const Target& target, std::string_view selection,
                      const Rules& rules) {
  std::vector<Row> all;
  for (const std::string_view name : specs.forms()) {
    const Specs::FormInfo form = specs.info(name);
    const bool whole =
        selection.empty() || form.name == selection || begins_with_words(form.family, selection);
    const std::string_view mnemonic = selection.substr(0, selection.find('.'));
    if (!whole && !form.text.starts_with(mnemonic) && !form.text.starts_with('<')) continue;
    std::vector<Row> found;
    append_rows(specs, target, name, rules, found);
    if (!whole) {
      const std::string wanted = rules.essence(selection, rules.of(name));
      std::erase_if(found, [&](const Row& row) { return !begins_with_words(row.essence, wanted); });
    }
    std::ranges::move(found, std::back_inserter(all));
  }
  if (all.empty()) refuse(specs, target, selection);
  return all;
}

}  // namespace ptxloom::insn
