// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "ptxloom/error.hpp"

namespace ptxloom::scaled_gemm {
namespace {

constexpr std::array<Format, 2> kFormats = {
    {{"mxfp8_e4m3", e4m3, ue8m0, 32}, {"mxfp8_e5m2", e5m2, ue8m0, 32}}};
constexpr std::uint64_t kMostExtent = std::uint64_t{1} << 30;  // positions are 32-bit integers

std::uint32_t number(const Settings& words, const std::string& name) {
  return static_cast<std::uint32_t>(std::stoull(words.at(name)));
}

void check_sizes(const Settings& words) {
  for (const char* name : {"m", "n", "k"}) {
    if (!words.contains(name))
      throw Error(ErrorKind::usage, "missing-parameter", fmt::format("scaled_gemm needs {}", name),
                  "give m, n and k");
    if (std::stoull(words.at(name)) > kMostExtent)
      throw Error(ErrorKind::usage, "shape-too-large",
                  fmt::format("scaled_gemm: {}={}", name, words.at(name)), "a size is at most 2^30");
  }
}

void complete_stride(Settings& words, const std::string& name, const std::string& size) {
  const std::uint64_t given = std::stoull(words.at(name)), least = std::stoull(words.at(size));
  if (given == 0) words[name] = words.at(size);
  if (given != 0 && given < least)
    throw Error(ErrorKind::usage, "bad-stride",
                fmt::format("scaled_gemm: {}={} is shorter than a row of {} elements", name, given, least),
                fmt::format("give at least {}, or 0 for contiguous rows", size));
}

TensorPlan scales_of(std::string name, const Operand& operand) {
  return {.name = std::move(name), .type = operand.format.scale, .shape = {operand.extent, operand.scales()}};
}

}  // namespace

const Format& find_format(std::string_view name) {
  return *std::ranges::find(kFormats, name, &Format::name);  // ParameterSpace admits no other
}

Problem::Problem(const Settings& words)
    : m(number(words, "m")),
      n(number(words, "n")),
      k(number(words, "k")),
      a{find_format(words.at("format_a")), m, k, number(words, "lda")},
      b{find_format(words.at("format_b")), n, k, number(words, "ldb")},
      d(*find_type(words.at("d"))),
      ldd(number(words, "ldd")) {}

Settings complete_problem(const ParameterSpace& space, const Settings& given) {
  Settings words = space.complete(space.problem(), given);
  check_sizes(words);
  complete_stride(words, "lda", "k");
  complete_stride(words, "ldb", "k");
  complete_stride(words, "ldd", "n");
  return words;
}

std::vector<TensorPlan> tensors_of(const Problem& p) {
  return {{.name = "a", .type = p.a.format.element, .shape = {p.m, p.a.ld}},
          {.name = "b", .type = p.b.format.element, .shape = {p.n, p.b.ld}},
          scales_of("scale_a", p.a),
          scales_of("scale_b", p.b),
          {.name = "d", .type = p.d, .shape = {p.m, p.ldd}, .role = TensorPlan::Role::out}};
}

double input_bytes(const Problem& p) {
  double bytes = 0;
  for (const Operand& operand : {p.a, p.b})
    bytes +=
        double(operand.extent) * (double(p.k) * operand.format.element.bits + operand.scales() * 8.0) / 8;
  return bytes;
}

}  // namespace ptxloom::scaled_gemm
