// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/gemm.hpp"
#include "gemm/api/known_gemms.hpp"
#include "gemm/api/state.hpp"
#include "ptxloom/tune.hpp"

namespace ptxloom {

Gemm::Gemm(const Context& context, Specialised kernel) : context_(context) {
  Settings problem = kernel.problem;
  state_ = std::make_shared<const State>(context, std::move(problem), Settings{}, false, std::move(kernel));
}

Gemm::Gemm(std::shared_ptr<const State> state, Context context)
    : context_(std::move(context)), state_(std::move(state)) {}

void Gemm::launch(CUstream_st* stream, const GemmOperands& operands, const GemmSizes& sizes) const {
  state_->launch(context_, stream, operands, sizes);
}

void Gemm::prepare(const GemmSizes& sizes) const { state_->kernel_for(context_, sizes); }

bool Gemm::is_prepared(const GemmSizes& sizes) const { return state_->ready(sizes) != nullptr; }

std::uint64_t Gemm::workspace_bytes(const GemmSizes& sizes) const {
  return ptxloom::workspace_bytes(state_->kernel_for(context_, sizes)->kernel.launches);
}

const Specialised& Gemm::specialised() const { return state_->base(); }
std::size_t Gemm::kernels() const { return state_->kernels(); }

TuneResult Gemm::tune(Budget budget) {
  TuneResult result = tune_template(context_, gemm_template(), {.problem = problem(), .budget = budget});
  if (!result.record) {
    throw Error(ErrorKind::refused, "no-correct-candidate", "no configuration was both correct and measured",
                "raise the budget; `ptxloom tune` lists what happened to each candidate");
  }
  state_ =
      std::make_shared<const State>(context_, state_->given(), state_->config(), state_->must_hit(),
                                    specialise(context_, gemm_template(), problem(), result.record->config));
  return result;
}

Gemm gemm(const Context& context, const GemmProblem& problem, const Settings& config,
          const SpecialiseOptions& options) {
  auto& known = context.attached<gemm_kernel::KnownGemms>();
  return Gemm(known.find(context.records().generation(), problem, config, options,
                         [&] {
                           Settings given = problem.settings();
                           Specialised kernel = specialise(context, gemm_template(), given, config, options);
                           return std::make_shared<const Gemm::State>(context, std::move(given), config,
                                                                      options.must_hit, std::move(kernel));
                         }),
              context);
}

}  // namespace ptxloom
