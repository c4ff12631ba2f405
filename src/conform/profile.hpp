// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "conform/subject.hpp"

// What the operands of a set are made of. The lanes of a warp hold one set of a matrix (with a matrix
// descriptor: the threads of a block), so all values of a set follow one profile, and sets take profiles in
// turns. Five are for any instruction. Those of a product D = A * B + C reach what its arithmetic turns on:
// the window of bits that is kept below the largest term, and the exponent below which nothing is aligned.
//
// Along k the products of a set are high, low, or zero (a zero meets a high factor); low ones lie below high
// ones by a distance that each set draws anew, from one bit to beyond any window. A sum of few high and low
// products says whether a bit was kept where it would be exact, or a tie, without the low ones.
namespace ptxloom::conform_kernels {

/// How values of an operand are drawn where it is no part of a product.
enum class Make : std::uint8_t { alike, wide, special, ties, bits, product };

/// The exponent of the largest products.
enum class Height : std::uint8_t {
  anywhere,   ///< any that types and accumulator have
  least,      ///< about that of the accumulator's least number, or a half of it
  subnormal,  ///< of products of subnormals
};

enum class Addend : std::uint8_t {
  anything,
  zero,
  edge,        ///< a largest product is half its last bit, or it is far above or below the products
  subnormal,   ///< zero, or one of the accumulator's least numbers
  cancelling,  ///< zero, minus some of the largest products, or one bit far below them
};

struct Profile {
  std::string_view name;
  Make make = Make::product;
  Height height = Height::anywhere;
  int zeros = 0, highs = 0;  ///< percent of the products
  int full_highs = 0;        ///< percent with a random significand; the others are powers of two
  int jitter = 10;           ///< low factors lie by up to so many powers of two lower still
  bool edge =
      false;  ///< more zeros, less jitter, and distances at which chips are known to cut off, in some sets
  Addend addend = Addend::anything;
};

std::span<const Profile> profiles();

/// Which set has which profile.
class Turns {
 public:
  Turns(const Subject& subject, std::uint64_t seed);

  std::size_t set_of(std::size_t thread) const { return thread / set_threads_; }
  /// Index into profiles().
  std::size_t profile_of_set(std::size_t set) const { return turns_[(set + first_) % turns_.size()]; }
  std::size_t profile_of(std::size_t thread) const { return profile_of_set(set_of(thread)); }
  /// Threads that reach every profile, each as often as it takes.
  std::size_t fewest_threads() const { return fewest_threads_; }

 private:
  std::span<const std::uint8_t> turns_;
  std::size_t first_ = 0, set_threads_ = kWarpThreads, fewest_threads_ = 0;
};

}  // namespace ptxloom::conform_kernels
