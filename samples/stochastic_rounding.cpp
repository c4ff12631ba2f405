// SPDX-License-Identifier: Apache-2.0
// Rounding to nearest against stochastic rounding, on a long accumulation and on the weights of a training
// loop, and what too few random bits do:
//   stochastic_rounding [FILE.svg]
// Prints the errors and draws them. It runs in the executor as on an sm_100a, which has cvt.rs.
// docs/stochastic-rounding.md explains it.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <ptxloom/kit/narrow.hpp>
#include <ptxloom/kit/philox.hpp>
#include <ptxloom/ptxloom.hpp>
#include <string>
#include <vector>

namespace pl = ptxloom;

namespace {

constexpr unsigned kThreads = 256;
constexpr std::uint64_t kSeed = 2026;

enum class Rounding { nearest, shared16, full20 };

struct Series {
  std::string name, colour;
  std::vector<std::pair<double, double>> points;
};

// guide round {
/// Four values in f32 as e4m3, in a word. Stochastic rounding adds random bits to those of the mantissa that
/// e4m3 does not have, 20 of them, and drops the result's.
pl::Reg round_four(pl::KernelBuilder& k, Rounding rounding, std::vector<pl::Reg> values,
                   const std::array<pl::Reg, 4>& random) {
  if (rounding == Rounding::shared16)  // 32 bits for four elements: 16 for two, which share them
    return k.op("cvt.rs.satfinite.e4m3x4.f32", pl::Vector{values[3], values[2], values[1], values[0]},
                random[0]);
  if (rounding == Rounding::full20)  // 20 bits of its own for each
    for (std::size_t i = 0; i < 4; ++i) {
      auto bits = k.add(k.bit_cast(pl::u32, values[i]), k.shr(random[i], 12));
      values[i] = k.bit_cast(pl::f32, k.and_(bits, 0xfff0'0000));
    }
  return pl::kit::narrow_values(k, pl::e4m3, values)[0];
}
// }

/// A number in [0, 1) of 24 random bits.
pl::Reg uniform(pl::KernelBuilder& k, pl::Reg word) {
  return k.mul(k.convert(pl::f32, k.shr(word, 8)), 0x1p-24F);
}

// guide accumulate {
/// Each thread adds `steps` random terms to four sums in e4m3, and to the same sums in f64.
pl::ir::Module accumulate(const pl::Context& ctx, Rounding rounding) {
  pl::KernelBuilder k(ctx, "accumulate", ctx.target());
  k.require_block(kThreads);
  auto sums = k.pointer(pl::b32, "sums");
  auto exact = k.pointer(pl::f64, "exact");
  auto first = k.param(pl::u32, "first"), steps = k.param(pl::u32, "steps");
  auto mean = k.param(pl::f32, "mean");
  auto thread = k.special("tid.x"), zero = k.mov(pl::u32, 0), one = k.mov(pl::u32, 1);
  const pl::kit::Philox philox(k, k.mov(pl::u64, kSeed));
  auto packed = k.load(sums[thread]);
  auto four = k.load(exact[k.mul(thread, 4)], 2), more = k.load(exact[k.fma(thread, 4, 2)], 2);
  four.insert(four.end(), more.begin(), more.end());
  k.for_(first, k.add(first, steps), 1, [&](pl::Reg step) {
    auto terms = philox.draw({thread, step, zero, zero});
    std::vector<pl::Reg> values = pl::kit::widen_values(k, pl::e4m3, 4, std::vector{packed});
    for (std::size_t i = 0; i < 4; ++i) {
      auto term = k.mul(uniform(k, terms[i]), k.add(mean, mean));
      values[i] = k.add(values[i], term);
      k.set(four[i], k.add(four[i], k.convert(pl::f64, term)));
    }
    k.set(packed, round_four(k, rounding, values, philox.draw({thread, step, one, zero})));
  });
  k.store(sums[thread], packed);
  k.unroll(4, [&](int i) { k.store(exact[k.fma(thread, 4, i)], four[static_cast<std::size_t>(i)]); });
  return k.finish();
}
// }

// guide train {
/// Each thread moves two weights in bf16 towards their targets: w = w - rate * (w - target + noise).
pl::ir::Module train(const pl::Context& ctx, bool stochastic) {
  pl::KernelBuilder k(ctx, "train", ctx.target());
  k.require_block(kThreads);
  auto weights = k.pointer(pl::b32, "weights");
  auto targets = k.pointer(pl::f32, "targets");
  auto first = k.param(pl::u32, "first"), steps = k.param(pl::u32, "steps");
  auto rate = k.param(pl::f32, "rate");
  auto thread = k.special("tid.x"), zero = k.mov(pl::u32, 0);
  const pl::kit::Philox philox(k, k.mov(pl::u64, kSeed));
  auto both = k.load(weights[thread]);
  auto wanted = k.load(targets[k.mul(thread, 2)], 2);
  k.for_(first, k.add(first, steps), 1, [&](pl::Reg step) {
    auto random = philox.draw({thread, step, zero, zero});
    std::vector<pl::Reg> next;
    for (std::size_t i = 0; i < 2; ++i) {
      auto bits = i == 0 ? k.shl(both, 16) : k.and_(both, 0xffff'0000);
      auto w = k.bit_cast(pl::f32, bits);
      auto gradient = k.add(k.sub(w, wanted[i]), k.sub(uniform(k, random[i]), 0.5F));
      next.push_back(k.sub(w, k.mul(rate, gradient)));
    }
    k.set(both, stochastic ? k.op("cvt.rs.bf16x2.f32", next[1], next[0], random[2])
                           : k.op("cvt.rn.bf16x2.f32", next[1], next[0]));
  });
  k.store(weights[thread], both);
  return k.finish();
}
// }

// guide count {
/// For the value 1 and 1.5 * 2^-e of the distance to the next one, e = blockIdx.y: of all patterns of 16
/// random bits, how many round it up, and how many round both elements of a pair up.
pl::ir::Module count(const pl::Context& ctx, const char* type, int mantissa_bits) {
  pl::KernelBuilder k(ctx, "count", ctx.target());
  k.require_block(kThreads);
  auto ups = k.pointer(pl::u32, "ups");
  auto exponent = k.special("ctaid.y"), up = k.mov(pl::u32, 0), pair = k.mov(pl::u32, 0);
  auto power = k.shl(k.sub(127 - mantissa_bits, exponent), 23);  // 2^(-mantissa_bits - e) in f32
  auto fraction = k.mul(k.bit_cast(pl::f32, power), 1.5F);
  auto x = k.add(fraction, 1.0F), rest = k.mov(pl::f32, 0.0F);
  const auto opcode = fmt::format("cvt.rs.satfinite.{}x4.f32", type);
  k.for_(k.special("tid.x"), 0x10000, kThreads, [&](pl::Reg pattern) {
    auto codes = k.op(opcode, pl::Vector{rest, rest, x, x}, k.mul(pattern, 0x10001));  // in both halves
    auto low = k.and_(codes, 1), both = k.and_(low, k.and_(k.shr(codes, 8), 1));       // 1 is an even code
    k.set(up, k.add(up, k.as(pl::u32, low)));
    k.set(pair, k.add(pair, k.as(pl::u32, both)));
  });
  k.emit("red.global.add.u32", &ups[k.mul(exponent, 2)], up);
  k.emit("red.global.add.u32", &ups[k.fma(exponent, 2, 1)], pair);
  return k.finish();
}
// }

/// The same for all discarded bits of the mantissa, 20 of e4m3 and 21 of e5m2, as AMD's MI300 has them.
double mean_of_all_bits(int bits, int exponent) {
  const std::uint32_t all = 1U << bits, fraction = 3 * (all >> (exponent + 1));
  std::uint32_t ups = 0;
  for (std::uint32_t random = 0; random < all; ++random) ups += fraction + random >= all ? 1 : 0;
  return double(ups) / all;
}

constexpr unsigned kAddSteps = 1024, kAddEvery = 32, kSums = 4 * kThreads;
constexpr float kMeanTerm = 0x1p-10F;  // 1/128 of the distance between e4m3 numbers above 1

/// The relative error of the mean of all sums, after each number of steps.
Series accumulation(const pl::Context& ctx, Rounding rounding, const std::string& name,
                    const std::string& colour) {
  const pl::Kernel kernel = ctx.load(accumulate(ctx, rounding));
  pl::Buffer sums = ctx.alloc(kSums), exact = ctx.alloc(8 * kSums);
  std::vector<std::byte> codes(kSums, std::byte{0x38});  // 1 in e4m3
  std::vector<double> wanted(kSums, 1.0);
  sums.copy_from(codes);
  exact.copy_from(wanted);
  Series series{name, colour, {{0, 0}}};
  for (unsigned step = 0; step < kAddSteps; step += kAddEvery) {
    kernel.launch(nullptr, {.grid = {1}, .block = {kThreads}}, {sums, exact, step, kAddEvery, kMeanTerm});
    ctx.synchronize();
    sums.copy_to(codes);
    exact.copy_to(wanted);
    double got = 0, all = 0;
    for (std::size_t i = 0; i < kSums; ++i) {
      got += pl::decode(pl::e4m3, pl::load_element(pl::e4m3, codes, i));
      all += wanted[i];
    }
    series.points.emplace_back(step + kAddEvery, got / all - 1);
  }
  return series;
}

constexpr unsigned kTrainSteps = 2048, kTrainEvery = 64, kWeights = 2 * kThreads;
constexpr float kRate = 0x1p-9F;

/// The root mean square distance of the weights from their targets.
Series training(const pl::Context& ctx, bool stochastic, const std::string& name, const std::string& colour) {
  const pl::Kernel kernel = ctx.load(train(ctx, stochastic));
  pl::Buffer weights = ctx.alloc(2 * kWeights), targets = ctx.alloc(4 * kWeights);
  std::vector<std::uint16_t> w(kWeights, 0x3f80);  // 1 in bf16
  std::vector<float> target(kWeights);
  for (std::size_t i = 0; i < kWeights; ++i) target[i] = 0.5F + static_cast<float>(i) / kWeights;
  weights.copy_from(w);
  targets.copy_from(target);
  Series series{name, colour, {}};
  for (unsigned step = 0; step <= kTrainSteps; step += kTrainEvery) {
    double squares = 0;
    for (std::size_t i = 0; i < kWeights; ++i)
      squares += std::pow(pl::decode(pl::bf16, w[i]) - double(target[i]), 2);
    series.points.emplace_back(step, std::sqrt(squares / kWeights));
    kernel.launch(nullptr, {.grid = {1}, .block = {kThreads}}, {weights, targets, step, kTrainEvery, kRate});
    ctx.synchronize();
    weights.copy_to(w);
  }
  return series;
}

constexpr int kExponents = 22;

/// The mean change by rounding, over all random bits, as a part of 1.5 * 2^-e of a distance: 1 is right.
struct Bits {
  Series shared, all;
  double together = 0;  // of the cases in which one element of a pair is rounded up, those in which both are
};

Bits random_bits(const pl::Context& ctx, const char* type, int mantissa_bits, const char* colour) {
  const pl::Kernel kernel = ctx.load(count(ctx, type, mantissa_bits));
  const int discarded = 23 - mantissa_bits;
  pl::Buffer ups = ctx.alloc(8 * kExponents);
  ups.fill(std::byte{0});
  kernel.launch(nullptr, {.grid = {1, kExponents}, .block = {kThreads}}, {ups});
  ctx.synchronize();
  std::vector<std::uint32_t> counts(2 * kExponents);
  ups.copy_to(counts);
  Bits bits{{fmt::format("{}: 16 bits, shared", type), colour, {}},
            {fmt::format("{}: all {} bits", type, discarded), "#2a9d4a", {}}};
  for (int e = 1; e < discarded; ++e) {
    const double scale = std::ldexp(1.0, e) / 1.5;
    bits.shared.points.emplace_back(e, scale * counts[static_cast<std::size_t>(2 * e)] / 0x10000);
    bits.all.points.emplace_back(e, scale * mean_of_all_bits(discarded, e));
  }
  bits.together = counts[3] / double(counts[2]);
  return bits;
}

/// A panel of the drawing.
struct Panel {
  std::string title, along_x;
  double most_x, least_y, most_y;
  std::vector<Series> series;
};

std::string draw(const Panel& panel, double left) {
  constexpr double kWidth = 300, kHeight = 220, kTop = 40;
  const auto x = [&](double value) { return left + 50 + kWidth * value / panel.most_x; };
  const auto y = [&](double value) {
    return kTop + kHeight * (panel.most_y - value) / (panel.most_y - panel.least_y);
  };
  std::string svg =
      fmt::format("<text x=\"{}\" y=\"24\" font-weight=\"bold\">{}</text>\n", left + 50, panel.title);
  for (int i = 0; i <= 4; ++i) {
    const double value = panel.least_y + (panel.most_y - panel.least_y) * i / 4;
    svg += fmt::format(
        "<path d=\"M{0:.1f} {1:.1f}H{2:.1f}\" stroke=\"#ddd\"/><text x=\"{3:.1f}\" y=\"{4:.1f}\" "
        "text-anchor=\"end\">{5:.2f}</text>\n",
        x(0), y(value), x(panel.most_x), x(0) - 5, y(value) + 4, value);
    const double at = panel.most_x * i / 4;
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{:.4g}</text>\n", x(at),
                       kTop + kHeight + 16, at);
  }
  svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                     x(panel.most_x / 2), kTop + kHeight + 34, panel.along_x);
  double below = kTop + kHeight + 52;
  for (const Series& series : panel.series) {
    std::string path;
    for (const auto& [at, value] : series.points)
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x(at), y(value));
    svg +=
        fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n", path, series.colour);
    svg += fmt::format(
        "<path d=\"M{0:.1f} {1:.1f}h20\" stroke=\"{2}\" stroke-width=\"2\"/><text x=\"{3:.1f}\" "
        "y=\"{4:.1f}\">{5}</text>\n",
        x(0), below - 4, series.colour, x(0) + 26, below, series.name);
    below += 16;
  }
  return svg;
}

void write_svg(const std::filesystem::path& path, const std::vector<Panel>& panels) {
  std::ofstream file(path);
  const double width = 375.0 * double(panels.size());
  file << fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} 380\" width=\"{0}\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"{0}\" height=\"380\" "
      "fill=\"white\"/>\n",
      width);
  for (std::size_t i = 0; i < panels.size(); ++i) file << draw(panels[i], 375.0 * double(i));
  file << "</svg>\n";
  if (!file) throw pl::Error(pl::ErrorKind::usage, "unwritable-file", path.string());
  fmt::print("wrote {}\n", path.string());
}

