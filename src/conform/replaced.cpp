// SPDX-License-Identifier: Apache-2.0
#include "conform/replaced.hpp"

#include <array>

namespace ptxloom::conform_kernels {
namespace {

using Changed = BeforeReplacing;

/// The other one of two values.
template <class T>
T other(T value, T first, T second) {
  return value == first ? second : first;
}

// A dimension beyond the rank accepts any value; there is nothing to change.
bool is_inside(const TensorMap& map, std::uint32_t dimension) { return dimension < map.rank; }

Changed address(TensorMap map, std::uint32_t) {
  const std::uint64_t meant = map.address;
  map.address += 64;
  return {map, meant};
}

// One more dimension, of one element.
Changed rank(TensorMap map, std::uint32_t) {
  const std::uint32_t meant = map.rank++;
  map.dims[meant] = map.box[meant] = map.element_strides[meant] = 1;
  map.strides[meant - 1] = map.strides[meant - 2] * map.dims[meant - 1];
  return {map, meant - 1};  // the field stores one less
}

Changed box(TensorMap map, std::uint32_t i) {
  if (!is_inside(map, i)) return {map, 1};
  const std::uint32_t meant = map.box[i];
  map.box[i] = i == 0 ? 2 * meant : other(meant, 1u, 2u);
  return {map, meant};
}

Changed dims(TensorMap map, std::uint32_t i) {
  if (!is_inside(map, i)) return {map, 1};
  const std::uint64_t meant = map.dims[i]++;
  return {map, meant};
}

Changed stride(TensorMap map, std::uint32_t i) {
  if (!is_inside(map, i + 1)) return {map, 16};
  const std::uint64_t meant = map.strides[i];
  map.strides[i] *= 2;
  return {map, meant};
}

Changed element_stride(TensorMap map, std::uint32_t i) {
  if (!is_inside(map, i)) return {map, 1};
  const std::uint32_t meant = map.element_strides[i];
  if (i != 0) map.element_strides[i] = other(meant, 1u, 2u);
  return {map, meant};
}

// One of the same size if there is one.
Changed element(TensorMap map, std::uint32_t number) {
  constexpr std::array<std::uint32_t, 13> kOthers{1, 6, 3, 2, 5, 4, 10, 2, 7, 4, 1, 7, 11};
  map.set_element(kOthers[number]);
  return {map, number};
}

Changed swizzle(TensorMap map, std::uint32_t number) {
  map.swizzle = other(map.swizzle, TensorSwizzle::none, TensorSwizzle::by_32_bytes);
  return {map, number};
}

Changed fill(TensorMap map, std::uint32_t number) {
  map.fill = other(map.fill, TensorFill::zero, TensorFill::nan);
  return {map, number};
}

Changed unchanged(TensorMap map, std::uint32_t number) { return {map, number}; }

struct Known {
  std::string_view name;
  Changed (*change)(TensorMap map, std::uint32_t number);
};
constexpr std::array kFields{
    Known{"global_address", address},
    Known{"rank", rank},
    Known{"box_dim", box},
    Known{"global_dim", dims},
    Known{"global_stride", stride},
    Known{"element_stride", element_stride},
    Known{"elemtype", element},
    Known{"swizzle_mode", swizzle},
    Known{"fill_mode", fill},
    Known{"interleave_layout", unchanged},
};

}  // namespace

void set_literal(TensorMap& map, const ReplacedField& field) {
  if (field.name == "elemtype") map.set_element(field.number);
  if (field.name == "swizzle_mode") map.swizzle = static_cast<TensorSwizzle>(field.number);
  map.fill = field.name == "fill_mode" ? static_cast<TensorFill>(field.number) : TensorFill::zero;
}

BeforeReplacing before_replacing(const TensorMap& meant, const ReplacedField& field) {
  for (const Known& known : kFields) {
    if (known.name == field.name) return known.change(meant, field.number);
  }
  return {meant, 0};
}

}  // namespace ptxloom::conform_kernels
