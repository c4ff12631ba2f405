// SPDX-License-Identifier: Apache-2.0
#include "lower/operands.hpp"

#include <algorithm>

namespace ptxloom::lower {
namespace {

using Kind = ir::Operand::Kind;

bool fits(Type needed, Type given) {
  if (given == needed) return true;
  const bool untyped = given.kind == TypeKind::bits || needed.kind == TypeKind::bits;
  return untyped && (given.bits == needed.bits || given.bits == std::max<int>(needed.bits, 16));
}

/// Registers of the operands of an instruction, one operand after another.
class Collector {
 public:
  Collector(const Variant& variant, const Caller& at) : variant_(variant), at_(at) {}

  void add(const OperandSpec& place, const Arg& arg) {
    if (!arg.is_register())
      refuse("operand-type", variant_, at_,
             "operand " + place.name +
                 (place.count > 0 ? " is not a vector of registers" : " is not a register"),
             "load, mov or convert the value into one");
    const Reg reg{arg.type(), {arg.operand().index}, arg.builder()};
    if (!fits(place.type, reg.type))
      refuse("operand-type", variant_, at_,
             "operand " + place.name + " is not of type ." + std::string(place.type.name),
             "convert the value into a register of that type");
    registers_.push_back(reg);
  }

  void add_address(const OperandSpec& place, const Arg& arg, KernelBuilder& k) {
    const Kind kind = arg.operand().kind;
    if (kind != Kind::address && kind != Kind::address_symbol)
      refuse("operand-type", variant_, at_, "operand " + place.name + " is not an address",
             "write &array[index], or at(register)");
    if (!arg.space().empty() && arg.space() != "shared")
      refuse("address-space", variant_, at_,
             "operand " + place.name + " is an address in ." + std::string(arg.space()) +
                 ", but the instruction addresses .shared",
             "use an array in .shared");
    const Address given{arg.operand(), arg.builder()};
    const Reg address = k.address_of(arg.address() != nullptr ? *arg.address() : given, at_);
    registers_.push_back(address.type.bits == 64 ? k.op(Opcode("cvt.u32.u64", at_), {address}) : address);
  }

  /// An integer as an element of a vector is moved into a register by `k`, if there is one.
  void add_vector(const OperandSpec& place, const Arg& arg, KernelBuilder* k) {
    if (!arg.is_vector() || arg.count() != place.count)
      refuse("operand-type", variant_, at_,
             "operand " + place.name + " is not a vector of " + std::to_string(place.count),
             "pass as many registers in a std::vector or a Vector");
    for (std::size_t i = 0; i < arg.count(); ++i) {
      const Arg element = arg.element(i);
      const bool integer = k != nullptr && element.operand().kind == Kind::integer;
      add(place, integer ? Arg(k->mov(place.type, element, at_)) : element);
    }
  }

  std::vector<Reg> registers() && { return std::move(registers_); }

 private:
  const Variant& variant_;
  const Caller& at_;
  std::vector<Reg> registers_;
};

}  // namespace

std::span<const OperandSpec> results_of(const Variant& variant) {
  const auto places = variant.operands();
  const auto end = std::ranges::find_if_not(
      places, [](const OperandSpec& place) { return place.direction == OperandSpec::Direction::out; });
  return places.first(static_cast<std::size_t>(end - places.begin()));
}

std::span<const OperandSpec> inputs_of(const Variant& variant) {
  return variant.operands().subspan(results_of(variant).size());
}

void refuse(const char* code, const Variant& variant, const Caller& at, const std::string& what,
            std::string hint) {
  const std::string_view path = at.file_name();
  const std::string place = std::string(path.substr(path.find_last_of("/\\") + 1));
  throw Error(ErrorKind::usage, code,
              place + ":" + std::to_string(at.line()) + ": fallback of " + std::string(variant.opcode()) +
                  ": " + what,
              std::move(hint));
}

void require_count(const Variant& variant, std::span<const OperandSpec> places, std::size_t given,
                   const Caller& at) {
  if (given == places.size()) return;
  const bool all = places.size() == variant.operands().size();
  refuse("operand-count", variant, at,
         "it takes " + std::to_string(places.size()) + " operands, not " + std::to_string(given),
         "`ptxloom show " + std::string(variant.opcode()) + "` lists them" +
             (all ? "" : "; the result is not one of them"));
}

std::vector<Reg> input_registers(KernelBuilder& k, const Variant& variant, std::span<const Arg> args,
                                 const Caller& at) {
  const auto places = inputs_of(variant);
  Collector inputs(variant, at);
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (places[i].kind == OperandSpec::Kind::address)
      inputs.add_address(places[i], args[i], k);
    else if (places[i].count > 0)
      inputs.add_vector(places[i], args[i], &k);
    else
      inputs.add(places[i], args[i]);
  }
  return std::move(inputs).registers();
}

std::vector<Reg> result_registers(const Variant& variant, std::span<const Arg> args, const Caller& at) {
  const auto places = results_of(variant);
  Collector results(variant, at);
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (places[i].count > 0)
      results.add_vector(places[i], args[i], nullptr);
    else
      results.add(places[i], args[i]);
  }
  return std::move(results).registers();
}

}  // namespace ptxloom::lower
