// SPDX-License-Identifier: Apache-2.0
#include "tune/search/surrogate.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <optional>
#include <random>
#include <vector>

// Against the textbook (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2.25 and 2.26),
// which inverts the whole covariance matrix for each question.
namespace ptxloom::tune::surrogate_test {
namespace {

using Catch::Approx;
using Vector = std::vector<double>;
using Matrix = std::vector<Vector>;

constexpr double kNoise = 0.02;

double covariance(const std::vector<float>& a, const std::vector<float>& b) {
  double trend = 0, single = 0, squared = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = static_cast<double>(a[i]), y = static_cast<double>(b[i]), apart = x - y;
    trend += (x - 0.5) * (y - 0.5);
    single += std::exp(-0.5 * std::pow(apart / 0.35, 2));
    squared += apart * apart;
  }
  return 1 + 0.09 * trend + 0.0625 * single / static_cast<double>(a.size()) +
         0.04 * std::exp(-0.5 * squared / (0.6 * 0.6));
}

/// x of m x = b, by elimination with pivots.
Vector solve(Matrix m, Vector b) {
  const std::size_t n = b.size();
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t pivot = i;
    for (std::size_t r = i; r < n; ++r) pivot = std::abs(m[r][i]) > std::abs(m[pivot][i]) ? r : pivot;
    std::swap(m[i], m[pivot]);
    std::swap(b[i], b[pivot]);
    for (std::size_t r = 0; r < n; ++r) {
      if (r == i) continue;
      const double factor = m[r][i] / m[i][i];
      for (std::size_t c = i; c < n; ++c) m[r][c] -= factor * m[i][c];
      b[r] -= factor * b[i];
    }
  }
  for (std::size_t i = 0; i < n; ++i) b[i] /= m[i][i];
  return b;
}

struct Reference {
  std::vector<std::vector<float>> points;
  std::vector<std::size_t> chosen = {};
  std::vector<std::optional<double>> values = {};

  Matrix matrix(std::size_t n) const {
    Matrix k(n, Vector(n));
    for (std::size_t r = 0; r < n; ++r) {
      for (std::size_t c = 0; c < n; ++c)
        k[r][c] = covariance(points[chosen[r]], points[chosen[c]]) + (r == c ? kNoise * kNoise : 0);
    }
    return k;
  }
  Vector towards(std::size_t point, std::size_t n) const {
    Vector k(n);
    for (std::size_t i = 0; i < n; ++i) k[i] = covariance(points[point], points[chosen[i]]);
    return k;
  }
  static double dot(const Vector& a, const Vector& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  }
  /// For the first n that were chosen. One without a value is given the value predicted from those before it.
  double mean(std::size_t point, std::size_t n) const {
    Vector y(n);
    for (std::size_t i = 0; i < n; ++i) y[i] = values[i] ? *values[i] : mean(chosen[i], i);
    return n == 0 ? 0 : dot(towards(point, n), solve(matrix(n), y));
  }
  double deviation(std::size_t point) const {
    const std::size_t n = chosen.size();
    const Vector k = towards(point, n);
    return std::sqrt(covariance(points[point], points[point]) - dot(k, solve(matrix(n), k)));
  }
};

void check_same(const Surrogate& surrogate, const Reference& reference) {
  REQUIRE(surrogate.chosen() == reference.chosen.size());
  for (std::size_t i = 0; i < surrogate.size(); ++i) {
    CAPTURE(i);
    const Surrogate::Belief belief = surrogate.belief(i);
    CHECK(belief.mean == Approx(reference.mean(i, reference.chosen.size())).margin(1e-3));
    CHECK(belief.deviation == Approx(reference.deviation(i)).margin(2e-3));
  }
}

TEST_CASE("beliefs are those of a Gaussian process, also while values are awaited") {
  CAPTURE(Catch::getSeed());
  std::mt19937_64 random(Catch::getSeed());
  std::uniform_real_distribution<float> feature(0, 1);
  std::uniform_real_distribution<double> value(-2, 2);
  constexpr std::size_t kPoints = 12, kWidth = 3;
  Reference reference;
  std::vector<float> features;
  for (std::size_t i = 0; i < kPoints; ++i) {
    reference.points.push_back({feature(random), feature(random), feature(random)});
    features.insert(features.end(), reference.points[i].begin(), reference.points[i].end());
  }
  Surrogate surrogate(features, kWidth);
  REQUIRE(surrogate.size() == kPoints);
  check_same(surrogate, reference);
  const auto choose = [&](std::size_t point) {
    surrogate.choose(point);
    reference.chosen.push_back(point);
    reference.values.emplace_back();
  };
  const auto tell = [&](std::size_t row) {
    reference.values[row] = value(random);
    surrogate.tell(reference.chosen[row], *reference.values[row]);
    check_same(surrogate, reference);
  };
  choose(4), choose(7), choose(1);
  tell(1);
  tell(0);
  choose(11);
  check_same(surrogate, reference);
  tell(3);
  tell(2);
  surrogate.tell(9, 100);  // nobody asked for it
  check_same(surrogate, reference);
}

TEST_CASE("without features there are no points") { CHECK(Surrogate({}, 0).size() == 0); }

}  // namespace
}  // namespace ptxloom::tune::surrogate_test
