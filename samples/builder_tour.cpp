// SPDX-License-Identifier: Apache-2.0
// The kernel builder, part by part, as docs/builder.md explains it. Each kernel runs on the GPU or in the
// executor, and is compared with the host's own result.
#include <fmt/format.h>

#include <functional>
#include <ptxloom/ptxloom.hpp>
#include <span>
#include <string>
#include <vector>

namespace pl = ptxloom;

namespace {

using Words = std::vector<std::uint32_t>;
constexpr const char* kTarget = "sm_80";

void values(pl::KernelBuilder& k, pl::Pointer out) {
  // guide values {
  auto i = k.special("tid.x");
  auto ones = k.op("popc.b32", i);  // any instruction: op makes the register of its result
  auto sum = k.mov(pl::u32, 100);   // a new register,
  k.set(sum, k.add(sum, ones));     // assigned again
  k.emit("add.u32", sum, sum, 1);   // emit names all operands
  k.store(out[i], sum);
  // }
}

void loops(pl::KernelBuilder& k, pl::Pointer out) {
  auto i = k.special("tid.x");
  // guide loops {
  auto n = k.add(i, 1), steps = k.mov(pl::u32, 0);
  k.while_([&] { return k.gt(n, 1); }, [&] {  // the Collatz sequence of i + 1
    k.if_(k.eq(k.and_(n, 1), 0), [&] { k.set(n, k.shr(n, 1)); }, [&] { k.set(n, k.fma(n, 3, 1)); });
    k.set(steps, k.add(steps, 1));
    k.break_if(k.ge(steps, 50));
  });
  k.for_(0, i, 1, [&](pl::Reg) { k.set(steps, k.add(steps, 2)); });       // a loop of PTX
  k.unroll(4, 0, i, 1, [&](pl::Reg) { k.set(steps, k.add(steps, 3)); });  // four turns between two tests
  k.unroll(3, [&](int turn) { k.set(steps, k.add(steps, turn)); });       // no loop at all
  // }
  k.store(out[i], steps);
}

void memory(pl::KernelBuilder& k, pl::Pointer out) {
  auto i = k.special("tid.x");
  // guide memory {
  auto primes = k.constant("primes", {2U, 3U, 5U, 7U});
  auto tile = k.shared(pl::u32, 64, "tile", 16);
  k.store(tile[i], k.load(primes[k.and_(i, 3)]));
  k.barrier();
  auto pair = k.load(tile[k.and_(i, 62)], 2);    // ld.shared.v2.u32: two registers
  auto other = k.op("ld.shared.u32", &tile[i]);  // the address of an element, for any instruction
  k.emit("ld.shared.v2.u32", pl::Vector{pair[0], pl::_}, &tile[2]);  // _: not wanted
  k.store(out[i], k.add(k.add(pair[0], pair[1]), other));
  // }
}

void warps(pl::KernelBuilder& k, pl::Pointer out) {
  auto i = k.special("tid.x");
  // guide warps {
  auto lane = k.special("laneid");
  auto sum = lane;
  for (int apart : {16, 8, 4, 2, 1}) sum = k.add(sum, k.shuffle_xor(sum, apart));
  auto odd = k.ballot(k.eq(k.and_(lane, 1), 1));
  k.store(out[i], k.add(k.redux_max(lane), k.add(sum, odd)));
  // }
}

void functions(pl::KernelBuilder& k, pl::Pointer out) {
  auto i = k.special("tid.x");
  // guide functions {
  auto divide = k.function("divide", {pl::u32, pl::u32}, {pl::u32, pl::u32},
                           [&](auto x) { return std::vector{k.div(x[0], x[1]), k.rem(x[0], x[1])}; });
  auto parts = k.call(divide, {k.add(i, 1000), 7});
  k.store(out[i], k.fma(parts[0], 10, parts[1]));
  // }
}

void fallbacks(pl::KernelBuilder& k, pl::Pointer out) {
  auto i = k.special("tid.x");
  // guide fallbacks {
  auto upper = k.convert(pl::f32, i), lower = k.mul(upper, -0.25F);
  auto pair = pl::lower::op(k, "cvt.rn.satfinite.e4m3x2.f32", upper, lower);
  // }
  k.store(out[i], k.op("cvt.u32.u16", pair));
}

std::string refused() {
  std::string message;
  const auto specs = std::make_shared<const pl::Specs>();
  // guide errors {
  pl::KernelBuilder k(specs, "wrong", pl::Target("sm_75"));
  try {
    k.redux_add(k.special("tid.x"));
  } catch (const pl::Error& error) {
    message = error.what();
  }
  // }
  return message;
}

/// How many of the first 64 words differ from what the host computes.
int count_wrong(const pl::Context& ctx, const char* name,
                const std::function<void(pl::KernelBuilder&, pl::Pointer)>& emit,
                const std::function<std::uint32_t(std::uint32_t)>& expected) {
  pl::KernelBuilder k(ctx, name, pl::Target(kTarget));
  k.source_lines();
  emit(k, k.pointer(pl::u32, "out"));
  const pl::Kernel kernel = ctx.load(k.finish(), name);
  // The executor links nothing: without a GPU too, the kernel is one that a GPU could load.
  if (ctx.libraries().has_nvjitlink()) pl::Linker(ctx.libraries()).link(kernel.ptx(), {.target = kTarget});
  pl::Buffer out = ctx.alloc(4 * 64);
  kernel.launch(nullptr, {.block = {64}}, {out});
  ctx.synchronize();
  Words result(64);
  out.copy_to(result);
  int wrong = 0;
  for (std::uint32_t i = 0; i < 64; ++i) wrong += result[i] != expected(i) ? 1 : 0;
  fmt::print("{}: {} of 64 are wrong\n", name, wrong);
  return wrong;
}

std::uint32_t expected_steps(std::uint32_t i) {
  std::uint32_t steps = 0;
  for (std::uint32_t n = i + 1; n > 1 && steps < 50; ++steps) n = n % 2 == 0 ? n / 2 : 3 * n + 1;
  return steps + 5 * i + 3;
}

int run() {
  const pl::Context ctx;
  const std::uint32_t primes[] = {2, 3, 5, 7};
  int wrong = count_wrong(ctx, "values", values, [](std::uint32_t i) {
    return 101U + static_cast<std::uint32_t>(__builtin_popcount(i));
  });
  wrong += count_wrong(ctx, "loops", loops, expected_steps);
  wrong += count_wrong(ctx, "memory", memory,
                       [&](std::uint32_t i) { return primes[2] + primes[(i & 2) + 1] + primes[i & 3]; });
  wrong += count_wrong(ctx, "warps", warps, [](std::uint32_t) { return 31U + 496U + 0xAAAAAAAAU; });
  wrong += count_wrong(ctx, "functions", functions,
                       [](std::uint32_t i) { return (i + 1000) / 7 * 10 + (i + 1000) % 7; });
  wrong += count_wrong(ctx, "fallbacks", fallbacks, [](std::uint32_t i) {
    return static_cast<std::uint32_t>(pl::encode(pl::e4m3, i) << 8 | pl::encode(pl::e4m3, -0.25 * i));
  });
  const std::string message = refused();
  fmt::print("{}\n", message);
  return wrong == 0 && message.find("builder_tour.cpp:") != std::string::npos ? 0 : 1;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const pl::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return pl::exit_code(error.kind());
  }
}
