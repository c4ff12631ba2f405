// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/lower.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "lower/fallback.hpp"
#include "lower/operands.hpp"

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

/// Documented variants of an opcode; if any has this number of operands, only those that do.
std::vector<Variant> variants_of(const Specs& specs, std::string_view opcode,
                                 std::optional<std::size_t> operands = std::nullopt) {
  std::vector<Variant> variants;
  for (const Variant& variant : specs.match(opcode))
    if (!variant.undocumented()) variants.push_back(variant);
  const auto differs = [&](const Variant& variant) { return variant.operands().size() != operands; };
  if (operands && !std::ranges::all_of(variants, differs)) std::erase_if(variants, differs);
  return variants;
}

std::optional<Found> find_fallback(std::span<const Variant> variants) {
  for (const Variant& variant : variants) {
    for (const auto& family :
         {fallbacks_to_narrow(), fallbacks_from_narrow(), fallbacks_of_scales(), stochastic_fallbacks(),
          fallbacks_to_short(), fallbacks_of_pairs(), fallbacks_of_minmax(), fallbacks_of_reductions(),
          fallbacks_of_products(), fallbacks_of_matrix_loads(), fallbacks_of_matrix_stores()})
      for (const Fallback& fallback : family)
        if (covers(fallback, variant)) return Found{variant, &fallback};
  }
  return std::nullopt;
}

bool is_native(std::span<const Variant> variants, const Target& target) {
  return std::ranges::any_of(variants,
                             [&](const Variant& variant) { return variant.since(target).has_value(); });
}

// Whether the target has every instruction of the fallback is what the builder says when they are emitted.
bool can_emit(const Specs& specs, const Found& found, const Target& target) {
  // The builder shares the ownership of its specs; these outlive it.
  const std::shared_ptr<const Specs> borrowed(std::shared_ptr<const Specs>(), &specs);
  KernelBuilder k(borrowed, "tried", target);
  std::vector<Reg> operands;
  for (const OperandSpec& place : inputs_of(found.variant))
    for (int i = 0; i < std::max(place.count, 1); ++i)
      operands.push_back(k.reg(place.kind == OperandSpec::Kind::address ? u32 : place.type));
  Emitter emitter(k, Caller::current());
  try {
    found.fallback->append(emitter, found.variant, operands);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::illegal_ptx) throw;
    return false;
  }
  return true;
}

// What the checker says of the opcode, and that there is no fallback.
template <class Append>
auto without_fallback(const Append& append) {
  try {
    return append();
  } catch (const Error& error) {
    std::vector<Diagnostic> diagnostics = error.diagnostics();
    diagnostics.front().message += "; it has no fallback";
    throw Error(error.kind(), std::move(diagnostics));
  }
}

Support support_of(const Specs& specs, std::span<const Variant> variants, const Target& target) {
  if (is_native(variants, target)) return Support::native;
  const auto found = find_fallback(variants);
  return found && can_emit(specs, *found, target) ? Support::emulated : Support::none;
}

/// How an instruction is appended.
struct Way {
  bool native;
  std::optional<Found> found;  // the fallback, if it is not native
};

Way way_of(const KernelBuilder& k, const Opcode& opcode, std::size_t operands) {
  const std::string text(opcode.variant() ? opcode.variant()->opcode() : opcode.text());
  const std::vector<Variant> variants = variants_of(k.specs(), text, operands);
  if (is_native(variants, k.target())) return {.native = true, .found = std::nullopt};
  return {.native = false, .found = find_fallback(variants)};
}

/// Appends the fallback; returns its results.
std::vector<Reg> append(KernelBuilder& k, const Found& found, std::span<const Arg> args, const Caller& at) {
  require_count(found.variant, inputs_of(found.variant), args.size(), at);
  const std::string opcode(found.variant.opcode());
  k.comment("emulated " + opcode, at);
  const std::vector<Reg> inputs = input_registers(k, found.variant, args, at);
  Emitter emitter(k, at);
  return found.fallback->append(emitter, found.variant, inputs);
}

/// What BuilderCore::op and ops say of instructions that are not for them.
void require_results(const Variant& variant, bool one, const Caller& at) {
  int count = 0;
  for (const OperandSpec& place : results_of(variant)) count += place.registers();
  if (count == 0)
    refuse("no-result", variant, at, "it has no result register", "use emit() with all operands");
  if (one && count > 1)
    refuse("several-results", variant, at, "it has " + std::to_string(count) + " result registers",
           "use ops(), which returns all of them");
}

// A register of 16 bits may hold a result of 8.
void assign(KernelBuilder& k, Reg to, Reg from, const Caller& at) {
  if (from.type.bits == 8)
    k.emit(Opcode("cvt.u8.u8", at), {to, from});
  else
    k.emit(Opcode("mov.b" + std::to_string(to.type.bits), at), {to, from});
}

}  // namespace

std::string_view to_string(Support support) {
  constexpr std::array<std::string_view, 3> kNames{"none", "emulated", "native"};
  return kNames.at(static_cast<std::size_t>(support));
}

Support support(const Specs& specs, std::string_view opcode, const Target& target) {
  return support_of(specs, variants_of(specs, opcode), target);
}

Support support(const Specs& specs, const Variant& variant, const Target& target) {
  return support_of(specs, variants_of(specs, variant.opcode(), variant.operands().size()), target);
}

Reg op(KernelBuilder& k, const Opcode& opcode, std::initializer_list<Arg> args) {
  const Way way = way_of(k, opcode, args.size() + 1);
  if (way.native) return k.op(opcode, args);
  if (!way.found) return without_fallback([&] { return k.op(opcode, args); });
  require_results(way.found->variant, true, opcode.at());
  return append(k, *way.found, args, opcode.at()).front();
}

std::vector<Reg> ops(KernelBuilder& k, const Opcode& opcode, std::initializer_list<Arg> args) {
  const Way way = way_of(k, opcode, args.size() + 1);
  if (way.native) return k.ops(opcode, args);
  if (!way.found) return without_fallback([&] { return k.ops(opcode, args); });
  require_results(way.found->variant, false, opcode.at());
  return append(k, *way.found, args, opcode.at());
}

void emit(KernelBuilder& k, const Opcode& opcode, std::initializer_list<Arg> args) {
  const Way way = way_of(k, opcode, args.size());
  if (way.native) return k.emit(opcode, args);
  if (!way.found) return without_fallback([&] { k.emit(opcode, args); });
  const Variant& variant = way.found->variant;
  require_count(variant, variant.operands(), args.size(), opcode.at());
  const std::span<const Arg> all(args);
  const std::size_t count = results_of(variant).size();
  const std::vector<Reg> results = result_registers(variant, all.first(count), opcode.at());
  const std::vector<Reg> made = append(k, *way.found, all.subspan(count), opcode.at());
  for (std::size_t i = 0; i < results.size(); ++i) assign(k, results[i], made[i], opcode.at());
}

}  // namespace ptxloom::lower
