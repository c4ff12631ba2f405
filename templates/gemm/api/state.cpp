// SPDX-License-Identifier: Apache-2.0
#include "gemm/api/state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>
#include <utility>

#include "gemm/launch/launch.hpp"
#include "ptxloom/tune.hpp"

namespace ptxloom {
namespace gemm_kernel {
namespace {

Type arithmetic_of(const LaunchPlan& plan) {
  const auto alpha = std::ranges::find(plan.arguments, "alpha", &ArgumentPlan::name);
  return alpha == plan.arguments.end() ? f32 : alpha->type;
}

std::uint64_t bits_of(Type type, const char* name, double value) {
  if (type == s32 && (value != std::trunc(value) || std::abs(value) > 0x7fffffff))
    throw Error(ErrorKind::usage, "bad-value",
                fmt::format("{} = {} is not an integer, and D is s32", name, value),
                "with an s32 D everything is computed in integers: give a 32-bit integer");
  const bool fits = type == f32 ? std::abs(value) <= std::numeric_limits<float>::max() : std::isfinite(value);
  if (!fits)
    throw Error(ErrorKind::usage, "bad-value", fmt::format("{} = {} does not fit {}", name, value, type.name),
                "give a finite number in the range of the type in which it is applied");
  return scalar_bits(type, value);
}

Given given_of(const GemmOperands& operands) {
  const MatrixAddress addresses[] = {
      operands.a,        operands.b,       operands.c,       operands.d,          operands.bias,
      operands.scale_a,  operands.scale_b, operands.scale_d, operands.group_rows, operands.group_of_rows,
      operands.workspace};
  Given given{};
  std::ranges::transform(addresses, given.begin(), &MatrixAddress::value);
  return given;
}

std::uint64_t next_layout() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace

SizedKernel::SizedKernel(Specialised specialised, int sms, std::uint64_t number)
    : kernel(std::move(specialised)),
      areas(gemm_kernel::areas(kernel.problem, kernel.config, kernel.tensors)),
      launch(kernel.kernels, kernel.launches, sms, kGiven),
      arithmetic(arithmetic_of(kernel.launches.front())),
      layout(number) {}

bool SizedKernel::reads_c() const {
  return std::ranges::any_of(areas, [](const Area& area) { return area.place == place_of("c"); });
}

std::size_t SizeHash::operator()(const SizeKey& key) const {
  std::uint64_t hash = key.reads_c ? 1 : 0;
  for (const std::uint64_t value : {key.m, key.n, key.k, key.lda, key.ldb, key.ldc, key.ldd})
    hash = (hash ^ value) * 0x9e3779b97f4a7c15 + (hash >> 29);
  return hash;
}

}  // namespace gemm_kernel

using gemm_kernel::Given;
using gemm_kernel::SizedKernel;
using gemm_kernel::SizeKey;

Gemm::State::State(const Context& context, Settings given, Settings config, bool must_hit, Specialised kernel)
    : given_(std::move(given)),
      config_(std::move(config)),
      must_hit_(must_hit),
      base_(std::make_shared<const SizedKernel>(std::move(kernel), context.device().sms,
                                                gemm_kernel::next_layout())),
      workspaces_(context, ptxloom::workspace_bytes(base_->kernel.launches)) {
  const auto number = [](const Settings& settings, const char* name) {
    const auto found = settings.find(name);
    return found == settings.end() ? 0 : std::stoull(found->second);
  };
  const Settings& whole = base_->kernel.problem;
  largest_ = {.m = number(whole, "m"),
              .n = number(whole, "n"),
              .k = number(whole, "k"),
              .lda = number(given_, "lda"),
              .ldb = number(given_, "ldb"),
              .ldc = number(given_, "ldc"),
              .ldd = number(given_, "ldd"),
              .reads_c = base_->reads_c()};
  alpha_ = real_of(whole, "alpha");
  beta_ = real_of(whole, "beta");
  for (const Kernel& loaded : base_->kernel.kernels)
    pool_.find(loaded.ptx(), loaded.name(), {}, [&] { return loaded; });
}

SizeKey Gemm::State::key_of(const GemmSizes& sizes) const {
  const auto size = [&](const char* name, const std::optional<std::uint64_t>& given, std::uint64_t largest) {
    if (!given || (*given >= 1 && *given <= largest)) return given.value_or(largest);
    throw Error(ErrorKind::usage, "size-out-of-range",
                fmt::format("a launch has {} = {}, and the Gemm was made for {} up to {}", name, *given, name,
                            largest),
                "make the Gemm for the largest sizes that you launch; a size is at least 1");
  };
  return {.m = size("m", sizes.m, largest_.m),
          .n = size("n", sizes.n, largest_.n),
          .k = size("k", sizes.k, largest_.k),
          .lda = sizes.lda.value_or(largest_.lda),
          .ldb = sizes.ldb.value_or(largest_.ldb),
          .ldc = sizes.ldc.value_or(largest_.ldc),
          .ldd = sizes.ldd.value_or(largest_.ldd),
          .reads_c = sizes.beta ? *sizes.beta != 0 : largest_.reads_c};
}

Settings Gemm::State::problem_of(const GemmSizes& sizes) const {
  Settings problem = given_;
  const std::pair<const char*, const std::optional<std::uint64_t>&> integers[] = {
      {"m", sizes.m},     {"n", sizes.n},     {"k", sizes.k},    {"lda", sizes.lda},
      {"ldb", sizes.ldb}, {"ldc", sizes.ldc}, {"ldd", sizes.ldd}};
  for (const auto& [name, value] : integers)
    if (value) problem[name] = std::to_string(*value);
  if (sizes.alpha) problem["alpha"] = fmt::format("{}", *sizes.alpha);
  if (sizes.beta) problem["beta"] = fmt::format("{}", *sizes.beta);
  return problem;
}

std::shared_ptr<const SizedKernel> Gemm::State::make(const Context& context, const GemmSizes& sizes) const {
  const Settings problem = gemm_template().problem(problem_of(sizes));
  const bool recorded =
      context.is_gpu() &&
      context.records().find(device_key(context.device()), gemm_template().name(), problem).has_value();
  const auto with = [&](const Settings& config) {
    return std::make_shared<const SizedKernel>(
        specialise(context, gemm_template(), problem, config, {.must_hit = must_hit_, .pool = &pool_}),
        context.device().sms, gemm_kernel::next_layout());
  };
  // Sizes become kernel parameters, so that other sizes can share the kernel; not every strategy supports it.
  Settings shared = config_;
  if (recorded || !shared.try_emplace("static", "none").second) return with(config_);
  try {
    return with(shared);
  } catch (const Error& error) {
    if (error.diagnostics().front().code != "no-configuration") throw;
    return with(config_);
  }
}

std::shared_ptr<const SizedKernel> Gemm::State::ready(const SizeKey& key) const {
  if (key == largest_) return base_;
  const std::shared_lock lock(mutex_);
  const auto known = sized_.find(key);
  return known == sized_.end() ? nullptr : known->second;
}

std::shared_ptr<const SizedKernel> Gemm::State::kernel_for(const Context& context, const GemmSizes& sizes,
                                                           std::optional<CUstream_st*> stream) const {
  const SizeKey key = key_of(sizes);
  if (auto known = ready(key)) return known;
  if (stream && context.is_gpu() && context.device_context().is_capturing(*stream))
    throw Error(
        ErrorKind::usage, "not-prepared",
        fmt::format(
            "no kernel is ready for a launch with m = {}, n = {}, k = {} while the stream is captured", key.m,
            key.n, key.k),
        "call Gemm::prepare with these sizes before the capture");
  std::shared_ptr<const SizedKernel> made = make(context, sizes);
  const std::scoped_lock lock(mutex_);
  if (sized_.size() == kMost) sized_.clear();  // their kernels stay in the pool
  return sized_.try_emplace(key, std::move(made)).first->second;
}

void Gemm::State::launch(const Context& context, CUstream_st* stream, const GemmOperands& operands,
                         const GemmSizes& sizes) const {
  const std::shared_ptr<const SizedKernel> sized = this->kernel_for(context, sizes, stream);
  Given given = gemm_kernel::given_of(operands);
  constexpr std::size_t kPlace = gemm_kernel::place_of(kWorkspace);
  const auto [alpha, beta] = std::pair(sizes.alpha.value_or(alpha_), sizes.beta.value_or(beta_));
  given[gemm_kernel::place_of("alpha")] = gemm_kernel::bits_of(sized->arithmetic, "alpha", alpha);
  given[gemm_kernel::place_of("beta")] = gemm_kernel::bits_of(sized->arithmetic, "beta", beta);
  gemm_kernel::check_operands(sized->areas, given);
  const std::uint64_t bytes = ptxloom::workspace_bytes(sized->kernel.launches);
  if (bytes == 0) return sized->launch.launch(stream, given);
  if (given[kPlace] != 0) {
    gemm_kernel::check_workspace(sized->areas, given, bytes);
    return sized->launch.launch(stream, given);
  }
  workspaces_.with(stream, {.bytes = bytes, .layout = sized->layout}, [&](std::uint64_t own) {
    given[kPlace] = own;
    sized->launch.launch(stream, given);
  });
}

}  // namespace ptxloom
