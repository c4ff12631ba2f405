// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>

#include "conform/profile.hpp"
#include "conform/roles.hpp"
#include "ptxloom/type.hpp"

namespace ptxloom::conform_kernels {

/// The types of a product and of its accumulator, and whether the same memory holds both factors.
struct ProductTypes {
  explicit ProductTypes(const Roles& roles)
      : left(roles.left()),
        right(roles.right()),
        sum(roles.sum()),
        shared(roles.shared()),
        scaled(roles.scaled()) {}
  Type left, right, sum;
  bool shared, scaled;
};

/// Draws the operands of one set by a profile for products. What its elements share, their exponents and
/// which products are high, is drawn by the constructor.
class ProductDraw {
 public:
  ProductDraw(const Profile& profile, const ProductTypes& types, std::uint64_t seed);

  /// An element as bits. `role` must not be none; `k` says which factors meet, as far as that is known.
  std::uint64_t value(Role role, const Type& type, std::size_t k, std::mt19937_64& random) const;

 private:
  enum class Kind : std::uint8_t { zero_left, zero_right, high, low };
  struct Exponents {
    int high = 0, low = 0;
    int beside_zero = 0;  ///< for a factor that meets a zero
  };
  void place_kinds(std::mt19937_64& random);
  void place_floats(const ProductTypes& types, std::mt19937_64& random);
  int draw_distance(const Type& sum, int height, bool tie, std::mt19937_64& random) const;
  void place_addend(const Type& sum, int height, int distance, bool tie, std::mt19937_64& random);
  std::uint64_t factor(bool left, const Type& type, Kind kind, std::mt19937_64& random) const;
  std::uint64_t addend(const Type& type, std::mt19937_64& random) const;
  std::uint64_t integer_addend(std::mt19937_64& random) const;

  static constexpr std::size_t kKinds = 128;
  const Profile* profile_;
  std::array<Kind, kKinds> kinds_{};
  bool shared_ = false;  ///< the same memory holds both factors
  bool aligned_ = true;  ///< the kinds depend on k, so that high factors meet high ones
  int more_zeros_ = 0, jitter_ = 0, full_lows_ = 50;
  Exponents left_, right_;
  int addend_exponent_ = 0;
  bool addend_zero_ = false, addend_full_ = true;
  int scale_exponent_ = 0;  ///< for each of the two scales of a product
};

}  // namespace ptxloom::conform_kernels
