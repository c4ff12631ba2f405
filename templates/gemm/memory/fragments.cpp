// SPDX-License-Identifier: Apache-2.0
#include "gemm/memory/fragments.hpp"

#include <array>
#include <numeric>
#include <string>

namespace ptxloom::gemm_kernel {

std::vector<Place> register_places(Variant mma, std::string_view operand) {
  const Layout map = layout(mma, operand);
  const int per_register = static_cast<int>(map.lane(0).size()) / map.registers;
  const auto place = [&](int lane, int reg) {
    const LayoutElement& first = map.at(lane, reg * per_register);
    return operand == "A" ? Place{first.row, first.col} : Place{first.col, first.row};
  };
  std::vector<Place> places;
  for (int reg = 0; reg < map.registers; ++reg) {
    const Place first = places.emplace_back(place(0, reg));
    for (int lane = 0; lane < map.lanes; ++lane) {
      const Place here = place(lane, reg);
      if (here.extent != first.extent + lane / 4 || here.k != first.k + lane % 4 * per_register)
        throw Error(ErrorKind::refused, "gemm-fragment-map",
                    std::string(mma.opcode()) + ": operand " + std::string(operand) +
                        " is not laid out in 8 x 4 lanes",
                    "use a shape whose fragments are laid out in 8 x 4 lanes");
    }
  }
  return places;
}

Reg Order::origin(KernelBuilder& k, Reg place) const {
  return interleaved ? k.add(k.and_(place, ~15), k.and_(k.shr(place, 3), 1)) : place;
}

Order order_of(const Matrix& matrix) { return {path_of(matrix) == Path::ldmatrix_bytes}; }

Fragments::Fragments(KernelBuilder& k, const OperandPlan& plan, const Config& config,
                     const SwizzledTile& tile, const FragmentInputs& in)
    : k_(k),
      matrix_(plan.matrix),
      tile_(tile),
      path_(path_of(plan.matrix)),
      places_(register_places(config.mma, plan.name)),
      mma_extent_(plan.mma),
      mma_k_(config.mma_k),
      tiles_(plan.warp / plan.mma),
      base_(in.shared) {
  path_ == Path::scalar ? prepare_scalar(in.warp_origin, in.lane) : prepare_ldmatrix(in.warp_origin, in.lane);
}

Fragments::Tiles Fragments::allocate() {
  const Type type = matrix_.type == f64 ? f64 : b32;
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
std::vector<Place> Fragments::matrix_places() const {
  std::vector<Place> list;
  if (path_ == Path::ldmatrix_bytes) {
    for (int extent = 0; extent < tiles_ * mma_extent_; extent += 16)
      for (int depth = 0; depth < mma_k_; depth += 16)
        for (const int pair : {0, 2}) list.push_back({extent, depth + pair});
    return list;
  }
  for (int tile = 0; tile < tiles_; ++tile)
    for (const Place& place : places_) list.push_back({tile * mma_extent_ + place.extent, place.k});
  return list;
}

// Lane l addresses row l % 8 of matrix l / 8. The matrices of a group are two fixed distances apart, one for
// each bit of l / 8.
void Fragments::prepare_ldmatrix(Reg warp_origin, Reg lane) {
  const std::vector<Place> matrices = matrix_places();
  group_ = std::gcd(static_cast<int>(matrices.size()), 4);
  Reg row_in_matrix = k_.and_(lane, 7);
  if (path_ == Path::ldmatrix_bytes)  // rows 0 1 4 5 8 9 12 13
    row_in_matrix = k_.add(row_in_matrix, k_.and_(row_in_matrix, 6));
  Reg extent = warp_origin, depth = k_.mov(u32, 0);
  for (int bit = 0; (2 << bit) <= group_; ++bit) {
    const Place apart = matrices[std::size_t{1} << bit];
    const Reg chosen = k_.and_(k_.shr(lane, 3 + bit), 1);
    if (apart.extent != 0) extent = k_.fma(chosen, apart.extent, extent);
    if (apart.k != 0) depth = k_.fma(chosen, apart.k, depth);
  }
  const int size = matrix_.type.bytes();
  const bool along_k = matrix_.k_contiguous;
  const Reg row = k_.add(along_k ? extent : depth, row_in_matrix);
  const Reg byte = k_.mul(along_k ? depth : extent, size);
  base_ = k_.add(base_, tile_.address(k_, row, byte));
}

void Fragments::prepare_scalar(Reg warp_origin, Reg lane) {
  const Reg extent = k_.add(warp_origin, k_.shr(lane, 2)), depth = k_.and_(lane, 3);
  const bool along_k = matrix_.k_contiguous;
  const Reg byte = k_.mul(along_k ? depth : extent, matrix_.type.bytes());
  base_ = k_.add(base_, tile_.address(k_, along_k ? extent : depth, byte));
}

void Fragments::set_stage(Reg offset) {
  stage_ = k_.add(base_, offset);
  flipped_.clear();
}

Address Fragments::address(Place place) {
  const int size = matrix_.type.bytes();
  const Distance there = matrix_.k_contiguous ? tile_.distance(place.extent, place.k * size)
                                              : tile_.distance(place.k, place.extent * size);
  if (there.flip == 0) return KernelBuilder::at(stage_, there.add);
  const auto known = flipped_.find(there.flip);
  const Reg base =
      known != flipped_.end() ? known->second : flipped_[there.flip] = k_.xor_(stage_, there.flip);
  return KernelBuilder::at(base, there.add);
}

void Fragments::load(int step, const Tiles& into) {
  const std::vector<Block> list = blocks(into);
  switch (path_) {
    case Path::scalar:
      return load_scalar(step * mma_k_, list);
    case Path::ldmatrix_bytes:
      return load_bytes(step * mma_k_, list);
    default:
      return load_ldmatrix(step * mma_k_, list);
  }
}

namespace {
std::string ldmatrix_opcode(int matrices, bool transposed) {
  return "ldmatrix.sync.aligned.m8n8.x" + std::to_string(matrices) + (transposed ? ".trans" : "") +
         ".shared.b16";
}
}  // namespace

void Fragments::load_ldmatrix(int k_origin, const std::vector<Block>& list) {
  const std::string opcode = ldmatrix_opcode(group_, path_ == Path::ldmatrix_trans);
  std::vector<Reg> group;
  for (std::size_t i = 0; i < list.size(); i += group.size()) {
    group.clear();
    for (int j = 0; j < group_; ++j) group.push_back(list[i + static_cast<std::size_t>(j)].into);
    const Place first = list[i].place;
    k_.emit(opcode, group, address({first.extent, first.k + k_origin}));
  }
}

void Fragments::load_bytes(int k_origin, const std::vector<Block>& list) {
  const std::vector<Place> matrices = matrix_places();
  const std::string opcode = ldmatrix_opcode(group_, true);
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
  const std::string_view opcode = matrix_.type == f64 ? "ld.shared.f64" : "ld.shared.b32";
  for (const Block& block : list)
    k_.emit(opcode, block.into, address({block.place.extent, block.place.k + k_origin}));
}

}  // namespace ptxloom::gemm_kernel
