// SPDX-License-Identifier: Apache-2.0
// lower_kernels OPCODE TARGET: PTX of a kernel that loads the operands of an instruction, appends it with
// lower::op, ops or emit and stores the result. lower_sass.py counts the instructions of its machine code.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "ptxloom/lower.hpp"
#include "ptxloom/ptx.hpp"

namespace pl = ptxloom;

static pl::Type stored(pl::Type type) {
  if (type == pl::f32) return type;
  return type.bits == 8 ? pl::b8 : type.bits == 16 ? pl::b16 : type.bits == 32 ? pl::b32 : pl::b64;
}

static std::string kernel(const std::string& opcode, const std::string& target) {
  const auto specs = std::make_shared<const pl::Specs>();
  pl::KernelBuilder k(specs, "lowered", specs->target(target));
  const pl::Variant variant = specs->match(opcode).at(0);
  const auto inputs = variant.operands().subspan(1);
  const pl::Type result = variant.operands()[0].type;
  const pl::Pointer out = k.pointer(stored(result), "out");
  const pl::Reg i = k.special("tid.x");
  std::vector<pl::Reg> x;
  if (inputs.size() == 2 && inputs[0].type == inputs[1].type) {
    const pl::Type one = stored(inputs[0].type);
    x = one.bits == 32 ? k.unpack(one, k.load(k.pointer(pl::b64, "in")[i]))
                       : k.load(k.pointer(one, "in")[k.shl(i, 1)], 2);
    std::ranges::swap(x[0], x[1]);  // in memory the first is the lower element
  } else {
    for (const pl::OperandSpec& input : inputs)
      x.push_back(k.load(k.pointer(stored(input.type), "in" + std::to_string(x.size()))[i]));
  }
  const pl::Reg value = x.size() == 1   ? pl::lower::op(k, opcode, x[0])
                        : x.size() == 2 ? pl::lower::op(k, opcode, x[0], x[1])
                                        : pl::lower::op(k, opcode, x[0], x[1], x[2]);
  k.store(out[i], pl::BuilderCore::as(stored(result), value));
  return pl::print(k.finish());
}

/// The same for an instruction with vectors: mma, ldmatrix (lanes give the addresses of rows in order) and
/// stmatrix.
static std::string matrix_kernel(const std::string& opcode, const std::string& target) {
  const auto specs = std::make_shared<const pl::Specs>();
  pl::KernelBuilder k(specs, "lowered", specs->target(target));
  const pl::Variant variant = specs->match(opcode).at(0);
  const pl::Pointer out = k.pointer(pl::b32, "out");
  const pl::Reg lane = k.special("tid.x");
  const pl::Shared rows = k.shared(pl::b8, 512, "rows", 16);
  std::vector<std::vector<pl::Reg>> x;
  for (const pl::OperandSpec& place : variant.operands()) {
    if (place.count == 0 || place.direction == pl::OperandSpec::Direction::out) continue;
    const pl::Element from =
        k.pointer(stored(place.type), "in" + std::to_string(x.size()))[k.mul(lane, place.count)];
    x.push_back(place.count == 1 ? std::vector{k.load(from)} : k.load(from, place.count));
  }
  const pl::Address row = &rows[k.shl(lane, 4)];
  std::vector<pl::Reg> results;
  if (x.size() == 3)
    results = pl::lower::ops(k, opcode, x[0], x[1], x[2]);
  else if (x.empty())
    results = pl::lower::ops(k, opcode, row);
  else
    pl::lower::emit(k, opcode, row, x[0]);
  for (pl::Reg& result : results) result = pl::BuilderCore::as(pl::b32, result);
  if (!results.empty()) k.store(out[k.mul(lane, static_cast<int>(results.size()))], results);
  return pl::print(k.finish());
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: lower_kernels OPCODE TARGET\n");
    return 2;
  }
  try {
    const std::string opcode = argv[1];
    const bool matrices = opcode.starts_with("mma") || opcode.find("matrix") != opcode.npos;
    fmt::print("{}", matrices ? matrix_kernel(opcode, argv[2]) : kernel(opcode, argv[2]));
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
