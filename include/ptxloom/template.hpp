// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/ir.hpp"
#include "ptxloom/plan.hpp"
#include "ptxloom/tuning_space.hpp"

/// \file
/// Kernel templates. A template is a family of kernels. From a problem (what to compute: sizes, types) and a
/// configuration (how: tiles, stages) it makes one kernel or more, with plans of their launches and a
/// reference of their results. Problem and configuration are Settings; no parameter is in both. The
/// template's space.json lists them.
namespace [[gnu::visibility("default")]] ptxloom {

/// What a template emits.
struct Emitted {
  ir::Module module;                 ///< with all kernels
  std::vector<LaunchPlan> launches;  ///< at least one, in order; each names its kernel
};

/// A kernel template. Implement it for kernels of your own; const members must be thread-safe.
class Template {
 public:
  virtual ~Template() = default;
  virtual std::string_view name() const = 0;  ///< as on the command line and in records: "gemm"
  /// The text of space.json: the parameters of problem and configuration, each with its values, its default
  /// and a sentence.
  virtual std::string_view space() const = 0;
  /// A hash of everything that determines its configurations, launch plans and kernels, apart from parameters
  /// and target: its own code and this library's. With it the cache keeps the PTX of its kernels, so that a
  /// later process need not emit them again. Empty: they are emitted each time.
  virtual std::string_view digest() const { return {}; }
  /// The problem with all its parameters: those given are checked, the others have their defaults. Throws
  /// Error(usage) for an unknown parameter or value, and for sizes that are zero or overflow.
  virtual Settings problem(const Settings& given) const = 0;
  /// The inputs and outputs of a problem.
  virtual std::vector<TensorPlan> tensors(const Settings& problem) const = 0;
  /// The data of every input, for runs and searches that are not given any; it depends on the seed alone. The
  /// default draws each by itself (random_tensor). Override it for inputs in a range of their own, or that
  /// must fit together: sorted rows, sparse matrices, offsets that increase.
  virtual std::vector<HostTensor> inputs(const Settings& problem, std::uint64_t seed) const {
    return random_inputs(tensors(problem), seed);
  }
  /// Number of operations of the problem, for rates; a multiply-add counts as two.
  virtual double operations(const Settings& problem) const = 0;
  /// The rate in specs/targets.json that bounds these operations, such as "f16"; empty: not known.
  virtual std::string unit(const Settings& /*problem*/) const { return {}; }
  /// Bytes that every kernel for the problem must read; 0: not known.
  virtual double input_bytes(const Settings& /*problem*/) const { return 0; }
  /// The problem as a vendor's library has it, for a comparison; nullopt: it is not a matrix product.
  virtual std::optional<MatrixProduct> product(const Settings& /*problem*/) const { return std::nullopt; }
  /// The configuration with all its parameters: those given are checked, the template chooses the others for
  /// the problem and the target. Throws Error(usage) for an unknown parameter or value, and Error(refused)
  /// for a configuration that the problem or the target does not admit.
  virtual Settings config(const Specs& specs, const Target& target, const Settings& problem,
                          const Settings& given) const = 0;
  /// All its configurations for a problem, for the tuner to search.
  virtual tune::Space tuning_space(const Specs& specs, const Target& target,
                                   const Settings& problem) const = 0;
  /// Some admissible configurations that agree with `given`, the most promising first.
  virtual std::vector<Settings> candidates(const Specs& specs, const Target& target, const Settings& problem,
                                           const Settings& given) const = 0;
  /// The kernels and launches of a problem and a configuration, both with all parameters.
  virtual Emitted emit(std::shared_ptr<const Specs> specs, const Target& target, const Settings& problem,
                       const Settings& config) const = 0;
  /// What each output must hold for these inputs, computed on the host with code that the kernel does not
  /// share. An output without an expectation is an error when a run is verified.
  virtual std::vector<Expectation> expect(const Settings& problem,
                                          std::span<const HostTensor> inputs) const = 0;
};

}  // namespace ptxloom