double last(const Series& series) { return series.points.back().second; }

int run(const std::filesystem::path& path) {
  const pl::Context ctx({.device = "cpu", .cpu_target = "sm_100a"});
  const char *const red = "#c8402f", *const blue = "#2660c0", *const green = "#2a9d4a",
                    *const orange = "#e08a1e";
  const std::vector<Series> sums = {
      accumulation(ctx, Rounding::nearest, "to nearest", red),
      accumulation(ctx, Rounding::shared16, "16 random bits, shared by two", blue),
      accumulation(ctx, Rounding::full20, "20 random bits", green)};
  for (const Series& one : sums)
    fmt::print("sum of {} terms in e4m3, {}: mean error {:+.1f} %\n", kAddSteps, one.name, 100 * last(one));
  const std::vector<Series> weights = {training(ctx, false, "to nearest", red),
                                       training(ctx, true, "16 random bits", blue)};
  for (const Series& one : weights)
    fmt::print("weights in bf16 after {} steps, {}: RMS distance {:.3f}\n", kTrainSteps, one.name, last(one));
  const Bits e4m3 = random_bits(ctx, "e4m3", 3, blue), e5m2 = random_bits(ctx, "e5m2", 2, orange);
  for (const Bits* one : {&e4m3, &e5m2})
    for (const Series* series : {&one->shared, &one->all})
      fmt::print(
          "mean change by 1.5 * 2^-14, 2^-16 and 2^-17 of a distance, {}: {:.2f} {:.2f} {:.2f} of it\n",
          series->name, series->points[13].second, series->points[15].second, series->points[16].second);
  fmt::print(
      "if one of a pair of equal elements in e4m3 is rounded up, the other one is, too, in {:.2f} of the "
      "cases; at 3/4 of a distance it would be 0.75 with bits of their own\n",
      e4m3.together);
  write_svg(path, {{"Error of the mean of 1024 sums in e4m3", "terms", kAddSteps, -0.6, 0.2, sums},
                   {"Distance of bf16 weights from their targets", "steps", kTrainSteps, 0, 0.4, weights},
                   {"Mean change of 1 by 1.5 * 2^-e, over what is right",
                    "e",
                    24,
                    0,
                    1.2,
                    {e4m3.all, e4m3.shared, e5m2.shared}}});
  const bool as_expected = last(sums[0]) < -0.3 && std::abs(last(sums[1])) < 0.03 &&
                           std::abs(last(sums[2])) < 0.03 && last(weights[0]) > 0.2 &&
                           last(weights[1]) < 0.1 && last(e4m3.shared) == 0 && last(e4m3.all) == 1 &&
                           last(e5m2.all) == 1;
  return as_expected ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? std::filesystem::path(argv[1])
                        : std::filesystem::temp_directory_path() / "ptxloom_stochastic_rounding.svg");
  } catch (const pl::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return pl::exit_code(error.kind());
  }
}
