// SPDX-License-Identifier: Apache-2.0
#include "exec/matrix/metadata.hpp"

#include <fmt/format.h>

#include "exec/machine/fault.hpp"

namespace ptxloom::exec {
namespace {

constexpr std::uint32_t kFirstOfTwo = 0b0100, kSecondOfTwo = 0b1110;
constexpr std::size_t kChunk = 4;  // adjacent elements

}  // namespace

Metadata::Metadata(const Decoder& decoder, int k, bool ordered)
    : fragment_(decoder, "E", "F"),
      data_(static_cast<std::size_t>(decoder.operand("E"))),
      selector_(static_cast<std::size_t>(decoder.operand("F"))),
      ordered_(ordered) {
  const Fragment& any = *fragment_.find(0);
  indices_ = any.type().bits == 4 ? 1 : 2;
  width_ = static_cast<std::size_t>(k / any.cols());
}

bool Metadata::valid(const std::uint32_t* indices) const {
  if (indices_ == 1) return indices[0] == kFirstOfTwo || indices[0] == kSecondOfTwo;
  return ordered_ ? indices[0] < indices[1] : indices[0] != indices[1];
}

void Metadata::pick(const std::uint32_t* indices, std::size_t chunk,
                    std::vector<std::uint16_t>& picked) const {
  if (indices_ == 1) {
    picked.push_back(static_cast<std::uint16_t>(2 * chunk + (indices[0] == kSecondOfTwo ? 1 : 0)));
    return;
  }
  for (std::size_t i = 0; i < indices_; ++i) {
    for (std::size_t element = 0; element < width_; ++element)
      picked.push_back(static_cast<std::uint16_t>((kChunk * chunk + indices[i]) * width_ + element));
  }
}

const Fragment& Metadata::fragment(Warp& warp, const Operation& op) const {
  const auto selector =
      static_cast<std::uint32_t>(Lanes<std::uint16_t>(warp.registers(), op.slot(selector_))[0]);
  const Fragment* fragment = fragment_.find(selector);
  if (fragment == nullptr) {
    fault(warp, op, 1, "mma-selector", fmt::format("there is no sparsity selector {}", selector),
          "use a selector that the shape of the instruction has");
  }
  return *fragment;
}

std::vector<std::uint16_t> Metadata::picked(std::span<Warp* const> warps, const Operation& op) const {
  const Fragment& fragment = this->fragment(*warps[0], op);
  std::vector<std::byte*> files;
  for (Warp* warp : warps) files.push_back(warp->registers());
  std::vector<std::uint32_t> indices;
  fragment.gather(files, slots(op), indices);
  std::vector<std::uint16_t> picked;
  const auto chunks = static_cast<std::size_t>(fragment.cols()) / indices_;
  for (std::size_t at = 0; at < indices.size(); at += indices_) {
    if (!valid(&indices[at])) {
      const Fragment::Position& held = fragment.positions()[at];
      const std::uint32_t bits = indices_ == 1 ? indices[at] : indices[at] | indices[at + 1] << 2;
      fault(*warps[held.reg], op, lane_bit(held.lane), "sparse-metadata",
            fmt::format("the metadata {:#06b} of row {} is invalid (bits {} to {} of the register)", bits,
                        at / indices_ / chunks, held.bit, held.bit + 3),
            "give the indices of the stored elements of each group, in ascending order");
    }
    pick(&indices[at], at / indices_ % chunks, picked);
  }
  return picked;
}

}  // namespace ptxloom::exec
