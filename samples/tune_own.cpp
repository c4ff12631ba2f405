// SPDX-License-Identifier: Apache-2.0
// Tunes a kernel that is not part of the library: y = a x + y with a choice of thread block size and elements
// per thread. A callback makes each candidate. Candidates run in a worker process, on the GPU or else in the
// CPU executor, whose times are meaningless but show how it works.
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <ptxloom/ptxloom.hpp>

namespace pl = ptxloom;

namespace {

constexpr std::uint32_t kCount = 40'000;
constexpr float kFactor = 3;

// README tune_own {
pl::tune::Candidate axpy(const pl::Context& ctx, const pl::Settings& config) {
  const auto threads = static_cast<std::uint32_t>(std::stoul(config.at("threads")));
  const auto each = static_cast<std::uint32_t>(std::stoul(config.at("each")));
  pl::KernelBuilder k(ctx, "axpy", ctx.target());
  const auto n = k.param(pl::u32, "n");
  const auto x = k.pointer(pl::f32, "x"), y = k.pointer(pl::f32, "y"), out = k.pointer(pl::f32, "out");
  const auto first = k.global_thread_x();
  const std::uint32_t blocks = (kCount + threads * each - 1) / (threads * each);
  for (std::uint32_t j = 0; j < each; ++j) {
    const auto i = k.add(first, j * threads * blocks);
    k.if_(k.lt(i, n), [&] { k.store(out[i], k.fma(k.load(x[i]), kFactor, k.load(y[i]))); });
  }
  return {.ptx = pl::print(k.finish()),
          .launches = {{.entry = "axpy",
                        .grid = {blocks, 1, 1},
                        .block = {threads, 1, 1},
                        .arguments = {{.name = "n", .type = pl::u32, .bits = kCount},
                                      {.name = "x", .type = pl::u64, .tensor = "x"},
                                      {.name = "y", .type = pl::u64, .tensor = "y"},
                                      {.name = "out", .type = pl::u64, .tensor = "out"}}}}};
}
// }

float element(const pl::HostTensor& tensor, std::size_t i) {
  float value = 0;
  std::memcpy(&value, tensor.bytes.data() + 4 * i, 4);
  return value;
}

/// Random inputs, and the expected outputs.
pl::tune::Task axpy_task(std::uint64_t seed) {
  const auto tensor = [](const char* name, pl::TensorPlan::Role role) {
    return pl::TensorPlan{.name = name, .type = pl::f32, .shape = {kCount}, .role = role};
  };
  pl::tune::Task task{.tensors = {random_tensor(tensor("x", pl::TensorPlan::Role::in), seed),
                                  random_tensor(tensor("y", pl::TensorPlan::Role::in), seed),
                                  poisoned_tensor(tensor("out", pl::TensorPlan::Role::out))},
                      .operations = 2.0 * kCount,
                      .unit = "f32",
                      .input_bytes = 8.0 * kCount};
  pl::Expectation out{.tensor = "out"};
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const double value = double{kFactor} * element(task.tensors[0], i) + element(task.tensors[1], i);
    out.points.push_back({.index = i, .value = value, .tolerance = 1e-6 * (1 + std::abs(value))});
  }
  task.expected = {std::move(out)};
  return task;
}

void tune() {
  const pl::Context ctx;
  const pl::Tunable what{
      .name = "axpy",
      .problem = {{"n", std::to_string(kCount)}},
      .space = {.parameters = {{"threads", {"64", "128", "256", "512", "1024"}},
                               {"each", {"1", "2", "4", "8"}}},
                .rules = {{.name = "a block has enough to do",
                           .reads = {"threads", "each"},
                           .allows =
                               [](const pl::Settings& c) {
                                 return std::stoi(c.at("threads")) * std::stoi(c.at("each")) >= 128;
                               }}}},
      .make = [&](const pl::Settings& config) { return axpy(ctx, config); },
      .task = [] { return axpy_task(7); }};
  pl::TuneOptions options{.budget = {.seconds = 3, .evaluations = 12}};
  std::unique_ptr<pl::tune::Measurer> executor;
  if (!ctx.is_gpu()) executor = pl::tune::make_worker(axpy_task(7), {.device = "cpu"});
  options.measurer = executor.get();
  const pl::TuneResult result = tune_kernel(ctx, what, options);
  fmt::print("{} of {} configurations are admissible, {} were tried\n", result.space.size(),
             result.space.configurations(), result.search.evaluations);
  if (!result.record) return fmt::print("none was correct\n");
  fmt::print("best: {:.2f} us with", result.record->time_us);
  for (const auto& [word, value] : result.record->config) fmt::print(" {}={}", word, value);
  fmt::print("\n");
}

}  // namespace

int main() {
  try {
    tune();
  } catch (const pl::Error& error) {
    fmt::print("{}\n", error.what());
    return pl::exit_code(error.kind());
  }
}
