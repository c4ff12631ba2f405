// SPDX-License-Identifier: Apache-2.0
// How well the issue model predicts loops: cycles an iteration of each kernel of loops/*.cu, measured on a
// GPU and predicted from the machine code.
//
//   nvcc -cubin -arch=sm_90a -O3 -o kernels.cubin tests/bench/sass/loops/kernels.cu
//
// (units.cu and fresh.cu likewise; triton_loops.py makes cubins of Triton's.) This needs a GPU, for about a
// minute:
//
//   loop_model measure MEASURED.jsonl CUBIN...
//
// This needs none, but nvdisasm, whose text says where the clock is read:
//
//   loop_model score MEASURED.jsonl CUBIN...
//
// A measurement is of one thread block on each SM. The clock is read before and after the loop, for two
// numbers of iterations; the difference counts. Both are so many that all of the data is in L1 before those
// that count: a loop may come to a new sector of `in` in each of its first iterations, which is a miss.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <span>

#include "bench/bench.hpp"
#include "ptxloom/launch.hpp"
#include "sass/issue/issue_model.hpp"

using namespace ptxloom;

namespace {

constexpr int kWarpCounts[] = {1, 4, 8, 16, 32};
constexpr int kValues = 4096;  // of frame.cuh
constexpr int kLanes = 32;
constexpr std::uint32_t kOutputs = 65536;  // triton_loops.py writes so many at most, frame.cuh 1024 a block

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error(ErrorKind::usage, "unreadable-file", fmt::format("cannot read {}", path), "");
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<float> random_values() {
  std::mt19937_64 draw(std::random_device{}());
  std::uniform_real_distribution<float> value(0.5F, 1.5F);
  std::vector<float> values(kValues);
  for (float& one : values) one = value(draw);
  return values;
}

struct Moments {
  std::int64_t start = 0, end = 0;
};

/// All times of a launch lie within this many cycles, or they are none.
constexpr std::int64_t kMostCycles = std::int64_t{1} << 40;

bool are_times(std::span<const Moments> block) {
  const std::int64_t start = std::ranges::min(block, {}, &Moments::start).start;
  return start > 0 && std::ranges::all_of(block, [&](const Moments& one) {
           return one.end > one.start && one.end - start < kMostCycles;
         });
}

class Meter {
 public:
  Meter()
      : context_(Libraries()),
        stream_(context_),
        in_(context_, kValues * sizeof(float)),
        out_(context_, std::max(blocks() * 1024U, kOutputs) * sizeof(float)),
        times_(context_, blocks() * kLanes * sizeof(Moments)) {
    const std::vector<float> values = random_values();
    in_.upload(std::as_bytes(std::span(values)));
  }

  const DeviceContext& context() const { return context_; }

  /// Cycles of an iteration, on the median SM.
  double cycles(const Function& function, int warps) const {
    const double first = median_run(function, warps, kShort);
    const double each = std::max(first / kShort, 1.0);
    const int more = static_cast<int>(std::clamp(kCycles / each, 64.0, 4096.0));
    std::vector<double> differences;
    for (int i = 0; i < 3; ++i)
      differences.push_back(median_run(function, warps, kShort + more) - median_run(function, warps, kShort));
    return bench::median(differences) / more;
  }

 private:
  static constexpr int kShort = kValues;  ///< a loop that moves on by one value has had all of them
  static constexpr double kCycles = 200000;

  std::uint32_t blocks() const { return static_cast<std::uint32_t>(context_.info().sms); }

  double median_run(const Function& function, int warps, int iterations) const {
    std::vector<double> runs;
    for (int i = 0; i < 5; ++i) runs.push_back(run(function, warps, iterations));
    return bench::median(runs);
  }

