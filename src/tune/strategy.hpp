// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "ptxloom/tune.hpp"

// In which order configurations are tried. A strategy is asked for the next one while earlier ones are still
// being linked, and told what came of each.
namespace ptxloom::tune {

struct Pick {
  std::size_t index = 0;    ///< into the admissible configurations
  int samples = 5;          ///< times to take of it
  double predicted_us = 0;  ///< what the strategy expects; 0 = nothing
};

class Picker {
 public:
  virtual ~Picker() = default;
  /// nullopt: nothing at the moment; where no pick is under way either, that is the end.
  virtual std::optional<Pick> next() = 0;
  /// The time of a pick; nullopt where it has none.
  virtual void tell(std::size_t index, std::optional<double> time_us) = 0;
  /// It was measured for another reason than a pick of this strategy's, and need not be again.
  virtual void skip(std::size_t index) = 0;
};

std::unique_ptr<Picker> make_picker(const Admissible& space, const Target& target,
                                    const SearchOptions& options);

std::unique_ptr<Picker> make_halving(std::size_t size, const SearchOptions& options);
std::unique_ptr<Picker> make_guided(const Admissible& space, const Target& target,
                                    const SearchOptions& options);

}  // namespace ptxloom::tune
