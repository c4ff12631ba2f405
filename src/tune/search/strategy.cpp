// SPDX-License-Identifier: Apache-2.0
#include "tune/search/strategy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <array>
#include <numeric>
#include <random>

namespace ptxloom::tune {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"exhaustive", "random", "halving", "guided"};

/// All of them, in an order fixed from the start.
class Ordered : public Picker {
 public:
  explicit Ordered(std::vector<std::size_t> order) : order_(std::move(order)), skipped_(order_.size()) {}

  std::optional<Pick> next() override {
    while (at_ < order_.size() && skipped_[order_[at_]]) ++at_;
    if (at_ == order_.size()) return std::nullopt;
    return Pick{.index = order_[at_++]};
  }
  void tell(std::size_t, std::optional<double>) override {}
  void skip(std::size_t index) override { skipped_[index] = true; }

 private:
  std::vector<std::size_t> order_;
  std::vector<bool> skipped_;
  std::size_t at_ = 0;
};

}  // namespace

std::unique_ptr<Picker> make_picker(const Admissible& space, const Target& target,
                                    const SearchOptions& options) {
  std::vector<std::size_t> order(space.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  switch (options.strategy) {
    case Strategy::guided:
      return make_guided(space, target, options);
    case Strategy::halving:
      return make_halving(space.size(), options);
    case Strategy::random:
      std::ranges::shuffle(order, std::mt19937_64(options.seed));
      break;
    case Strategy::exhaustive:
      break;
  }
  return std::make_unique<Ordered>(std::move(order));
}

std::string_view name(Strategy strategy) { return kNames.at(static_cast<std::size_t>(strategy)); }

Strategy parse_strategy(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  if (found != kNames.end()) return static_cast<Strategy>(found - kNames.begin());
  throw Error(ErrorKind::usage, "unknown-strategy", fmt::format("there is no strategy '{}'", name),
              fmt::format("the strategies are: {}", fmt::join(kNames, ", ")));
}

}  // namespace ptxloom::tune
