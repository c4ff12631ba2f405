// SPDX-License-Identifier: Apache-2.0
// Random accumulators of a warp become a part of D with all terms of the epilogue; the host computes the
// same.
#include "ptxloom/kit/tile_result.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "kit/running.hpp"
#include "ptxloom/kit/matrix.hpp"
#include "ptxloom/kit/params.hpp"
#include "ptxloom/numeric.hpp"

using namespace ptxloom;

namespace {

constexpr const char* kOpcode = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32";
constexpr int kRowsOfOne = 16, kColumnsOfOne = 8;
constexpr double kNotStored = -80;  // which every type has
constexpr float kAlpha = 0.75F, kBeta = -1.5F, kScale = 1.25F, kScaleD = 2;

struct Case {
  Type d, c, bias;
  std::uint32_t rows, columns, ld, ld_c;  // of D and C
  std::uint32_t row, column;              // where the warp's part begins in the product
  int down, across;                       // instructions
  Activation activation = Activation::none;
  bool c_last = false, all = true;  // all: every term; else alpha alone
  bool swapped = false;             // the accumulators are those of D transposed
};

std::vector<std::byte> encoded(Type type, const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * static_cast<std::size_t>(type.bytes()));
  encode(type, values, bytes);
  return bytes;
}

std::vector<double> decoded(Type type, const std::vector<std::byte>& bytes) {
  std::vector<double> values(bytes.size() / static_cast<std::size_t>(type.bytes()));
  decode(type, bytes, values);
  return values;
}

/// Values that the type has.
std::vector<double> random_values(Type type, std::size_t count) {
  std::vector<double> values(count);
  for (double& value : values) value = kit_test::random_value(2);
  return decoded(type, encoded(type, values));
}

struct Data {
  std::vector<double> sums, row_scales, column_scales, bias, c;
};

Data random_data(const Case& t) {
  const auto held = static_cast<std::size_t>(t.down * t.across * 4);
  return {.sums = random_values(f32, 32 * held),
          .row_scales = random_values(f32, t.rows),
          .column_scales = random_values(f32, t.columns),
          .bias = random_values(t.bias, t.columns),
          .c = random_values(t.c, std::size_t{t.rows - 1} * t.ld_c + t.columns)};
}

kit::Accumulators load_sums(KernelBuilder& k, const Case& t, Reg from) {
  kit::Accumulators all(static_cast<std::size_t>(t.down));
  int at = 0;
  for (auto& row : all)
    for (int j = 0; j < t.across; ++j) {
      auto& one = row.emplace_back();
      for (int i = 0; i < 4; ++i) one.push_back(k.load("global", f32, k.at(from, 4 * at++)));
    }
  return all;
}

kit::EpilogueTerms terms_of(KernelBuilder& k, const Case& t, const kit::ParamRegs& in) {
  kit::EpilogueTerms terms{
      .accumulator = f32, .arithmetic = f32, .alpha = k.mov(f32, kAlpha), .activation = t.activation};
  if (!t.all) return terms;
  terms.scales = {k.mov(f32, kScale)};
  terms.row_scales = in["row_scales"];
  terms.column_scales = in["column_scales"];
  terms.bias = in.pointer("bias");
  terms.beta = k.mov(f32, kBeta);
  terms.c_last = t.c_last;
  terms.scale_d = k.mov(f32, kScaleD);
  return terms;
}

std::vector<double> stored(const Case& t, const Data& data) {
  kit::Params params;
  params.size("rows", u32, t.rows).size("columns", u32, t.columns).size("ld", u32, t.ld);
  params.size("ld_c", u32, t.ld_c).pointer("sums", f32).pointer("d", t.d).pointer("c", t.c);
  params.pointer("bias", t.bias).pointer("row_scales", f32).pointer("column_scales", f32);
  KernelBuilder k = kit_test::builder();
  k.require_block(32);
  const kit::ParamRegs in = params.declare(k);
  const Reg lane = k.special("tid.x");
  const Reg from = k.mad_wide(lane, t.down * t.across * 16, in["sums"]);
  const Reg zero = k.mov(u32, 0);
  kit::TileResultInputs inputs{
      .mma = kit_test::specs()->match(kOpcode).front(),
      .mma_rows = kRowsOfOne,
      .mma_columns = kColumnsOfOne,
      .accumulators = load_sums(k, t, from),
      .rows = t.swapped ? in["columns"] : in["rows"],
      .columns = t.swapped ? in["rows"] : in["columns"],
      .block_row = k.mov(u32, t.row),
      .block_column = k.mov(u32, t.column),
      .warp_row = zero,
      .warp_column = zero,
      .lane = lane,
      .terms = terms_of(k, t, in),
      .c = {t.c, kit::alignment(t.c, t.ld_c, 0, t.columns, true), in["c"], in["ld_c"]},
      .d = {t.d, kit::alignment(t.d, t.ld, 0, t.columns, true), in["d"], in["ld"]}};
  kit::TileResult(k, t.swapped ? kit::swapped(inputs) : inputs).store();
  std::vector<std::byte> sums = encoded(f32, data.sums), row_scales = encoded(f32, data.row_scales),
                         column_scales = encoded(f32, data.column_scales), bias = encoded(t.bias, data.bias),
                         c = encoded(t.c, data.c);
  std::vector<std::byte> d =
      encoded(t.d, std::vector<double>(std::size_t{t.rows - 1} * t.ld + t.columns, kNotStored));
  using kit_test::tensor;
  kit_test::run(k.finish(), {.block = {32, 1, 1}}, params.arguments(),
                {tensor("sums", sums), tensor("d", d), tensor("c", c), tensor("bias", bias),
                 tensor("row_scales", row_scales), tensor("column_scales", column_scales)});
  return decoded(t.d, d);
}

