// SPDX-License-Identifier: Apache-2.0
#include "support/naive_matrices.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

#include "support/narrow.hpp"

namespace ptxloom::test::naive {
namespace {

void lay(const Words& w, const std::string& name, Place& place, bool by_rows, std::uint64_t rows,
         std::uint64_t columns) {
  const std::uint64_t given = w.size("ld" + name);
  const std::uint64_t pitch = given != 0 ? given : by_rows ? columns : rows;
  place.down = by_rows ? pitch : 1;
  place.right = by_rows ? 1 : pitch;
  place.stride = w.size("stride_" + name, (by_rows ? rows : columns) * pitch);
}

std::uint64_t bits_at(const HostTensor& tensor, Type type, std::uint64_t index) {
  std::uint64_t bits = 0;
  const auto size = static_cast<std::uint64_t>(type.bytes());
  for (std::uint64_t i = 0; i < size; ++i)
    bits |= std::to_integer<std::uint64_t>(tensor.bytes.at(index * size + i)) << (8 * i);
  return bits;
}

}  // namespace

std::string Words::word(std::string_view name, const std::string& otherwise) const {
  const auto found = words_.find(name);
  return found == words_.end() ? otherwise : found->second;
}

std::uint64_t Words::size(std::string_view name, std::uint64_t otherwise) const {
  const std::string text = word(name, "");
  return text.empty() ? otherwise : std::stoull(text);
}

double Words::number(std::string_view name, double otherwise) const {
  const std::string text = word(name, "");
  return text.empty() ? otherwise : std::stod(text);
}

Type Words::type(std::string_view name, const std::string& otherwise) const {
  const auto found = find_type(word(name, otherwise));
  if (!found) throw std::invalid_argument("no type: " + std::string(name));
  return *found;
}

Shape::Shape(const Words& w)
    : m(w.size("m")),
      n(w.size("n")),
      k(w.size("k")),
      batch(w.size("batch", 1)),
      contiguous(w.is("groups", "contiguous")),
      masked(w.is("groups", "masked")) {
  a.type = w.type("a", "bf16");
  b.type = w.type("b", std::string(a.type.name));
  d.type = w.type("d", a.type.is_integer() ? "s32" : a.type == f64 ? "f64" : "f32");
  c.type = w.type("c", d.type.bits == 8 ? "f32" : std::string(d.type.name));
  exact = d.type == s32;
  lay(w, "a", a, !w.is("a_layout", "col"), m, k);
  lay(w, "b", b, w.is("b_layout", "row"), k, n);
  lay(w, "c", c, true, m, n);
  lay(w, "d", d, true, m, n);
}

const HostTensor* find(std::span<const HostTensor> tensors, std::string_view name) {
  for (const HostTensor& one : tensors)
    if (one.plan.name == name) return &one;
  return nullptr;
}

double value_at(const HostTensor& tensor, Type type, std::uint64_t index) {
  return narrow::decode(type, bits_at(tensor, type, index));
}

std::vector<double> values_of(std::span<const HostTensor> tensors, std::string_view name, Type type) {
  std::vector<double> values;
  if (const HostTensor* tensor = find(tensors, name))
    for (std::uint64_t i = 0; i < tensor->bytes.size() / static_cast<std::uint64_t>(type.bytes()); ++i)
      values.push_back(value_at(*tensor, type, i));
  return values;
}

Rows::Rows(const HostTensor& tensor, const Place& place, std::uint64_t batches, std::uint64_t rows,
           std::uint64_t k, bool transposed)
    : rows_(rows), k_(k), values_(batches * rows * k) {
  // The value of every pattern, where that is less work than each element's.
  const std::size_t patterns = place.type.bits <= 16 ? std::size_t{1} << place.type.bits : 0;
  std::vector<double> known(patterns < values_.size() ? patterns : 0);
  for (std::size_t bits = 0; bits < known.size(); ++bits) known[bits] = narrow::decode(place.type, bits);
  std::size_t next = 0;
  for (std::uint64_t batch = 0; batch < batches; ++batch)
    for (std::uint64_t row = 0; row < rows; ++row)
      for (std::uint64_t i = 0; i < k; ++i) {
        const std::uint64_t bits =
            bits_at(tensor, place.type, transposed ? place.at(batch, i, row) : place.at(batch, row, i));
        values_[next++] = known.empty() ? narrow::decode(place.type, bits) : known[bits];
      }
}

double Rows::largest() const {
  double largest = 0;
  for (const double value : values_) largest = std::max(largest, std::abs(value));
  return largest;
}

double Rows::unit() const {
  int lowest = 0;
  for (const double value : values_) {
    if (value == 0 || !std::isfinite(value)) continue;
    const int zeros = std::min(52, std::countr_zero(std::bit_cast<std::uint64_t>(value)));
    lowest = std::min(lowest, std::ilogb(value) - 52 + zeros);
  }
  return std::ldexp(1, lowest);
}

}  // namespace ptxloom::test::naive
