// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <optional>

#include "insn/pair.hpp"
#include "insn/probe.hpp"

// Launches one after the other, by events (`host`: by the host's clock): the difference between 256 launches
// and 128. A kernel before them holds the stream until all are queued, so that it is not the host that they
// wait for.
namespace ptxloom::insn {
namespace {

constexpr int kLaunches = 128;  // twice as many fit into the driver's queue
constexpr std::uint32_t kHoldNanoseconds = 4'000'000;
constexpr std::size_t kRepeats = 9;
constexpr double kNanosecondsOfMillisecond = 1e6;

class Launches {
 public:
  Launches(const Device& device, const Probe& probe, const DeviceModule& module)
      : probe_(probe),
        context_(device.context()),
        stream_(context_),
        begin_(context_),
        end_(context_),
        step_(module.function(signature_of("step"))),
        hold_(module.function(signature_of("hold"))) {}

  /// Of `count` launches; nullopt if the first of them ran before the last was queued.
  std::optional<double> nanoseconds(int count) const {
    const std::string& way = probe_.parameters.at("way");
    if (way == "host") return of_host(count);
    if (way == "stream") return between_events([&] { queue(stream_, count); });
    const Graph graph(context_, [&](CUstream_st* stream) { queue(stream, count); });
    graph.launch(stream_);  // the first one also uploads it
    return between_events([&] { graph.launch(stream_); });
  }

 private:
  Arguments arguments(const Function& function, std::uint32_t rounds) const {
    const Argument none = Argument::pointer(0);
    return {function.signature(), {none, none, none, none, Argument(rounds), Argument(std::uint32_t{0})}};
  }

  void queue(CUstream_st* stream, int count) const {
    const LaunchConfig config{.grid = {static_cast<std::uint32_t>(probe_.number("blocks", 1))},
                              .block = {kLanes},
                              .programmatic_dependent_launch = probe_.dependent};
    const Arguments none = arguments(step_, 0);
    for (int i = 0; i < count; ++i) step_.launch(stream, config, none);
  }

  template <typename Work>
  std::optional<double> between_events(const Work& work) const {
    hold_.launch(stream_, {.grid = {1}, .block = {1}}, arguments(hold_, kHoldNanoseconds));
    begin_.record(stream_);
    work();
    end_.record(stream_);
    const bool held = !begin_.completed();
    const float milliseconds = end_.elapsed_ms(begin_);
    if (!held) return std::nullopt;
    return kNanosecondsOfMillisecond * static_cast<double>(milliseconds);
  }

  double of_host(int count) const {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i) {
      queue(stream_, 1);
      stream_.synchronize();
    }
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
  }

  const Probe& probe_;
  const DeviceContext& context_;
  Stream stream_;
  Event begin_, end_;
  Function step_, hold_;
};

}  // namespace

ProbeResult measure_launches(const Device& device, const Probe& probe, std::span<const std::byte> cubin) {
  const DeviceModule module(device.context(), cubin);
  const Launches launches(device, probe, module);
  launches.nanoseconds(kLaunches);  // the first ones load the kernels
  std::vector<double> differences;
  for (std::size_t i = 0; i < kRepeats; ++i) {
    const std::optional<double> twice = launches.nanoseconds(2 * kLaunches),
                                once = launches.nanoseconds(kLaunches);
    if (!twice || !once) return {.note = "the host took longer to queue launches than a kernel held the GPU"};
    differences.push_back(*twice - *once);
  }
  const double spread = spread_of(differences);
  std::ranges::nth_element(differences, differences.begin() + kRepeats / 2);
  const double median = differences[kRepeats / 2];
  if (median <= 0) return {.note = "256 launches took no longer than 128"};
  return {.nanoseconds = median / kLaunches, .spread = spread};
}

}  // namespace ptxloom::insn
