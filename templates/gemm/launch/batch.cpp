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

std::string stride_name(std::string_view name) { return "stride_" + std::string(name); }

}  // namespace

kit::ProductGroups product_groups(const Problem& p) {
  using Kind = kit::TileGroups::Kind;
  const Kind kind = p.groups == GemmGroups::masked       ? Kind::masked
                    : p.groups == GemmGroups::contiguous ? Kind::contiguous
                                                         : Kind::none;
  return {.kind = kind, .rows = p.m, .batches = p.batch, .run = kGroupRows};
}

std::optional<TensorPlan> group_tensor(const Problem& p) {
  const auto groups = product_groups(p).tensor();
  if (!groups) return std::nullopt;
  return TensorPlan{.name = groups->name, .type = s32, .shape = {groups->elements}, .below = groups->below};
}

void add_batch_parameters(kit::Params& params, const Problem& p,
                          const std::vector<std::string_view>& pointers, bool baked) {
  const kit::ProductGroups products = product_groups(p);
  products.add_batches(params, baked);
  for (const std::string_view name : pointers)
    if (const std::uint64_t stride = stride_of(p, name); stride > 0)
      params.size(stride_name(name), u64, stride, baked);
  products.add_tensor(params);
}

BatchInputs batch_inputs(const kit::ParamRegs& in, const Problem& p) {
  const kit::ProductGroups products = product_groups(p);
  BatchInputs batches{.count = products.batches_in(in), .groups = products.groups_in(in, false)};
  for (const std::string_view name : {"a", "b", "c", "d"})
    if (const std::string stride = stride_name(name); in.has(stride)) batches.strides[name] = in[stride];
  return batches;
}

Reg of_batch(KernelBuilder& k, const BatchInputs& in, std::string_view name, Type type, Reg pointer,
             const std::optional<Reg>& batch) {
  const auto stride = in.strides.find(name);
  if (stride == in.strides.end()) return pointer;
  return k.fma(k.convert(u64, *batch), k.mul(stride->second, type.bytes()), pointer);
}

}  // namespace ptxloom::gemm_kernel
