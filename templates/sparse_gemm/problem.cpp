// SPDX-License-Identifier: Apache-2.0
#include "sparse_gemm/problem.hpp"

#include <fmt/format.h>

#include <random>

#include "ptxloom/error.hpp"
#include "ptxloom/numeric.hpp"

namespace ptxloom::sparse_gemm {
namespace {

constexpr std::uint64_t kMostExtent = std::uint64_t{1} << 30;  // positions are 32-bit integers
constexpr int kRowBytes = 16;                                  // rows of A begin at multiples of it

std::optional<Type> optional_type(const Settings& words, const std::string& name) {
  return words.at(name) == "none" ? std::nullopt : find_type(words.at(name));
}

void check_sizes(const Settings& words) {
  for (const char* name : {"m", "n", "k"})
    if (number_of(words, name) > kMostExtent)
      throw Error(ErrorKind::usage, "shape-too-large",
                  fmt::format("sparse_gemm: {}={}", name, words.at(name)), "a size is at most 2^30");
}

void complete_d(Settings& words) {
  const Type type = *find_type(words.at("type"));
  const Type by_default = type == s8 ? s32 : type == tf32 ? f32 : type.bits == 16 ? type : bf16;
  words.try_emplace("d", by_default.name);
  if (words.at("d") != s32.name) return;
  if (type != s8)
    throw Error(ErrorKind::usage, "bad-value",
                fmt::format("sparse_gemm: d=s32 cannot be used with type={}", type.name),
                "give f32, f16 or bf16");
  for (const char* term : {"bias", "c"})
    if (words.at(term) != "none")
      throw Error(ErrorKind::usage, "bad-value",
                  fmt::format("sparse_gemm: {}={} cannot be used with d=s32", term, words.at(term)),
                  "give d=f32, f16 or bf16, or leave it out");
}

void complete_strides(const ParameterSpace& space, Settings& words) {
  const int of_row = kRowBytes / find_type(words.at("type"))->bytes();
  space.complete_pitch(words, "lda", size_of(words, "k"), {of_row, kRowBytes});
  space.complete_pitch(words, "ldd", size_of(words, "n"));
  if (words.at("c") != "none")
    space.complete_pitch(words, "ldc", size_of(words, "n"));
  else if (words.at("ldc") != "0")
    throw Error(ErrorKind::usage, "bad-stride", fmt::format("sparse_gemm: ldc={} without c", words.at("ldc")),
                "give c a type, or leave ldc out");
}

/// Values of which all products and sums are finite; integers of the whole range.
HostTensor drawn(const TensorPlan& plan, std::mt19937_64& random) {
  HostTensor tensor{plan, std::vector<std::byte>(plan.bytes())};
  std::uniform_real_distribution<double> uniform(-1, 1);
  const bool integers = plan.type == s8;
  for (std::size_t i = 0; i < plan.elements(); ++i)
    store_element(plan.type, tensor.bytes, i,
                  integers ? random() & 0xff : encode(plan.type, uniform(random)));
  return tensor;
}

HostTensor drawn_metadata(const Problem& p, const TensorPlan& plan, std::mt19937_64& random) {
  const std::vector<unsigned> codes =
      p.type == tf32 ? std::vector{4U, 14U} : std::vector{4U, 8U, 9U, 12U, 13U, 14U};
  HostTensor tensor{plan, std::vector<std::byte>(plan.bytes())};
  for (std::byte& byte : tensor.bytes)
    byte = std::byte(codes[random() % codes.size()] | codes[random() % codes.size()] << 4);
  return tensor;
}

}  // namespace

Problem::Problem(const Settings& words)
    : m(size_of(words, "m")),
      n(size_of(words, "n")),
      k(size_of(words, "k")),
      type(*find_type(words.at("type"))),
      bias(optional_type(words, "bias")),
      c(optional_type(words, "c")),
      d(*find_type(words.at("d"))),
      lda(size_of(words, "lda")),
      ldc(size_of(words, "ldc")),
      ldd(size_of(words, "ldd")) {}

kit::MatrixOperand Problem::values() const {
  const std::uint64_t stored = layout().stored();
  return {.type = type, .rows = n, .cols = stored, .ld = stored};
}

Settings complete_problem(const ParameterSpace& space, const Settings& given) {
  Settings words = space.complete(space.problem(), given);
  space.require(words, {"m", "n", "k"});
  check_sizes(words);
  complete_d(words);
  complete_strides(space, words);
  return words;
}

std::vector<TensorPlan> tensors_of(const Problem& p) {
  const kit::SparseLayout layout = p.layout();
  std::vector<TensorPlan> all{
      {.name = "a", .type = p.type, .shape = {p.m, p.lda}},
      {.name = "values", .type = p.type, .shape = {p.n, layout.stored()}},
      {.name = "metadata",
       .type = u8,
       .shape = {layout.row_tiles(), layout.depth_tiles(), kit::SparseLayout::kTileBytes}}};
  if (p.bias) all.push_back({.name = "bias", .type = *p.bias, .shape = {p.n}});
  if (p.c) all.push_back({.name = "c", .type = *p.c, .shape = {p.m, p.ldc}});
  all.push_back({.name = "d", .type = p.d, .shape = {p.m, p.ldd}, .role = TensorPlan::Role::out});
  return all;
}

std::vector<HostTensor> inputs_of(const Problem& p, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<HostTensor> all;
  for (const TensorPlan& plan : tensors_of(p))
    if (plan.role != TensorPlan::Role::out)
      all.push_back(plan.name == "metadata" ? drawn_metadata(p, plan, random) : drawn(plan, random));
  return all;
}

std::string unit_of(const Problem& p) { return p.type == tf32 ? "tf32" : p.type.bits == 16 ? "f16" : "b8"; }

double input_bytes(const Problem& p) {
  const kit::SparseLayout layout = p.layout();
  double bytes =
      double(p.m) * p.k * p.type.bytes() + double(layout.value_bytes()) + double(layout.metadata_bytes());
  if (p.bias) bytes += double(p.n) * p.bias->bytes();
  if (p.c) bytes += double(p.m) * p.n * p.c->bytes();
  return bytes;
}

double output_bytes(const Problem& p) { return double(p.m) * p.n * p.d.bytes(); }

}  // namespace ptxloom::sparse_gemm
