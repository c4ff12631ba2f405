// SPDX-License-Identifier: Apache-2.0
// Vectors of every width are loaded and stored where a row has them, and what lies outside stays as it was.
#include "ptxloom/kit/vector_access.hpp"

#include <fmt/format.h>

#include "kit/running.hpp"
#include "ptxloom/error.hpp"
#include "ptxloom/kit/params.hpp"

using namespace ptxloom;

namespace {

constexpr int kThreads = 32;

struct AccessCase {
  Type type;
  int registers;
  int length;  // of the row, in elements
};

/// Each thread copies as many elements as an access has, if they are in the row; others store zeros to the
/// second half of `out`.
ir::Module copy_kernel(const AccessCase& c, const kit::Params& params) {
  KernelBuilder k = kit_test::builder("sm_75");
  k.require_block(kThreads);
  const kit::ParamRegs in = params.declare(k);
  const Reg first = k.mul(k.special("tid.x"), c.registers);
  const Reg from = k.mad_wide(first, c.type.bytes(), in["in"]);
  const Reg to = k.mad_wide(first, c.type.bytes(), in["out"]);
  const Reg left = KernelBuilder::as(s32, k.sub(k.mov(u32, c.length), first));
  const Reg present = k.eq(first, first);
  // guide vector_access {
  const Type type = kit::access_type(c.type);
  const std::vector<Reg> values = kit::zeros(k, c.type, static_cast<std::size_t>(c.registers));
  const Reg inside = kit::inside_row(k, present, left, c.registers - 1);  // the last element, so all
  k.guarded(inside, [&] { kit::load_vector(k, "ld.global.nc", type, k.at(from), values); });
  k.guarded(inside, [&] { kit::store_vector(k, "st.global", type, k.at(to), values); });
  // }
  const int second = kThreads * c.registers * c.type.bytes();
  kit::store_vector(k, "st.global", type, k.at(to, second), values);
  return k.finish();
}

void check_access(const AccessCase& c) {
  INFO(fmt::format("{} x {}, a row of {}", c.type.name, c.registers, c.length));
  const auto size = static_cast<std::size_t>(c.type.bytes());
  const std::size_t count = static_cast<std::size_t>(kThreads * c.registers);
  std::vector<std::byte> in = kit_test::random_bytes(static_cast<std::size_t>(c.length) * size);
  const std::vector<std::byte> poison = kit_test::random_bytes(2 * count * size);
  std::vector<std::byte> out = poison;
  kit::Params params;
  params.pointer("in", c.type).pointer("out", c.type);
  kit_test::run(copy_kernel(c, params), {.block = {kThreads, 1, 1}}, params.arguments(),
                {kit_test::tensor("in", in), kit_test::tensor("out", out)});
  const std::size_t whole =
      static_cast<std::size_t>(c.length / c.registers) * static_cast<std::size_t>(c.registers) * size;
  for (std::size_t i = 0; i < count * size; ++i) {
    REQUIRE(out[i] == (i < whole ? in[i] : poison[i]));
    REQUIRE(out[count * size + i] == (i < whole ? in[i] : std::byte{0}));
  }
}

}  // namespace

TEST_CASE("elements of a row are loaded and stored in vectors") {
  for (const Type type : {s8, e4m3, f16, bf16, f32, s32, f64})
    for (const int registers : {1, 2, 4})
      if (registers * type.bytes() <= 16)
        for (const int length : {1, 5, 13 * registers, 32 * registers - 1})
          check_access({type, registers, length});
}

TEST_CASE("the opcode of an access follows from its registers") {
  CHECK(kit::vector_opcode("st.shared", f32, 1) == "st.shared.f32");
  CHECK(kit::vector_opcode("st.shared", f32, 2) == "st.shared.v2.f32");
  CHECK(kit::vector_opcode("ld.global.nc", b32, 4) == "ld.global.nc.v4.b32");
}

TEST_CASE("accesses that no instruction makes are refused") {
  KernelBuilder k = kit_test::builder("sm_75");
  const Reg address = k.mov(u64, 0);
  CHECK_THROWS_AS(kit::load_vector(k, "ld.global", b32, k.at(address), k.regs(b32, 3)), Error);
  CHECK_THROWS_AS(kit::load_vector(k, "ld.global", b64, k.at(address), k.regs(b64, 4)), Error);
  CHECK_THROWS_AS(kit::store_vector(k, "st.global", b32, k.at(address), k.regs(b16, 2)), Error);
}
