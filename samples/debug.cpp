// SPDX-License-Identifier: Apache-2.0
// Finds a bug without a GPU: a kernel whose last thread block writes past the end of its buffer runs in the
// executor, which stops at the faulting instruction. Then a launch with a large enough buffer is observed.
#include <fmt/format.h>

#include <ptxloom/ptxloom.hpp>

namespace pl = ptxloom;

namespace {

constexpr const char* kNumbers = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .entry numbers(.param .u64 out) {
  .reg .b32 %i, %block, %threads, %thread;
  .reg .b64 %to, %offset;
  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %thread, %tid.x;
  mad.lo.u32 %i, %block, %threads, %thread;
  ld.param.u64 %to, [out];
  mul.wide.u32 %offset, %i, 4;
  add.u64 %to, %to, %offset;
  st.global.u32 [%to], %i;
  ret;
}
)";

bool find_bug(const pl::Context& ctx, const pl::Kernel& kernel) {
  // README find_bug {
  pl::Buffer out = ctx.alloc(100 * sizeof(std::uint32_t));
  try {
    kernel.launch(nullptr, {.grid = {4}, .block = {32}}, {out});  // 128 threads
  } catch (const pl::Error& error) {
    const pl::Diagnostic& fault = error.diagnostics().front();
    fmt::print("{} in line {}:\n{}\n", fault.code, fault.line, fault.message);
    return fault.code == "out-of-bounds";
  }
  // }
  return false;
}

bool observe(const pl::Context& ctx, const pl::Kernel& kernel) {
  // README observe {
  pl::Buffer out = ctx.alloc(128 * sizeof(std::uint32_t));
  const std::vector<pl::Argument> arguments = {out};
  pl::exec::Stats stats;
  const auto print_step = [](const pl::exec::Step& step) {
    fmt::print("lanes {:08x} changed {} registers: {}\n", step.lanes, step.changes.size(),
               pl::print(step.kernel, step.instruction));
  };
  const auto only_block_3 = [](const auto& block, std::uint32_t /*warp*/) { return block[0] == 3; };
  kernel.launch_observed({.grid = {4}, .block = {32}}, arguments,
                         {.stats = &stats, .trace = print_step, .traced = only_block_3, .step_limit = 1000});
  for (const pl::exec::InstructionStats& each : stats.instructions) {
    if (each.global_requests != 0)
      fmt::print("{}: {} requests, {} sectors\n", each.text, each.global_requests, each.global_sectors);
  }
  // }
  std::vector<std::uint32_t> numbers(128);
  out.copy_to(numbers);
  for (std::uint32_t i = 0; i < 128; ++i) {
    if (numbers[i] != i) return false;
  }
  return stats.executed.at("st.global.u32") == 4;
}

bool debug() {
  // README executor {
  const pl::Context ctx({.device = "cpu", .cpu_target = "sm_75"});
  const pl::Kernel kernel = ctx.load(kNumbers);  // PTX text of one kernel: read, checked, decoded
  // }
  return find_bug(ctx, kernel) && observe(ctx, kernel);
}

}  // namespace

int main() {
  try {
    return debug() ? 0 : 1;
  } catch (const pl::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return pl::exit_code(error.kind());
  }
}
