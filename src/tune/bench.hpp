// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ptxloom/tune.hpp"

// Where a worker runs candidates: a GPU, or the executor. It holds the task's tensors; outputs are apart from
// all else, with guard zones around them.
namespace ptxloom::tune {

class Bench {
 public:
  /// A candidate that is ready to run.
  class Loaded {
   public:
    virtual ~Loaded() = default;
  };

  virtual ~Bench() = default;
  /// Throws Error for what cannot be loaded.
  virtual std::unique_ptr<Loaded> load(const Candidate& candidate) = 0;
  /// The vendor's library, ready to do the task's product. Throws Error where there is none.
  struct Vendor {
    std::string name;                  ///< "cuBLASLt 13.1.0"
    std::unique_ptr<Loaded> standard;  ///< by the algorithm it proposes first: what a program gets unasked
    std::unique_ptr<Loaded> fastest;   ///< by the fastest of those it proposes
  };
  virtual Vendor load_vendor() = 0;
  /// Fills outputs with `poison`, and gives tensors that are read and written their first content.
  virtual void prepare(std::byte poison) = 0;
  /// Gives all inputs their content again, which a wrong kernel may have changed.
  virtual void restore() = 0;
  /// One pass through the launches, waiting for it. Throws Error for a fault.
  virtual void run(Loaded& loaded) = 0;
  virtual void read(std::size_t tensor, std::span<std::byte> bytes) = 0;
  /// The tensor around which something was written; nullopt where all is well.
  virtual std::optional<std::string> damaged() = 0;
  /// Microseconds of one pass, by itself and roughly.
  virtual double glance_us(Loaded& loaded) = 0;
  /// Microseconds of one pass, averaged over as many as it takes to time them well.
  virtual double time_us(Loaded& loaded) = 0;
  /// All that was timed since the last call.
  virtual double busy_us() = 0;
  virtual std::optional<DeviceHealth> health() = 0;
  /// Is the device of use after this error?
  virtual bool alive(const Error& error) = 0;
};

std::unique_ptr<Bench> make_gpu_bench(const DeviceContext& device, const Task& task);

}  // namespace ptxloom::tune
