// SPDX-License-Identifier: Apache-2.0
#include "conform/around.hpp"

#include <charconv>
#include <cstddef>

namespace ptxloom::conform_kernels {
namespace {

bool mentions(const std::string& text, std::string_view name) { return text.find(name) != text.npos; }

/// "8,4,4": overrides the given values.
template <std::size_t N>
void read_shape(const std::string& text, std::array<std::uint32_t, N>& into) {
  const char *at = text.data(), *const end = at + text.size();
  for (std::uint32_t& number : into) {
    if (at == end) return;
    at = std::from_chars(at, end, number).ptr;
    if (at != end) ++at;
  }
}

}  // namespace

bool is_shared(const OperandSpec& operand) {
  return operand.kind == OperandSpec::Kind::value || operand.space.starts_with("shared") ||
         (operand.space.empty() && operand.variables == "shared");
}

std::string address_text(Variant variant, const OperandSpec& operand) {
  const std::string said = variant.conform(operand.name);
  const std::size_t plus = std::min(said.find('+'), said.size());
  const std::string whose = said.substr(0, plus);
  if (operand.kind != OperandSpec::Kind::address || (whose != "own" && whose != "uniform")) return said;
  const std::string thread = whose == "own" ? "own" : "warp";
  const std::string space = !is_shared(operand)                  ? "_global"
                            : operand.space.empty()              ? "_generic"
                            : operand.space == "shared::cluster" ? "_peer"
                                                                 : "_shared";
  return "%" + thread + space + said.substr(plus);
}

Around around(Variant variant) {
  Around made{.shape = {},
              .before = variant.conform("before"),
              .after = variant.conform("after"),
              .module = variant.conform("module")};
  std::string text = made.before + made.after;
  for (const OperandSpec& operand : variant.operands()) {
    const std::string said = variant.conform(operand.name);
    if (said == "descriptor") made.shared = true;
    if (operand.kind != OperandSpec::Kind::value && operand.kind != OperandSpec::Kind::literal)
      text += address_text(variant, operand) + " ";
  }
  made.data = mentions(text, " data;");
  made.maps = mentions(text, "%map");
  made.global = made.maps || mentions(text, "_global");
  made.peer = mentions(text, "_peer");
  made.shared |= made.peer || mentions(text, "_shared") || mentions(text, "_generic");
  if (made.peer) made.shape.cluster[0] = 2;
  read_shape(variant.conform("block"), made.shape.block);
  read_shape(variant.conform("cluster"), made.shape.cluster);
  read_shape(variant.conform("grid"), made.shape.grid);
  made.peer |= made.shared && made.shape.has_clusters();
  return made;
}

}  // namespace ptxloom::conform_kernels
