// SPDX-License-Identifier: Apache-2.0
// How fast the CPU executor is. Claims: 1,000 million lane-operations a second of simple instructions on one
// core, 300 million with judging; nvcc's vector addition and matrix multiplication (exec.ptx) 10 times as
// fast as in GPGPU-Sim; the bf16 gemm of 256 x 256 x 256, verified, in under 2 s on two cores. Times of one
// core are its CPU time, the best of several runs.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "bench/bench.hpp"
#include "ptxloom/exec.hpp"
#include "ptxloom/runner.hpp"
#include "support/folders.hpp"

using namespace ptxloom;
using namespace ptxloom::bench;

namespace {

constexpr double kClaim = 1000, kJudgedClaim = 300;  // million lane-operations a second
constexpr int kRegisters = 16, kUnrolled = 64;
constexpr std::uint32_t kBlocks = 4, kThreads = 256;

std::mt19937_64 random_bits{std::random_device{}()};

int below(int n) { return static_cast<int>(random_bits() % static_cast<unsigned>(n)); }

/// Instructions in which D, A, B and C are registers and P is a predicate.
struct Mix {
  const char* name;
  std::vector<std::string> patterns;
  int turns = 200;  ///< of the loop
};

const std::vector<Mix> kMixes{
    {"add.u32", {"add.u32 D, A, B;"}},
    {"mul.lo.u32", {"mul.lo.u32 D, A, B;"}},
    {"mad.lo.s32", {"mad.lo.s32 D, A, B, C;"}},
    {"add.f32", {"add.f32 D, A, B;"}},
    {"fma.rn.f32", {"fma.rn.f32 D, A, B, C;"}},
    {"and.b32", {"and.b32 D, A, B;"}},
    {"lop3.b32", {"lop3.b32 D, A, B, C, 0x96;"}},
    {"shl.b32", {"shl.b32 D, A, B;"}},
    {"setp.lt.s32", {"setp.lt.s32 P, A, B;"}},
    {"setp.lt.f32", {"setp.lt.f32 P, A, B;"}},
    {"selp.b32", {"selp.b32 D, A, B, P;"}},
    {"mov.b32", {"mov.b32 D, A;"}},
    {"add.u16", {"add.u16 H, I, J;"}},
    {"min.f32", {"min.f32 D, A, B;"}},
    {"neg.f32", {"neg.f32 D, A;"}},
    {"abs.f32", {"abs.f32 D, A;"}},
    {"add.ftz.f32", {"add.rn.ftz.f32 D, A, B;"}},
    {"fma.ftz.f32", {"fma.rn.ftz.f32 D, A, B, C;"}},
    {"add.f16x2", {"add.rn.f16x2 D, A, B;"}},
    {"mul.f16x2", {"mul.rn.f16x2 D, A, B;"}},
    {"fma.f16x2", {"fma.rn.f16x2 D, A, B, C;"}},
    {"add.bf16x2", {"add.rn.bf16x2 D, A, B;"}},
    {"fma.bf16x2", {"fma.rn.bf16x2 D, A, B, C;"}},
    {"max.f16x2", {"max.f16x2 D, A, B;"}},
    {"cvt.f32.s32", {"cvt.rn.f32.s32 D, A;"}},
    {"cvt.f32.u32", {"cvt.rn.f32.u32 D, A;"}},
    {"cvt.rzi.s32", {"cvt.rzi.s32.f32 D, A;"}},
    {"cvt.f16.f32", {"cvt.rn.f16.f32 H, A;"}},
    {"cvt.f32.f16", {"cvt.f32.f16 D, I;"}},
    {"cvt.bf16.f32", {"cvt.rn.bf16.f32 H, A;"}},
    {"cvt.bf16x2", {"cvt.rn.bf16x2.f32 D, A, B;"}},
    {"a mix",
     {"add.u32 D, A, B;", "mad.lo.s32 D, A, B, C;", "fma.rn.f32 D, A, B, C;", "xor.b32 D, A, B;",
      "shr.u32 D, A, 7;", "setp.gt.u32 P, A, B;", "selp.b32 D, A, B, P;", "mov.b32 D, A;"}},
};

// What the exact arithmetic of numeric formats does, number by number: reported.
const std::vector<Mix> kExact{
    {"add.rz.f32", {"add.rz.f32 D, A, B;"}, 10},  {"fma.relu", {"fma.rn.relu.bf16x2 D, A, B, C;"}, 10},
    {"rcp.approx", {"rcp.approx.f32 D, A;"}, 10}, {"ex2.approx", {"ex2.approx.f32 D, A;"}, 10},
    {"cvt.rm.f32", {"cvt.rm.f32.s32 D, A;"}, 10},
};

/// The pattern with registers drawn at random.
std::string instruction(const std::string& pattern) {
  std::string text;
  for (const char c : pattern) {
    if (c == 'P') {
      text += fmt::format("%p{}", below(4));
    } else if (c >= 'H' && c <= 'J') {
      text += fmt::format("%h{}", below(4));
    } else if (c >= 'A' && c <= 'D') {
      text += fmt::format("%r{}", below(kRegisters));
    } else {
      text += c;
    }
  }
  return text + "\n";
}

/// Loads all registers, goes through the instructions many times, and stores what came of it.
std::string kernel_of(const Mix& mix) {
  std::string text = fmt::format(
      ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u64 in)\n"
      "{{\n.reg .b32 %r<{}>, %i, %t; .reg .b16 %h<4>; .reg .pred %p<4>, %again; .reg .u64 %a;\n"
      "ld.param.u64 %a, [in]; mov.u32 %t, %tid.x; mad.wide.u32 %a, %t, {}, %a;\n",
      kRegisters, 4 * kRegisters);
  for (int i = 0; i < kRegisters; ++i) text += fmt::format("ld.global.b32 %r{}, [%a+{}];\n", i, 4 * i);
  for (int i = 0; i < 4; ++i)
    text += fmt::format("setp.lt.s32 %p{0}, %r{0}, 0; cvt.u16.u32 %h{0}, %r{0};\n", i);
  text += "mov.u32 %i, 0;\nloop:\n";
  for (int i = 0; i < kUnrolled; ++i)
    text += instruction(mix.patterns[static_cast<std::size_t>(i) % mix.patterns.size()]);
  text += fmt::format("add.u32 %i, %i, 1; setp.lt.u32 %again, %i, {}; @%again bra loop;\n", mix.turns);
  for (int i = 1; i < kRegisters; ++i) text += fmt::format("xor.b32 %r0, %r0, %r{};\n", i);
  for (int i = 0; i < 4; ++i)
    text += fmt::format("cvt.u32.u16 %r1, %h{0}; @%p{0} xor.b32 %r0, %r0, %r1;\n", i);
  return text + "ld.param.u64 %a, [out]; mad.wide.u32 %a, %t, 4, %a; st.global.b32 [%a], %r0;\nret;\n}\n";
}

