// SPDX-License-Identifier: Apache-2.0
#include "conform/subject.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "spec/database.hpp"

namespace ptxloom::conform_kernels {
namespace {

// What changes where a value is cached and how much is fetched, not the value.
bool is_hint(const Specs& specs, std::string_view word) {
  if (word.starts_with("L1::") || word.starts_with("L2::")) return true;
  for (const spec::WordClass& group : specs.database().vocabulary().classes()) {
    if (group.name == "cache") return std::ranges::find(group.words, word) != group.words.end();
  }
  return false;
}

/// The opcode without hints, and its operands without those that hints bring.
std::string essence(const Specs& specs, Variant variant) {
  std::string text;
  bool hinted = false;
  for (std::string_view rest = variant.opcode(); !rest.empty();) {
    const std::string_view word = rest.substr(0, rest.find('.'));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    is_hint(specs, word) ? void(hinted = true) : void(text += "." + std::string(word));
  }
  for (const OperandSpec& operand : variant.operands())
    if (!hinted || operand.name != "POLICY") text += " " + operand.name + operand.describe();
  return text;
}

// A matrix descriptor points into shared memory too.
bool is_shared(const OperandSpec& operand) {
  return operand.kind == OperandSpec::Kind::value || operand.space.starts_with("shared");
}

// The specs say of an address how it may be tried: "own", each thread its slot, or "uniform", the lanes of a
// warp together the first one's.
bool can_be_tried(Variant variant, const OperandSpec& address) {
  return !variant.conform(address.name).empty() &&
         (address.space.empty() || address.space == "global" || address.space.starts_with("shared"));
}

std::string why_not(Variant variant) {
  bool results = false;
  for (const OperandSpec& operand : variant.operands()) {
    switch (operand.kind) {
      case OperandSpec::Kind::address:
        if (!can_be_tried(variant, operand)) return "it reads or writes memory in a way of its own";
        results = true;
        break;
      case OperandSpec::Kind::symbol:
        return "it names a variable or function";
      case OperandSpec::Kind::label:
        return "it branches";
      case OperandSpec::Kind::literal:
        return "it reads a special register";
      case OperandSpec::Kind::value:
        results = results || operand.direction != OperandSpec::Direction::in;
    }
  }
  return results ? "" : "it has no result";
}

// The values that a literal-only operand is tried with: all of a few, else both ends and some between.
std::vector<std::int64_t> literals(const OperandSpec& operand) {
  constexpr std::int64_t kFew = 4;
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
// of all.
void append_with_literals(Subject subject, std::vector<Subject>& into) {
  const std::span<const OperandSpec> operands = subject.variant.operands();
  std::vector<std::vector<std::int64_t>> values(operands.size());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].kind != OperandSpec::Kind::value || operands[i].registers_allowed) continue;
    values[i] = literals(operands[i]);
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
  for (int i = 0; i < static_cast<int>(operands.size()); ++i) {
    const OperandSpec& operand = operands[static_cast<std::size_t>(i)];
    if (operand.kind == OperandSpec::Kind::address || subject.variant.conform(operand.name) == "descriptor")
      subject.slots = std::max(subject.slots, is_shared(operand) ? Slots::shared : Slots::global);
    if (operand.kind == OperandSpec::Kind::address || !operand.registers_allowed) continue;
    const bool inside = subject.variant.conform(operand.name) == "fragment";
    if (inside) subject.slots = Slots::global;
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

std::string register_type(const Field& field) {
  return field.type == pred ? "pred" : "b" + std::to_string(8 * field.bytes);
}

std::string register_name(const Field& field) {
  return "%o" + std::to_string(field.operand) + "_" + std::to_string(field.element);
}

std::string operand_text(const Subject& subject, int index) {
  const OperandSpec& operand = subject.variant.operands()[static_cast<std::size_t>(index)];
  if (operand.kind == OperandSpec::Kind::address) {
    const bool uniform = subject.variant.conform(operand.name) == "uniform";
    return std::string(uniform ? "%warp_" : "%own_") + (is_shared(operand) ? "shared" : "global");
  }
  if (!operand.registers_allowed)
    return operand.literal_allowed ? std::to_string(subject.immediates[static_cast<std::size_t>(index)])
                                   : "_";
  if (operand.count == 0) return register_name({.operand = index});
  std::string vector;
  for (int element = 0; element < operand.count; ++element)
    vector += (vector.empty() ? "{" : ", ") + register_name({.operand = index, .element = element});
  return vector + "}";
}

std::string instruction_text(const Subject& subject) {
  std::string line(subject.variant.opcode());
  if (!subject.variant.pieces().empty()) line += ' ';
  for (const OperandPiece& piece : subject.variant.pieces()) {
    line += piece.text;
    if (piece.operand >= 0) line += operand_text(subject, piece.operand);
  }
  return line + ";\n";
}

/// `before` or `after`, with the operands where $NAME stands.
std::string surrounding_text(const Subject& subject, std::string_view what) {
  const std::string lines = subject.variant.conform(what);
  std::string text;
  std::string_view rest = lines;
  for (std::size_t at = rest.find('$'); at != rest.npos; at = rest.find('$')) {
    const std::size_t end = rest.find_first_of(", ;", at);
    text += rest.substr(0, at);
    text += operand_text(subject, subject.variant.operand_index(rest.substr(at + 1, end - at - 1)));
    rest.remove_prefix(end);
  }
  return text + std::string(rest) + "\n";
}

std::string field_address(const char* base, const Field& field) {
  return std::string("[%") + base + "+" + std::to_string(field.offset) + "]";
}

}  // namespace

void Record::add(int operand, int element, const Type& type) {
  const int size = type == pred ? 4 : type.bytes() <= 2 ? std::max(type.bytes(), 1) : type.bytes();
  bytes = (bytes + size - 1) / size * size;
  fields.push_back({.operand = operand, .element = element, .type = type, .bytes = size, .offset = bytes});
  bytes += size;
}

void Record::pad() { bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment; }

std::vector<Subject> subjects(const Specs& specs, std::string_view form, const Target& target) {
  std::vector<Variant> variants = specs.variants(form);
  std::erase_if(variants, [&](Variant v) { return v.undocumented() || !v.since(target); });
  // The plainest of those that differ by hints alone stands for all.
  std::ranges::stable_sort(variants, {}, [](Variant v) { return v.opcode().size(); });
  std::set<std::string> known;
  std::vector<Subject> all;
  for (const Variant variant : variants) {
    if (!known.insert(essence(specs, variant)).second) continue;
    Subject subject{.variant = variant, .why_not = why_not(variant)};
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

namespace {

// Addresses of slots: the thread's, and those of its warp's first thread. Shared ones get what the global
// ones hold.
std::string open_slots(const Subject& subject) {
  if (subject.slots == Slots::none) return {};
  std::string text = fmt::format(
      "ld.param.b64 %base, [slots];\nmad.wide.u32 %own_global, %t0, {0}, %base;\nand.b32 %t2, %t0, "
      "0xffffffe0;\nmad.wide.u32 %warp_global, %t2, {0}, %base;\n",
      kSlotBytes);
  if (subject.slots == Slots::global) return text;
  text += fmt::format(
      "mov.b64 %base, tile;\nmad.wide.u32 %own_shared, %t1, {0}, %base;\nand.b32 %t2, %t1, 0xffffffe0;\n"
      "mad.wide.u32 %warp_shared, %t2, {0}, %base;\n",
      kSlotBytes);
  for (int at = 0; at < kSlotBytes; at += 8)
    text +=
        fmt::format("ld.global.b64 %word, [%own_global+{0}];\nst.shared.b64 [%own_shared+{0}], %word;\n", at);
  return text + "bar.sync 0;\n";
}

std::string close_slots(const Subject& subject) {
  if (subject.slots != Slots::shared) return {};
  std::string text = "bar.sync 0;\n";
  for (int at = 0; at < kSlotBytes; at += 8)
    text +=
        fmt::format("ld.shared.b64 %word, [%own_shared+{0}];\nst.global.b64 [%own_global+{0}], %word;\n", at);
  return text;
}

std::string load_text(const Field& field) {
  if (field.type == pred)
    return fmt::format("ld.global.b32 %t2, {};\nsetp.ne.u32 {}, %t2, 0;\n", field_address("in", field),
                       register_name(field));
  return fmt::format("ld.global.{} {}, {};\n", register_type(field), register_name(field),
                     field_address("in", field));
}

// A matrix descriptor begins with the address of its matrix, in units of 16 bytes.
std::string point_text(const Subject& subject, const Field& field) {
  const OperandSpec& operand = subject.variant.operands()[static_cast<std::size_t>(field.operand)];
  if (subject.variant.conform(operand.name) != "descriptor") return {};
  return fmt::format("mov.b64 %base, tile;\nshr.u64 %base, %base, 4;\nor.b64 {0}, {0}, %base;\n",
                     register_name(field));
}

std::string store_text(const Field& field) {
  if (field.type == pred)
    return fmt::format("selp.b32 %t2, 1, 0, {};\nst.global.b32 {}, %t2;\n", register_name(field),
                       field_address("out", field));
  return fmt::format("st.global.{} {}, {};\n", register_type(field), field_address("out", field),
                     register_name(field));
}

std::string declarations(const Subject& subject) {
  std::string text =
      ".reg .b64 %in, %out, %base, %own_global, %warp_global, %own_shared, %warp_shared, %word;\n"
      ".reg .b32 %t<3>;\n";
  if (subject.slots == Slots::shared)
    text += fmt::format(".shared .align 1024 .b8 tile[{}];\n", kBlockThreads * kSlotBytes);
  for (const Record* record : {&subject.in, &subject.inside}) {
    for (const Field& field : record->fields)
      text += fmt::format(".reg .{} {};\n", register_type(field), register_name(field));
  }
  for (const Field& field : subject.out.fields) {
    const OperandSpec& operand = subject.variant.operands()[static_cast<std::size_t>(field.operand)];
    if (operand.direction != OperandSpec::Direction::inout)
      text += fmt::format(".reg .{} {};\n", register_type(field), register_name(field));
  }
  return text;
}

}  // namespace

std::string kernel_text(const Subject& subject, std::string_view name) {
  std::string text =
      fmt::format(".visible .entry {}(.param .b64 in, .param .b64 out, .param .b64 slots)\n.reqntid {}\n{{\n",
                  name, kBlockThreads);
  text += declarations(subject);
  text += fmt::format(
      "ld.param.b64 %in, [in];\nld.param.b64 %out, [out];\nmov.b32 %t0, %ctaid.x;\nmov.b32 %t1, %tid.x;\n"
      "mad.lo.u32 %t0, %t0, {}, %t1;\nmad.wide.u32 %in, %t0, {}, %in;\nmad.wide.u32 %out, %t0, {}, %out;\n",
      kBlockThreads, subject.in.bytes, subject.out.bytes);
  text += open_slots(subject);
  for (const Field& field : subject.in.fields) text += load_text(field);
  for (const Field& field : subject.in.fields) text += point_text(subject, field);
  text += "add.cc.u32 %t2, %t1, -16;\n";  // a carry for those that take one
  text +=
      surrounding_text(subject, "before") + instruction_text(subject) + surrounding_text(subject, "after");
  for (const Field& field : subject.out.fields) text += store_text(field);
  return text + close_slots(subject) + "ret;\n}\n";
}

}  // namespace ptxloom::conform_kernels
