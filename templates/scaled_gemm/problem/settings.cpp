// SPDX-License-Identifier: Apache-2.0
// The parameters of the problem, completed and checked.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "ptxloom/error.hpp"
#include "ptxloom/kit/weight_layout.hpp"
#include "scaled_gemm/problem/problem.hpp"

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
  if (words.at("swiglu") == "no" || size_of(words, "n") % (2 * kGateColumns) == 0) return;
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
  const bool scaled = real_of(words, "beta") != 1 && real_of(words, "beta") != 0;
  for (const auto& [name, given] : {std::pair{"beta", scaled}, {"add_c", before}})
    if (given && words.at("c") == "none")
      throw Error(ErrorKind::usage, "bad-value",
                  fmt::format("scaled_gemm: {}={} without c", name, words.at(name)),
                  fmt::format("give c a type, or leave {} out", name));
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
  const bool exact = a.element == s8 && size_of(words, "k") <= kMostOfIntegers,
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
      size_of(words, "group") < kit::WeightLayout::kInstructionOfBytes)
    throw Error(
        ErrorKind::usage, "bad-value",
        fmt::format("scaled_gemm: group={} cannot be used with format_a={}", words.at("group"), a.name),
        fmt::format("an instruction multiplies {} elements: give at least as many",
                    kit::WeightLayout::kInstructionOfBytes));
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

/// Rows begin where TMA loads them, at a whole byte, or where the padding of 6-bit elements ends.
ParameterSpace::RowUnit row_unit(const Format& one, const Format& other, bool by_tma) {
  if (by_tma) return {kTmaBytes * 8 / one.element.bits, kTmaBytes};
  if (widens(one, other)) return {kPadded, one.element.bits == 6 ? kPadded : kPadded * one.element.bits / 8};
  return one.element.bits == 4 ? ParameterSpace::RowUnit{kPacked, 1} : ParameterSpace::RowUnit{};
}

/// Rows of narrow elements have whole units of them.
void check_depth(const Settings& words, const Format& format) {
  const int unit = format.element.bits == 6 ? kPadded : format.element.bits == 4 ? kPacked : 1;
  if (size_of(words, "k") % static_cast<std::uint32_t>(unit) == 0) return;
  throw Error(ErrorKind::usage, "bad-value",
              fmt::format("scaled_gemm: k={} cannot be used with {}", words.at("k"), format.name),
              fmt::format("its rows have multiples of {} elements: fill A and B up with zeros", unit));
}

void complete_strides(const ParameterSpace& space, Settings& words) {
  const Format a = format_named(words.at("format_a")), b = format_named(words.at("format_b"));
  space.complete_pitch(words, "lda", size_of(words, "k"), row_unit(a, b, shuffles(a, b)));
  const std::uint32_t columns = size_of(words, "n") / (words.at("swiglu") == "yes" ? 2 : 1);
  space.complete_pitch(words, "ldd", columns);
  if (words.at("c") != "none")
    space.complete_pitch(words, "ldc", columns);
  else if (words.at("ldc") != "0")
    throw Error(ErrorKind::usage, "bad-stride", fmt::format("scaled_gemm: ldc={} without c", words.at("ldc")),
                "give c a type, or leave ldc out");
  if (!shuffles(a, b)) {
    check_depth(words, a);
    check_depth(words, b);
    return space.complete_pitch(words, "ldb", size_of(words, "k"), row_unit(b, a, false));
  }
  if (words.at("ldb") != "0")
    throw Error(ErrorKind::usage, "bad-stride",
                fmt::format("scaled_gemm: ldb={} cannot be used with format_b={}", words.at("ldb"), b.name),
                "these weights are in a layout of tiles, without rows: leave ldb out");
}

}  // namespace

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

}  // namespace ptxloom::scaled_gemm
