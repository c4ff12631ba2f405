// SPDX-License-Identifier: Apache-2.0
#include "operands.hpp"
#include "ptxloom/gemm.hpp"

namespace ptxloom {
namespace {

std::uint64_t address_of(const GemmOperands& operands, std::string_view tensor) {
  const std::pair<std::string_view, const MatrixAddress&> all[] = {{"a", operands.a},
                                                                   {"b", operands.b},
                                                                   {"c", operands.c},
                                                                   {"d", operands.d},
                                                                   {"bias", operands.bias},
                                                                   {"scale_a", operands.scale_a},
                                                                   {"scale_b", operands.scale_b},
                                                                   {"scale_d", operands.scale_d},
                                                                   {"group_rows", operands.group_rows},
                                                                   {"group_of_rows", operands.group_of_rows}};
  for (const auto& [name, address] : all)
    if (name == tensor) return address.value();
  return 0;
}

}  // namespace

Gemm::Gemm(Context context, Specialised kernel)
    : context_(std::move(context)),
      kernel_(std::move(kernel)),
      areas_(std::make_shared<const std::vector<gemm_kernel::Area>>(
          gemm_kernel::areas(kernel_.problem, kernel_.config, kernel_.tensors))),
      workspaces_(context_, workspace_bytes()) {}

void Gemm::launch(CUstream_st* stream, const GemmOperands& operands) const {
  const auto address = [&](std::string_view tensor) { return address_of(operands, tensor); };
  gemm_kernel::check_operands(*areas_, address);
  const std::uint64_t given = operands.workspace.value();
  if (workspace_bytes() == 0) return launch_with(0, stream, operands);
  if (given == 0) {
    workspaces_.with(stream, [&](std::uint64_t own) { launch_with(own, stream, operands); });
    return;
  }
  gemm_kernel::check_workspace(*areas_, address, given, workspace_bytes());
  launch_with(given, stream, operands);
}

void Gemm::launch_with(std::uint64_t workspace, CUstream_st* stream, const GemmOperands& operands) const {
  const auto address = [&](std::string_view tensor) {
    return tensor == kWorkspace ? workspace : address_of(operands, tensor);
  };
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
  *this = {context_, specialise(context_, gemm_template(), problem(), result.record->config)};
  return result;
}

Gemm gemm(const Context& context, const GemmProblem& problem, const Settings& config,
          const SpecialiseOptions& options) {
  return {context, specialise(context, gemm_template(), problem.settings(), config, options)};
}

}  // namespace ptxloom
