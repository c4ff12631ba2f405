// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>

#include "ptxloom/check.hpp"
#include "ptxloom/ptx.hpp"
#include "support/ptxas.hpp"
#include "support/require.hpp"

// nvcc writes PTX that we did not think of. It must read, pass every check, and mean the same when printed:
// ptxas makes the same machine code of it.
namespace {

using namespace ptxloom;

constexpr std::string_view kSource = R"(
#include <cuda_fp16.h>
struct Pair { int a; float b[3]; };
__device__ int table[4] = {1, 2, 3, 4};
__constant__ float coefficients[2] = {1.5f, -2.0f};

extern "C" __global__ void axpy(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

extern "C" __global__ void __launch_bounds__(256, 2) mixed(Pair s, half* h, int* out, double* d) {
  extern __shared__ int dynamic[];
  __shared__ float tile[32];
  dynamic[threadIdx.x] = table[threadIdx.x & 3] + s.a;
  tile[threadIdx.x & 31] = coefficients[threadIdx.x & 1] * s.b[1];
  __syncthreads();
  int v;
  asm("{ .reg .pred p; setp.eq.s32 p, %1, 3; @p mov.u32 %0, 7; @!p mov.u32 %0, 9; }" : "=r"(v) : "r"(dynamic[3]));
  asm volatile("{ .reg .pred p; WAIT: setp.eq.s32 p, %0, 3; @p bra WAIT; }" ::"r"(dynamic[5]));
  for (int i = 0; i < s.a; i++) v += __shfl_xor_sync(~0u, v, 1) * i;
  h[threadIdx.x] = __hfma(h[1], h[2], h[3]);
  out[threadIdx.x] = v + (int)tile[3] + min(v, 7) + abs(v) + (v << 3) + (v >> 2) + __popc(v);
  d[threadIdx.x] = d[1] * d[2] + (double)v - 0.1;
}

extern "C" __global__ void tensor(const unsigned* a, const unsigned* b, float* c) {
  float r[4] = {0, 0, 0, 0};
  for (int k = 0; k < 8; k++)
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
        : "+f"(r[0]), "+f"(r[1]), "+f"(r[2]), "+f"(r[3])
        : "r"(a[k]), "r"(a[k + 8]), "r"(a[k + 16]), "r"(a[k + 24]), "r"(b[k]), "r"(b[k + 8]));
  for (int i = 0; i < 4; i++) c[4 * threadIdx.x + i] = r[i];
}
)";

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

template <typename T>
T at(const std::string& bytes, std::size_t offset) {
  T value{};
  REQUIRE(offset + sizeof value <= bytes.size());
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// The machine code of a cubin, which is an ELF file: the sections .text.<kernel>.
std::map<std::string, std::string> code_of(const std::string& cubin) {
  const auto table = at<std::uint64_t>(cubin, 0x28);
  const auto entry = at<std::uint16_t>(cubin, 0x3A), count = at<std::uint16_t>(cubin, 0x3C),
             names = at<std::uint16_t>(cubin, 0x3E);
  const auto field = [&](std::size_t section, std::size_t offset) {
    return at<std::uint64_t>(cubin, table + section * entry + offset);
  };
  std::map<std::string, std::string> code;
  for (std::size_t i = 0; i < count; ++i) {
    const auto name_offset = at<std::uint32_t>(cubin, table + i * entry);
    const std::string name = cubin.data() + field(names, 0x18) + name_offset;
    if (name.starts_with(".text.")) code[name] = cubin.substr(field(i, 0x18), field(i, 0x20));
  }
  return code;
}

std::map<std::string, std::string> assemble(const Ptxas& ptxas, const std::string& ptx,
                                            const std::filesystem::path& cubin) {
  const CommandResult result = ptxas.assemble(ptx, "sm_90a", cubin);
  INFO(result.output);
  REQUIRE(result.status == 0);
  return code_of(read_file(cubin));
}

}  // namespace

TEST_CASE("what nvcc writes is read, passes the checks, and prints to the same machine code", "[oracle]") {
  const std::optional<std::string> nvcc = find_cuda_tool("nvcc"), ptxas = find_cuda_tool("ptxas");
  if (!nvcc) test::skip_without("nvcc", "nvcc is not installed");
  if (!ptxas) test::skip_without("ptxas", "ptxas is not installed");
  const TemporaryFolder folder;
  std::ofstream(folder / "source.cu") << kSource;
  for (const std::string options : {"-O3", "-O3 -lineinfo --use_fast_math"}) {
    INFO(options);
    const CommandResult compiled =
        run_command(*nvcc + " -ptx -arch=sm_90a " + options + " " + (folder / "source.cu").string() + " -o " +
                    (folder / "source.ptx").string());
    if (compiled.status != 0) test::skip_without("nvcc", "nvcc does not work here: " + compiled.output);
    const std::string ptx = read_file(folder / "source.ptx");
    const ParseResult result = parse(ptx, std::make_shared<const Specs>());
    std::string complaints;
    for (const Diagnostic& d : result.diagnostics) complaints += to_string(d) + "\n";
    for (const Diagnostic& d : check(result.module)) complaints += to_string(d) + "\n";
    CHECK(complaints.empty());
    INFO(complaints);
    REQUIRE(result.ok());
    REQUIRE(result.module.functions.size() == 3);
    const std::string printed = print(result.module);
    INFO(printed);
    const auto theirs = assemble(Ptxas(*ptxas), ptx, folder / "theirs.cubin");
    const auto ours = assemble(Ptxas(*ptxas), printed, folder / "ours.cubin");
    REQUIRE(theirs.size() == 3);
    CHECK(ours == theirs);
  }
}
