// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "conform/subject.hpp"

// The distribution of the operands of a set. The lanes of a warp hold one set of a matrix (with a matrix
// descriptor: the threads of a thread block), so all values of a set follow one profile, and sets use the
// profiles in rotation. Five suit any instruction. Those for a product D = A * B + C target what its
// arithmetic depends on: the window of bits that is kept below the largest term, and the exponent below which
// nothing is aligned.
//
// Along k the products of a set are high, low, or zero (a zero meets a high factor). Low ones lie below high
// ones by a distance that is drawn anew for each set, from one bit to beyond any window. A sum of few high
// and low products reveals whether a bit was kept where the sum would be exact, or a tie, without the low
// ones.
namespace ptxloom::conform_kernels {

/// How values are drawn for an operand that is not part of a product.
enum class Make : std::uint8_t { alike, wide, special, ties, bits, product };

/// The exponent of the largest products.
enum class Height : std::uint8_t {
  anywhere,   ///< any that the types and the accumulator have
  least,      ///< about that of the accumulator's smallest number, or half of it
  subnormal,  ///< that of products of subnormals
};

enum class Addend : std::uint8_t {
  anything,
  zero,
  edge,        ///< its last bit is twice a largest product, or it is far above or below the products
  subnormal,   ///< zero, or one of the accumulator's smallest numbers
  cancelling,  ///< minus some of the largest products, zero, or one bit far below them
};

struct Profile {
  std::string_view name;
  Make make = Make::product;
  Height height = Height::anywhere;
  int zeros = 0, highs = 0;  ///< percent of the products
  int full_highs = 0;        ///< percent with a random significand; the others are powers of two
  int jitter = 10;           ///< low factors lie lower still, by up to this many powers of two
  bool edge =
      false;  ///< in some sets: more zeros, less jitter, and distances at which chips are known to truncate
  Addend addend = Addend::anything;
};

std::span<const Profile> profiles();

/// Which set uses which profile.
class Turns {
 public:
  Turns(const Subject& subject, std::uint64_t seed);

  std::size_t set_of(std::size_t thread) const { return thread / set_threads_; }
  /// An index into profiles().
  std::size_t profile_of_set(std::size_t set) const { return turns_[(set + first_) % turns_.size()]; }
  std::size_t profile_of(std::size_t thread) const { return profile_of_set(set_of(thread)); }
  /// The number of threads that use every profile as often as required.
  std::size_t fewest_threads() const { return fewest_threads_; }

 private:
  std::span<const std::uint8_t> turns_;
  std::size_t first_ = 0, set_threads_ = kWarpThreads, fewest_threads_ = 0;
};

}  // namespace ptxloom::conform_kernels