  double run(const Function& function, int warps, int iterations) const {
    std::vector<Argument> given = {Argument(in_), Argument(out_), Argument(times_), Argument(iterations)};
    given.resize(function.signature().parameters.size(), Argument(nullptr));  // Triton's scratch memory
    const Arguments arguments(function.signature(), given);
    times_.fill(std::byte{0});
    function.launch(stream_, {.grid = {blocks()}, .block = {static_cast<std::uint32_t>(warps * kLanes)}},
                    arguments);
    stream_.synchronize();
    std::vector<Moments> moments(blocks() * static_cast<std::size_t>(warps));
    times_.download(std::as_writable_bytes(std::span(moments)));
    std::vector<double> blocks;
    for (std::size_t at = 0; at < moments.size(); at += static_cast<std::size_t>(warps)) {
      const std::span block(moments.data() + at, static_cast<std::size_t>(warps));
      if (!are_times(block))
        throw Error(ErrorKind::refused, "no-times",
                    "the kernel did not store when its loop begins and ends, or wrote over it", "");
      blocks.push_back(static_cast<double>(std::ranges::max(block, {}, &Moments::end).end -
                                           std::ranges::min(block, {}, &Moments::start).start));
    }
    return bench::median(blocks);
  }

  DeviceContext context_;
  Stream stream_;
  DeviceMemory in_, out_, times_;
};

/// Whether a thread block may have so many warps: a kernel of Triton requires a number.
bool runs_with(const sass::CubinFunction& function, int warps) {
  const int threads = function.block[0] * function.block[1] * function.block[2];
  return threads == 0 || threads == warps * kLanes;
}

/// One line for each number of warps. How many could not be measured.
int measure_kernel(const Meter& meter, const Function& function, const sass::CubinFunction& facts,
                   std::ostream& out) {
  int left_out = 0;
  for (const int warps : kWarpCounts) {
    if (warps * kLanes > function.info().max_threads || !runs_with(facts, warps)) continue;
    try {
      const nlohmann::ordered_json line = {{"device", meter.context().info().name},
                                           {"kernel", facts.name},
                                           {"warps", warps},
                                           {"cycles", meter.cycles(function, warps)}};
      out << line.dump() << std::endl;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::refused) throw;
      fmt::print(stderr, "{}, {} warps: {}\n", facts.name, warps, error.what());
      ++left_out;
    }
  }
  return left_out;
}

int measure(const std::string& file, std::span<char* const> cubins) {
  const Meter meter;
  std::ofstream out(file);
  int left_out = 0;
  for (const char* path : cubins) {
    const std::string cubin = read(path);
    const DeviceModule module(meter.context(), std::as_bytes(std::span(cubin)));
    const sass::CubinView view(std::as_bytes(std::span(cubin)), path);
    for (const sass::CubinFunction& one : view.functions()) {
      left_out += measure_kernel(meter, module.function(one.name), one, out);
    }
  }
  fmt::print("{} written\n", file);
  if (!out) return 2;
  return left_out > 0 ? 1 : 0;
}

using Measured = std::map<std::pair<std::string, int>, double>;

Measured read_measured(const std::string& file) {
  Measured measured;
  bench::read_lines(file, [&](const nlohmann::json& line) {
    const std::pair<std::string, int> of{line.at("kernel"), line.at("warps")};
    const double cycles = line.at("cycles");
    if (cycles > 0 && cycles < static_cast<double>(kMostCycles))
      measured[of] = cycles;
    else
      fmt::print(stderr, "{}: {}, {} warps: {:g} cycles are no time; left out\n", file, of.first, of.second,
                 cycles);
  });
  return measured;
}

struct Errors {
  double sum = 0, worst = 0;
  int count = 0;
  std::string of;

  void add(double error, const std::string& name) {
    sum += std::abs(error);
    ++count;
    if (std::abs(error) <= std::abs(worst)) return;
    worst = error;
    of = name;
  }
  std::string text() const {
    return fmt::format("mean absolute error {:.1f} %, worst {:+.1f} % ({}), of {}",
                       100 * sum / std::max(count, 1), 100 * worst, of, count);
  }
};

/// The first loop after the first reading of the clock.
const sass::LoopModel* timed_loop(const sass::FunctionModel& function, const sass::ListedFunction& listed) {
  const auto clock = std::ranges::find_if(listed.instructions, [](const sass::ListedInstruction& one) {
    return one.text.find("SR_CLOCKLO") != std::string::npos;
  });
  if (clock == listed.instructions.end()) return nullptr;
  const auto loop = std::ranges::find_if(
      function.loops, [&](const sass::LoopModel& one) { return one.first > clock->offset; });
  return loop == function.loops.end() ? nullptr : &*loop;
}