double activated(Activation activation, double x) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return std::max(x, 0.0);
    case Activation::silu:
      return x / (1 + std::exp(-x));
    case Activation::gelu:
      return x * (1 + std::erf(x / std::sqrt(2.0))) / 2;
    case Activation::gelu_tanh:
      return x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))) / 2;
  }
  return NAN;
}

double expected(const Case& t, const Data& data, std::size_t row, std::size_t column, double sum) {
  if (!t.all) return activated(t.activation, kAlpha * sum);
  const double c = kBeta * data.c[row * t.ld_c + column];
  double value = double(kAlpha) * kScale * data.row_scales[row] * data.column_scales[column] * sum;
  value = activated(t.activation, value + (t.c_last ? 0 : c) + data.bias[column]);
  return kScaleD * (value + (t.c_last ? c : 0));
}

/// The nearest value of the type; of 8 bits, its largest for those beyond its range.
double rounded(Type type, double value) {
  if (type == s8) return std::clamp(std::nearbyint(value), -128.0, 127.0);
  const double most = type == e4m3 ? 448 : INFINITY;
  return decode(type, encode(type, std::clamp(value, -most, most)));
}

/// Whether f32 arithmetic may give this for the exact value.
bool is_result(Type type, double got, double exact) {
  const double error = 2e-5 * (1 + std::abs(exact));
  return rounded(type, exact - error) <= got && got <= rounded(type, exact + error);
}

void check(const Case& t) {
  INFO(t.d.name << ' ' << t.rows << " x " << t.columns << (t.swapped ? " swapped" : ""));
  const Data data = random_data(t);
  const std::vector<double> d = stored(t, data);
  std::vector<bool> written(d.size());
  const Layout map = layout(kit_test::specs()->match(kOpcode).front(), "D");
  std::size_t wrong = 0, compared = 0;
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < t.down * t.across * 4; ++i) {
      const LayoutElement& e = map.at(lane, i % 4);
      const int one = i / 4;
      std::size_t row = t.row + static_cast<std::size_t>(one / t.across * kRowsOfOne + e.row);
      std::size_t column = t.column + static_cast<std::size_t>(one % t.across * kColumnsOfOne + e.col);
      if (t.swapped) std::swap(row, column);
      if (row >= t.rows || column >= t.columns) continue;
      const double sum = data.sums[static_cast<std::size_t>(lane * t.down * t.across * 4 + i)];
      const std::size_t at = row * t.ld + column;
      written[at] = true;
      ++compared;
      if (!is_result(t.d, d[at], expected(t, data, row, column, sum))) ++wrong;
    }
  for (std::size_t i = 0; i < d.size(); ++i)
    if (!written[i] && d[i] != kNotStored) ++wrong;
  CHECK(compared > 0);
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("a tile's result has every term, in every type, at odd ends") {
  check({.d = bf16,
         .c = bf16,
         .bias = f32,
         .rows = 41,
         .columns = 22,
         .ld = 24,
         .ld_c = 26,
         .row = 16,
         .column = 2,
         .down = 2,
         .across = 3});
  check({.d = f16,
         .c = f32,
         .bias = f16,
         .rows = 19,
         .columns = 17,
         .ld = 17,
         .ld_c = 19,
         .row = 0,
         .column = 0,
         .down = 1,
         .across = 3,
         .activation = Activation::gelu});
  check({.d = f32,
         .c = f16,
         .bias = bf16,
         .rows = 30,
         .columns = 40,
         .ld = 40,
         .ld_c = 40,
         .row = 2,
         .column = 8,
         .down = 2,
         .across = 4,
         .activation = Activation::silu,
         .c_last = true});
  check({.d = s8,
         .c = bf16,
         .bias = f32,
         .rows = 33,
         .columns = 24,
         .ld = 32,
         .ld_c = 24,
         .row = 1,
         .column = 0,
         .down = 2,
         .across = 3,
         .activation = Activation::relu});
  check({.d = e4m3,
         .c = bf16,
         .bias = f32,
         .rows = 16,
         .columns = 9,
         .ld = 9,
         .ld_c = 9,
         .row = 0,
         .column = 0,
         .down = 1,
         .across = 2,
         .activation = Activation::gelu_tanh});
  check({.d = bf16,
         .c = bf16,
         .bias = f32,
         .rows = 18,
         .columns = 16,
         .ld = 16,
         .ld_c = 16,
         .row = 0,
         .column = 0,
         .down = 2,
         .across = 2,
         .all = false});
}

TEST_CASE("a tile's result may be that of the transpose") {
  check({.d = bf16,
         .c = f32,
         .bias = f16,
         .rows = 22,
         .columns = 30,
         .ld = 33,
         .ld_c = 31,
         .row = 4,
         .column = 2,
         .down = 2,
         .across = 3,
         .swapped = true});
  check({.d = f32,
         .c = f32,
         .bias = f32,
         .rows = 8,
         .columns = 40,
         .ld = 40,
         .ld_c = 44,
         .row = 0,
         .column = 0,
         .down = 3,
         .across = 1,
         .activation = Activation::relu,
         .swapped = true});
}
