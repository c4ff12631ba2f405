// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ptxloom/builder.hpp"
#include "ptxloom/numeric.hpp"
#include "ptxloom/template.hpp"

// Templates for tests of what works with any template. Their configuration says what goes wrong.
namespace ptxloom::test {

inline std::int32_t s32_at(const HostTensor& tensor, std::uint64_t index) {
  std::int32_t value = 0;
  std::memcpy(&value, tensor.bytes.data() + 4 * index, sizeof value);
  return value;
}

/// The rest is for derived classes to say.
class SmallTemplate : public Template {
 public:
  explicit SmallTemplate(std::vector<std::string> faults) : faults_(std::move(faults)) {}
  std::string_view space() const override { return "{}"; }
  Settings problem(const Settings& given) const override { return given; }
  double operations(const Settings&) const override { return 1; }
  Settings config(const Specs&, const Target&, const Settings&, const Settings& given) const override {
    Settings whole = {{"fault", "none"}};
    for (const auto& [name, value] : given) whole[name] = value;
    return whole;
  }
  tune::Space tuning_space(const Specs&, const Target&, const Settings&) const override {
    return {.parameters = {{"fault", faults_}}};
  }
  std::vector<Settings> candidates(const Specs&, const Target&, const Settings&,
                                   const Settings&) const override {
    return {};
  }

