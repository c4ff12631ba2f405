// SPDX-License-Identifier: Apache-2.0
// Every type that has storage goes through a parameter, shared memory and global memory unchanged, in the
// executor; and nvJitLink, in this very process, takes the kernel.
#include <algorithm>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <random>

#include "ptxloom/builder.hpp"
#include "ptxloom/context.hpp"
#include "ptxloom/kernel.hpp"
#include "ptxloom/ptx.hpp"

namespace ptxloom::storage_link_test {
namespace {

constexpr std::uint32_t kThreads = 32;

// out[i] = in[i] by way of shared memory, turned by one; out[kThreads] = the parameter.
ir::Module turning(const Context& context, const Type& type) {
  KernelBuilder k(context, "turning", Target("sm_90a"));
  const Shared array = k.shared(type, kThreads, "array");
  const Reg value = k.param(type, "value");
  const Pointer in = k.pointer(type, "in"), out = k.pointer(type, "out");
  const Reg i = k.special("tid.x"), turned = k.and_(k.add(i, 1), kThreads - 1);
  const Reg base = k.address_of(array);
  const auto place = [&](Reg index) { return k.at(k.fma(index, type.bytes(), base)); };
  k.store("shared", type, place(i), k.load(in[i]));
  k.barrier();
  k.store(out[i], k.load("shared", type, place(turned)));
  k.if_(k.eq(i, 0), [&] { k.store(out[kThreads], value); });
  return k.finish();
}

}  // namespace

TEST_CASE("values of every type pass through parameters, shared and global memory") {
  const Context context({.device = "cpu"});
  const bool links = context.libraries().has_nvjitlink();
  std::mt19937 random(Catch::getSeed());
  for (const Type& type : {b8,  b16,  b32,  b64, s8,  s16,   s32,    s64,  u8,   u16,   u32,  u64,
                           f16, bf16, tf32, f32, f64, f16x2, bf16x2, e4m3, e5m2, ue8m0, ue4m3}) {
    CAPTURE(type.name);
    const Kernel kernel = context.load(turning(context, type));
    const auto bytes = static_cast<std::size_t>(type.bytes());
    std::vector<std::uint8_t> in(kThreads * bytes), got((kThreads + 1) * bytes), expected(got.size());
    for (std::uint8_t& byte : in) byte = static_cast<std::uint8_t>(random());
    std::uint64_t value = random() * 0x1'0000'0001ULL;
    if (type.bits < 64) value &= (std::uint64_t{1} << type.bits) - 1;
    for (std::size_t i = 0; i < kThreads; ++i)
      std::copy_n(in.begin() + static_cast<std::ptrdiff_t>((i + 1) % kThreads * bytes), bytes,
                  expected.begin() + static_cast<std::ptrdiff_t>(i * bytes));
    for (std::size_t b = 0; b < bytes; ++b)
      expected[kThreads * bytes + b] = static_cast<std::uint8_t>(value >> (8 * b));
    Buffer in_buffer = context.alloc(in.size()), out_buffer = context.alloc(got.size());
    in_buffer.copy_from(in);
    const Type stored = kernel.signature().parameters.at(0).type;
    kernel.launch(nullptr, {.block = {kThreads}}, {Argument::bits(stored, value), in_buffer, out_buffer});
    context.synchronize();
    out_buffer.copy_to(got);
    CHECK(got == expected);
    if (links) {
      const LinkResult linked = Linker(context.libraries()).link(kernel.ptx(), {.target = "sm_90a"});
      CHECK(linked.cubin.size() > 100);
    }
  }
}

}  // namespace ptxloom::storage_link_test
