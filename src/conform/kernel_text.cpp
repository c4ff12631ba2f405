// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

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
  if (operand.kind == OperandSpec::Kind::literal) return operand.text;
  if (operand.kind != OperandSpec::Kind::value) return address_text(subject.variant, operand);
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

/// The statements `before` or `after`, with $NAME replaced by operands.
std::string surrounding_text(const Subject& subject, std::string_view rest) {
  std::string text;
  for (std::size_t at = rest.find('$'); at != rest.npos; at = rest.find('$')) {
    const std::size_t end = rest.find_first_of(", ;]}+\n", at);
    text += rest.substr(0, at);
    text += operand_text(subject, subject.variant.operand_index(rest.substr(at + 1, end - at - 1)));
    rest.remove_prefix(end);
  }
  return text + std::string(rest) + "\n";
}

std::string field_address(const char* base, const Field& field) {
  return std::string("[%") + base + "+" + std::to_string(field.offset) + "]";
}

// Addresses of slots in one space: the thread's, and that of its warp's first thread.
std::string slot_text(std::string_view space, std::string_view base, std::string_view thread) {
  return fmt::format(
      "mad.wide.u32 %own_{0}, {2}, {3}, {1};\nand.b32 %t2, {2}, 0xffffffe0;\n"
      "mad.wide.u32 %warp_{0}, %t2, {3}, {1};\n",
      space, base, thread, kSlotBytes);
}

// The same slots in the next thread block of the cluster.
std::string peer_text() {
  std::string text = "mov.u32 %t2, %cluster_ctarank;\nxor.b32 %t2, %t2, 1;\n";
  for (const char* thread : {"own", "warp"})
    text += fmt::format("mapa.shared::cluster.u64 %{0}_peer, %{0}_shared, %t2;\n", thread);
  return text;
}

constexpr std::string_view kMeet = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";

std::string_view meet_text(const Around& around) { return around.peer ? kMeet : "bar.sync 0;\n"; }

// Fills the shared slots with the contents of the global ones.
std::string open_slots(const Around& around) {
  std::string text;
  if (around.global || around.shared)
    text += "ld.param.b64 %base, [slots];\n" + slot_text("global", "%base", "%t0");
  if (!around.shared) return text;
  text += "mov.b64 %base, tile;\n" + slot_text("shared", "%base", "%t1");
  for (const char* thread : {"own", "warp"})
    text += fmt::format("cvta.shared.u64 %{0}_generic, %{0}_shared;\n", thread);
  if (around.peer) text += peer_text();
  for (int at = 0; at < kSlotBytes; at += 8)
    text +=
        fmt::format("ld.global.b64 %word, [%own_global+{0}];\nst.shared.b64 [%own_shared+{0}], %word;\n", at);
  return text + std::string(meet_text(around));
}

std::string close_slots(const Around& around) {
  if (!around.shared) return {};
  std::string text(meet_text(around));
  text += fmt::format("ld.param.b64 %base, [tiles];\nmad.wide.u32 %base, %t0, {}, %base;\n", kSlotBytes);
  for (int at = 0; at < kSlotBytes; at += 8)
    text += fmt::format("ld.shared.b64 %word, [%own_shared+{0}];\nst.global.b64 [%base+{0}], %word;\n", at);
  return text;
}

// Selects the warp's tensor map.
std::string map_text(const Around& around) {
  if (!around.maps) return {};
  return fmt::format("ld.param.b64 %map, [maps];\nshr.u32 %t2, %t0, 5;\nmad.wide.u32 %map, %t2, {}, %map;\n",
                     kMapBytes);
}

// %t0: the thread's number in the grid, %t1: in its thread block.
std::string thread_text(const LaunchShape& shape) {
  std::string text = "mov.u32 %t0, %ctaid.x;\nmov.u32 %t1, %tid.x;\n";
  if (!shape.is_flat())
    text =
        "mov.u32 %t0, %ctaid.z;\nmov.u32 %t1, %nctaid.y;\nmov.u32 %t2, %ctaid.y;\n"
        "mad.lo.u32 %t0, %t0, %t1, %t2;\nmov.u32 %t1, %nctaid.x;\nmov.u32 %t2, %ctaid.x;\n"
        "mad.lo.u32 %t0, %t0, %t1, %t2;\nmov.u32 %t1, %tid.z;\nmov.u32 %t2, %tid.y;\n" +
        fmt::format("mad.lo.u32 %t1, %t1, {}, %t2;\nmov.u32 %t2, %tid.x;\nmad.lo.u32 %t1, %t1, {}, %t2;\n",
                    shape.block[1], shape.block[0]);
  return text + fmt::format("mad.lo.u32 %t0, %t0, {}, %t1;\n", kBlockThreads);
}

std::string load_text(const Field& field) {
  if (field.type == pred)
    return fmt::format("ld.global.b32 %t2, {};\nsetp.ne.u32 {}, %t2, 0;\n", field_address("in", field),
                       register_name(field));
  return fmt::format("ld.global.{} {}, {};\n", register_type(field), register_name(field),
                     field_address("in", field));
}

// A matrix descriptor starts with the address of its matrix, in units of 16 bytes.
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
      ".reg .b64 %in, %out, %base, %map, %word;\n.reg .b32 %t<3>;\n.reg .pred %ok;\n"
      ".reg .b64 %own_global, %warp_global, %own_shared, %warp_shared, %own_generic, %warp_generic;\n"
      ".reg .b64 %own_peer, %warp_peer;\n";
  if (subject.around.shared)
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

std::string head_text(const Around& around, std::string_view name) {
  const LaunchShape& shape = around.shape;
  std::string text = fmt::format(".visible .entry {}(", name);
  for (const char* parameter : {"in", "out", "slots", "tiles", "maps"})
    text += fmt::format("{}.param .b64 {}", text.ends_with('(') ? "" : ", ", parameter);
  if (around.data) text += fmt::format(", .param .align 16 .b8 data[{}]", kDataBytes);
  text += fmt::format(")\n.reqntid {}\n", fmt::join(shape.block, ", "));
  if (shape.has_clusters())
    text += fmt::format(".explicitcluster\n.reqnctapercluster {}\n", fmt::join(shape.cluster, ", "));
  return text + "{\n";
}

}  // namespace

std::string kernel_text(const Subject& subject, std::string_view name) {
  const Around& around = subject.around;
  std::string text = head_text(around, name) + declarations(subject) + thread_text(around.shape);
  text += fmt::format(
      "ld.param.b64 %in, [in];\nld.param.b64 %out, [out];\nmad.wide.u32 %in, %t0, {}, %in;\n"
      "mad.wide.u32 %out, %t0, {}, %out;\n",
      subject.in.bytes, subject.out.bytes);
  text += open_slots(around) + map_text(around);
  for (const Field& field : subject.in.fields) text += load_text(field);
  for (const Field& field : subject.in.fields) text += point_text(subject, field);
  text += "add.cc.u32 %t2, %t1, -16;\n";  // sets the carry for instructions that read it
  text += surrounding_text(subject, around.before) + instruction_text(subject) +
          surrounding_text(subject, around.after);
  for (const Field& field : subject.out.fields) text += store_text(field);
  return text + close_slots(around) + "ret;\n}\n";
}

}  // namespace ptxloom::conform_kernels
