// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/lower.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "lower/fallback.hpp"

namespace ptxloom::lower {
namespace {

struct Found {
  Variant variant;
  const Fallback* fallback;
};

bool contains(std::string_view values, std::string_view value) {
  while (true) {
    const std::size_t end = values.find(' ');
    if (values.substr(0, end) == value) return true;
    if (end == values.npos) return false;
    values.remove_prefix(end + 1);
  }
}

bool covers(const Fallback& fallback, const Variant& variant) {
  if (fallback.form != variant.form()) return false;
  return std::ranges::all_of(fallback.conditions, [&](const Fallback::Condition& condition) {
    return condition.slot.empty() || contains(condition.values, variant.slot(condition.slot).value_or("-"));
  });
}

std::optional<Found> find_fallback(const Specs& specs, std::string_view opcode) {
  for (const Variant& variant : specs.match(opcode)) {
    if (variant.undocumented()) continue;
    for (const auto& family : {fallbacks_to_narrow(), fallbacks_from_narrow()})
      for (const Fallback& fallback : family)
        if (covers(fallback, variant)) return Found{variant, &fallback};
  }
  return std::nullopt;
}

bool is_native(const Specs& specs, std::string_view opcode, const Target& target) {
  return std::ranges::any_of(specs.match(opcode), [&](const Variant& variant) {
    return !variant.undocumented() && variant.since(target).has_value();
  });
}

std::span<const OperandSpec> inputs_of(const Variant& variant) { return variant.operands().subspan(1); }

[[noreturn]] void refuse(const char* code, const std::string& opcode, const Caller& at,
                         const std::string& what, std::string hint) {
  const std::string_view path = at.file_name();
  const std::string place = std::string(path.substr(path.find_last_of("/\\") + 1));
  throw Error(ErrorKind::usage, code,
              place + ":" + std::to_string(at.line()) + ": fallback of " + opcode + ": " + what,
              std::move(hint));
}

std::vector<Reg> registers_of(const Variant& variant, std::span<const Arg> args, const Caller& at) {
  const std::string opcode(variant.opcode());
  const auto places = inputs_of(variant);
  if (args.size() != places.size())
    refuse("operand-count", opcode, at,
           "it takes " + std::to_string(places.size()) + " operands, not " + std::to_string(args.size()),
           "`ptxloom show " + opcode + "` lists them; the result is not one of them");
  std::vector<Reg> registers;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const Type needed = places[i].type, given = args[i].type();
    const bool untyped = given.kind == TypeKind::bits || needed.kind == TypeKind::bits;
    const bool fits = given == needed || (untyped && given.bits == std::max<int>(needed.bits, 16));
    if (!args[i].is_register() || !fits)
      refuse("operand-type", opcode, at,
             "operand " + places[i].name + " is not a register of ." + std::string(needed.name),
             "load, mov or convert the value into one");
    registers.push_back({given, {args[i].operand().index}, args[i].builder()});
  }
  return registers;
}

// Whether the target has every instruction of the fallback is what the builder says when they are emitted.
bool can_emit(const Specs& specs, const Found& found, const Target& target) {
  // The builder shares the ownership of its specs; these outlive it.
  const std::shared_ptr<const Specs> borrowed(std::shared_ptr<const Specs>(), &specs);
  KernelBuilder k(borrowed, "tried", target);
  std::vector<Reg> operands;
  for (const OperandSpec& place : inputs_of(found.variant)) operands.push_back(k.reg(place.type));
  Emitter emitter(k, Caller::current());
  try {
    found.fallback->emit(emitter, found.variant, operands);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::illegal_ptx) throw;
    return false;
  }
  return true;
}

// What the checker says of the opcode, and that there is no fallback.
Reg op_without_fallback(KernelBuilder& k, const Opcode& opcode, std::initializer_list<Arg> args) {
  try {
    return k.op(opcode, args);
  } catch (const Error& error) {
    std::vector<Diagnostic> diagnostics = error.diagnostics();
    diagnostics.front().message += "; it has no fallback";
    throw Error(error.kind(), std::move(diagnostics));
  }
}

}  // namespace

std::string_view to_string(Support support) {
  constexpr std::array<std::string_view, 3> kNames{"none", "emulated", "native"};
  return kNames.at(static_cast<std::size_t>(support));
}

Support support(const Specs& specs, std::string_view opcode, const Target& target) {
  if (is_native(specs, opcode, target)) return Support::native;
  const auto found = find_fallback(specs, opcode);
  return found && can_emit(specs, *found, target) ? Support::emulated : Support::none;
}

Reg op(KernelBuilder& k, const Opcode& opcode, std::initializer_list<Arg> args) {
  const std::string text(opcode.variant() ? opcode.variant()->opcode() : opcode.text());
  if (is_native(k.specs(), text, k.target())) return k.op(opcode, args);
  const auto found = find_fallback(k.specs(), text);
  if (!found) return op_without_fallback(k, opcode, args);
  const std::vector<Reg> operands = registers_of(found->variant, args, opcode.at());
  k.comment("emulated " + text, opcode.at());
  Emitter emitter(k, opcode.at());
  return found->fallback->emit(emitter, found->variant, operands);
}

}  // namespace ptxloom::lower
