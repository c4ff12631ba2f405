// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "ptxloom/tensor_map.hpp"

namespace ptxloom::api {

/// Encoded tensor maps by address, sizes, strides and everything else they depend on. An encoded map owns no
/// memory, so a map of freed memory is valid again for whatever is allocated there. The cache clears itself
/// when it is full. Thread-safe.
class TensorMapCache {
 public:
  static constexpr std::size_t kMost = 4096;

  template <typename Encode>
  EncodedTensorMap find(const TensorMap& map, const Encode& encode) {
    {
      const std::shared_lock lock(mutex_);
      if (const auto known = maps_.find(map); known != maps_.end()) return known->second;
    }
    const EncodedTensorMap encoded = encode();
    const std::scoped_lock lock(mutex_);
    if (maps_.size() == kMost) maps_.clear();
    maps_.emplace(map, encoded);
    return encoded;
  }

  std::size_t size() const {
    const std::shared_lock lock(mutex_);
    return maps_.size();
  }

 private:
  struct Hash {
    std::size_t operator()(const TensorMap& map) const {
      std::uint64_t hash = map.address;
      const auto add = [&](std::uint64_t value) {
        hash = (hash ^ value) * 0x9e3779b97f4a7c15 + (hash >> 29);
      };
      for (const std::uint64_t dim : map.dims) add(dim);
      for (const std::uint64_t stride : map.strides) add(stride);
      for (const std::uint32_t box : map.box) add(box);
      return hash;
    }
  };

  mutable std::shared_mutex mutex_;
  std::unordered_map<TensorMap, EncodedTensorMap, Hash> maps_;
};

}  // namespace ptxloom::api
