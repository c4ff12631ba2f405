// SPDX-License-Identifier: Apache-2.0
#include "tune/worker/session.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/reason.hpp"

namespace ptxloom::tune {
namespace {

constexpr double kFarBehind = 4;  // times the rival: one quick measurement is enough

std::string describe(const Verdict& verdict) {
  if (verdict.wrong != 0)
    return fmt::format("{} of {} elements are wrong: {}", verdict.wrong, verdict.checked, verdict.first);
  return fmt::format("{} elements were never written", verdict.unwritten.size());
}

}  // namespace

void Session::set_rival(const Candidate* rival) {
  rival_.reset();
  if (rival == nullptr) return;
  rival_ = bench_.load(*rival);
  rival_us_ = bench_.time_us(*rival_);
}

std::optional<Diagnostic> Session::check_once(Bench::Loaded& loaded) {
  check_expected(task_.expected, task_.tensors);
  const Verdict verdict = verify_run(task_.expected, [&](std::byte poison) -> std::span<const HostTensor> {
    bench_.prepare(poison);
    bench_.run(loaded);
    std::size_t output = 0;
    for (std::size_t i = 0; i < task_.tensors.size(); ++i) {
      const TensorPlan& plan = task_.tensors[i].plan;
      if (plan.role == TensorPlan::Role::in) continue;
      if (output == outputs_.size()) outputs_.push_back({plan, std::vector<std::byte>(plan.bytes())});
      bench_.read(i, outputs_[output++].bytes);
    }
    return outputs_;
  });
  if (!verdict.ok()) return Diagnostic{.code = "wrong-result", .message = describe(verdict)};
  if (const auto tensor = bench_.damaged())
    return Diagnostic{
        .code = "wrong-result",
        .message = fmt::format("it writes outside tensor {}, or outside the one next to it", *tensor)};
  return std::nullopt;
}

/// An earlier candidate may have corrupted the inputs, so a result counts as wrong only after a retry with
/// fresh ones.
std::optional<Diagnostic> Session::check(Bench::Loaded& loaded) {
  if (!check_once(loaded)) return std::nullopt;
  bench_.restore();
  loaded.reset();  // the wrong run may have left the right result there
  std::optional<Diagnostic> wrong = check_once(loaded);
  if (wrong) bench_.restore();
  return wrong;
}

void Session::time(Bench::Loaded& loaded, int samples, Reading& reading) {
  bench_.glance_us(loaded);  // absorbs the work of the first launch
  const double glance = bench_.glance_us(loaded);
  if (rival_ && glance > kFarBehind * rival_us_ + 50) {
    reading.us.push_back(glance);
    reading.rival_us.push_back(bench_.time_us(*rival_));
    return;
  }
  // The chip cools down between candidates and slows down under load, so whichever always went first would
  // seem faster.
  for (int i = 0; i < samples; ++i) {
    const bool rival_first = rival_ && i % 2 == 0;
    if (rival_first) reading.rival_us.push_back(bench_.time_us(*rival_));
    reading.us.push_back(bench_.time_us(loaded));
    if (rival_ && !rival_first) reading.rival_us.push_back(bench_.time_us(*rival_));
  }
}

/// Queries take milliseconds, in which nothing is measured.
void Session::look_at_health(Reading& reading) {
  constexpr std::chrono::milliseconds kInterval{500};
  const auto now = std::chrono::steady_clock::now();
  if (looked_ && now - *looked_ < kInterval) return;
  looked_ = now;
  reading.health = bench_.health();
}

Reading Session::measure(const Candidate& candidate, bool verify, int samples, bool& lost) {
  return attempt(
      [&](Reading& reading) {
        const std::unique_ptr<Bench::Loaded> loaded = bench_.load(candidate);
        if (verify) reading.problem = check(*loaded);
        if (!reading.problem) time(*loaded, samples, reading);
      },
      lost);
}

Reading Session::measure_vendor(int samples, bool& lost) {
  Reading whole = attempt(
      [&](Reading& reading) {
        if (!vendor_.fastest) {
          vendor_ = bench_.load_vendor();
          reading.problem = check(*vendor_.fastest);
        }
        if (!reading.problem) time(*vendor_.fastest, samples, reading);
      },
      lost);
  whole.library = vendor_.name;
  if (whole.problem) vendor_.fastest.reset();
  return whole;
}

Reading Session::attempt(const std::function<void(Reading&)>& take, bool& lost) {
  Reading reading;
  lost = false;
  try {
    take(reading);
    look_at_health(reading);
  } catch (const Error& error) {
    reading = {};
    reading.problem = error.diagnostics().front();
    lost = !bench_.alive(error);
  } catch (const std::exception& error) {
    reading = {};
    reading.problem = Diagnostic{.code = "candidate-failed", .message = reason_of(error)};
  }
  reading.busy_us = bench_.busy_us();
  return reading;
}

}  // namespace ptxloom::tune
