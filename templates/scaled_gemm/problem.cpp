// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "ptxloom/error.hpp"
#include "ptxloom/kit/activation.hpp"
#include "ptxloom/kit/scaled_format.hpp"

namespace ptxloom::scaled_gemm {
namespace {

constexpr const char* kDefaultGroup = "128";
constexpr const char* kWholeRow = "row";  // a group that has all of k
constexpr const char *kTensor = "tensor", *kNone = "none";
constexpr const char *kPlain = "plain", *kPromoted = "promoted";  // sums
constexpr std::uint32_t kMostOfIntegers = 131071;                 // products of up to 2^14 whose sum fits s32
constexpr std::uint64_t kMostExtent = std::uint64_t{1} << 30;     // positions are 32-bit integers
constexpr int kTmaBytes = 16;                                     // rows begin at multiples of it
constexpr int kPacked = 2;                                        // elements of 4 bits in a byte
constexpr int kPadded = 16;                                       // elements of 6 bits in 16 bytes
constexpr std::uint32_t kInstructionOfBytes = 32;                 // elements of k

std::uint32_t number(const Settings& words, const std::string& name) {
  return static_cast<std::uint32_t>(number_of(words, name));
}

/// Floats of 8 bits and less without scales of blocks.
bool plain_floats(const Format& a, const Format& b) {
  const auto is_one = [](const Format& one) {
    return one.block == 0 && one.element.is_float() && one.element.bits <= 8;
  };
  return is_one(a) && is_one(b);
}

/// Whether there are kernels for these formats of A and B.
bool multiplies(const Format& a, const Format& b) {
  if (a.block != 0) return b.block != 0;
  if (plain_floats(a, b)) return true;
  // Weights of 6 and 4 bits that are floats have scales of blocks, and 8 bits beside weights are e4m3 or s8.
  const bool scaled = b.block != 0 || !b.element.is_float() || b.element.bits == 8;
  return scaled && a.element != e5m2 && kit::WeightLayout::has(b.element, a.element);
}

/// Beside numbers without scales of blocks, B holds weights in the kit's layout.
bool shuffles(const Format& a, const Format& b) { return a.block == 0 && !plain_floats(a, b); }
/// Beside wider elements of B or A, and without scales of blocks, those of 6 and 4 bits become bytes.
bool widens(const Format& one, const Format& other) {
  return one.element.bits < 8 && (one.element.bits == 6 || other.element.bits > 4 || one.block == 0);
}

/// The kit's formats with blocks of their own; else the type of this name. Of integers the parameter `group`
/// gives the block, and A the type of scales.
Format format_named(const std::string& name) {
  const kit::ScaledFormat* const format = kit::find_scaled_format(name);
  if (format != nullptr && format->block != 0)
    return {format->name, format->element, format->scale, static_cast<std::uint32_t>(format->block),
            format->tensor_scale};
  const Type type = *find_type(name);  // ParameterSpace admits no other
  return {.name = type.name, .element = type};
}

void check_sizes(const Settings& words) {
  for (const char* name : {"m", "n", "k"})
    if (number_of(words, name) > kMostExtent)
      throw Error(ErrorKind::usage, "shape-too-large",
                  fmt::format("scaled_gemm: {}={}", name, words.at(name)), "a size is at most 2^30");
}

void check_products(const Settings& words) {
  const std::uint64_t batch = number_of(words, "batch");
  const auto check = [&](const char* size, const char* what) {
    if (batch * number_of(words, size) > kMostExtent)
      throw Error(ErrorKind::usage, "shape-too-large",
                  fmt::format("scaled_gemm: batch={} of {}={}", batch, size, words.at(size)),
                  fmt::format("all batches together have at most 2^30 {}", what));
  };
  if (words.at("groups") != "contiguous") check("m", "rows");
  check("n", "columns of B");
}

void check_gates(const Settings& words) {
  if (words.at("swiglu") == "no" || number(words, "n") % (2 * kGateColumns) == 0) return;
  throw Error(ErrorKind::usage, "bad-value",
              fmt::format("scaled_gemm: n={} cannot be used with swiglu=yes", words.at("n")),
              fmt::format("B has groups of {} columns: give a multiple", 2 * kGateColumns));
}

void check_epilogue(const Settings& words) {
  for (const char* factor : {"alpha", "beta"})
    if (std::abs(real_of(words, factor)) > std::numeric_limits<float>::max())
      throw Error(ErrorKind::usage, "bad-value",
                  fmt::format("scaled_gemm: {}={} does not fit f32, in which it is applied", factor,
                              words.at(factor)),
                  "scale the operands");
  const bool before = words.at("add_c") == "before";
  if (words.at("swiglu") == "yes" && (before || words.at("activation") != "none"))
    throw Error(ErrorKind::usage, "bad-value",
                fmt::format("scaled_gemm: {} cannot be used with swiglu=yes",
                            before ? "add_c=before" : "activation=" + words.at("activation")),
                "swiglu has an activation of its own, which C is added after: leave it out");
}

/// Which values of a parameter go with the other's value, as "a, b, c".
std::string served(const ParameterSpace& space, std::string_view name, const auto& goes) {
  const auto& parameter = *std::ranges::find(space.problem(), name, &TemplateParameter::name);
  std::string all;
  for (const std::string& value : parameter.values)
    if (goes(format_named(value))) all += (all.empty() ? "" : ", ") + value;
  return all;
}

void check_formats(const ParameterSpace& space, const Settings& words) {
  const Format a = format_named(words.at("format_a")), b = format_named(words.at("format_b"));
  if (multiplies(a, b)) return;
  const std::string of_a = served(space, "format_a", [&](const Format& one) { return multiplies(one, b); });
  throw Error(ErrorKind::usage, "bad-value",
              fmt::format("scaled_gemm: format_b={} cannot be used with format_a={}", b.name, a.name),
              fmt::format("with format_a={} give format_b one of {}{}", a.name,
                          served(space, "format_b", [&](const Format& one) { return multiplies(a, one); }),
                          of_a.empty() ? "" : fmt::format("; or format_a one of {}", of_a)));
}

/// Of plain floats `group` says what scales are of.
void complete_whole_scales(Settings& words) {
  const std::string& group = words.try_emplace("group", kWholeRow).first->second;
  words.try_emplace("scale_b", f32.name);
  if ((group == kWholeRow || group == kTensor || group == kNone) && words.at("scale_b") == f32.name) return;
  throw Error(
      ErrorKind::usage, "bad-value",
      fmt::format("scaled_gemm: group={} and scale_b={} cannot be used with format_a={} and format_b={}",
                  group, words.at("scale_b"), words.at("format_a"), words.at("format_b")),
      "give group=row, tensor or none: their scales are f32 for rows or tensors; gemm has those of blocks");
}

/// Whether A is 8 bits beside weights, whose products are promoted.
bool may_promote(const Format& a, const Format& b) { return shuffles(a, b) && a.element.bits == 8; }

/// Whether the epilogue can apply what a column of weights has in common, so that nothing in between does.
bool may_accumulate(const Settings& words, const Format& b) {
  return b.block != 0 || words.at("group") == kWholeRow;
}

void complete_sums(Settings& words) {
  const Format a = format_named(words.at("format_a")), b = format_named(words.at("format_b"));
  if (!may_promote(a, b)) {
    if (words.try_emplace("sums", kPlain).first->second == kPlain) return;
    throw Error(ErrorKind::usage, "bad-value",
                fmt::format("scaled_gemm: sums={} cannot be used with format_a={} and format_b={}",
                            words.at("sums"), a.name, b.name),
                "it is for e4m3 and s8 beside weights: leave sums out");
  }
  const bool exact = a.element == s8 && number(words, "k") <= kMostOfIntegers,
             possible = may_accumulate(words, b);
  words.try_emplace("sums", possible && exact ? kPlain : kPromoted);
  if (words.at("sums") == kPromoted) return;
  if (!possible)
    throw Error(ErrorKind::usage, "bad-value",
                fmt::format("scaled_gemm: sums=plain cannot be used with format_b={} and group={}", b.name,
                            words.at("group")),
                "groups have factors of their own: leave sums out, or give integers group=row");
  if (a.element == s8 && !exact)
    throw Error(
        ErrorKind::usage, "bad-value",
        fmt::format("scaled_gemm: sums=plain cannot be used with k={}", words.at("k")),
        fmt::format("sums of more than {} products may not fit s32: leave sums out", kMostOfIntegers));
}

void complete_group(Settings& words) {
  const Format b = format_named(words.at("format_b"));
  if (words.contains("group") && (words.at("group") == kTensor || words.at("group") == kNone))
    throw Error(ErrorKind::usage, "bad-value",
                fmt::format("scaled_gemm: group={} cannot be used with format_a={} and format_b={}",
                            words.at("group"), words.at("format_a"), b.name),
                "it is for two floats of 8 bits and less: leave group out");
  words.try_emplace("group", b.block == 0 ? kDefaultGroup : std::to_string(b.block));
  if (b.block != 0 && words.at("group") != std::to_string(b.block))
    throw Error(
        ErrorKind::usage, "bad-value",
        fmt::format("scaled_gemm: group={} cannot be used with format_b={}", words.at("group"), b.name),
        fmt::format("its scales are for {} elements: leave group out", b.block));
  const Format a = format_named(words.at("format_a"));
  if (a.block == 0 && a.element.bits == 8 && b.block == 0 && words.at("group") != kWholeRow &&
      number(words, "group") < kInstructionOfBytes)
    throw Error(
        ErrorKind::usage, "bad-value",
        fmt::format("scaled_gemm: group={} cannot be used with format_a={}", words.at("group"), a.name),
        fmt::format("an instruction multiplies {} elements: give at least as many", kInstructionOfBytes));
}

/// Scales of integers are in the type of A, in bf16 beside 8 bits, or in f32.
void complete_scale(Settings& words) {
  const Format a = format_named(words.at("format_a")), b = format_named(words.at("format_b"));
  const std::string own(b.block != 0 ? b.scale.name : a.element.bits == 8 ? bf16.name : a.element.name);
  words.try_emplace("scale_b", own);
  const std::string& given = words.at("scale_b");
  if (given == own || (b.block == 0 && given == f32.name)) return;
  throw Error(ErrorKind::usage, "bad-value",
              fmt::format("scaled_gemm: scale_b={} cannot be used with format_a={} and format_b={}", given,
                          a.name, b.name),
              b.block == 0 ? fmt::format("give {} or f32", own)
                           : fmt::format("its scales are in {}: leave scale_b out", own));
}

/// Elements of k that share a scale. The weight layout has whole units of k.
std::uint32_t block_of(const Operand& b, const Settings& words) {
  if (!b.shuffled) return b.format.block;
  if (words.at("group") != kWholeRow) return number(words, "group");
  return static_cast<std::uint32_t>(b.weights().filled_depth());
}

/// Rows begin where TMA loads them, at a whole byte, or where the padding of 6-bit elements ends.
ParameterSpace::RowUnit row_unit(const Format& one, const Format& other, bool by_tma) {
  if (by_tma) return {kTmaBytes * 8 / one.element.bits, kTmaBytes};
  if (widens(one, other)) return {kPadded, one.element.bits == 6 ? kPadded : kPadded * one.element.bits / 8};
  return one.element.bits == 4 ? ParameterSpace::RowUnit{kPacked, 1} : ParameterSpace::RowUnit{};
}

/// Rows of narrow elements have whole units of them.
void check_depth(const Settings& words, const Format& format) {
  const int unit = format.element.bits == 6 ? kPadded : format.element.bits == 4 ? kPacked : 1;
  if (number(words, "k") % static_cast<std::uint32_t>(unit) == 0) return;
  throw Error(ErrorKind::usage, "bad-value",
              fmt::format("scaled_gemm: k={} cannot be used with {}", words.at("k"), format.name),
              fmt::format("its rows have multiples of {} elements: fill A and B up with zeros", unit));
}

void complete_strides(const ParameterSpace& space, Settings& words) {
  const Format a = format_named(words.at("format_a")), b = format_named(words.at("format_b"));
  space.complete_pitch(words, "lda", number(words, "k"), row_unit(a, b, shuffles(a, b)));
  const std::uint32_t columns = number(words, "n") / (words.at("swiglu") == "yes" ? 2 : 1);
  space.complete_pitch(words, "ldd", columns);
  if (words.at("c") != "none")
    space.complete_pitch(words, "ldc", columns);
  else if (words.at("ldc") != "0")
    throw Error(ErrorKind::usage, "bad-stride", fmt::format("scaled_gemm: ldc={} without c", words.at("ldc")),
                "give c a type, or leave ldc out");
  if (!shuffles(a, b)) {
    check_depth(words, a);
    check_depth(words, b);
    return space.complete_pitch(words, "ldb", number(words, "k"), row_unit(b, a, false));
  }
  if (words.at("ldb") != "0")
    throw Error(ErrorKind::usage, "bad-stride",
                fmt::format("scaled_gemm: ldb={} cannot be used with format_b={}", words.at("ldb"), b.name),
                "these weights are in a layout of tiles, without rows: leave ldb out");
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

Problem::Problem(const Settings& words)
    : m(number(words, "m")),
      n(number(words, "n")),
      k(number(words, "k")),
      a{.format = format_named(words.at("format_a")), .extent = m, .k = k, .ld = number(words, "lda")},
      b{.format = format_named(words.at("format_b")), .extent = n, .k = k, .ld = number(words, "ldb")},
      d(*find_type(words.at("d"))),
      ldd(number(words, "ldd")) {
  batch = number(words, "batch");
  groups = words.at("groups") == "masked"       ? Groups::masked
           : words.at("groups") == "contiguous" ? Groups::contiguous
                                                : Groups::none;
  row_weights = words.at("row_weights") == "yes";
  swiglu = words.at("swiglu") == "yes";
  if (words.at("bias") != "none") bias = *find_type(words.at("bias"));
  if (words.at("c") != "none") c = *find_type(words.at("c"));
  ldc = number(words, "ldc");
  alpha = real_of(words, "alpha");
  beta = real_of(words, "beta");
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
  plain_sums = words.at("sums") == kPlain;
  if (!plain_floats(a.format, b.format)) return;
  whole_scales = words.at("group") == kWholeRow ? WholeScales::row
                 : words.at("group") == kTensor ? WholeScales::tensor
                                                : WholeScales::none;
}

Settings complete_problem(const ParameterSpace& space, const Settings& given) {
  Settings words = space.complete(space.problem(), given);
  space.require(words, {"m", "n", "k"});
  check_sizes(words);
  check_products(words);
  check_gates(words);
  check_epilogue(words);
  check_formats(space, words);
  if (plain_floats(format_named(words.at("format_a")), format_named(words.at("format_b")))) {
    complete_whole_scales(words);
  } else {
    complete_group(words);
    complete_scale(words);
  }
  complete_sums(words);
  complete_strides(space, words);
  return words;
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
