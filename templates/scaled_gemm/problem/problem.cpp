// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/problem/problem.hpp"

#include <string>
#include <utility>

#include "ptxloom/kit/activation.hpp"
#include "ptxloom/kit/scaled_format.hpp"

namespace ptxloom::scaled_gemm {
namespace {

/// Elements of k that share a scale. The weight layout has whole units of k.
std::uint32_t block_of(const Operand& b, const Settings& words) {
  if (!b.shuffled) return b.format.block;
  if (words.at("group") != "row") return size_of(words, "group");
  return static_cast<std::uint32_t>(b.weights().filled_depth());
}

/// The shape of a tensor that each batch has, if there are several.
std::vector<std::uint64_t> over(const Operand& operand, std::uint32_t batch,
                                std::vector<std::uint64_t> shape) {
  if (operand.batched) shape.insert(shape.begin(), batch);
  return shape;
}

TensorPlan scales_of(std::string name, const Operand& operand, std::uint32_t batch) {
  TensorPlan plan{.name = std::move(name), .type = operand.format.scale};
  if (!operand.shuffled) {
    plan.shape = over(operand, batch, {operand.extent, operand.scales()});
    return plan;
  }
  const kit::WeightLayout layout = operand.weights();
  plan.shape = over(operand, batch,
                    {layout.row_tiles(), layout.groups(operand.format.block), kit::WeightLayout::kTileRows});
  return plan;
}

TensorPlan elements_of(std::string name, const Operand& operand, std::uint32_t batch) {
  if (!operand.shuffled) {
    const Type type = operand.format.element.bits == 6 ? u8 : operand.format.element;  // padded
    return {
        .name = std::move(name), .type = type, .shape = over(operand, batch, {operand.extent, operand.ld})};
  }
  const kit::WeightLayout layout = operand.weights();
  return {.name = std::move(name),
          .type = u8,
          .shape = over(operand, batch, {layout.row_tiles(), layout.depth_tiles(), layout.tile_bytes()})};
}

}  // namespace

// Of nvfp4 even the scales are not too large times the power of two that makes values of bits: 448 * 2^(126 -
// 7) is a bf16, and 448 * 2^(14 - 7) an f16. Beside f16, weights in MX formats that are too large become
// infinity.
int Problem::held_back() const {
  constexpr int kOfE4m3 = 7;
  if (!b.shuffled || row_scales() || b.integers() || b.bytes()) return 0;
  if (b.format.scale == ue4m3) return kOfE4m3;
  return a.format.element == bf16 ? kit::find_scaled_format(b.format.name)->largest_exponent : 0;
}

Problem::Problem(const Settings& words)
    : m(size_of(words, "m")),
      n(size_of(words, "n")),
      k(size_of(words, "k")),
      a{.format = format_named(words.at("format_a")), .extent = m, .k = k, .ld = size_of(words, "lda")},
      b{.format = format_named(words.at("format_b")), .extent = n, .k = k, .ld = size_of(words, "ldb")},
      d(*find_type(words.at("d"))),
      ldd(size_of(words, "ldd")) {
  batch = size_of(words, "batch");
  groups = words.at("groups") == "masked"       ? Groups::masked
           : words.at("groups") == "contiguous" ? Groups::contiguous
                                                : Groups::none;
  row_weights = words.at("row_weights") == "yes";
  swiglu = words.at("swiglu") == "yes";
  if (words.at("bias") != "none") bias = *find_type(words.at("bias"));
  alpha = real_of(words, "alpha");
  beta = real_of(words, "beta");
  if (words.at("c") != "none" && beta != 0) c = *find_type(words.at("c"));
  ldc = size_of(words, "ldc");
  activation = *kit::find_activation(words.at("activation"));
  c_last = words.at("add_c") == "after";
  a.batched = separate();
  b.batched = batch > 1;
  b.shuffled = shuffles(a.format, b.format);
  if (!b.shuffled) {
    a.widened = widens(a.format, b.format);
    b.widened = widens(b.format, a.format);
  }
  if (b.shuffled) b.beside = a.format.element;
  b.format.block = block_of(b, words);
  b.format.scale = *find_type(words.at("scale_b"));
  plain_sums = words.at("sums") == "plain";
  if (!plain_floats(a.format, b.format)) return;
  whole_scales = words.at("group") == "row"      ? WholeScales::row
                 : words.at("group") == "tensor" ? WholeScales::tensor
                                                 : WholeScales::none;
}

std::vector<TensorPlan> tensors_of(const Problem& p) {
  std::vector<TensorPlan> all{elements_of("a", p.a, p.batch), elements_of("b", p.b, p.batch)};
  if (p.a.scaled()) all.push_back(scales_of("scale_a", p.a, p.batch));
  if (p.row_scales()) all.push_back({.name = "scale_a", .type = f32, .shape = {p.all_rows()}});
  const std::uint64_t of_a = p.separate() ? p.batch : 1;
  if (p.whole_scales == WholeScales::row) {
    all.push_back({.name = "scale_a", .type = f32, .shape = {p.all_rows()}});
    all.push_back({.name = "scale_b", .type = f32, .shape = over(p.b, p.batch, {p.n})});
  } else if (p.whole_scales == WholeScales::tensor) {
    all.push_back({.name = "scale_a", .type = f32, .shape = {of_a}});
    all.push_back({.name = "scale_b", .type = f32, .shape = {p.batch}});
  }
  if (p.b.scaled()) all.push_back(scales_of("scale_b", p.b, p.batch));
  if (p.b.zero_points()) {
    all.push_back(scales_of("zero_b", p.b, p.batch));
    all.back().type = u8;
  }
  if (p.a.format.tensor_scale) all.push_back({.name = "tensor_scale_a", .type = f32, .shape = {of_a}});
  if (p.b.format.tensor_scale) all.push_back({.name = "tensor_scale_b", .type = f32, .shape = {p.batch}});
  if (const auto groups = p.products().tensor())
    all.push_back({.name = groups->name, .type = s32, .shape = {groups->elements}, .below = groups->below});
  if (p.row_weights) all.push_back({.name = "row_weights", .type = f32, .shape = {p.all_rows()}});
  if (p.bias) all.push_back({.name = "bias", .type = *p.bias, .shape = over(p.b, p.batch, {p.n})});
  if (p.c) all.push_back({.name = "c", .type = *p.c, .shape = over(p.a, p.batch, {p.m, p.ldc})});
  all.push_back(
      {.name = "d", .type = p.d, .shape = over(p.a, p.batch, {p.m, p.ldd}), .role = TensorPlan::Role::out});
  return all;
}

std::string unit_of(const Problem& p) {
  const int bits = p.multiplied().bits;
  return bits == 16 ? "f16" : bits == 8 ? "b8" : "b4";
}

double input_bytes(const Problem& p) {
  double bytes = p.row_scales() ? double(p.all_rows()) * f32.bytes() : 0;
  for (const Operand& operand : {p.a, p.b}) {
    const int bits = operand.format.scale.bits + (operand.zero_points() ? u8.bits : 0);
    const double scales = operand.scaled() ? double(operand.scales()) * bits : 0;
    bytes += (operand.batched ? p.batch : 1.0) * operand.extent *
             (double(p.k) * operand.format.element.bits + scales) / 8;
  }
  if (p.c) bytes += double(p.all_rows()) * p.columns() * p.c->bytes();
  return bytes;
}

double output_bytes(const Problem& p) { return double(p.all_rows()) * p.columns() * p.d.bytes(); }

}  // namespace ptxloom::scaled_gemm
