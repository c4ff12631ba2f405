// SPDX-License-Identifier: Apache-2.0
#include "sass/cubin/cubin_info.hpp"

#include <algorithm>
#include <optional>

namespace ptxloom::sass {
namespace {

// An attribute is a byte that says how its value is stored, a byte that names it, and two bytes of value, or
// of the size of the value that follows. Names and numbers are those that cuobjdump -elf prints.
enum Storage : std::uint8_t { kByteValue = 2, kHalfValue = 3, kSizedValue = 4 };

enum Attribute : std::uint8_t {
  kMaxThreads = 0x05,
  kRequiredThreads = 0x10,
  kFrameSize = 0x11,
  kMinStackSize = 0x12,
  kKernelParameter = 0x17,
  kParameterBytes = 0x19,
  kMaxRegisters = 0x1B,
  kRegisterCount = 0x2F,
  kThreadBlocksPerCluster = 0x3D,
  kKernelParameter2 = 0x45,
  kBarrierCount = 0x4C
};
constexpr std::uint8_t kAcceleratorTarget = 0x09;  // in .nv.compat, whose numbers are others

/// More parameters than any kernel has: its parameters have at most 32764 bytes.
constexpr std::size_t kMostParameters = 1 << 15;

struct Found {
  std::uint8_t attribute = 0;
  std::uint16_t value = 0;          ///< without `data`
  std::span<const std::byte> data;  ///< of kSizedValue
};

std::vector<Found> attributes_in(std::span<const std::byte> bytes) {
  std::vector<Found> found;
  ByteReader reader(bytes);
  while (!reader.at_end()) {
    const auto storage = reader.next<std::uint8_t>();
    Found one{.attribute = reader.next<std::uint8_t>(), .value = reader.next<std::uint16_t>(), .data = {}};
    if (storage == kSizedValue) one.data = reader.take(one.value);
    if (storage == kByteValue) one.value &= 0xFFU;
    if (!reader.ok()) break;
    found.push_back(one);
  }
  return found;
}

/// More than any number here can be in a cubin that is whole: bytes of a thread's local memory are below it.
/// Whoever reckons with what a damaged one says gets no overflow.
constexpr std::uint32_t kMost = 1 << 20;
/// In one dimension of a thread block or a cluster.
constexpr std::uint32_t kMostThreads = 1 << 10;

int at_most(std::uint32_t value, std::uint32_t most) { return static_cast<int>(std::min(value, most)); }

void read_parameter(ByteReader reader, bool wide, CubinFunction& function) {
  reader.next<std::uint32_t>();  // index, always 0
  const std::size_t ordinal = reader.next<std::uint16_t>();
  const int offset = reader.next<std::uint16_t>();
  const auto rest = reader.next<std::uint32_t>();
  if (!reader.ok() || ordinal >= kMostParameters) return;
  if (function.parameters.size() <= ordinal) function.parameters.resize(ordinal + 1);
  // The first kind has alignment and address space below the size, the second, for large parameters, above
  // it.
  function.parameters[ordinal] = {.offset = offset,
                                  .size = static_cast<int>(wide ? rest & 0xFFFFU : rest >> 18U)};
}

std::array<int, 3> read_extent(ByteReader reader) {
  std::array<int, 3> extent{};
  for (int& count : extent) count = at_most(reader.next<std::uint32_t>(), kMostThreads);
  return extent;
}

/// What .nv.info.NAME says.
void read_own(std::span<const std::byte> bytes, CubinFunction& function) {
  for (const Found& found : attributes_in(bytes)) {
    switch (found.attribute) {
      case kKernelParameter:
        read_parameter(ByteReader(found.data), false, function);
        break;
      case kKernelParameter2:
        read_parameter(ByteReader(found.data), true, function);
        break;
      case kRequiredThreads:
        function.block = read_extent(ByteReader(found.data));
        break;
      case kMaxThreads:
        function.max_block = read_extent(ByteReader(found.data));
        break;
      case kThreadBlocksPerCluster:
        function.cluster = read_extent(ByteReader(found.data));
        break;
      case kParameterBytes:
        function.parameter_bytes = found.value;
        break;
      case kBarrierCount:
        function.barriers = found.value;
        break;
      case kMaxRegisters:
        // 255 is what a thread can have.
        if (found.value < 255) function.max_registers = found.value;
        break;
      default:
        break;
    }
  }
}

/// The number that .nv.info has for each function under these attributes.
int* number_of(std::uint8_t attribute, CubinFunction& function) {
  switch (attribute) {
    case kRegisterCount:
      return &function.registers;
    case kFrameSize:
      return &function.frame;
    case kMinStackSize:
      return &function.stack;
    default:
      return nullptr;
  }
}

}  // namespace

void read_attributes(const ElfView& file, const std::vector<ElfSymbol>& symbols,
                     std::vector<CubinFunction>& functions) {
  for (CubinFunction& function : functions) {
    if (const ElfSection* own = file.find(".nv.info." + std::string(function.name)))
      read_own(own->data, function);
  }
  const ElfSection* const common = file.find(".nv.info");
  if (common == nullptr) return;
  for (const Found& found : attributes_in(common->data)) {
    ByteReader reader(found.data);
    const auto symbol = reader.next<std::uint32_t>(), value = reader.next<std::uint32_t>();
    if (!reader.ok() || symbol >= symbols.size()) continue;
    // The functions that a kernel calls have symbols in its section, and numbers of their own.
    const auto function = std::ranges::find(functions, symbols[symbol].name, &CubinFunction::name);
    if (function == functions.end()) continue;
    if (int* const number = number_of(found.attribute, *function)) *number = at_most(value, kMost);
  }
}

bool for_one_chip(const ElfView& file) {
  const ElfSection* const section = file.find(".nv.compat");
  if (section == nullptr) return false;
  for (const Found& found : attributes_in(section->data)) {
    if (found.attribute == kAcceleratorTarget) return found.value != 0;
  }
  return false;
}

}  // namespace ptxloom::sass
