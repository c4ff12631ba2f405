// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstring>

#include "ptxloom/launch.hpp"

namespace ptxloom {
namespace {

std::string describe(const KernelParameter& parameter) {
  if (parameter.pointer) return fmt::format("a pointer ({})", parameter.type.name);
  if (parameter.count > 0) return fmt::format("{}[{}]", parameter.type.name, parameter.count);
  return std::string(parameter.type.name);
}

std::string describe(const KernelSignature& signature) {
  std::string text;
  for (const KernelParameter& parameter : signature.parameters) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", parameter.name, describe(parameter));
  }
  return text.empty() ? "none" : text;
}

/// Whether the number fits the integer or bit type. `number` holds 64 bits, negative ones sign-extended.
bool fits(std::uint64_t number, bool is_signed, Type type) {
  const int spare = 64 - type.bits;
  if (spare < 0) return false;
  const bool negative = is_signed && static_cast<std::int64_t>(number) < 0;
  const std::uint64_t half = std::uint64_t{1} << (type.bits - 1);  // 2^(bits - 1)
  if (negative) return type.kind != TypeKind::unsigned_integer && number >= std::uint64_t{0} - half;
  return number <= (type.is_signed() ? half - 1 : ~std::uint64_t{0} >> spare);
}

/// Packs one argument into the buffer; errors name the kernel, the position and the parameter.
struct Packing {
  const KernelSignature& signature;
  std::size_t index;

  const KernelParameter& parameter() const { return signature.parameters[index]; }

  [[noreturn]] void refuse(const char* code, std::string_view given, const char* hint) const {
    throw Error(ErrorKind::usage, code,
                fmt::format("argument {} of `{}`, `{}`, is {}, but {} was given", index + 1, signature.name,
                            parameter().name, describe(parameter()), given),
                hint);
  }
  void require(bool legal, std::string_view given, const char* hint) const {
    if (!legal) refuse("argument-type", given, hint);
  }

  void check_pointer() const {
    const Type type = parameter().type;
    require(parameter().count == 0 && type.bits == 64 && (type.is_integer() || type.kind == TypeKind::bits),
            "a pointer", "pass a value of the parameter's type");
  }
  void check_integer(Type given, std::uint64_t number) const {
    const Type type = parameter().type;
    if (parameter().pointer) {
      require(given == u64, given.name, "pass device memory, or Argument::pointer(address)");
      return;
    }
    require(parameter().count == 0 && (type.is_integer() || type.kind == TypeKind::bits), given.name,
            "pass a value of the parameter's type, such as 2.0f for f32; arrays go through Argument::bytes");
    if (fits(number, given.is_signed(), type)) return;
    const std::string value =
        given.is_signed() ? std::to_string(static_cast<std::int64_t>(number)) : std::to_string(number);
    refuse("argument-range", fmt::format("{} of {}", value, given.name),
           "pass a value in the range of the type");
  }
  void check_typed(Type given) const {
    const Type type = parameter().type;
    const bool alike = type.kind == TypeKind::bits || given.kind == TypeKind::bits ||
                       (type.is_integer() && given.is_integer());
    require(
        (type == given || (alike && type.bits == given.bits)) && type.bits <= 64 && parameter().count == 0 &&
            !parameter().pointer,
        given.name,
        "pass a value of the parameter's type: 2.0f for f32, 2.0 for f64, Argument::bits for other formats");
  }
  void check_bytes(std::size_t size) const {
    require(!parameter().pointer, "an array of bytes", "pass device memory, or Argument::pointer(address)");
    if (size == parameter().size) return;
    refuse("argument-size", fmt::format("{} bytes instead of {}", size, parameter().size), "pass all bytes");
  }
};

}  // namespace

Argument Argument::bytes(std::span<const std::byte> data) {
  Argument argument(Kind::bytes, b8, 0);
  argument.bytes_ = data;
  return argument;
}

Arguments::Arguments(const KernelSignature& signature, std::span<const Argument> arguments)
    : bytes_(signature.size()) {
  if (arguments.size() != signature.parameters.size()) {
    throw Error(ErrorKind::usage, "argument-count",
                fmt::format("`{}` takes {} arguments, but {} were given", signature.name,
                            signature.parameters.size(), arguments.size()),
                "its parameters: " + describe(signature));
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Packing packing{.signature = signature, .index = i};
    const Argument& argument = arguments[i];
    switch (argument.kind_) {
      case Argument::Kind::pointer:
        packing.check_pointer();
        break;
      case Argument::Kind::integer:
        packing.check_integer(argument.type_, argument.value_);
        break;
      case Argument::Kind::typed:
        packing.check_typed(argument.type_);
        break;
      case Argument::Kind::bytes:
        packing.check_bytes(argument.bytes_.size());
        break;
    }
    const void* source = argument.kind_ == Argument::Kind::bytes
                             ? static_cast<const void*>(argument.bytes_.data())
                             : static_cast<const void*>(&argument.value_);
    const KernelParameter& parameter = packing.parameter();
    std::memcpy(bytes_.data() + parameter.offset, source, parameter.size);
  }
}

}  // namespace ptxloom