ir::Module parsed(const std::string& ptx, const std::shared_ptr<const Specs>& specs) {
  ParseResult result = parse(ptx, specs);
  if (!result.ok()) throw std::runtime_error(to_string(result.diagnostics.front()));
  return std::move(result.module);
}

double best_of(int runs, const auto& work) {
  double best = 1e30;
  for (int i = 0; i < runs; ++i) best = std::min(best, cpu_milliseconds_of(work));
  return best;
}

/// Million lane-operations a second.
double rate_of(const Mix& mix, const exec::Program& program, bool judge) {
  std::vector<std::uint32_t> in(kThreads * kRegisters), out(kThreads);
  for (std::uint32_t& value : in) value = static_cast<std::uint32_t>(random_bits());
  exec::Memory memory;
  const std::uint64_t addresses[] = {memory.map(out.data(), out.size() * 4),
                                     memory.map(in.data(), in.size() * 4)};
  const exec::Launch launch{.grid = {kBlocks, 1, 1},
                            .block = {kThreads, 1, 1},
                            .parameters = std::as_bytes(std::span(addresses)),
                            .jobs = 1,
                            .judge = judge};
  const double best = best_of(15, [&] { program.run(memory, launch); });
  return double{kBlocks} * kThreads * mix.turns * (kUnrolled + 3) / best / 1000;
}

