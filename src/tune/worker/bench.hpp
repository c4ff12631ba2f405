// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ptxloom/tune.hpp"

// Where a worker runs candidates: a GPU, or the executor. It holds the task's tensors; outputs are separate
// from everything else, with guard zones around them.
namespace ptxloom::tune {

class Bench {
 public:
  /// A candidate that is ready to run.
  class Loaded {
   public:
    virtual ~Loaded() = default;
    /// Its workspace becomes zeros, as it was before the first run.
    virtual void reset() {}
  };

  virtual ~Bench() = default;
  /// Throws Error if the candidate cannot be loaded.
  virtual std::unique_ptr<Loaded> load(const Candidate& candidate) = 0;
  /// The vendor's library, ready to compute the task's product. Throws Error if there is none.
  struct Vendor {
    std::string name;                  ///< "cuBLASLt 13.1.0"
    std::unique_ptr<Loaded> standard;  ///< with the algorithm it proposes first: what a program gets by
                                       ///< default
    std::unique_ptr<Loaded> fastest;   ///< with the fastest of those it proposes
  };
  virtual Vendor load_vendor() = 0;
  /// Fills outputs with `poison`, and restores the initial contents of tensors that are read and written.
  virtual void prepare(std::byte poison) = 0;
  /// Restores all inputs, which a wrong kernel may have changed.
  virtual void restore() = 0;
  /// Runs the launches once and waits for them. Throws Error for a fault.
  virtual void run(Loaded& loaded) = 0;
  virtual void read(std::size_t tensor, std::span<std::byte> bytes) = 0;
  /// The tensor whose guard zones were written to; nullopt if there is none.
  virtual std::optional<std::string> damaged() = 0;
  /// Microseconds of a single run: a rough figure.
  virtual double glance_us(Loaded& loaded) = 0;
  /// Microseconds of a run, averaged over enough runs for a precise figure.
  virtual double time_us(Loaded& loaded) = 0;
  /// Total device time measured since the last call.
  virtual double busy_us() = 0;
  virtual std::optional<DeviceHealth> health() = 0;
  /// Whether the device is still usable after this error.
  virtual bool alive(const Error& error) = 0;
};

std::unique_ptr<Bench> make_gpu_bench(const DeviceContext& device, const Task& task);

}  // namespace ptxloom::tune
