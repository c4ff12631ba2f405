// SPDX-License-Identifier: Apache-2.0
#include "rowwise/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace ptxloom::rowwise_kernel {
namespace {

constexpr std::uint64_t kMostElements = std::uint64_t{1} << 30;  // of a row: positions are 32-bit integers
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 46;

constexpr std::array<std::pair<std::string_view, Op>, 4> kOps = {{{"softmax", Op::softmax},
                                                                  {"log_softmax", Op::log_softmax},
                                                                  {"rms_norm", Op::rms_norm},
                                                                  {"layer_norm", Op::layer_norm}}};

std::optional<Type> optional_type(const Settings& words, const std::string& name) {
  return words.at(name) == "none" ? std::nullopt : find_type(words.at(name));
}

void check_norm_parameters(const ParameterSpace& space, const Settings& words) {
  const std::string& op = words.at("op");
  const bool norm = op == "rms_norm" || op == "layer_norm";
  for (const TemplateParameter& parameter : space.problem()) {
    const bool of_norms = parameter.name == "residual" || parameter.name == "weight" ||
                          parameter.name == "bias" || parameter.name == "eps";
    if (!norm && of_norms && words.at(parameter.name) != parameter.fallback)
      throw Error(ErrorKind::usage, "bad-value",
                  fmt::format("rowwise: {} cannot be used with op={}", parameter.name, op),
                  "leave it out, or use op=rms_norm or op=layer_norm");
  }
  if (!norm && words.at("y") == "e4m3")
    throw Error(ErrorKind::usage, "bad-value", fmt::format("rowwise: y=e4m3 cannot be used with op={}", op),
                "use y=f32, f16 or bf16, or op=rms_norm or op=layer_norm");
  if (real_of(words, "eps") < 0)
    throw Error(ErrorKind::usage, "bad-value", fmt::format("rowwise: eps={} is negative", words.at("eps")),
                "give 0 or a small positive number");
}

void check_size(const Settings& words) {
  if (number_of(words, "n") > kMostElements)
    throw Error(ErrorKind::usage, "shape-too-large", fmt::format("rowwise: n={}", words.at("n")),
                "a row can have at most 2^30 elements");
  for (const char* pitch : {"pitch_x", "pitch_y"})
    if (number_of(words, "rows") > kMostBytes / sizeof(float) / number_of(words, pitch))
      throw Error(ErrorKind::usage, "shape-too-large",
                  fmt::format("rowwise: {} rows with {}={}", words.at("rows"), pitch, words.at(pitch)),
                  "a matrix can have at most 2^44 elements, padding included");
}

}  // namespace

std::string_view name(Op op) {
  return std::ranges::find(kOps, op, &std::pair<std::string_view, Op>::second)->first;
}

Settings complete_problem(const ParameterSpace& space, const Settings& given) {
  Settings words = space.complete(space.problem(), given);
  space.require(words, {"op", "rows", "n"});
  space.complete_pitch(words, "pitch_x", number_of(words, "n"));
  space.complete_pitch(words, "pitch_y", number_of(words, "n"));
  check_norm_parameters(space, words);
  check_size(words);
  return words;
}

Problem::Problem(const Settings& words)
    : rows(size_of(words, "rows")),
      n(size_of(words, "n")),
      x(*find_type(words.at("x"))),
      y(*find_type(words.at("y"))),
      pitch_x(number_of(words, "pitch_x")),
      pitch_y(number_of(words, "pitch_y")),
      residual(optional_type(words, "residual")),
      weight(optional_type(words, "weight")),
      bias(optional_type(words, "bias")),
      eps(real_of(words, "eps")) {
  for (const auto& [name, value] : kOps)
    if (name == words.at("op")) op = value;
}

std::vector<TensorPlan> tensors_of(const Problem& p) {
  std::vector<TensorPlan> plans = {{.name = "x", .type = p.x, .shape = {p.rows, p.pitch_x}}};
  if (p.residual) plans.push_back({.name = "residual", .type = *p.residual, .shape = {p.rows, p.pitch_x}});
  if (p.weight) plans.push_back({.name = "weight", .type = *p.weight, .shape = {p.n}});
  if (p.bias) plans.push_back({.name = "bias", .type = *p.bias, .shape = {p.n}});
  plans.push_back({.name = "y", .type = p.y, .shape = {p.rows, p.pitch_y}, .role = TensorPlan::Role::out});
  if (p.quantised())
    plans.push_back({.name = "scale", .type = f32, .shape = {p.rows}, .role = TensorPlan::Role::out});
  return plans;
}

double input_bytes(const Problem& p) {
  const double elements = double(p.rows) * p.n;
  double bytes = elements * p.x.bytes();
  if (p.residual) bytes += elements * p.residual->bytes();
  for (const auto& vector : {p.weight, p.bias})
    if (vector) bytes += double(p.n) * vector->bytes();
  return bytes;
}

double output_bytes(const Problem& p) {
  return double(p.rows) * p.n * p.y.bytes() + (p.quantised() ? double(p.rows) * f32.bytes() : 0);
}

}  // namespace ptxloom::rowwise_kernel
