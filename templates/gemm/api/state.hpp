// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "gemm/api/operands.hpp"
#include "ptxloom/gemm.hpp"
#include "ptxloom/prepared_launch.hpp"
#include "ptxloom/workspace.hpp"

// The kernels of a Gemm: the one for its problem, and those for launches with other sizes.
namespace ptxloom::gemm_kernel {

/// A kernel and its launch for one set of sizes.
struct SizedKernel {
  Specialised kernel;
  std::vector<Area> areas;
  PreparedLaunch launch;
  Type arithmetic;           ///< of alpha and beta
  std::uint64_t layout = 0;  ///< of its workspace, which no other has

  SizedKernel(Specialised specialised, int sms, std::uint64_t number);
  bool reads_c() const;
};

/// Identifies the launch of a kernel; 0 stands for the leading dimension of a contiguous matrix.
struct SizeKey {
  std::uint64_t m = 0, n = 0, k = 0, lda = 0, ldb = 0, ldc = 0, ldd = 0;
  bool reads_c = false;
  friend bool operator==(const SizeKey&, const SizeKey&) = default;
};

struct SizeHash {
  std::size_t operator()(const SizeKey& key) const;
};

}  // namespace ptxloom::gemm_kernel

namespace ptxloom {

/// Thread-safe. It does not own the Context, because the context caches it.
class Gemm::State {
 public:
  /// `given`: the problem as the caller gave it; `config`: what every kernel keeps.
  State(const Context& context, Settings given, Settings config, bool must_hit, Specialised kernel);

  const Specialised& base() const { return base_->kernel; }
  std::size_t kernels() const { return pool_.size(); }
  /// The kernel for these sizes if it is loaded, else null.
  std::shared_ptr<const gemm_kernel::SizedKernel> ready(const GemmSizes& sizes) const {
    return ready(key_of(sizes));
  }
  /// `stream`: the stream of the launch, which may be capturing; none if not given.
  std::shared_ptr<const gemm_kernel::SizedKernel> kernel_for(const Context& context, const GemmSizes& sizes,
                                                             std::optional<CUstream_st*> stream = {}) const;
  void launch(const Context& context, CUstream_st* stream, const GemmOperands& operands,
              const GemmSizes& sizes) const;
  const Settings& given() const { return given_; }
  const Settings& config() const { return config_; }
  bool must_hit() const { return must_hit_; }

 private:
  /// The most sizes whose launches are kept ready.
  static constexpr std::size_t kMost = 4096;

  gemm_kernel::SizeKey key_of(const GemmSizes& sizes) const;
  std::shared_ptr<const gemm_kernel::SizedKernel> ready(const gemm_kernel::SizeKey& key) const;
  Settings problem_of(const GemmSizes& sizes) const;
  std::shared_ptr<const gemm_kernel::SizedKernel> make(const Context& context, const GemmSizes& sizes) const;

  const Settings given_, config_;
  const bool must_hit_;           // for other sizes too
  gemm_kernel::SizeKey largest_;  // and leading dimensions
  double alpha_ = 1, beta_ = 0;
  mutable KernelPool pool_;
  std::shared_ptr<const gemm_kernel::SizedKernel> base_;
  StreamWorkspaces workspaces_;
  mutable std::shared_mutex mutex_;
  mutable std::unordered_map<gemm_kernel::SizeKey, std::shared_ptr<const gemm_kernel::SizedKernel>,
                             gemm_kernel::SizeHash>
      sized_;
};

}  // namespace ptxloom
