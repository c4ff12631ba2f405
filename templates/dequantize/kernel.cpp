// SPDX-License-Identifier: Apache-2.0
#include "dequantize/kernel.hpp"

#include <fmt/format.h>

#include "ptxloom/kit/narrow.hpp"
#include "ptxloom/kit/packed.hpp"
#include "ptxloom/kit/params.hpp"

namespace ptxloom::dequantize_kernel {
namespace {

constexpr std::uint32_t kAlignment = 16;  // bytes of the widest access
constexpr int kMantissaBits = 23;
constexpr std::uint32_t kNanBits = 0x7fc0'0000;
constexpr std::uint32_t kLeastScale = 0x0040'0000;  // 2^-127, a subnormal f32
constexpr int kNanScale = 0xff;                     // of ue8m0

/// What a profiler shows: dequantize_mxfp4_bf16_4096_lanes32x16.
std::string kernel_name(const Problem& p, const Config& c) {
  return fmt::format("dequantize_{}_{}_{}_lanes{}x{}", p.format->name, p.y.name, p.n, c.lanes, c.elements);
}

kit::Params params_of(const Problem& p) {
  const auto scale_bytes = static_cast<std::uint32_t>(p.format->scale.bytes());
  kit::Params params;
  params.size("rows", u32, p.rows).pointer("x", b8).aligned(kAlignment);
  if (p.scales == Scales::tensor)
    params.value("scale", f32).aligned(scale_bytes);
  else
    params.pointer("scale", p.format->scale == f32 ? f32 : b8).aligned(scale_bytes);
  if (p.format->tensor_scale) params.value("tensor_scale", f32).aligned(sizeof(float));
  return params.pointer("y", p.y).aligned(kAlignment);
}

/// A team's part of a row.
class Dequantiser {
 public:
  Dequantiser(KernelBuilder& k, const Problem& p, const Config& c, const kit::ParamRegs& in, Reg row,
              const kit::RowWindow& window)
      : k_(k), p_(p), c_(c), in_(in), row_(row), window_(window) {}

  void run() {
    const Type element = p_.format->element;
    const kit::NarrowRows x(k_, window_, row_, in_.pointer("x"), p_.pitch_x, element, p_.packing);
    const kit::RowTensor y(k_, window_, in_.pointer("y"), p_.pitch_y);
    std::vector<std::vector<Reg>> chunks, packed;
    if (x.realigns()) chunks = x.load_realigned();
    std::vector<Reg> scales;
    for (int slot = 0; slot < window_.slots(); ++slot) {
      if (!x.realigns()) chunks.push_back(x.load(slot));
      scales.push_back(slot > 0 && p_.scales == Scales::row ? scales[0] : load_scale(slot));
    }
    for (int slot = 0; slot < window_.slots(); ++slot) {
      const auto i = static_cast<std::size_t>(slot);
      const Reg factor = factor_of(scales[i]);
      std::vector<Reg> values = kit::widen_values(k_, element, c_.vector, chunks[i]);
      for (Reg& value : values) value = k_.mul(value, factor);
      if (y.realigns())
        packed.push_back(kit::pack_values(k_, p_.y, values));
      else
        y.store(slot, values);
    }
    if (y.realigns()) y.store_realigned(packed);
  }

 private:
  /// The scale of a chunk as it is stored: an f32, or a code in a u32. Outside the row it is 0.
  Reg load_scale(int slot) {
    if (p_.scales == Scales::tensor) return in_["scale"];
    const Reg scale = p_.format->scale == f32 ? k_.mov(f32, 0.0F) : k_.mov(u32, 0);
    if (p_.scales == Scales::row) {
      k_.guarded(k_.lt(row_, in_["rows"]),
                 [&] { k_.emit("ld.global.f32", scale, &in_.pointer("scale")[row_]); });
      return scale;
    }
    const Reg position = k_.add(window_.position(), std::int64_t{slot} * window_.stride());
    const Reg block = k_.div(KernelBuilder::as(u32, position), p_.group);
    const Reg index = p_.tiled_scales ? p_.tiles().offset(k_, row_, block)
                                      : k_.mad_wide(scale_row(), p_.scales_per_row(), k_.convert(u64, block));
    const auto load = [&] {
      if (p_.format->scale == f32)
        k_.emit("ld.global.f32", scale, &in_.pointer("scale")[index]);
      else
        k_.emit("ld.global.u8", scale, KernelBuilder::at(k_.add(in_["scale"], index)));
    };
    const std::optional<Reg> inside = window_.inside(slot, 0);
    inside ? k_.guarded(*inside, load) : load();
    return scale;
  }

  Reg scale_row() { return p_.scales == Scales::block ? k_.div(row_, kScaleBlock) : row_; }

  /// The scale in f32, with that of the tensor.
  Reg factor_of(Reg stored) {
    if (p_.format->scale == f32) return stored;
    if (p_.format->scale == ue4m3) {
      const Reg code = KernelBuilder::as(b32, k_.and_(stored, 0x7f));
      return k_.mul(kit::widen_values(k_, e4m3, 1, std::vector{code})[0], in_["tensor_scale"]);
    }
    const Reg power = k_.select(k_.eq(stored, 0), kLeastScale, k_.shl(stored, kMantissaBits));
    return k_.bit_cast(f32, k_.select(k_.eq(stored, kNanScale), kNanBits, power));
  }

  KernelBuilder& k_;
  const Problem& p_;
  const Config& c_;
  const kit::ParamRegs& in_;
  Reg row_;
  kit::RowWindow window_;
};

void emit_team(KernelBuilder& k, const Problem& p, const Config& c, const kit::ParamRegs& in) {
  const Reg item = team_in_grid(k, c.team(), c.threads);
  const int parts = c.parts(p);
  const Reg row = parts == 1 ? item : k.div(item, parts);
  const kit::RowWindow window(k, c.shape(p), row, k.lt(row, in["rows"]));
  Dequantiser(k, p, c, in, row, parts == 1 ? window : window.part(k.rem(item, parts), c.slots(p))).run();
}

}  // namespace

bool can_dequantise(const Specs& specs, const Target& target, const Problem& p) {
  return kit::can_widen(specs, target, p.format->element) && kit::can_pack(specs, target, p.y) &&
         (p.format->scale != ue4m3 || kit::can_widen(specs, target, e4m3));
}

Emitted emit_kernel(std::shared_ptr<const Specs> specs, const Target& target, const Problem& p,
                    const Config& c) {
  const kit::Params params = params_of(p);
  LaunchPlan launch{.entry = kernel_name(p, c), .arguments = params.arguments()};
  launch.grid[0] = static_cast<std::uint32_t>(c.grid(p));
  launch.block[0] = static_cast<std::uint32_t>(c.threads);
  KernelBuilder k(std::move(specs), launch.entry, target);
  k.require_block(static_cast<std::uint32_t>(c.threads));
  emit_team(k, p, c, params.declare(k));
  return {.module = k.finish(), .launches = {std::move(launch)}};
}

}  // namespace ptxloom::dequantize_kernel
