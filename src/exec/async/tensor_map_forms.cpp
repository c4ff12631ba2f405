// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>

#include "exec/judge/judge.hpp"
#include "exec/machine/decoder.hpp"
#include "exec/machine/fault.hpp"
#include "exec/machine/members.hpp"
#include "exec/memory/address.hpp"
#include "exec/memory/element.hpp"
#include "ptxloom/tensor_map.hpp"

// tensormap.replace and tensormap.cp_fenceproxy (PTX ISA 9.7.9.28, 9.7.13.16), on maps in the executor's own
// encoding. The resulting map is checked when a copy uses it.
namespace ptxloom::exec {
namespace {

/// Sets a field; returns false if the value is invalid for it.
using Replace = bool (*)(TensorMap& map, std::size_t dimension, std::uint64_t value);

template <class Enum, std::uint64_t count, class Field>
bool set_word(Field TensorMap::* field, TensorMap& map, std::uint64_t value) {
  map.*field = static_cast<Enum>(value);
  return value < count;
}

struct Field {
  std::string_view name;
  Replace replace;
};
constexpr std::array kFields{
    Field{"global_address", [](TensorMap& m, std::size_t, std::uint64_t v) { return m.address = v, true; }},
    Field{"rank",
          [](TensorMap& m, std::size_t, std::uint64_t v) {
            m.rank = static_cast<std::uint32_t>(v + 1);
            return v < 5;
          }},
    Field{"box_dim",
          [](TensorMap& m, std::size_t i, std::uint64_t v) {
            m.box[i] = static_cast<std::uint32_t>(v);
            return v <= 256;
          }},
    Field{"global_dim", [](TensorMap& m, std::size_t i, std::uint64_t v) { return m.dims[i] = v, v != 0; }},
    Field{"global_stride",
          [](TensorMap& m, std::size_t i, std::uint64_t v) {
            if (i < 4) m.strides[i] = v;
            return i < 4;
          }},
    Field{"element_stride",
          [](TensorMap& m, std::size_t i, std::uint64_t v) {
            m.element_strides[i] = static_cast<std::uint32_t>(v);
            return v <= 8;
          }},
    Field{"elemtype", [](TensorMap& m, std::size_t,
                         std::uint64_t v) { return m.set_element(static_cast<std::uint32_t>(v)); }},
    Field{"interleave_layout",
          [](TensorMap& m, std::size_t, std::uint64_t v) {
            return set_word<TensorInterleave, 3>(&TensorMap::interleave, m, v);
          }},
    Field{"swizzle_mode",
          [](TensorMap& m, std::size_t, std::uint64_t v) {
            return set_word<TensorSwizzle, 5>(&TensorMap::swizzle, m, v);
          }},
    Field{"swizzle_atomicity",
          [](TensorMap& m, std::size_t, std::uint64_t v) {
            return set_word<SwizzleAtom, 4>(&TensorMap::atom, m, v);
          }},
    Field{"fill_mode", [](TensorMap& m, std::size_t,
                          std::uint64_t v) { return set_word<TensorFill, 2>(&TensorMap::fill, m, v); }},
};

constexpr std::uint32_t kMapBytes = 128;

struct ReplacePlan {
  StateSpace space = StateSpace::generic;
  std::string_view field;
  Replace replace = nullptr;
  std::size_t value = 1;  // operand index
  int dimension = -1;     // operand index
};

/// The map at an address. Kernels also build one from zeros, replacing all fields that a copy uses (Triton's
/// make_tensor_descriptor).
std::optional<TensorMap> map_at(const std::byte* at) {
  const std::span<const std::byte, kMapBytes> bytes(at, kMapBytes);
  if (std::ranges::all_of(bytes, [](std::byte each) { return each == std::byte{}; })) return TensorMap();
  return decode_for_executor(bytes);
}

void run_replace(Warp& warp, const Operation& op, Mask mask) {
  const auto& plan = op.plan_as<ReplacePlan>();
  const Reach reach{.space = plan.space, .access = Access::write, .bytes = kMapBytes, .alignment = 64};
  for_lanes(mask, [&](int lane) {
    const Actor actor{&warp, &op, lane};
    std::byte* at = resolve(warp, op, lane, address_of(warp, op.slots[0], lane), reach);
    auto map = map_at(at);
    if (!map) {
      fault(actor, "tensor-map", "there is no tensor map at this address",
            "copy there what Context::encode or encode_for_executor made, or zeros");
    }
    const auto value = [&](std::size_t operand) {
      return read_element(warp.registers(), op.slot(operand), lane);
    };
    const std::size_t dimension =
        plan.dimension < 0 ? 0 : static_cast<std::size_t>(value(static_cast<std::size_t>(plan.dimension)));
    if (dimension >= 5 || !plan.replace(*map, dimension, value(plan.value))) {
      fault(actor, "tensor-map",
            std::to_string(value(plan.value)) + " is not a value of ." + std::string(plan.field),
            "use a value that the PTX ISA lists for tensormap.replace");
    }
    const EncodedTensorMap encoded = encode_for_executor(*map);
    std::memcpy(at, encoded.bytes.data(), kMapBytes);
  });
}

void decode_replace(Decoder& decoder) {
  const auto space = find_space(decoder.variant().operand("A").space);
  const auto field = std::ranges::find(kFields, decoder.word("field"), &Field::name);
  if (!space || field == kFields.end()) decoder.emit(nullptr);
  Operation op = decoder.operation(&run_replace);
  op.plan = std::make_shared<ReplacePlan>(ReplacePlan{.space = *space,
                                                      .field = field->name,
                                                      .replace = field->replace,
                                                      .value = static_cast<std::size_t>(decoder.operand("V")),
                                                      .dimension = decoder.operand("ORD")});
  decoder.emit(std::move(op));
}

// One copy for the whole warp. All its lanes read: what one of them has written takes a bar.warp.sync.
void run_publish(Warp& warp, const Operation& op, Mask mask) {
  require_lanes(warp, op, mask, warp.flow().live());
  const auto place = [&](std::size_t slot, int lane, StateSpace space, Access access) {
    const Reach reach{.space = space, .access = access, .bytes = kMapBytes, .alignment = kMapBytes};
    return resolve(warp, op, lane, address_of(warp, op.slots[slot], lane), reach);
  };
  const std::byte* from = nullptr;
  for_lanes(mask, [&](int lane) { from = place(1, lane, StateSpace::shared, Access::read); });
  std::memcpy(place(0, std::countr_zero(mask), StateSpace::global, Access::write), from, kMapBytes);
}

void decode_publish(Decoder& decoder) { decoder.emit(decoder.operation(&run_publish)); }

constexpr std::array kForms{
    Semantics{"tensormap.replace", decode_replace, {FlowRule::decides}},
    Semantics{"tensormap.replace.enum", decode_replace, {FlowRule::decides}},
    Semantics{"tensormap.cp_fenceproxy", decode_publish, {.rule = FlowRule::none, .synchronises = true}},
};

}  // namespace

std::span<const Semantics> tensor_map_semantics() { return kForms; }

}  // namespace ptxloom::exec
