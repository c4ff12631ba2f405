// SPDX-License-Identifier: Apache-2.0
// Elements are packed, unpacked, split and joined on targets with and without the conversions.
#include "ptxloom/kit/packed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <set>

#include "kit/running.hpp"
#include "ptxloom/kit/params.hpp"
#include "ptxloom/numeric.hpp"

using namespace ptxloom;

namespace {

constexpr std::uint32_t kPackedThreads = 32;

/// Registers of a type whose values follow each other in memory: those of a thread begin at `address`.
class InMemory {
 public:
  InMemory(KernelBuilder& k, Reg tensor, Type type, int count)
      : k_(k),
        type_(type),
        count_(count),
        address_(k.mad_wide(k.special("tid.x"), count * type.bytes(), tensor)) {}

  std::vector<Reg> load() const {
    const std::vector<Reg> loaded = k_.regs(type_, count_);
    for (int i = 0; i < count_; ++i)
      k_.emit("ld.global." + std::string(type_.name), loaded[static_cast<std::size_t>(i)], at(i));
    return loaded;
  }
  void store(const std::vector<Reg>& values) const {
    REQUIRE(std::cmp_equal(values.size(), count_));
    for (int i = 0; i < count_; ++i)
      k_.emit("st.global." + std::string(type_.name), at(i), values[static_cast<std::size_t>(i)]);
  }

 private:
  Address at(int i) const { return k_.at(address_, std::int64_t{i} * type_.bytes()); }

  KernelBuilder& k_;
  Type type_;
  int count_;
  Reg address_;
};

struct PackedCase {
  const char* target;
  Type element;
  int count;

  InMemory packed(KernelBuilder& k, Reg tensor) const {
    return {k, tensor, kit::packed_type(element, count), kit::packed_registers(element, count)};
  }
  InMemory single(KernelBuilder& k, Reg tensor) const {
    return {k, tensor, kit::packed_type(element, 1), count};
  }
  std::size_t elements() const { return std::size_t{kPackedThreads} * static_cast<std::size_t>(count); }
  std::size_t bytes() const { return elements() * static_cast<std::size_t>(element.bytes()); }
};

/// `values`: in f32; `joined`: the elements taken apart and joined again.
ir::Module unpack_kernel(const PackedCase& c, const kit::Params& params) {
  KernelBuilder k = kit_test::builder(c.target);
  k.require_block(kPackedThreads);
  const kit::ParamRegs in = params.declare(k);
  const std::vector<Reg> packed = c.packed(k, in["packed"]).load();
  InMemory(k, in["values"], f32, c.count).store(kit::unpack_values(k, c.element, c.count, packed));
  const std::vector<Reg> split = kit::split_packed(k, c.element, c.count, packed);
  c.packed(k, in["joined"]).store(kit::join_packed(k, c.element, split));
  return k.finish();
}

/// `packed` and `single`: the same elements, the latter stored one by one.
ir::Module pack_kernel(const PackedCase& c, const kit::Params& params) {
  KernelBuilder k = kit_test::builder(c.target);
  k.require_block(kPackedThreads);
  const kit::ParamRegs in = params.declare(k);
  const std::vector<Reg> values = InMemory(k, in["values"], f32, c.count).load();
  const std::vector<Reg> packed = kit::pack_values(k, c.element, values);
  c.packed(k, in["packed"]).store(packed);
  c.single(k, in["single"]).store(kit::split_packed(k, c.element, c.count, packed));
  return k.finish();
}

std::string described(const PackedCase& c) {
  return fmt::format("{}: {} of {}, seed {}", c.target, c.count, c.element.name, Catch::getSeed());
}

void check_unpack(const PackedCase& c) {
  INFO(described(c));
  std::vector<std::byte> packed = kit_test::random_bytes(c.bytes()),
                         joined = kit_test::random_bytes(c.bytes());
  std::vector<float> values(c.elements(), -12345);
  kit::Params params;
  params.pointer("packed", c.element).pointer("values", f32).pointer("joined", c.element);
  kit_test::run(unpack_kernel(c, params), {.block = {kPackedThreads, 1, 1}}, params.arguments(),
                {kit_test::tensor("packed", packed), kit_test::tensor("values", values),
                 kit_test::tensor("joined", joined)});
  REQUIRE(joined == packed);
  for (std::size_t i = 0; i < c.elements(); ++i) {
    const auto expected = static_cast<float>(decode(c.element, load_element(c.element, packed, i)));
    REQUIRE((std::isnan(expected)
                 ? std::isnan(values[i])
                 : std::bit_cast<std::uint32_t>(values[i]) == std::bit_cast<std::uint32_t>(expected)));
  }
}

/// Values around the type's range and its subnormals, and halfway between two of its own.
float boundary_value(Type type) {
  const std::uint64_t code = kit_test::random_word() & ((std::uint64_t{1} << (type.bits - 1)) - 2);
  const auto low = static_cast<float>(decode(type, code)), high = static_cast<float>(decode(type, code + 1));
  if (!std::isfinite(low) || !std::isfinite(high)) return kit_test::random_value(1e6F);
  const float middle = low + (high - low) / 2;
  const float choices[] = {low, middle, std::nextafter(middle, low), std::nextafter(middle, high)};
  const float value = choices[kit_test::random_word() % 4];
  return kit_test::random_word() % 2 == 0 ? value : -value;
}

std::uint64_t rounded(Type type, float value) {
  const double most = type == e4m3 ? 448 : type == e5m2 ? 57344 : INFINITY;
  return encode(type, std::clamp(static_cast<double>(value), -most, most));
}

void check_pack(const PackedCase& c) {
  INFO(described(c));
  std::vector<float> values(c.elements());
  for (float& value : values) value = boundary_value(c.element);
  std::vector<std::byte> packed = kit_test::random_bytes(c.bytes()),
                         single = kit_test::random_bytes(c.bytes());
  kit::Params params;
  params.pointer("values", f32).pointer("packed", c.element).pointer("single", c.element);
  kit_test::run(pack_kernel(c, params), {.block = {kPackedThreads, 1, 1}}, params.arguments(),
                {kit_test::tensor("values", values), kit_test::tensor("packed", packed),
                 kit_test::tensor("single", single)});
  for (std::size_t i = 0; i < c.elements(); ++i)
    REQUIRE(load_element(c.element, packed, i) == rounded(c.element, values[i]));
  REQUIRE(single == packed);
}

void check_constant(const PackedCase& c) {
  INFO(described(c));
  const double value = kit_test::random_value(100);
  kit::Params params;
  params.pointer("values", f32);
  KernelBuilder k = kit_test::builder(c.target);
  k.require_block(kPackedThreads);
  const kit::ParamRegs in = params.declare(k);
  const std::vector<Reg> packed(static_cast<std::size_t>(kit::packed_registers(c.element, c.count)),
                                kit::packed_constant(k, c.element, c.count, value));
  InMemory(k, in["values"], f32, c.count).store(kit::unpack_values(k, c.element, c.count, packed));
  std::vector<float> values(c.elements(), -12345);
  kit_test::run(k.finish(), {.block = {kPackedThreads, 1, 1}}, params.arguments(),
                {kit_test::tensor("values", values)});
  for (const float one : values)
    REQUIRE(static_cast<double>(one) == static_cast<double>(decode(c.element, encode(c.element, value))));
}

std::string packed_verdict(const std::function<void(KernelBuilder&)>& made) {
  KernelBuilder k = kit_test::builder();
  return kit_test::verdict([&] { made(k); });
}

/// What becomes of `registers` registers as `count` elements in the functions that read them.
std::set<std::string> read_as(Type element, int count, int registers) {
  std::set<std::string> all;
  const auto packed = [&](KernelBuilder& k) { return k.regs(kit::packed_type(element, count), registers); };
  if (kit::can_unpack(element))
    all.insert(packed_verdict([&](KernelBuilder& k) { kit::unpack_values(k, element, count, packed(k)); }));
  all.insert(packed_verdict([&](KernelBuilder& k) { kit::split_packed(k, element, count, packed(k)); }));
  return all;
}

}  // namespace

