// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "ptxloom/tune.hpp"

// The order in which configurations are tried. A strategy is asked for the next one while earlier ones are
// still being linked, and told the result of each.
namespace ptxloom::tune {

struct Pick {
  std::size_t index = 0;    ///< into the admissible configurations
  int samples = 5;          ///< times to measure it
  double predicted_us = 0;  ///< what the strategy expects; 0 = no expectation
  double deviation = 0;     ///< how uncertain that is: of its logarithm
};

class Picker {
 public:
  virtual ~Picker() = default;
  /// nullopt: none at the moment; if no pick is in flight either, the search is over.
  virtual std::optional<Pick> next() = 0;
  /// Reports the time of a pick; nullopt if it has none.
  virtual void tell(std::size_t index, std::optional<double> time_us) = 0;
  /// The configuration was measured for a reason other than a pick of this strategy, and need not be measured
  /// again.
  virtual void skip(std::size_t index) = 0;
};

std::unique_ptr<Picker> make_picker(const Admissible& space, const Target& target,
                                    const SearchOptions& options);

std::unique_ptr<Picker> make_halving(std::size_t size, const SearchOptions& options);
std::unique_ptr<Picker> make_guided(const Admissible& space, const Target& target,
                                    const SearchOptions& options);

}  // namespace ptxloom::tune
