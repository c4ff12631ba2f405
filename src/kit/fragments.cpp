// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kit/fragments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>

#include "ptxloom/error.hpp"

namespace ptxloom::kit {
namespace {

constexpr int kBytesRows = 16;  // of 8-bit elements that are fetched at once where they are transposed

// The rows that a warp reads at once decide which row bits must move the chunks. Rows shorter than 128 bytes,
// the width of all banks, share a line: the lowest row bits select the position within it, and only the bits
// above them move chunks.
std::vector<SwizzleBit> swizzle_of(FragmentPath path, int row_bytes) {
  const bool whole_line = row_bytes >= 128;
  switch (path) {
    case FragmentPath::scalar:  // 4 rows of 32 bytes
      if (whole_line) return {{0, 1}, {1, 2}};
      return {{1, 1}};
    case FragmentPath::ldmatrix_bytes:  // rows 0 1 4 5 8 9 12 13, one chunk each
      if (whole_line) return {{0, 0}, {2, 1}, {3, 2}};
      return {{2, 0}, {3, 1}};
    default:
      break;  // 8 rows, one chunk each
  }
  return matrix_swizzle(row_bytes);
}

}  // namespace

FragmentPath fragment_path(Type type, bool k_contiguous) {
  if (type == f64) return FragmentPath::scalar;
  if (k_contiguous) return FragmentPath::ldmatrix;
  if (type.bits == 16) return FragmentPath::ldmatrix_trans;
  return type.bits == 8 ? FragmentPath::ldmatrix_bytes : FragmentPath::scalar;
}

SwizzledTile fragment_tile(Type type, bool k_contiguous, int extent, int depth) {
  const int rows = k_contiguous ? extent : depth;
  const int row_bytes = (k_contiguous ? depth : extent) * type.bits / 8;
  return {rows, row_bytes, swizzle_of(fragment_path(type, k_contiguous), row_bytes)};
}

std::vector<FragmentPlace> register_places(Variant mma, std::string_view operand) {
  const Layout map = layout(mma, operand);
  const int per_register = static_cast<int>(map.lane(0).size()) / map.registers;
  const auto place = [&](int lane, int reg) {
    const LayoutElement& first = map.at(lane, reg * per_register);
    return operand == "A" ? FragmentPlace{first.row, first.col} : FragmentPlace{first.col, first.row};
  };
  std::vector<FragmentPlace> places;
  for (int reg = 0; reg < map.registers; ++reg) {
    const FragmentPlace first = places.emplace_back(place(0, reg));
    for (int lane = 0; lane < map.lanes; ++lane) {
      const FragmentPlace here = place(lane, reg);
      if (here.extent != first.extent + lane / 4 || here.k != first.k + lane % 4 * per_register)
        throw Error(ErrorKind::refused, "fragment-map",
                    std::string(mma.opcode()) + ": operand " + std::string(operand) +
                        " is not laid out in 8 x 4 lanes",
                    "use a shape whose fragments are laid out in 8 x 4 lanes");
    }
  }
  return places;
}

Reg FragmentOrder::origin(KernelBuilder& k, Reg place) const {
  return interleaved ? k.add(k.and_(place, ~15), k.and_(k.shr(place, 3), 1)) : place;
}

FragmentOrder fragment_order(Type type, bool k_contiguous) {
  return {fragment_path(type, k_contiguous) == FragmentPath::ldmatrix_bytes};
}

Fragments::Fragments(KernelBuilder& k, const FragmentShape& shape, const SwizzledTile& tile,
                     const FragmentInputs& in)
    : k_(k),
      type_(shape.type),
      k_contiguous_(shape.k_contiguous),
      tile_(tile),
      path_(fragment_path(shape.type, shape.k_contiguous)),
      places_(register_places(shape.mma, shape.operand)),
      base_(in.shared) {
  const Layout map = layout(shape.mma, shape.operand);
  tile_bits_ = map.register_bits * map.registers / static_cast<int>(map.lane(0).size());
  shift_ = map.at(0, 0).bit;
  if (type_.bits < 8 && !k_contiguous_)
    throw Error(ErrorKind::usage, "bad-fragments",
                fmt::format("{} of a tile that is not contiguous along k", type_.name),
                "elements below 8 bits are loaded from rows that run along k");
  std::tie(mma_extent_, mma_k_) =
      shape.operand == "A" ? std::pair(map.rows, map.cols) : std::pair(map.cols, map.rows);
  tiles_ = shape.extent / mma_extent_;
  const int whole = path_ == FragmentPath::ldmatrix_bytes ? std::max(kBytesRows, mma_extent_) : mma_extent_;
  if (shape.extent <= 0 || shape.extent % whole != 0)
    throw Error(ErrorKind::usage, "bad-fragments",
                fmt::format("{} of {}, {} rows of it", shape.operand, shape.mma.opcode(), shape.extent),
                fmt::format("a warp's part has a multiple of {} rows", whole));
  path_ == FragmentPath::scalar ? prepare_scalar(in.warp_origin, in.lane)
                                : prepare_ldmatrix(in.warp_origin, in.lane);
}

Fragments::Tiles Fragments::allocate() {
  const Type type = type_ == f64 ? f64 : b32;
  Tiles tiles;
  for (int tile = 0; tile < tiles_; ++tile) tiles.push_back(k_.regs(type, static_cast<int>(places_.size())));
  return tiles;
}

std::vector<Fragments::Block> Fragments::blocks(const Tiles& into) const {
  std::vector<Block> list;
  list.reserve(static_cast<std::size_t>(tiles_) * places_.size());
  for (int tile = 0; tile < tiles_; ++tile)
    for (std::size_t reg = 0; reg < places_.size(); ++reg)
      list.push_back({{tile * mma_extent_ + places_[reg].extent, places_[reg].k}, into[tile][reg]});
  return list;
}

// The 8 x 16-byte matrices that ldmatrix fetches for one k-step. For bytes, two of them hold the 16 x 16
// elements of two registers: rows k = 4t, 4t + 1 of each thread t in the first, 4t + 2, 4t + 3 in the second.
std::vector<FragmentPlace> Fragments::matrix_places() const {
  std::vector<FragmentPlace> list;
  if (path_ == FragmentPath::ldmatrix_bytes) {
    for (int extent = 0; extent < tiles_ * mma_extent_; extent += kBytesRows)
      for (int depth = 0; depth < mma_k_; depth += 16)
        for (const int pair : {0, 2}) list.push_back({extent, depth + pair});
    return list;
  }
  for (int tile = 0; tile < tiles_; ++tile)
    for (const FragmentPlace& place : places_) list.push_back({tile * mma_extent_ + place.extent, place.k});
  return list;
}

// Lane l addresses row l % 8 of matrix l / 8. The matrices of a group are two fixed distances apart, one for
// each bit of l / 8.
void Fragments::prepare_ldmatrix(Reg warp_origin, Reg lane) {
  const std::vector<FragmentPlace> matrices = matrix_places();
  group_ = std::gcd(static_cast<int>(matrices.size()), 4);
  Reg row_in_matrix = k_.and_(lane, 7);
  if (path_ == FragmentPath::ldmatrix_bytes)  // rows 0 1 4 5 8 9 12 13
    row_in_matrix = k_.add(row_in_matrix, k_.and_(row_in_matrix, 6));
  Reg extent = warp_origin, depth = k_.mov(u32, 0);
  for (int bit = 0; (2 << bit) <= group_; ++bit) {
    const FragmentPlace apart = matrices[std::size_t{1} << bit];
    const Reg chosen = k_.and_(k_.shr(lane, 3 + bit), 1);
    if (apart.extent != 0) extent = k_.fma(chosen, apart.extent, extent);
    if (apart.k != 0) depth = k_.fma(chosen, apart.k, depth);
  }
  const bool along_k = k_contiguous_;
  const Reg row = k_.add(along_k ? extent : depth, row_in_matrix);
  const Reg position = along_k ? depth : extent;
  const Reg byte = tile_bits_ < 8 ? k_.div(position, 8 / tile_bits_) : k_.mul(position, tile_bits_ / 8);
  base_ = k_.add(base_, tile_.address(k_, row, byte));
}

void Fragments::prepare_scalar(Reg warp_origin, Reg lane) {
  const Reg extent = k_.add(warp_origin, k_.shr(lane, 2)), depth = k_.and_(lane, 3);
  const bool along_k = k_contiguous_;
  const Reg byte = k_.mul(along_k ? depth : extent, type_.bytes());
  base_ = k_.add(base_, tile_.address(k_, along_k ? extent : depth, byte));
}

void Fragments::set_stage(Reg offset) {
  stage_ = k_.add(base_, offset);
  flipped_.clear();
}

Address Fragments::address(FragmentPlace place) {
  const Distance there = k_contiguous_ ? tile_.distance(place.extent, place.k * tile_bits_ / 8)
                                       : tile_.distance(place.k, place.extent * tile_bits_ / 8);
  if (there.flip == 0) return KernelBuilder::at(stage_, there.add);
  const auto known = flipped_.find(there.flip);
  const Reg base =
      known != flipped_.end() ? known->second : flipped_[there.flip] = k_.xor_(stage_, there.flip);
  return KernelBuilder::at(base, there.add);
}

void Fragments::load(int step, const Tiles& into) {
  const std::vector<Block> list = blocks(into);
  switch (path_) {
    case FragmentPath::scalar:
      return load_scalar(step * mma_k_, list);
    case FragmentPath::ldmatrix_bytes:
      return load_bytes(step * mma_k_, list);
    default:
      return load_ldmatrix(step * mma_k_, list);
  }
}

std::string Fragments::ldmatrix_opcode() const {
  if (type_.bits < tile_bits_)
    return fmt::format("ldmatrix.sync.aligned.m8n16.x{}.shared.b8x16.b{}x16_p{}", group_, type_.bits,
                       128 - 16 * type_.bits);
  const bool transposed = path_ != FragmentPath::ldmatrix;
  return fmt::format("ldmatrix.sync.aligned.m8n8.x{}{}.shared.b16", group_, transposed ? ".trans" : "");
}

void Fragments::load_ldmatrix(int k_origin, const std::vector<Block>& list) {
  const std::string opcode = ldmatrix_opcode();
  std::vector<Reg> group;
  for (std::size_t i = 0; i < list.size(); i += group.size()) {
    group.clear();
    for (int j = 0; j < group_; ++j) group.push_back(list[i + static_cast<std::size_t>(j)].into);
    const FragmentPlace first = list[i].place;
    k_.emit(opcode, group, address({first.extent, first.k + k_origin}));
    if (shift_ != 0)  // ldmatrix widens to the low bits of a byte
      for (const Reg& each : group) k_.emit("shl.b32", each, each, shift_);
  }
}

void Fragments::load_bytes(int k_origin, const std::vector<Block>& list) {
  const std::vector<FragmentPlace> matrices = matrix_places();
  const std::string opcode = ldmatrix_opcode();
  std::map<std::pair<int, int>, Reg> fetched;  // by extent and k
  for (std::size_t i = 0; i < matrices.size(); i += static_cast<std::size_t>(group_)) {
    const std::vector<Reg> group = k_.regs(b32, group_);
    k_.emit(opcode, group, address({matrices[i].extent, matrices[i].k + k_origin}));
    for (std::size_t j = 0; j < group.size(); ++j)
      fetched[{matrices[i + j].extent, matrices[i + j].k}] = group[j];
  }
  // Even columns of the 16 form the first 8 rows of the fragment, odd columns the second 8.
  for (const Block& block : list) {
    const int extent = block.place.extent & ~15, odd = (block.place.extent >> 3) & 1;
    k_.emit("prmt.b32", block.into, fetched.at({extent, block.place.k}),
            fetched.at({extent, block.place.k + 2}), odd != 0 ? 0x7531 : 0x6420);
  }
}

void Fragments::load_scalar(int k_origin, const std::vector<Block>& list) {
  const std::string_view opcode = type_ == f64 ? "ld.shared.f64" : "ld.shared.b32";
  for (const Block& block : list)
    k_.emit(opcode, block.into, address({block.place.extent, block.place.k + k_origin}));
}

}  // namespace ptxloom::kit
