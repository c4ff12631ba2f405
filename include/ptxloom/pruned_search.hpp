// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// The search behind all choices of configurations: the tuner's, and the default ones of templates.
namespace [[gnu::visibility("default")]] ptxloom {
namespace tune {

/// Tries all combinations of values, the first axis outermost. A rule is evaluated at the first axis after
/// which everything that it reads is known, and prunes all combinations that would follow: of half a million
/// configurations of a GEMM a few thousand are visited.
class PrunedSearch {
 public:
  /// A parameter whose values are tried.
  struct Axis {
    std::string_view name;   ///< its name; it must live until the last rule is added
    std::size_t values = 0;  ///< the number of its values
  };
  /// What the search calls.
  struct Calls {
    std::function<void(std::size_t axis, std::size_t value)> assign;  ///< an axis has this value from now on
    std::function<bool(std::size_t rule)> allows;  ///< whether a rule allows the values assigned so far
    std::function<void()> visit;                   ///< a combination that all rules allow
    /// A rule has removed combinations; empty: nobody counts them.
    std::function<void(std::size_t rule, std::uint64_t count)> removed = {};
  };

  /// Without rules. There must be at least one axis.
  explicit PrunedSearch(std::span<const Axis> axes);

  /// Adds a rule, by the number that `allows` gets. Names in `reads` that are not axes are known from the
  /// start. Rules of one axis are evaluated in the order in which they were added.
  void add_rule(std::size_t rule, std::span<const std::string> reads);
  std::uint64_t combinations() const { return below_.front(); }  ///< the number of all, allowed or not
  void run(const Calls& calls) const;                            ///< tries all combinations

 private:
  void descend(std::size_t axis, const Calls& calls) const;

  std::vector<Axis> axes_;
  std::vector<std::uint64_t> below_;             // combinations of the axes from each one on
  std::vector<std::vector<std::size_t>> rules_;  // evaluated once an axis has a value
};

}  // namespace tune
}  // namespace ptxloom