TEST_CASE("packed elements are unpacked, split and joined") {
  for (const char* target : {"sm_75", "sm_80", "sm_90a"})
    for (const Type element : {f32, f16, bf16})
      for (const int count : {1, 2, 6, 8}) check_unpack({target, element, count});
}

TEST_CASE("values are packed with one rounding, and split") {
  for (const char* target : {"sm_75", "sm_80", "sm_90a"})
    for (const Type element : {f32, f16, bf16, e4m3, e5m2})
      for (const int count : {1, 2, 6, 8}) check_pack({target, element, count});
}

TEST_CASE("a packed constant has the value in all elements") {
  for (const Type element : {f32, f16, bf16})
    for (const int count : {1, 2, 4}) check_constant({"sm_75", element, count});
}

TEST_CASE("counts that registers do not have are refused") {
  using Codes = std::set<std::string>;
  for (const Type element : {f16, bf16, e4m3, e5m2}) {
    INFO(element.name);
    CHECK(read_as(element, 1, 1) == Codes{"accepted"});
    CHECK(read_as(element, 4, 2) == Codes{"accepted"});
    for (const auto& [count, registers] : {std::pair(0, 0), {-2, 0}, {1, 2}, {2, 2}, {3, 2}, {4, 1}, {4, 3}})
      CHECK(read_as(element, count, registers) == Codes{"operand-count"});
  }
  CHECK(read_as(f32, 3, 3) == Codes{"accepted"});
  CHECK(read_as(f32, 3, 2) == Codes{"operand-count"});
  CHECK(read_as(f64, 2, 2) == Codes{"operand-type"});
}

TEST_CASE("neither an odd number of values is packed nor no value") {
  const auto packed = [](Type element, int count) {
    return packed_verdict([&](KernelBuilder& k) { kit::pack_values(k, element, k.regs(f32, count)); });
  };
  const auto joined = [](Type element, int count) {
    return packed_verdict([&](KernelBuilder& k) { kit::join_packed(k, element, k.regs(b16, count)); });
  };
  for (const Type element : {f16, bf16, e4m3}) {
    for (const int count : {1, 2, 6}) CHECK(packed(element, count) == "accepted");
    for (const int count : {0, 3, 5}) CHECK(packed(element, count) == "operand-count");
  }
  for (const int count : {1, 2, 6}) CHECK(joined(f16, count) == "accepted");
  for (const int count : {0, 3, 5}) CHECK(joined(f16, count) == "operand-count");
  CHECK(packed(f32, 3) == "accepted");
}
