// SPDX-License-Identifier: Apache-2.0
#include "gemm/problem/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <sstream>
#include <tuple>

#include "ptxloom/kit/activation.hpp"

namespace ptxloom::gemm_kernel {
namespace {

bool lists(const std::string& cell, std::string_view word) {
  std::istringstream settings(cell);
  for (std::string one; std::getline(settings, one, '|');)
    if (one == word) return true;
  return false;
}

// The row of the table of types for a and b; its other cells are the accumulator and the types allowed for D
// and for C.
const std::vector<std::string>& type_row(const ParameterSpace& space, const std::string& a,
                                         const std::string& b) {
  for (const auto& row : space.types())
    if (lists(row[0], a) && lists(row[1], b)) return row;
  std::string partners;
  for (const auto& row : space.types())
    if (lists(row[0], a)) partners = row[1];
  throw Error(ErrorKind::usage, "gemm-types", fmt::format("gemm: a={} cannot be used with b={}", a, b),
              fmt::format("with a={}, b must be one of {}", a, partners));
}

std::string first_of(const std::string& cell) { return cell.substr(0, cell.find('|')); }

void check_result(const std::string& name, const std::string& type, const std::string& with,
                  const std::string& types) {
  if (!lists(types, type))
    throw Error(ErrorKind::usage, "gemm-types",
                fmt::format("gemm: {}={} cannot be used with {}", name, type, with),
                fmt::format("with {}, {} must be one of {}", with, name, types));
}

void check_single(const Settings& settings, const std::string& name) {
  if (std::abs(real_of(settings, name)) <= std::numeric_limits<float>::max()) return;
  throw Error(ErrorKind::usage, "bad-value",
              fmt::format("gemm: {}={} does not fit f32, in which it is applied", name, settings.at(name)),
              "scale the operands, or use f64");
}

Type type_of(const Settings& settings, const std::string& name) { return *find_type(settings.at(name)); }

void check_integral(const Settings& settings, const std::string& name) {
  const double value = real_of(settings, name);
  if (value != std::floor(value) || std::abs(value) > std::numeric_limits<std::int32_t>::max())
    throw Error(ErrorKind::usage, "bad-value",
                fmt::format("gemm: {}={} is not a 32-bit integer", name, settings.at(name)),
                "with d=s32 everything is computed in integers: give an integer, or use d=f32");
}

void check_sums(const Settings& settings) {
  if (settings.at("sums") == "promoted" && !is_fp8(type_of(settings, "a")))
    throw Error(ErrorKind::usage, "bad-value",
                fmt::format("gemm: sums=promoted cannot be used with a={}", settings.at("a")),
                "leave sums out: it is for e4m3 and e5m2; accumulators of other types keep all their bits");
}

GemmScale scale_of(const std::string& word) {
  if (word == "none") return GemmScale::none;
  if (word == "block") return GemmScale::block;
  return word == "tensor" ? GemmScale::tensor : GemmScale::vector;
}

// Later parameters are left out of a complete problem when they have their defaults, so that it keeps the
// name that it had before they existed.
constexpr const char* kLaterWords[] = {"bias",    "activation", "add_c", "scale_a",
                                       "scale_b", "scale_d",    "batch", "groups"};

void leave_out_defaults(const ParameterSpace& space, Settings& settings) {
  for (const TemplateParameter& parameter : space.problem()) {
    const bool later = std::ranges::find(kLaterWords, parameter.name) != std::end(kLaterWords);
    if (later && settings.at(parameter.name) == parameter.fallback) settings.erase(parameter.name);
  }
}

GemmGroups groups_of(const Settings& settings) {
  const auto word = settings.find("groups");
  if (word == settings.end()) return GemmGroups::none;
  return word->second == "masked" ? GemmGroups::masked : GemmGroups::contiguous;
}

// Results of batches follow each other, or lie side by side in rows that are long enough for all.
void check_results_apart(const Settings& settings) {
  const std::uint64_t m = number_of(settings, "m"), n = number_of(settings, "n"),
                      ld = number_of(settings, "ldd"), stride = number_of(settings, "stride_d"),
                      others = number_of(settings, "batch") - 1;
  const std::uint64_t least = span(m, n, ld, 0, 1);
  if (stride >= least || (stride >= n && stride <= ld && others * stride + n <= ld)) return;
  throw Error(ErrorKind::usage, "bad-stride",
              fmt::format("gemm: with stride_d={} the batches of D overlap", stride),
              fmt::format("give at least {} elements, or leave stride_d out for contiguous batches; or give "
                          "at least n, with an ldd that holds the rows of all batches side by side",
                          least));
}

// Strides that are not given are those of contiguous batches; with a single matrix strides are ignored.
void complete_batch(Settings& settings) {
  const bool contiguous = settings.at("groups") == "contiguous";
  const auto size = [&](const char* word) { return number_of(settings, word); };
  const auto rows = [&](const char* layout, const char* contiguous_along_k, const char* extent) {
    return size(settings.at(layout) == contiguous_along_k ? extent : "k");
  };
  const std::tuple<const char*, const char*, std::uint64_t> all[] = {
      {"stride_a", "lda", rows("a_layout", "row", "m")},
      {"stride_b", "ldb", rows("b_layout", "col", "n")},
      {"stride_c", "ldc", size("m")},
      {"stride_d", "ldd", size("m")}};
  for (const auto& [stride, ld, matrix_rows] : all) {
    const bool of_batches = !contiguous || stride == std::string_view("stride_b");
    if (!of_batches && settings.contains(stride))
      throw Error(ErrorKind::usage, "bad-stride",
                  fmt::format("gemm: {} cannot be used with groups=contiguous", stride),
                  "leave it out: A, C and D are one matrix each, only B has batches");
    if (!of_batches || settings.at("batch") == "1")
      settings.erase(stride);
    else if (!settings.contains(stride))
      settings[stride] = std::to_string(matrix_rows * size(ld));
  }
  if (settings.contains("stride_d")) check_results_apart(settings);
}

EpilogueTerms terms_of(const Settings& settings) {
  const auto word = [&](const char* name) {
    const auto found = settings.find(name);
    return found == settings.end() ? std::string("none") : found->second;
  };
  EpilogueTerms f{.c_last = word("add_c") == "after",
                  .scale_a = scale_of(word("scale_a")),
                  .scale_b = scale_of(word("scale_b")),
                  .scale_d = word("scale_d") == "tensor"};
  if (word("bias") != "none") f.bias = type_of(settings, "bias");
  f.activation = kit::find_activation(word("activation")).value_or(Activation::none);
  return f;
}

void check_function(const Settings& settings) {
  const std::string& d = settings.at("d");
  const EpilogueTerms terms = terms_of(settings);
  if ((d == "s32" || d == "f64") && !terms.none())
    throw Error(ErrorKind::usage, "gemm-types",
                fmt::format("gemm: bias, activation, add_c and scales cannot be used with d={}", d),
                "they are computed in f32: with s8 and u8 operands d can be f32, f16, bf16 or s8");
  if (terms.by_block() && !type_of(settings, "a").is_float())
    throw Error(ErrorKind::usage, "gemm-types",
                fmt::format("gemm: block scales cannot be used with a={}", settings.at("a")),
                "integers are accumulated exactly over all of k: use scales by tensor, row or col");
}

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 46;  // of one matrix

void check_bytes(const Matrix& x, std::uint64_t batches) {
  if (double(batches - 1) * double(x.stride) + double(x.rows * x.ld) <= double(kMaxBytes)) return;
  const std::string of_batches = x.stride == 0 ? "" : fmt::format(", {} times", batches);
  throw Error(ErrorKind::usage, "shape-too-large",
              fmt::format("gemm: {} has {} x {} elements{}", x.name, x.rows, x.ld, of_batches),
              "a matrix can have at most 2^46 elements, all batches together");
}

}  // namespace

bool is_fp8(Type type) { return type == e4m3 || type == e5m2; }

bool EpilogueTerms::none() const {
  return !bias && activation == Activation::none && !c_last && scale_a == GemmScale::none &&
         scale_b == GemmScale::none && !scale_d;
}

Settings complete_problem(const ParameterSpace& space, const Settings& given) {
  Settings settings = space.complete(space.problem(), given);
  space.require(settings, {"m", "n", "k"});
  const auto& row = type_row(space, settings.at("a"), settings.at("b"));
  if (!settings.contains("d")) settings["d"] = first_of(row[3]);
  if (!settings.contains("c"))
    settings["c"] = lists(row[4], settings["d"]) ? settings["d"] : first_of(row[4]);
  check_result("d", settings["d"], "a=" + row[0], row[3]);
  check_result("c", settings["c"], "a=" + row[0], row[4]);
  if (settings["d"] == "s32") check_result("c", settings["c"], "d=s32", "s32");
  space.complete_pitch(settings, "lda", number_of(settings, settings["a_layout"] == "row" ? "k" : "m"));
  space.complete_pitch(settings, "ldb", number_of(settings, settings["b_layout"] == "col" ? "k" : "n"));
  space.complete_pitch(settings, "ldc", number_of(settings, "n"));
  space.complete_pitch(settings, "ldd", number_of(settings, "n"));
  complete_batch(settings);
  check_sums(settings);
  leave_out_defaults(space, settings);
  check_function(settings);
  for (const char* factor : {"alpha", "beta"}) {
    if (settings["d"] == "s32")
      check_integral(settings, factor);
    else if (settings["a"] != "f64")
      check_single(settings, factor);
  }
  return settings;
}

Problem::Problem(const ParameterSpace& space, const Settings& given) {
  const Settings settings = complete_problem(space, given);
  m = size_of(settings, "m");
  n = size_of(settings, "n");
  k = size_of(settings, "k");
  const auto or_else = [&](const std::string& name, std::uint64_t otherwise) {
    return settings.contains(name) ? number_of(settings, name) : otherwise;
  };
  batch = static_cast<std::uint32_t>(or_else("batch", 1));
  groups = groups_of(settings);
  accumulator = *find_type(type_row(space, settings.at("a"), settings.at("b"))[2]);
  const auto matrix = [&](const std::string& name, std::uint32_t extent, bool k_contiguous) {
    const std::uint64_t rows = k_contiguous ? extent : k, cols = k_contiguous ? k : extent;
    return Matrix{{type_of(settings, name), k_contiguous, rows, cols, number_of(settings, "ld" + name),
                   or_else("stride_" + name, 0)},
                  name};
  };
  a = matrix("a", m, settings.at("a_layout") == "row");
  b = matrix("b", n, settings.at("b_layout") == "col");
  c = {"c", type_of(settings, "c"), number_of(settings, "ldc"), or_else("stride_c", 0)};
  d = {"d", type_of(settings, "d"), number_of(settings, "ldd"), or_else("stride_d", 0)};
  arithmetic = accumulator == s32 && d.type != s32 ? f32 : accumulator;
  for (const Matrix& one :
       {a, b, Matrix{{d.type, true, m, n, std::max(c.ld, d.ld), std::max(c.stride, d.stride)}, "d"}})
    check_bytes(one, batch);
  alpha = real_of(settings, "alpha");
  beta = real_of(settings, "beta");
  terms = terms_of(settings);
  promoted = settings.at("sums") == "promoted" || terms.by_block();
}

Problem transposed(Problem p) {
  std::swap(p.m, p.n);
  std::swap(p.a, p.b);
  return p;
}

std::string activation_name(Activation activation) {
  const std::string_view name = kit::name(activation);
  if (!name.empty()) return std::string(name);
  return std::to_string(static_cast<int>(activation));  // not one of them, and refused as that
}

std::string scale_name(GemmScale scale, std::string_view each) {
  switch (scale) {
    case GemmScale::none:
      return "none";
    case GemmScale::tensor:
      return "tensor";
    case GemmScale::vector:
      return std::string(each);
    case GemmScale::block:
      return "block";
  }
  return std::to_string(static_cast<int>(scale));  // not one of them, and refused as that
}

double bytes_of(const Problem& p, const Matrix& matrix) {
  return double(matrix.rows) * double(matrix.cols) * matrix.type.bytes() * (matrix.stride > 0 ? p.batch : 1);
}

double input_bytes(const Problem& p) {
  const double of_c = double(p.m) * p.n * p.c.type.bytes() * (p.c.stride > 0 ? p.batch : 1);
  return bytes_of(p, p.a) + bytes_of(p, p.b) + (p.reads_c() ? of_c : 0);
}

}  // namespace ptxloom::gemm_kernel
