// SPDX-License-Identifier: Apache-2.0
#include "cli/run/parameter.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "ptxloom/error.hpp"
#include "ptxloom/numeric.hpp"

namespace ptxloom::cli {
namespace {

using Kind = RunArgument::Kind;

bool is_word(Type type) { return type.is_integer() || type.kind == TypeKind::bits; }

/// Pointers are declared `.ptr`, or are 64-bit integers.
bool can_point(const KernelParameter& parameter) {
  return parameter.pointer || (parameter.count == 0 && parameter.type.bits == 64 && is_word(parameter.type));
}

/// Integers fit any integer of their size; bit types accept any type of their size.
bool takes(Type parameter, Type given) {
  if (parameter == given) return true;
  const bool bits = parameter.kind == TypeKind::bits || given.kind == TypeKind::bits;
  return parameter.bits == given.bits && (bits || (parameter.is_integer() && given.is_integer()));
}

/// "y (pointer)", "n (u32)", "s (b8[16])"
std::string describe_parameter(const KernelParameter& parameter) {
  if (parameter.pointer) return parameter.name + " (pointer)";
  return fmt::format("{} ({}{})", parameter.name, parameter.type.name,
                     parameter.count == 0 ? "" : fmt::format("[{}]", parameter.count));
}

class Place {
 public:
  Place(const KernelSignature& kernel, std::size_t index, const RunArgument& argument)
      : kernel_(kernel), index_(index), argument_(argument) {}

  std::vector<std::byte> bytes() const {
    if (argument_.kind == Kind::bytes) return aggregate();
    if (argument_.kind == Kind::scalar) return little_endian(scalar());
    if (!can_point(parameter())) refuse("argument-type", "is for pointers; write " + example());
    return little_endian(0);
  }

  void require_pointer() const {
    if (!can_point(parameter()))
      refuse("argument-type", "is memory, but the parameter is not a pointer; write " + example());
  }

 private:
  const KernelParameter& parameter() const { return kernel_.parameters[index_]; }

  [[noreturn]] void refuse(const char* code, const std::string& why) const {
    throw Error(ErrorKind::usage, code,
                fmt::format("parameter {} of kernel {}, {}: {} {}", index_ + 1, kernel_.name,
                            describe_parameter(parameter()), argument_.given, why));
  }

  std::string example() const {
    const KernelParameter& p = parameter();
    if (p.pointer) return "in=FILE.npy, out=TYPE[SHAPE]:FILE.npy, inout=IN.npy:OUT.npy or null";
    if (p.count > 0 || p.type.bits > 64) return fmt::format("bytes= and {} hexadecimal digits", 2 * p.size);
    return fmt::format("{}=VALUE", p.type.name);
  }

  std::vector<std::byte> little_endian(std::uint64_t bits) const {
    std::vector<std::byte> bytes(parameter().size);
    std::memcpy(bytes.data(), &bits, bytes.size());
    return bytes;
  }

  std::vector<std::byte> aggregate() const {
    if (parameter().pointer) refuse("argument-type", "is not a pointer; write " + example());
    const std::string_view digits = argument_.value;
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
      unsigned value = 0;
      const auto [stop, error] = std::from_chars(digits.data() + i, digits.data() + i + 2, value, 16);
      if (error != std::errc() || stop != digits.data() + i + 2)
        refuse("argument-type",
               fmt::format("has '{}', which is not a hexadecimal byte", digits.substr(i, 2)));
      bytes.push_back(static_cast<std::byte>(value));
    }
    if (digits.size() % 2 != 0 || bytes.size() != parameter().size) {
      refuse("argument-size",
             fmt::format("has {} hexadecimal digits, but the parameter has {} bytes, which are {} digits",
                         digits.size(), parameter().size, 2 * parameter().size));
    }
    return bytes;
  }

  std::uint64_t scalar() const {
    const Type type = argument_.type;
    const bool number = type.lanes == 1 && type.kind != TypeKind::predicate && type.bits <= 64;
    if (parameter().pointer || parameter().count > 0 || parameter().type.bits > 64 || !number ||
        !takes(parameter().type, type))
      refuse("argument-type", "does not fit; write " + example());
    return type.is_float() && !argument_.value.starts_with("0x") ? floating(type) : integer(type);
  }

  [[noreturn]] void refuse_range(const std::string& hint) const {
    refuse("argument-range", fmt::format("does not fit {}; {}", argument_.type.name, hint));
  }

  std::uint64_t floating(Type type) const {
    const std::string& text = argument_.value;
    double value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (stop != text.data() + text.size() || error == std::errc::invalid_argument)
      refuse("argument-type", fmt::format("has '{}', which is not a number", text));
    const std::uint64_t bits = encode(type, value);
    const bool lost = std::isfinite(value) && !std::isfinite(decode(type, bits));
    if (error == std::errc::result_out_of_range || lost)
      refuse_range("write a number in its range, or its bits as " + std::string(type.name) + "=0x...");
    return bits;
  }

  std::uint64_t integer(Type type) const {
    const std::string_view text = argument_.value;
    const bool negative = text.starts_with('-');
    std::string_view digits = text.substr(negative ? 1 : 0);
    const bool hex = digits.starts_with("0x");
    if (hex) digits.remove_prefix(2);
    std::uint64_t value = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, value, hex ? 16 : 10);
    if (stop != end || error == std::errc::invalid_argument)
      refuse("argument-type", fmt::format("has '{}', which is not an integer", text));
    const std::uint64_t top = std::uint64_t{1} << (type.bits - 1);
    const std::uint64_t all = (top - 1) * 2 + 1;
    const std::uint64_t most =
        negative ? (type.is_signed() ? top : 0) : (type.is_signed() && !hex ? top - 1 : all);
    if (error == std::errc::result_out_of_range || value > most) {
      if (negative && value <= top && !type.is_signed())
        refuse_range(fmt::format("s{}={} has the same bits", type.bits, text));
      refuse_range(type.is_signed() ? fmt::format("it holds -{} to {}", top, top - 1)
                                    : fmt::format("it holds 0 to {}", all));
    }
    return (negative ? ~value + 1 : value) & all;
  }

  const KernelSignature& kernel_;
  std::size_t index_;
  const RunArgument& argument_;
};

}  // namespace

std::vector<std::byte> value_bytes(const KernelSignature& kernel, std::size_t index,
                                   const RunArgument& argument) {
  return Place(kernel, index, argument).bytes();
}

void require_pointer(const KernelSignature& kernel, std::size_t index, const RunArgument& argument) {
  Place(kernel, index, argument).require_pointer();
}

}  // namespace ptxloom::cli
