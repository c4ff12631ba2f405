// SPDX-License-Identifier: Apache-2.0
#include "gemm/launch/batch.hpp"

#include <string>

namespace ptxloom::gemm_kernel {
namespace {

std::uint64_t stride_of(const Problem& p, std::string_view name) {
  if (name == "a") return p.a.stride;
  if (name == "b") return p.b.stride;
  return name == "c" ? p.c.stride : p.d.stride;
}

bool counts(const Problem& p) { return p.batch > 1 || p.groups == GemmGroups::contiguous; }

std::string stride_name(std::string_view name) { return "stride_" + std::string(name); }

}  // namespace

std::optional<TensorPlan> group_tensor(const Problem& p) {
  const std::uint64_t parts = (std::uint64_t{p.m} + kGroupRows - 1) / kGroupRows;
  switch (p.groups) {
    case GemmGroups::masked:
      return TensorPlan{
          .name = "group_rows", .type = s32, .shape = {p.batch}, .below = std::uint64_t{p.m} + 1};
    case GemmGroups::contiguous:
      return TensorPlan{.name = "group_of_rows", .type = s32, .shape = {parts}, .below = p.batch};
    case GemmGroups::none:
      break;
  }
  return std::nullopt;
}

void add_batch_parameters(kit::Params& params, const Problem& p,
                          const std::vector<std::string_view>& pointers, bool baked) {
  if (counts(p)) params.size("batch", u32, p.batch, baked);
  for (const std::string_view name : pointers)
    if (const std::uint64_t stride = stride_of(p, name); stride > 0)
      params.size(stride_name(name), u64, stride, baked);
  if (const auto tensor = group_tensor(p)) params.pointer(tensor->name, tensor->type);
}

BatchInputs batch_inputs(const kit::ParamRegs& in, const Problem& p) {
  BatchInputs batches{.kind = p.groups};
  if (in.has("batch")) batches.count = in["batch"];
  for (const std::string_view name : {"a", "b", "c", "d"})
    if (const std::string stride = stride_name(name); in.has(stride)) batches.strides[name] = in[stride];
  if (const auto tensor = group_tensor(p)) batches.groups = in[tensor->name];
  return batches;
}

Reg of_batch(KernelBuilder& k, const BatchInputs& in, std::string_view name, Type type, Reg pointer,
             const std::optional<Reg>& batch) {
  const auto stride = in.strides.find(name);
  if (stride == in.strides.end()) return pointer;
  return k.fma(k.convert(u64, *batch), k.mul(stride->second, type.bytes()), pointer);
}

}  // namespace ptxloom::gemm_kernel
