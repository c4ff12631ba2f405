// SPDX-License-Identifier: Apache-2.0
// lower_kernels OPCODE TARGET: PTX of a kernel that loads the operands of a conversion, converts them with
// lower::op and stores the result. lower_sass.py counts the instructions of its machine code.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "ptxloom/lower.hpp"
#include "ptxloom/ptx.hpp"

namespace pl = ptxloom;

static std::string kernel(const std::string& opcode, const std::string& target) {
  const auto specs = std::make_shared<const pl::Specs>();
  pl::KernelBuilder k(specs, "convert", specs->target(target));
  const pl::Variant variant = specs->match(opcode).at(0);
  const pl::Type result = variant.operands()[0].type, source = variant.operands()[1].type;
  const auto stored = [](pl::Type type) {
    return type == pl::f32 ? type : type.bits == 16 ? pl::b16 : pl::b32;
  };
  const pl::Pointer in = k.pointer(stored(source), "in"), out = k.pointer(stored(result), "out");
  const pl::Reg i = k.special("tid.x");
  if (variant.operands().size() == 3) {
    const std::vector<pl::Reg> pair = k.load(in[k.shl(i, 1)], 2);  // the first is the lower element
    k.store(out[i], pl::BuilderCore::as(stored(result), pl::lower::op(k, opcode, pair[1], pair[0])));
  } else {
    const pl::Reg value = pl::lower::op(k, opcode, k.load(in[i]));
    k.store(out[i], pl::BuilderCore::as(stored(result), value));
  }
  return pl::print(k.finish());
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: lower_kernels OPCODE TARGET\n");
    return 2;
  }
  try {
    fmt::print("{}", kernel(argv[1], argv[2]));
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
