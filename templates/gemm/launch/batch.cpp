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

std::string stride_word(std::string_view name) { return "stride_" + std::string(name); }

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

BatchInputs batch_parameters(KernelBuilder& k, const Problem& p,
                             const std::vector<std::string_view>& pointers, bool baked) {
  BatchInputs in{.kind = p.groups};
  const auto size = [&](Type type, const std::string& name, std::uint64_t value) {
    const Reg given = k.param(type, name);
    return baked ? k.mov(type, value) : given;
  };
  if (counts(p)) in.count = size(u32, "batch", p.batch);
  for (const std::string_view name : pointers)
    if (const std::uint64_t stride = stride_of(p, name); stride > 0)
      in.strides[name] = size(u64, stride_word(name), stride);
  if (const auto tensor = group_tensor(p)) in.groups = k.pointer(s32, tensor->name).base;
  return in;
}

void add_batch_arguments(LaunchArgumentList& add, const std::vector<std::string_view>& pointers) {
  const Problem& p = add.problem;
  if (counts(p)) add.size("batch", p.batch);
  for (const std::string_view name : pointers)
    if (const std::uint64_t stride = stride_of(p, name); stride > 0) add.distance(stride_word(name), stride);
  if (const auto tensor = group_tensor(p)) add.pointer(tensor->name);
}

Reg of_batch(KernelBuilder& k, const BatchInputs& in, std::string_view name, Type type, Reg pointer,
             const std::optional<Reg>& batch) {
  const auto stride = in.strides.find(name);
  if (stride == in.strides.end()) return pointer;
  return k.fma(k.convert(u64, *batch), k.mul(stride->second, type.bytes()), pointer);
}

}  // namespace ptxloom::gemm_kernel