/// Words of the most used bank that each access of a kernel needs: of shared_conflict_8, 8. The lanes of
/// gather_vectors are two vectors apart.
int conflicts_of(std::string_view name) {
  if (name == "gather_vectors") return 2;
  const std::size_t at = name.find("conflict_");
  return at == name.npos ? 1 : std::stoi(std::string(name.substr(at + 9)));
}

/// The predictions of kernels beside what was measured, as the rows of a table.
class Score {
 public:
  explicit Score(Measured measured) : measured_(std::move(measured)) {
    fmt::print("| kernel | limit |");
    for (const int warps : kWarpCounts) fmt::print(" {} warp{} |", warps, warps == 1 ? "" : "s");
    fmt::print("\n|---|---|---|---|---|---|---|\n");
  }

  void add(const sass::Listing& kernel, int chip) {
    const sass::CubinFunction& facts = kernel.functions.front().facts;
    const std::string name(facts.name);
    std::string cells, bound;
    for (const int warps : kWarpCounts) {
      const auto found = runs_with(facts, warps) ? measured_.find({name, warps}) : measured_.end();
      const double predicted = found == measured_.end() ? 0 : predict(kernel, chip, name, warps, bound);
      if (predicted == 0) {
        cells += " |";
        continue;
      }
      const double error = predicted / found->second - 1;
      all_.add(error, fmt::format("{}, {} warps", name, warps));
      by_warps_[warps].add(error, name);
      cells += fmt::format(" {:.1f} / {:.1f}, {:+.0f} % |", predicted, found->second, 100 * error);
    }
    if (!bound.empty()) fmt::print("| {} | {} |{}\n", name, bound, cells);
  }

  /// The exit code: 1 if nothing was compared.
  int print_errors() const {
    fmt::print("\n");
    for (const auto& [warps, errors] : by_warps_) fmt::print("{:2} warps: {}\n", warps, errors.text());
    fmt::print("all: {}\n", all_.text());
    return all_.count > 0 ? 0 : 1;
  }

 private:
  static double predict(const sass::Listing& kernel, int chip, std::string_view name, int warps,
                        std::string& bound) {
    const sass::IssueModel model = sass::issue_model(
        kernel, chip,
        {.warps = warps, .block_warps = warps, .loads = sass::LoadFrom::l1, .conflicts = conflicts_of(name)});
    const sass::LoopModel* const loop = timed_loop(model.functions.front(), kernel.functions.front());
    if (loop != nullptr) bound = loop->bound;
    return loop == nullptr ? 0 : loop->cycles;
  }

  Measured measured_;
  Errors all_;
  std::map<int, Errors> by_warps_;
};

int score(const std::string& file, std::span<char* const> cubins) {
  Score score(read_measured(file));
  for (const char* path : cubins) {
    const std::string cubin = read(path);
    const sass::CubinView view(std::as_bytes(std::span(cubin)), path);
    const sass::Disassembly disassembly = sass::disassemble(std::as_bytes(std::span(cubin)));
    if (disassembly.problem) throw Error(ErrorKind::missing, {*disassembly.problem});
    sass::Listing listing = sass::list({.cubin = view, .name = path, .disassembly = &disassembly});
    std::ranges::sort(listing.functions, {}, [](const sass::ListedFunction& one) { return one.facts.name; });
    for (const sass::ListedFunction& function : listing.functions) {
      sass::Listing alone = listing;
      alone.functions = {function};
      score.add(alone, view.chip());
    }
  }
  return score.print_errors();
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string mode = argc > 3 ? argv[1] : "";
  const std::span cubins(argv + std::min(argc, 3), argv + argc);
  if (mode == "measure") return measure(argv[2], cubins);
  if (mode == "score") return score(argv[2], cubins);
  fmt::print("loop_model measure|score MEASURED.jsonl CUBIN...\n");
  return 0;
} catch (const Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return static_cast<int>(error.kind());
}
