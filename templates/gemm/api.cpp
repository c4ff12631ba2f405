// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "ptxloom/gemm.hpp"

namespace ptxloom {
namespace {

std::uint64_t address_of(const GemmOperands& operands, std::string_view tensor) {
  const MatrixAddress* all[] = {&operands.a, &operands.b, &operands.c, &operands.d};
  const std::size_t index = std::string_view("abcd").find(tensor);
  return index < std::size(all) ? all[index]->value() : 0;
}

}  // namespace

void Gemm::launch(CUstream_st* stream, const GemmOperands& operands) const {
  for (const TensorPlan& tensor : kernel_.tensors) {
    if (address_of(operands, tensor.name) == 0) {
      throw Error(ErrorKind::usage, "missing-operand", fmt::format("matrix {} is not given", tensor.name),
                  "give its device pointer or its Buffer");
    }
  }
  const auto address = [&](std::string_view tensor) { return address_of(operands, tensor); };
  const auto encode = [&](const TensorMap& map) { return context_.encode(map); };
  kernel_.kernel.launch(stream, launch_config_of(kernel_.launch, context_.device().sms),
                        LaunchArguments(kernel_.launch, address, encode));
}

TuneResult Gemm::tune(Budget budget) {
  TuneResult result = tune_template(context_, gemm_template(), {.problem = problem(), .budget = budget});
  if (!result.record) {
    throw Error(ErrorKind::refused, "no-correct-candidate", "no configuration was measured and found correct",
                "give it a larger budget; ptxloom tune says what became of each candidate");
  }
  kernel_ = specialise(context_, gemm_template(), problem(), result.record->config);
  return result;
}

Gemm gemm(const Context& context, const GemmProblem& problem, const Settings& config,
          const SpecialiseOptions& options) {
  return {context, specialise(context, gemm_template(), problem.settings(), config, options)};
}

}  // namespace ptxloom
