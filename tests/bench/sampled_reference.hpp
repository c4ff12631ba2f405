// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <random>
#include <set>
#include <vector>

#include "ptxloom/gemm.hpp"

// What a product must hold at some of its rows and columns: gemm's own reference, of the product of those
// rows of A and columns of B alone. That of the whole would first decode gigabytes.
namespace ptxloom::bench {

/// The first, the last, and some between.
inline std::vector<std::uint64_t> some_of(std::uint64_t extent, std::mt19937_64& random) {
  constexpr std::uint64_t kSome = 24;
  std::set<std::uint64_t> chosen = {0, extent - 1};
  for (std::uint64_t i = 0; i < kSome; ++i) chosen.insert(random() % extent);
  return {chosen.begin(), chosen.end()};
}

inline HostTensor rows_of(const HostTensor& whole, const std::vector<std::uint64_t>& rows) {
  const std::uint64_t bytes = whole.plan.bytes() / whole.plan.shape[0];
  HostTensor part{whole.plan, std::vector<std::byte>(rows.size() * bytes)};
  part.plan.shape[0] = rows.size();
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::memcpy(part.bytes.data() + i * bytes, whole.bytes.data() + rows[i] * bytes, bytes);
  return part;
}

/// For a problem whose A and B are contiguous along k, D = A * B, no leading dimension wider than it must be.
inline Expectation sampled_reference(const Settings& problem, const HostTensor& a, const HostTensor& b,
                                     std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto rows = some_of(a.plan.shape[0], random), columns = some_of(b.plan.shape[0], random);
  Settings part = problem;
  part["m"] = std::to_string(rows.size());
  part["n"] = std::to_string(columns.size());
  for (const char* tight : {"ldc", "ldd"}) part[tight] = "0";
  const std::vector<HostTensor> inputs = {rows_of(a, rows), rows_of(b, columns)};
  Expectation expected = gemm_template().expect(gemm_template().problem(part), inputs).at(0);
  for (Expectation::Point& point : expected.points)
    point.index =
        rows[point.index / columns.size()] * b.plan.shape[0] + columns[point.index % columns.size()];
  expected.complete = false;
  return expected;
}

}  // namespace ptxloom::bench
