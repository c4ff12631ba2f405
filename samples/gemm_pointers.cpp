// SPDX-License-Identifier: Apache-2.0
// D = A * B on matrices that are already in device memory, as allocated by cudaMalloc or PyTorch. Without a
// GPU the pointers are host pointers, registered with the executor.
#include <fmt/format.h>

#include <bit>
#include <vector>

// README gemm_pointers {
#include <ptxloom/ptxloom.hpp>

namespace pl = ptxloom;

// A is m x k and B is n x k, both with contiguous rows, so D = A times B transposed; D is m x n. All bf16, in
// memory of the device: pointers from cudaMalloc, PyTorch or anywhere else.
static void multiply(const pl::Context& ctx, const void* a, const void* b, void* d, std::uint64_t m,
                     std::uint64_t n, std::uint64_t k, CUstream_st* stream) {
  // Made once for a problem: picks a configuration, emits PTX, checks it, links it or finds it in the cache.
  const pl::Gemm gemm = pl::gemm(ctx, {.m = m, .n = n, .k = k, .a = pl::bf16, .d = pl::bf16});
  gemm.launch(stream, {.a = a, .b = b, .d = d});  // as often as you like
  ctx.synchronize(stream);
}
// }

namespace {

constexpr std::uint64_t kM = 48, kN = 40, kK = 64;

std::uint16_t bf16_of(float value) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16U);
}

/// Row i of A holds i % 7 + 1 everywhere, row j of B j % 5 + 1, so D[i, j] is the product of the two times k.
bool run() {
  std::vector<std::uint16_t> a(kM * kK), b(kN * kK), d(kM * kN);
  for (std::size_t at = 0; at < a.size(); ++at) a[at] = bf16_of(static_cast<float>(at / kK % 7 + 1));
  for (std::size_t at = 0; at < b.size(); ++at) b[at] = bf16_of(static_cast<float>(at / kK % 5 + 1));

  const pl::Context ctx;
  if (ctx.is_gpu()) {
    pl::Buffer da = ctx.alloc(2 * a.size()), db = ctx.alloc(2 * b.size()), dd = ctx.alloc(2 * d.size());
    da.copy_from(a);
    db.copy_from(b);
    const auto pointer = [](const pl::Buffer& buffer) { return reinterpret_cast<void*>(buffer.address()); };
    multiply(ctx, pointer(da), pointer(db), pointer(dd), kM, kN, kK, nullptr);
    dd.copy_to(d);
  } else {
    for (std::vector<std::uint16_t>* each : {&a, &b, &d}) ctx.register_memory(each->data(), 2 * each->size());
    multiply(ctx, a.data(), b.data(), d.data(), kM, kN, kK, nullptr);
    for (std::vector<std::uint16_t>* each : {&a, &b, &d}) ctx.unregister_memory(each->data());
  }

  std::size_t wrong = 0;
  for (std::size_t i = 0; i < kM; ++i) {
    for (std::size_t j = 0; j < kN; ++j)
      wrong += d[i * kN + j] != bf16_of(static_cast<float>((i % 7 + 1) * (j % 5 + 1) * kK)) ? 1U : 0U;
  }
  fmt::print("{} of {} elements are wrong, on {}\n", wrong, d.size(), ctx.device().name);
  return wrong == 0;
}

}  // namespace

int main() {
  try {
    return run() ? 0 : 1;
  } catch (const pl::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return pl::exit_code(error.kind());
  }
}
