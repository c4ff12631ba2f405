// SPDX-License-Identifier: Apache-2.0
// Chooses a tensor core instruction by shape and type, shows where its operands are, and prints a kernel that
// uses it.
#include <fmt/format.h>

#include <ptxloom/ptxloom.hpp>

namespace pl = ptxloom;

namespace {

void show_variant() {
  // README emit_mma {
  const pl::Specs specs;
  const pl::Target target("sm_80");
  const pl::Variant mma =
      specs.select("mma.sync", {{"shape", "m16n8k16"}, {"a", "bf16"}, {"b", "bf16"}, {"d", "f32"}}, target);
  const pl::Layout a = pl::layout(mma, "A");
  const auto place = a.find(9, 3);  // of row 9, column 3
  fmt::print("{}\nA takes {} registers; A[9, 3] is in lane {}, register {}, bit {}\n", mma.opcode(),
             mma.operand("A").registers(), place->lane, place->reg, place->bit);
  // }
}

/// One warp multiplies two fragments that are in memory in the order of their registers.
pl::ir::Module mma_kernel(const std::shared_ptr<const pl::Specs>& specs) {
  pl::KernelBuilder k(specs, "one_mma", pl::Target("sm_80"));
  const pl::Variant mma = specs->select(
      "mma.sync", {{"shape", "m16n8k16"}, {"a", "bf16"}, {"b", "bf16"}, {"d", "f32"}}, k.target());
  const pl::Pointer in = k.pointer(pl::b32, "in"), out = k.pointer(pl::f32, "out");
  const pl::Reg lane = k.special("tid.x");
  k.section("registers of A and B: one warp-wide row of memory each");
  int row = 0;
  const auto fragment = [&](const char* operand) {
    std::vector<pl::Reg> registers;
    for (int i = 0; i < mma.operand(operand).registers(); ++i)
      registers.push_back(k.load(in[k.add(lane, 32 * row++)]));
    return registers;
  };
  const std::vector<pl::Reg> a = fragment("A"), b = fragment("B");
  k.section("D = A * B");
  std::vector<pl::Reg> d;
  for (int i = 0; i < mma.operand("D").registers(); ++i) d.push_back(k.mov(pl::f32, 0.0F));
  k.emit(mma, d, a, b, d);
  for (int i = 0; i < static_cast<int>(d.size()); ++i)
    k.store(out[k.add(lane, 32 * i)], d[static_cast<std::size_t>(i)]);
  return k.finish();
}

}  // namespace

int main() {
  try {
    show_variant();
    fmt::print("\n{}", pl::print(mma_kernel(std::make_shared<const pl::Specs>())));
  } catch (const pl::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return pl::exit_code(error.kind());
  }
}
