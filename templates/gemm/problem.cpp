// SPDX-License-Identifier: Apache-2.0
#include "problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <sstream>
#include <tuple>

namespace ptxloom::gemm_kernel {
namespace {

bool lists(const std::string& cell, std::string_view word) {
  std::istringstream words(cell);
  for (std::string one; std::getline(words, one, '|');)
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

std::uint64_t number(const Settings& words, const std::string& name) { return std::stoull(words.at(name)); }

// Fills in the leading dimension of a contiguous matrix for 0; rejects one that is shorter than a row.
void complete_stride(Settings& words, const std::string& name, std::uint64_t length) {
  const std::uint64_t given = number(words, name);
  if (given == 0) words[name] = std::to_string(length);
  if (given != 0 && given < length)
    throw Error(ErrorKind::usage, "bad-stride",
                fmt::format("gemm: leading dimension {}={} is shorter than a row of {} elements", name, given,
                            length),
                "give at least the length of a row, or 0 for contiguous rows");
}

/// Not std::stod, which throws for numbers as small as 1e-310.
double real(const Settings& words, const std::string& name) {
  const std::string& text = words.at(name);
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Type type_word(const Settings& words, const std::string& name) { return *find_type(words.at(name)); }

void check_integral(const Settings& words, const std::string& name) {
  const double value = real(words, name);
  if (value != std::floor(value) || std::abs(value) > std::numeric_limits<std::int32_t>::max())
    throw Error(ErrorKind::usage, "bad-value",
                fmt::format("gemm: {}={} is not a 32-bit integer", name, words.at(name)),
                "with d=s32 everything is computed in integers: give an integer, or use d=f32");
}

void check_sums(const Settings& words) {
  if (words.at("sums") == "promoted" && !is_fp8(type_word(words, "a")))
    throw Error(ErrorKind::usage, "bad-value",
                fmt::format("gemm: sums=promoted cannot be used with a={}", words.at("a")),
                "leave sums out: it is for e4m3 and e5m2; accumulators of other types keep all their bits");
}

constexpr std::pair<std::string_view, Activation> kActivations[] = {{"none", Activation::none},
                                                                    {"relu", Activation::relu},
                                                                    {"gelu", Activation::gelu},
                                                                    {"gelu_tanh", Activation::gelu_tanh},
                                                                    {"silu", Activation::silu}};

GemmScale scale_of(const std::string& word) {
  if (word == "none") return GemmScale::none;
  if (word == "block") return GemmScale::block;
  return word == "tensor" ? GemmScale::tensor : GemmScale::vector;
}

// Later parameters are left out of a complete problem when they have their defaults, so that it keeps the
// name that it had before they existed.
constexpr const char* kLaterWords[] = {"bias",    "activation", "add_c", "scale_a",
                                       "scale_b", "scale_d",    "batch", "groups"};

void leave_out_defaults(const ParameterSpace& space, Settings& words) {
  for (const TemplateParameter& parameter : space.problem()) {
    const bool later = std::ranges::find(kLaterWords, parameter.name) != std::end(kLaterWords);
    if (later && words.at(parameter.name) == parameter.fallback) words.erase(parameter.name);
  }
}

GemmGroups groups_of(const Settings& words) {
  const auto word = words.find("groups");
  if (word == words.end()) return GemmGroups::none;
  return word->second == "masked" ? GemmGroups::masked : GemmGroups::contiguous;
}

// Results of batches follow each other, or lie side by side in rows that are long enough for all.
void check_results_apart(const Settings& words) {
  const std::uint64_t m = number(words, "m"), n = number(words, "n"), ld = number(words, "ldd"),
                      stride = number(words, "stride_d"), others = number(words, "batch") - 1;
  const std::uint64_t least = span(m, n, ld, 0, 1);
  if (stride >= least || (stride >= n && stride <= ld && others * stride + n <= ld)) return;
  throw Error(ErrorKind::usage, "bad-stride",
              fmt::format("gemm: with stride_d={} the batches of D overlap", stride),
              fmt::format("give at least {} elements, or leave stride_d out for contiguous batches; or give "
                          "at least n, with an ldd that holds the rows of all batches side by side",
                          least));
}

// Strides that are not given are those of contiguous batches; with a single matrix strides are ignored.
void complete_batch(Settings& words) {
  const bool contiguous = words.at("groups") == "contiguous";
  const auto size = [&](const char* word) { return number(words, word); };
  const auto rows = [&](const char* layout, const char* contiguous_along_k, const char* extent) {
    return size(words.at(layout) == contiguous_along_k ? extent : "k");
  };
  const std::tuple<const char*, const char*, std::uint64_t> all[] = {
      {"stride_a", "lda", rows("a_layout", "row", "m")},
      {"stride_b", "ldb", rows("b_layout", "col", "n")},
      {"stride_c", "ldc", size("m")},
      {"stride_d", "ldd", size("m")}};
  for (const auto& [stride, ld, matrix_rows] : all) {
    const bool of_batches = !contiguous || stride == std::string_view("stride_b");
    if (!of_batches && words.contains(stride))
      throw Error(ErrorKind::usage, "bad-stride",
                  fmt::format("gemm: {} cannot be used with groups=contiguous", stride),
                  "leave it out: A, C and D are one matrix each, only B has batches");
    if (!of_batches || words.at("batch") == "1")
      words.erase(stride);
    else if (!words.contains(stride))
      words[stride] = std::to_string(matrix_rows * size(ld));
  }
  if (words.contains("stride_d")) check_results_apart(words);
}

Function function_of(const Settings& words) {
  const auto word = [&](const char* name) {
    const auto found = words.find(name);
    return found == words.end() ? std::string("none") : found->second;
  };
  Function f{.c_last = word("add_c") == "after",
             .scale_a = scale_of(word("scale_a")),
             .scale_b = scale_of(word("scale_b")),
             .scale_d = word("scale_d") == "tensor"};
  if (word("bias") != "none") f.bias = type_word(words, "bias");
  for (const auto& [name, activation] : kActivations)
    if (name == word("activation")) f.activation = activation;
  return f;
}

void check_function(const Settings& words) {
  const std::string& d = words.at("d");
  const Function function = function_of(words);
  if ((d == "s32" || d == "f64") && !function.none())
    throw Error(ErrorKind::usage, "gemm-types",
                fmt::format("gemm: bias, activation, add_c and scales cannot be used with d={}", d),
                "they are computed in f32: with s8 and u8 operands d can be f32, f16, bf16 or s8");
  if (function.by_block() && !type_word(words, "a").is_float())
    throw Error(ErrorKind::usage, "gemm-types",
                fmt::format("gemm: block scales cannot be used with a={}", words.at("a")),
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

bool Function::none() const {
  return !bias && activation == Activation::none && !c_last && scale_a == GemmScale::none &&
         scale_b == GemmScale::none && !scale_d;
}

Settings complete_problem(const ParameterSpace& space, const Settings& given) {
  Settings words = space.complete(space.problem(), given);
  for (const char* name : {"m", "n", "k"})
    if (!words.contains(name))
      throw Error(ErrorKind::usage, "missing-parameter", fmt::format("gemm needs {}", name),
                  "give m, n and k");
  const auto& row = type_row(space, words.at("a"), words.at("b"));
  if (!words.contains("d")) words["d"] = first_of(row[3]);
  if (!words.contains("c")) words["c"] = lists(row[4], words["d"]) ? words["d"] : first_of(row[4]);
  check_result("d", words["d"], "a=" + row[0], row[3]);
  check_result("c", words["c"], "a=" + row[0], row[4]);
  if (words["d"] == "s32") check_result("c", words["c"], "d=s32", "s32");
  complete_stride(words, "lda", number(words, words["a_layout"] == "row" ? "k" : "m"));
  complete_stride(words, "ldb", number(words, words["b_layout"] == "col" ? "k" : "n"));
  complete_stride(words, "ldc", number(words, "n"));
  complete_stride(words, "ldd", number(words, "n"));
  complete_batch(words);
  check_sums(words);
  leave_out_defaults(space, words);
  check_function(words);
  if (words["d"] == "s32") {
    check_integral(words, "alpha");
    check_integral(words, "beta");
  }
  return words;
}

Problem::Problem(const ParameterSpace& space, const Settings& given) {
  const Settings words = complete_problem(space, given);
  m = static_cast<std::uint32_t>(number(words, "m"));
  n = static_cast<std::uint32_t>(number(words, "n"));
  k = static_cast<std::uint32_t>(number(words, "k"));
  const auto or_else = [&](const std::string& name, std::uint64_t otherwise) {
    return words.contains(name) ? number(words, name) : otherwise;
  };
  batch = static_cast<std::uint32_t>(or_else("batch", 1));
  groups = groups_of(words);
  accumulator = *find_type(type_row(space, words.at("a"), words.at("b"))[2]);
  const auto matrix = [&](const std::string& name, std::uint32_t extent, bool k_contiguous) {
    const std::uint64_t rows = k_contiguous ? extent : k, cols = k_contiguous ? k : extent;
    return Matrix{name,
                  type_word(words, name),
                  k_contiguous,
                  rows,
                  cols,
                  number(words, "ld" + name),
                  or_else("stride_" + name, 0)};
  };
  a = matrix("a", m, words.at("a_layout") == "row");
  b = matrix("b", n, words.at("b_layout") == "col");
  c = {"c", type_word(words, "c"), number(words, "ldc"), or_else("stride_c", 0)};
  d = {"d", type_word(words, "d"), number(words, "ldd"), or_else("stride_d", 0)};
  arithmetic = accumulator == s32 && d.type != s32 ? f32 : accumulator;
  for (const Matrix& one :
       {a, b, Matrix{"d", d.type, true, m, n, std::max(c.ld, d.ld), std::max(c.stride, d.stride)}})
    check_bytes(one, batch);
  alpha = real(words, "alpha");
  beta = real(words, "beta");
  function = function_of(words);
  promoted = words.at("sums") == "promoted" || function.by_block();
}

Problem transposed(Problem p) {
  std::swap(p.m, p.n);
  std::swap(p.a, p.b);
  return p;
}

std::string activation_word(Activation activation) {
  for (const auto& [word, value] : kActivations)
    if (value == activation) return std::string(word);
  return "none";
}

std::string scale_word(GemmScale scale, std::string_view each) {
  if (scale == GemmScale::none) return "none";
  if (scale == GemmScale::block) return "block";
  return scale == GemmScale::tensor ? "tensor" : std::string(each);
}

double bytes_of(const Problem& p, const Matrix& matrix) {
  return double(matrix.rows) * double(matrix.cols) * matrix.type.bytes() * (matrix.stride > 0 ? p.batch : 1);
}

double input_bytes(const Problem& p) {
  const double of_c = double(p.m) * p.n * p.c.type.bytes() * (p.c.stride > 0 ? p.batch : 1);
  return bytes_of(p, p.a) + bytes_of(p, p.b) + (p.reads_c() ? of_c : 0);
}

std::uint64_t span(std::uint64_t rows, std::uint64_t cols, std::uint64_t ld, std::uint64_t stride,
                   std::uint64_t batches) {
  return (batches - 1) * stride + (rows - 1) * ld + cols;
}

int alignment(Type type, std::uint64_t ld, std::uint64_t stride, std::uint64_t length, bool whole) {
  const auto size = static_cast<std::uint64_t>(type.bytes());
  std::uint64_t bits = 16 | (ld * size) | (stride * size);
  if (whole) bits |= length * size;
  return static_cast<int>(bits & (~bits + 1));
}

}  // namespace ptxloom::gemm_kernel
