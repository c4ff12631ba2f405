// SPDX-License-Identifier: Apache-2.0
// `op` and `ops`: an instruction that creates its own destination registers, of the types of the variant's
// destinations.
#include <algorithm>

#include "build/operation.hpp"
#include "ir/fit.hpp"
#include "spec/database.hpp"

namespace ptxloom {
namespace {

/// The leading destinations: operands that the instruction only writes.
std::span<const OperandSpec> results_in(std::span<const OperandSpec> places) {
  const auto is_result = [](const OperandSpec& place) {
    return place.kind == OperandSpec::Kind::value && place.direction == OperandSpec::Direction::out;
  };
  return places.first(static_cast<std::size_t>(std::ranges::find_if_not(places, is_result) - places.begin()));
}

int register_count(std::span<const OperandSpec> places) {
  int count = 0;
  for (const OperandSpec& place : places) count += place.registers();
  return count;
}

}  // namespace

// Creates the registers that a candidate needs, to test whether it fits, and removes them if it does not.
std::optional<std::vector<Reg>> BuilderCore::try_results(const Legal& legal, std::string_view text,
                                                         std::span<const Arg> args, bool one, Caller at) {
  const std::span<const OperandSpec> destinations = results_in(legal.places);
  if (destinations.empty() || destinations.size() + args.size() != legal.places.size()) return std::nullopt;
  if (one && register_count(destinations) != 1) return std::nullopt;
  ir::Kernel& k = kernel(at);
  const std::size_t registers_before = k.registers.size(), pool_start = k.operands.size();
  const auto class_counts = scope_.class_counts;
  std::vector<Reg> made;
  for (const OperandSpec& place : destinations)
    for (int i = 0; i < place.registers(); ++i) made.push_back(reg(place.type, at));
  std::vector<Arg> all;
  std::size_t next = 0;
  for (const OperandSpec& place : destinations) {
    const auto count = static_cast<std::size_t>(place.registers());
    if (place.count == 0) {
      all.emplace_back(made[next]);
    } else {
      all.emplace_back(std::span<const Reg>(made).subspan(next, count));
    }
    next += count;
  }
  all.insert(all.end(), args.begin(), args.end());
  if (ir::operands_fit(k, legal.places, push_operands(text, all, at))) {
    require_spaces(text, legal.places, all, at);
    append(legal, all.size(), at);
    return made;
  }
  k.operands.resize(pool_start);
  k.registers.resize(registers_before);
  scope_.class_counts = class_counts;
  return std::nullopt;
}

std::vector<Reg> BuilderCore::results_of_text(std::string_view text, std::span<const Arg> args, bool one,
                                              Caller at) {
  const auto last = opcodes_.find(text);
  if (last != opcodes_.end())
    if (auto made = try_results(last->second, text, args, one, at)) return *made;
  std::optional<Legal> nearest;
  const auto attempt = [&](const Variant& candidate) -> std::optional<std::vector<Reg>> {
    const std::optional<Version> since = candidate.since(target_);
    const Legal legal{candidate, candidate.operands(), since.value_or(Version{})};
    if (!nearest && !results_in(legal.places).empty()) nearest = legal;
    if (!since || candidate.undocumented()) return std::nullopt;
    auto made = try_results(legal, text, args, one, at);
    if (made) opcodes_.insert_or_assign(std::string(text), legal);
    return made;
  };
  for (std::size_t form = 0;; ++form) {
    const std::span<const Variant> candidates = specs().database().match_form(text, form);
    if (candidates.empty()) break;
    for (const Variant& candidate : candidates)
      if (auto made = attempt(candidate)) return *made;
  }
  for (const Variant& candidate : specs().database().match(text))
    if (auto made = attempt(candidate)) return *made;
  refuse_results(text, nearest ? nearest->places : std::span<const OperandSpec>{}, args, one, at);
}

// With placeholder destinations, `emit` reports what is wrong with the other operands.
void BuilderCore::refuse_results(std::string_view text, std::span<const OperandSpec> places,
                                 std::span<const Arg> args, bool one, Caller at) {
  const std::string opcode(text);
  const std::span<const OperandSpec> destinations = results_in(places);
  const bool exists = !specs().database().match(opcode).empty();
  if (exists && destinations.empty())
    operation(opcode, at).refuse("no-result", "it has no result register", "use emit() with all operands");
  if (exists && !has(opcode))
    refuse(opcode, specs().explain(opcode, target_), kernel(at).operands.size(), at);
  const int count = register_count(destinations);
  if (exists && one && count > 1)
    operation(opcode, at)
        .refuse("several-results", "it has " + std::to_string(count) + " result registers",
                "use ops(), which returns all of them");
  std::vector<std::vector<Reg>> made;
  for (const OperandSpec& place : destinations) made.push_back(regs(place.type, place.registers(), at));
  std::vector<Arg> all;
  for (std::size_t i = 0; i < made.size(); ++i)
    all.push_back(destinations[i].count == 0 ? Arg(made[i].front()) : Arg(made[i]));
  all.insert(all.end(), args.begin(), args.end());
  const std::size_t pool_start = kernel(at).operands.size();
  find_legal(opcode, push_operands(opcode, all, at), pool_start, at);
  kernel(at).operands.resize(pool_start);
  operation(opcode, at)
      .refuse("operand-count", "its operands do not determine its results", "use emit() with all operands");
}

std::vector<Reg> BuilderCore::results(const Opcode& opcode, std::span<const Arg> args, bool one) {
  const std::string text(opcode.variant() ? opcode.variant()->opcode() : opcode.text());  // must not alias
                                                                                          // scratch_
  const Caller at = opcode.at();
  const std::vector<Arg> resolved = resolve_all(text, args, at);
  if (!opcode.variant()) return results_of_text(text, resolved, one, at);
  const Variant variant = held(*opcode.variant(), specs());
  const std::optional<Version> since = variant.since(target_);
  if (since && !variant.undocumented())
    if (auto made = try_results({variant, variant.operands(), *since}, text, resolved, one, at)) return *made;
  if (!since || variant.undocumented())
    refuse(text, specs().explain(text, target_), kernel(at).operands.size(), at);
  refuse_results(text, variant.operands(), resolved, one, at);
}

Reg BuilderCore::op(const Opcode& opcode, std::initializer_list<Arg> args) {
  return results(opcode, args, true).front();
}

std::vector<Reg> BuilderCore::ops(const Opcode& opcode, std::initializer_list<Arg> args) {
  return results(opcode, args, false);
}

}  // namespace ptxloom
