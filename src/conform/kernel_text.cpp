// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string>

#include "conform/subject.hpp"

namespace ptxloom::conform_kernels {
namespace {

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