void measure_lanes(const std::shared_ptr<const Specs>& specs) {
  for (const Mix& mix : kMixes) {
    const exec::Program program(parsed(kernel_of(mix), specs), "k");
    const double plain = rate_of(mix, program, false), judged = rate_of(mix, program, true);
    fmt::print(
        "{:<12} {:>6.0f} M lane-operations a second, {:.2f} times the claim; judged {:>6.0f} M, {:.2f} "
        "times\n",
        mix.name, plain, plain / kClaim, judged, judged / kJudgedClaim);
  }
  for (const Mix& mix : kExact) {
    const exec::Program program(parsed(kernel_of(mix), specs), "k");
    fmt::print("{:<12} {:>6.0f} M lane-operations a second; judged {:>6.0f} M\n", mix.name,
               rate_of(mix, program, false), rate_of(mix, program, true));
  }
}

/// A kernel of exec.ptx on arrays of `size` floats.
struct Compared {
  const char* kernel;
  std::uint32_t n;
  std::size_t size;
  exec::Launch launch;
  double gpgpu_sim;  ///< its million thread-instructions a second, as docs/results/cpu.md says how
};

void compare(const ir::Module& module, Compared compared) {
  const exec::Program program(module, compared.kernel);
  exec::Memory memory;
  std::vector<std::uint64_t> parameters;
  for (int i = 0; i < 3; ++i) {
    parameters.push_back(memory.allocate(4 * compared.size));
    std::byte* data = memory.at(parameters.back(), 4 * compared.size);
    for (std::size_t k = 0; k < compared.size; ++k) {
      const auto value = static_cast<float>(below(100));
      std::memcpy(data + 4 * k, &value, 4);
    }
  }
  parameters.push_back(compared.n);
  compared.launch.parameters = std::as_bytes(std::span(parameters)).first(28);
  compared.launch.jobs = 1;
  exec::Stats stats;
  program.run(memory, compared.launch, &stats);
  double instructions = 0;  // every warp is full
  for (const auto& [opcode, count] : stats.executed) instructions += 32 * static_cast<double>(count);
  for (const bool judge : {false, true}) {
    compared.launch.judge = judge;
    const double rate = instructions / best_of(7, [&] { program.run(memory, compared.launch); }) / 1000;
    fmt::print(
        "{}{}: {:.0f} M thread-instructions a second, GPGPU-Sim {:.1f}: {:.0f} times; of the 10 claimed: "
        "{:.1f}\n",
        compared.kernel, judge ? ", judged" : "", rate, compared.gpgpu_sim, rate / compared.gpgpu_sim,
        rate / compared.gpgpu_sim / 10);
  }
}

void compare_with_gpgpu_sim(const std::shared_ptr<const Specs>& specs) {
  const ir::Module module = parsed(read_file(test::source_folder() + "/tests/bench/cpu/exec.ptx"), specs);
  compare(module, {.kernel = "vector_add",
                   .n = 1 << 20,
                   .size = 1 << 20,
                   .launch = {.grid = {4096, 1, 1}, .block = {256, 1, 1}},
                   .gpgpu_sim = 7.3});
  compare(module, {.kernel = "matrix_multiply",
                   .n = 256,
                   .size = 256 * 256,
                   .launch = {.grid = {16, 16, 1}, .block = {16, 16, 1}},
                   .gpgpu_sim = 16.0});
}

void measure_gemm() {
  const Context context({.device = "cpu", .cpu_target = "sm_90a"});
  const Settings problem{{"m", "256"}, {"n", "256"}, {"k", "256"}, {"a", "bf16"}};
  std::vector<double> times, cpu_times;
  for (int i = 0; i < 5; ++i) {
    bool ok = false;
    cpu_times.push_back(cpu_milliseconds_of([&] {
      times.push_back(milliseconds_of([&] {
        ok = run_template(context, gemm_template(),
                          {.problem = problem, .config = {}, .inputs = {}, .seed = random_bits()})
                 .verdict.ok();
      }));
    }));
    if (!ok) throw std::runtime_error("the gemm is wrong");
  }
  fmt::print(
      "gemm 256 x 256 x 256 of bf16, run and verified on all cores: {:.2f} s, {:.2f} s of CPU; of the 2 s "
      "claimed: {:.2f}\n",
      std::ranges::min(times) / 1000, std::ranges::min(cpu_times) / 1000, std::ranges::min(times) / 2000);
}

}  // namespace

int main() {
  const auto specs = std::make_shared<const Specs>();
  measure_lanes(specs);
  compare_with_gpgpu_sim(specs);
  measure_gemm();
}
