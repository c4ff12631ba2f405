// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/numeric_format.hpp"
#include "cli/common/table.hpp"
#include "cli/instructions/show.hpp"
#include "ir/storage.hpp"
#include "ptxloom/npy.hpp"
#include "ptxloom/numeric.hpp"
#include "spec/database.hpp"
#include "spec/join.hpp"

namespace ptxloom::cli {
namespace {

using Json = nlohmann::ordered_json;
using base::FloatFormat;
using base::Specials;

/// The element type of a packed type: bf16 for bf16x2. A type with one value is its own.
Type element_of(const Specs& specs, Type type) {
  if (type.lanes == 1) return type;
  const spec::TypeData* element =
      specs.database().vocabulary().type(type.name.substr(0, type.name.rfind('x')));
  return element == nullptr ? type : element->type;
}

/// "f16x2, f16x4": types that hold several of this.
std::vector<std::string_view> packed_of(const Specs& specs, Type type) {
  std::vector<std::string_view> names;
  for (const Type& other : specs.database().vocabulary().types())
    if (other.lanes > 1 && element_of(specs, other) == type) names.push_back(other.name);
  std::ranges::sort(names);
  return names;
}

/// The register and variable types that hold such values; several values smaller than a byte share one.
std::string storage_of(Type type) {
  if (type.kind == TypeKind::predicate) return ".pred";
  return fmt::format(".{}", ir::storage_of(type).value_or(b8).name);
}

std::string_view kind_name(TypeKind kind) {
  switch (kind) {
    case TypeKind::bits:
      return "bits";
    case TypeKind::signed_integer:
      return "signed integer";
    case TypeKind::unsigned_integer:
      return "unsigned integer";
    case TypeKind::floating:
      return "floating point";
    default:
      return "predicate";
  }
}

/// The words in a form's operands: "out <t>" has out and t.
bool names_word(std::string_view text, std::string_view word) {
  const auto part_of_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !part_of_word(text[at - 1])) && (end == text.size() || !part_of_word(text[end])))
      return true;
  }
  return false;
}

/// Whether the target has the form with this word among its modifiers or operands.
bool has_with(const spec::Form& form, std::string_view word, const Target& target) {
  bool in_slot = false;
  for (int slot = 0; slot < static_cast<int>(form.slots().size()); ++slot) {
    if (!spec::contains(form.domain(slot), word)) continue;
    in_slot = true;
    spec::Wanted wanted{.target = &target, .known = std::vector<spec::Known>(form.slots().size())};
    wanted.known[static_cast<std::size_t>(slot)] = {.state = spec::Known::State::value, .value = word};
    if (spec::exists(form, wanted)) return true;
  }
  return !in_slot && spec::exists(form, {.target = &target});
}

/// Names of the forms that take the type.
std::vector<std::string_view> forms_with(const Specs& specs, Type type, const std::optional<Target>& target) {
  std::vector<std::string_view> names;
  const spec::Database& database = specs.database();
  for (const spec::FormData* data : database.forms()) {
    const bool taken = spec::has_word(data->words, type.name) ||
                       std::ranges::any_of(
                           data->ops, [&](const spec::Entry& op) { return names_word(op.value, type.name); });
    if (taken && (!target || has_with(database.form(*data), type.name, *target))) names.push_back(data->name);
  }
  return names;
}

/// A floating type's numbers.
struct Range {
  double largest = 0, smallest_normal = 0, smallest = 0;
};

Range range_of(Type type, const FloatFormat& format) {
  return {.largest = decode(type, format.max_finite()),
          .smallest_normal = std::ldexp(1, format.min_exponent()),
          .smallest = std::ldexp(1, format.min_exponent() - (format.has_zero ? format.mantissa_bits : 0))};
}

std::string specials_of(const FloatFormat& format) {
  std::string text = format.specials == Specials::ieee       ? "infinity and NaN"
                     : format.specials == Specials::nan_only ? "NaN, no infinity"
                                                             : "neither infinity nor NaN";
  text += format.has_sign ? "" : "; no sign";
  return text + (format.has_zero ? "" : "; no zero, no subnormals");
}

std::pair<std::string, std::string> bounds_of(Type type) {
  const std::uint64_t all = type.bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << type.bits) - 1;
  if (!type.is_signed()) return {"0", fmt::format("{}", all)};
  return {fmt::format("-{}", all / 2 + 1), fmt::format("{}", all / 2)};
}

}  // namespace

void print_type(const Specs& specs, Type type, const std::optional<Target>& target) {
  const Type element = element_of(specs, type);
  fmt::print("{}: {} bit{}, {}{}\n", type.name, type.bits, type.bits == 1 ? "" : "s", kind_name(type.kind),
             type.lanes > 1
                 ? fmt::format("; {} values of {}, the first in the low bits", type.lanes, element.name)
                 : "");
  std::vector<std::vector<std::string>> rows;
  if (const FloatFormat* format = base::find_format(element)) {
    const Range range = range_of(element, *format);
    rows.push_back({" ", "format",
                    fmt::format("{}{} exponent bits (bias {}), {} mantissa bits{}",
                                format->has_sign ? "1 sign bit, " : "", format->exponent_bits, format->bias,
                                format->mantissa_bits,
                                format->padding == 0 ? "" : fmt::format(", {} ignored", format->padding))});
    rows.push_back(
        {" ", "range",
         fmt::format("largest {:.9g}, smallest normal {:.9g}{}", range.largest, range.smallest_normal,
                     format->has_zero ? fmt::format(", smallest {:.9g}", range.smallest) : "")});
    rows.push_back({" ", "specials", specials_of(*format)});
  } else if (element.is_integer()) {
    const auto [least, most] = bounds_of(element);
    rows.push_back({" ", "range", fmt::format("{} to {}", least, most)});
  }
  rows.push_back({" ", "storage", storage_of(type)});
  if (const auto packed = packed_of(specs, type); !packed.empty())
    rows.push_back({" ", "packed", fmt::format("{}", fmt::join(packed, " "))});
  if (type.lanes == 1 && type.kind != TypeKind::predicate && type.bits <= 64)
    rows.push_back({" ", "in .npy files", npy_dtype(type)});
  rows.push_back({" ", "forms", fmt::format("{}", fmt::join(forms_with(specs, type, target), " "))});
  fmt::print("{}", format_table(rows));
}

Json type_json(const Specs& specs, Type type, const std::optional<Target>& target) {
  const Type element = element_of(specs, type);
  Json json = {{"type", type.name},
               {"bits", type.bits},
               {"kind", kind_name(type.kind)},
               {"lanes", type.lanes},
               {"element", element.name},
               {"storage", storage_of(type)},
               {"packed", packed_of(specs, type)},
               {"forms", forms_with(specs, type, target)}};
  if (const FloatFormat* format = base::find_format(element)) {
    const Range range = range_of(element, *format);
    json["float"] = {{"sign_bits", format->has_sign ? 1 : 0},
                     {"exponent_bits", format->exponent_bits},
                     {"mantissa_bits", format->mantissa_bits},
                     {"bias", format->bias},
                     {"ignored_bits", format->padding},
                     {"infinity", format->specials == Specials::ieee},
                     {"nan", format->specials != Specials::none},
                     {"zero", format->has_zero},
                     {"largest", range.largest},
                     {"smallest_normal", range.smallest_normal},
                     {"smallest", range.smallest}};
  } else if (element.is_integer()) {
    const auto [least, most] = bounds_of(element);
    json["integer"] = {{"least", least}, {"most", most}};
  }
  return json;
}

}  // namespace ptxloom::cli