 private:
  std::vector<std::string> faults_;
};

/// y = x + 1 and z = 5 * x, for n elements of s32.
class TwoOutputs : public SmallTemplate {
 public:
  TwoOutputs() : SmallTemplate({"none", "wrong_y", "wrong_z", "hole_in_z"}) {}
  std::string_view name() const override { return "two_outputs"; }
  std::vector<TensorPlan> tensors(const Settings& problem) const override {
    const std::uint64_t n = std::stoull(problem.at("n"));
    return {{.name = "x", .type = s32, .shape = {n}, .below = 1000},
            {.name = "y", .type = s32, .shape = {n}, .role = TensorPlan::Role::out},
            {.name = "z", .type = s32, .shape = {n}, .role = TensorPlan::Role::out}};
  }
  Emitted emit(std::shared_ptr<const Specs> specs, const Target& target, const Settings& problem,
               const Settings& config) const override {
    const auto n = static_cast<std::uint32_t>(std::stoul(problem.at("n")));
    const std::string& fault = config.at("fault");
    KernelBuilder k(std::move(specs), "two_outputs", target);
    const Pointer x = k.pointer(s32, "x"), y = k.pointer(s32, "y"), z = k.pointer(s32, "z");
    const Reg i = k.global_thread_x();
    k.if_(k.lt(i, n), [&] {
      const Reg value = k.load(x[i]);
      k.store(y[i], k.add(value, fault == "wrong_y" ? 2 : 1));
      k.if_(k.lt(i, fault == "hole_in_z" ? n - 1 : n),
            [&] { k.store(z[i], k.mul(value, fault == "wrong_z" ? 6 : 5)); });
    });
    return {.module = k.finish(),
            .launches = {{.entry = "two_outputs",
                          .grid = {(n + 31) / 32, 1, 1},
                          .block = {32, 1, 1},
                          .arguments = {{.name = "x", .type = u64, .tensor = "x"},
                                        {.name = "y", .type = u64, .tensor = "y"},
                                        {.name = "z", .type = u64, .tensor = "z"}}}}};
  }
  std::vector<Expectation> expect(const Settings& problem,
                                  std::span<const HostTensor> inputs) const override {
    Expectation y{.tensor = "y"}, z{.tensor = "z"};
    for (std::uint64_t i = 0; i < inputs[0].plan.elements(); ++i) {
      const double x = s32_at(inputs[0], i);
      y.points.push_back({.index = i, .value = x + 1});
      z.points.push_back({.index = i, .value = 5 * x});
    }
    if (problem.contains("forget_z")) return {y};
    return {y, z};
  }
};

/// y[row] = x[start[row]] for n rows: the starts increase, and are all less than the length of x, 3 * n.
/// x[start[row]] is 1000 * row, as only inputs that fit together can be.
class Gather : public SmallTemplate {
 public:
  Gather() : SmallTemplate({"none"}) {}
  std::string_view name() const override { return "gather"; }
  std::vector<TensorPlan> tensors(const Settings& problem) const override {
    const std::uint64_t n = std::stoull(problem.at("n"));
    return {{.name = "start", .type = s32, .shape = {n}},
            {.name = "x", .type = s32, .shape = {3 * n}},
            {.name = "y", .type = s32, .shape = {n}, .role = TensorPlan::Role::out}};
  }
  std::vector<HostTensor> inputs(const Settings& problem, std::uint64_t seed) const override {
    const std::vector<TensorPlan> plans = tensors(problem);
    HostTensor start = random_tensor(plans[0], seed), x = random_tensor(plans[1], seed);
    for (std::uint64_t row = 0; row < plans[0].shape[0]; ++row) {
      const std::uint64_t at = 3 * row + static_cast<std::uint32_t>(s32_at(start, row)) % 3;
      store_element(s32, start.bytes, row, at);
      store_element(s32, x.bytes, at, 1000 * row);
    }
    if (problem.contains("forget_x")) return {start};
    return {start, x};
  }
  Emitted emit(std::shared_ptr<const Specs> specs, const Target& target, const Settings& problem,
               const Settings&) const override {
    const auto n = static_cast<std::uint32_t>(std::stoul(problem.at("n")));
    KernelBuilder k(std::move(specs), "gather", target);
    const Pointer start = k.pointer(s32, "start"), x = k.pointer(s32, "x"), y = k.pointer(s32, "y");
    const Reg row = k.global_thread_x();
    k.if_(k.lt(row, n), [&] { k.store(y[row], k.load(x[k.load(start[row])])); });
    return {.module = k.finish(),
            .launches = {{.entry = "gather",
                          .grid = {(n + 31) / 32, 1, 1},
                          .block = {32, 1, 1},
                          .arguments = {{.name = "start", .type = u64, .tensor = "start"},
                                        {.name = "x", .type = u64, .tensor = "x"},
                                        {.name = "y", .type = u64, .tensor = "y"}}}}};
  }
  std::vector<Expectation> expect(const Settings&, std::span<const HostTensor> inputs) const override {
    Expectation y{.tensor = "y"};
    for (std::uint64_t row = 0; row < inputs[0].plan.shape[0]; ++row)
      y.points.push_back({.index = row, .value = 1000.0 * static_cast<double>(row)});
    return {y};
  }
};

/// y = the sums of the columns of x, which is rows x n of s32, in two launches: thread blocks add the sums of
/// four rows each into the workspace, then a thread for each column adds its sum to y. Both must be cleared.
class ColumnSums : public SmallTemplate {
 public:
  ColumnSums() : SmallTemplate({"none", "first_only", "second_only", "exchanged", "y_not_cleared"}) {}
  std::string_view name() const override { return "column_sums"; }
  std::vector<TensorPlan> tensors(const Settings& problem) const override {
    const std::uint64_t rows = std::stoull(problem.at("rows")), n = std::stoull(problem.at("n"));
    return {{.name = "x", .type = s32, .shape = {rows, n}, .below = 1000},
            {.name = "y", .type = s32, .shape = {n}, .role = TensorPlan::Role::out}};
  }
  Emitted emit(std::shared_ptr<const Specs> specs, const Target& target, const Settings& problem,
               const Settings& config) const override {
    const auto rows = static_cast<std::uint32_t>(std::stoul(problem.at("rows")));
    const auto n = static_cast<std::uint32_t>(std::stoul(problem.at("n")));
    const std::string& fault = config.at("fault");
    const std::string workspace(kWorkspace);
    const std::uint64_t bytes = std::uint64_t{4} * n;
    LaunchPlan partial{.entry = "partial_sums",
                       .grid = {(n + 31) / 32, (rows + kRows - 1) / kRows, 1},
                       .block = {32, 1, 1},
                       .workspace_bytes = bytes,
                       .arguments = {{.name = "x", .type = u64, .tensor = "x"},
                                     {.name = "sums", .type = u64, .tensor = workspace}},
                       .clear = {{workspace, 0, bytes}}};
    LaunchPlan total{.entry = "total",
                     .grid = {(n + 31) / 32, 1, 1},
                     .block = {32, 1, 1},
                     .workspace_bytes = bytes,
                     .arguments = {{.name = "sums", .type = u64, .tensor = workspace},
                                   {.name = "y", .type = u64, .tensor = "y"}}};
    if (fault != "y_not_cleared") total.clear = {{"y", 0, bytes}};
    Emitted emitted{.module = kernels(std::move(specs), target, rows, n), .launches = {}};
    if (fault == "exchanged")
      emitted.launches = {total, partial};
    else if (fault == "first_only")
      emitted.launches = {partial};
    else if (fault == "second_only")
      emitted.launches = {total};
    else
      emitted.launches = {partial, total};
    return emitted;
  }
  std::vector<Expectation> expect(const Settings&, std::span<const HostTensor> inputs) const override {
    const std::uint64_t n = inputs[0].plan.shape[1];
    Expectation y{.tensor = "y"};
    for (std::uint64_t column = 0; column < n; ++column) {
      double sum = 0;
      for (std::uint64_t row = 0; row < inputs[0].plan.shape[0]; ++row)
        sum += s32_at(inputs[0], row * n + column);
      y.points.push_back({.index = column, .value = sum});
    }
    return {y};
  }

 private:
  static constexpr std::uint32_t kRows = 4;  // of a thread block

  static ir::Module kernels(std::shared_ptr<const Specs> specs, const Target& target, std::uint32_t rows,
                            std::uint32_t n) {
    KernelBuilder k(std::move(specs), "partial_sums", target);
    {
      const Pointer x = k.pointer(s32, "x"), sums = k.pointer(s32, "sums");
      const Reg column = k.global_thread_x(), first = k.mul(k.special("ctaid.y"), kRows);
      k.if_(k.lt(column, n), [&] {
        for (std::uint32_t i = 0; i < kRows; ++i) {
          const Reg row = k.add(first, i);
          k.if_(k.lt(row, rows), [&] {
            k.emit("red.global.add.s32", &sums[column], k.load(x[k.add(k.mul(row, n), column)]));
          });
        }
      });
    }
    k.next_kernel("total");
    const Pointer sums = k.pointer(s32, "sums"), y = k.pointer(s32, "y");
    const Reg column = k.global_thread_x();
    k.if_(k.lt(column, n), [&] { k.store(y[column], k.add(k.load(y[column]), k.load(sums[column]))); });
    return k.finish();
  }
};

}  // namespace ptxloom::test
