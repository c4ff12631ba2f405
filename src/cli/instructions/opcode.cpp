// SPDX-License-Identifier: Apache-2.0
#include "cli/instructions/opcode.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "ptxloom/lower.hpp"
#include "spec/select.hpp"

namespace ptxloom::cli {
namespace {

constexpr std::string_view kAny = "...";
constexpr std::size_t kMostListed = 40, kMostNeeds = 4;

/// Matches a prefix, or pieces in order with anything between them; the last piece must end the opcode.
bool matches(std::string_view opcode, std::string_view wanted) {
  bool first = true;
  while (true) {
    const std::size_t any = wanted.find(kAny);
    const std::string_view piece = wanted.substr(0, any);
    const bool last = any == std::string_view::npos;
    if (first && !opcode.starts_with(piece)) return false;
    if (last) return first || opcode.ends_with(piece);
    const std::size_t at = first ? 0 : opcode.find(piece);
    if (at == std::string_view::npos) return false;
    opcode.remove_prefix(at + piece.size());
    wanted.remove_prefix(any + kAny.size());
    first = false;
  }
}

/// Whether the form's opcodes can start like the wanted one.
bool may_hold(const Specs::FormInfo& form, std::string_view wanted) {
  const std::string_view start = wanted.substr(0, wanted.find(kAny));
  return start.starts_with(form.family) || form.family.starts_with(start);
}

std::vector<Variant> search(const Specs& specs, const std::string& wanted) {
  if (std::vector<Variant> exact = specs.match(wanted); !exact.empty()) return exact;
  std::vector<Variant> found;
  for (const std::string_view name : specs.forms()) {
    if (!may_hold(specs.info(name), wanted)) continue;
    for (const Variant& variant : specs.variants(name)) {
      if (matches(variant.opcode(), wanted)) found.push_back(variant);
    }
  }
  return found;
}

/// Lists the targets that each opcode needs; documented opcodes only, if there are any. Says so if the
/// library has a fallback.
[[noreturn]] void refuse_target(const Specs& specs, const std::string& wanted, std::vector<Variant> found,
                                const Target& target) {
  const auto documented = [](Variant v) { return !v.undocumented(); };
  if (std::ranges::any_of(found, documented)) std::erase_if(found, std::not_fn(documented));
  std::set<std::string> needs;
  std::string list;
  std::size_t listed = 0;
  for (const Variant& variant : found) {
    const std::string where = spec::where_legal(variant);
    if (!needs.insert(where).second || listed++ == kMostNeeds) continue;
    list += fmt::format("{}{} needs {}", list.empty() ? "" : "\n  ", variant.opcode(), where);
  }
  const bool emulated = std::ranges::any_of(
      found, [&](Variant v) { return lower::support(specs, v, target) == lower::Support::emulated; });
  if (emulated) list += fmt::format("\n  on {} ptxloom/lower.hpp emulates it", target.name());
  throw Error(ErrorKind::illegal_ptx, "not-on-target", fmt::format("{} is not on {}", wanted, target.name()),
              list);
}

}  // namespace

std::vector<Variant> find_opcode(const Specs& specs, const std::string& wanted,
                                 const std::optional<Target>& target) {
  std::vector<Variant> found = search(specs, wanted);
  if (found.empty()) {
    Diagnostic why = specs.explain(wanted, target.value_or(Target(targets().back())));
    why.code = "unknown-opcode";
    throw Error(ErrorKind::usage, {std::move(why)});
  }
  if (target) {
    const std::vector<Variant> anywhere = found;
    std::erase_if(found, [&](Variant v) { return !v.since(*target); });
    if (found.empty()) refuse_target(specs, wanted, anywhere, *target);
  }
  std::set<std::string_view> opcodes;
  for (const Variant& variant : found) opcodes.insert(variant.opcode());
  if (opcodes.size() == 1) return found;
  std::string list;
  std::size_t listed = 0;
  for (const std::string_view opcode : opcodes) {
    if (listed++ == kMostListed) break;
    list += fmt::format("\n    {}", opcode);
  }
  if (opcodes.size() > kMostListed)
    list += fmt::format("\n    and {} more: ptxloom list --variants", opcodes.size() - kMostListed);
  throw Error(ErrorKind::usage, "ambiguous-opcode",
              fmt::format("'{}' matches {} opcodes", wanted, opcodes.size()), "give one of them:" + list);
}

bool means_one_opcode(const Specs& specs, const std::string& wanted) {
  const std::vector<Variant> found = search(specs, wanted);
  return !found.empty() &&
         std::ranges::all_of(found, [&](Variant other) { return other.opcode() == found.front().opcode(); });
}

std::string example(Variant variant) {
  std::string text(variant.opcode());
  if (!variant.operands().empty()) text += ' ';
  for (const OperandPiece& piece : variant.pieces()) {
    text += piece.text;
    if (piece.operand >= 0) text += variant.operands()[static_cast<std::size_t>(piece.operand)].name;
  }
  return text;
}

}  // namespace ptxloom::cli
