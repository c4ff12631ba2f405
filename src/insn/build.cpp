// SPDX-License-Identifier: Apache-2.0
#include "insn/build.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/hash.hpp"
#include "insn/chain.hpp"
#include "sass/cubin/cubin_view.hpp"

namespace ptxloom::insn {
namespace {

constexpr int kCopies = 16;         // of a chain; the second kernel of a pair has twice as many
constexpr int kMostRegisters = 64;  // of the results of all streams
constexpr int kStreams = 4;
// Loops of few instructions lose some cycles each time they jump back, the shorter one of a pair more. So
// streams of instructions that became few machine instructions are made longer.
constexpr int kLonger = 4;
constexpr double kShort = 2;  // machine instructions of a step

int streams_of(const Row& row) {
  const int result = result_of(row);
  if (result < 0 || !row.rule->before.empty()) return 1;
  const OperandSpec& operand = row.variant.operands()[static_cast<std::size_t>(result)];
  const int registers = operand.registers() * std::max(register_bits(operand) / 32, 1);
  return std::clamp(kMostRegisters / registers, 1, kStreams);
}

std::vector<BuiltPair> pairs_of(const Row& row, bool guarded) {
  std::vector<BuiltPair> pairs;
  const std::vector<Chain> found = chains(row);
  for (const Chain& chain : found)
    pairs.push_back({.shape = {.chain = chain, .copies = kCopies, .guarded = guarded}, .throughput = false});
  const int streams = streams_of(row);
  pairs.push_back({.shape = {.chain = found.empty() ? Chain{} : found.front(),
                             .streams = streams,
                             .copies = kCopies / streams,
                             .guarded = guarded},
                   .throughput = true});
  return pairs;
}

int count_lines(std::string_view text) { return static_cast<int>(std::ranges::count(text, '\n')); }

/// The kernels of pairs as text, and where each begins.
class Text {
 public:
  Text(const Row& row, const Target& target, std::vector<BuiltPair>& pairs) : ptx(module_head(row, target)) {
    for (BuiltPair& pair : pairs) {
      KernelShape twice = pair.shape;
      twice.copies *= 2;
      pair.few = add(row, pair.shape);
      pair.many = add(row, twice);
    }
  }

  Proof prove_one(const sass::Listing& listing, std::string_view name) const {
    const auto function = std::ranges::find(listing.functions, name,
                                            [](const sass::ListedFunction& f) { return f.facts.name; });
    if (function == listing.functions.end()) return {};
    const auto& [text, line] = kernels_.at(std::string(name));
    return prove(*function, text, line);
  }

  std::string ptx;

 private:
  std::string add(const Row& row, const KernelShape& shape) {
    std::string name = fmt::format("k{}", kernels_.size());
    KernelText text = kernel_text(row, shape, name);
    const int line = count_lines(ptx) + 1;
    ptx += text.text;
    kernels_.emplace(name, std::pair(std::move(text), line));
    return name;
  }

  std::map<std::string, std::pair<KernelText, int>> kernels_;
};

BuiltRow build_pairs(const Row& row, const Linker& linker, const Target& target,
                     std::vector<BuiltPair> pairs) {
  BuiltRow built{.modules = {}, .pairs = std::move(pairs), .failure = {}};
  const Text text(row, target, built.pairs);
  BuiltModule& module = built.modules.emplace_back(BuiltModule{.ptx = text.ptx, .cubin = {}});
  try {
    module.cubin = linker.link(module.ptx, {.target = std::string(target.name()), .line_info = true}).cubin;
  } catch (const Error& error) {
    if (error.code() == "no-nvjitlink") throw;
    built.failure = error.diagnostics().front().message;
    return built;
  }
  const sass::CubinView cubin(module.cubin, row.variant.opcode());
  const sass::Listing listing = sass::list({.cubin = cubin, .name = row.variant.opcode()});
  for (BuiltPair& pair : built.pairs)
    pair.proof = difference(text.prove_one(listing, pair.few), text.prove_one(listing, pair.many));
  return built;
}

/// Replaces what is not usable by the same instructions with predicates.
void guard(const Row& row, const Linker& linker, const Target& target, BuiltRow& built) {
  BuiltRow guarded = build_pairs(row, linker, target, pairs_of(row, true));
  if (!guarded.failure.empty()) return;
  for (std::size_t i = 0; i < built.pairs.size(); ++i) {
    if (built.pairs[i].proof.usable() || !guarded.pairs[i].proof.usable()) continue;
    built.pairs[i] = std::move(guarded.pairs[i]);
    built.pairs[i].module = built.modules.size();
  }
  built.modules.push_back(std::move(guarded.modules.front()));
}

void lengthen_streams(const Row& row, const Linker& linker, const Target& target, BuiltRow& built) {
  BuiltPair& pair = built.pairs.back();
  if (!pair.proof.usable() || pair.proof.calls() || pair.proof.step_length() > kShort) return;
  BuiltPair longer = pair;
  longer.shape.copies *= kLonger;
  BuiltRow made = build_pairs(row, linker, target, {std::move(longer)});
  if (!made.failure.empty() || !made.pairs.front().proof.usable()) return;
  pair = std::move(made.pairs.front());
  pair.module = built.modules.size();
  built.modules.push_back(std::move(made.modules.front()));
}

}  // namespace

std::string revision_of(const Row& row, const Target& target) {
  std::vector<BuiltPair> pairs = pairs_of(row, false);
  return to_hex(hash128(Text(row, target, pairs).ptx + std::to_string(kLonger))).substr(0, 12);
}

BuiltRow build(const Row& row, const Linker& linker, const Target& target) {
  BuiltRow built = build_pairs(row, linker, target, pairs_of(row, false));
  if (!built.failure.empty()) return built;
  if (!std::ranges::all_of(built.pairs, [](const BuiltPair& pair) { return pair.proof.usable(); }))
    guard(row, linker, target, built);
  lengthen_streams(row, linker, target, built);
  return built;
}

}  // namespace ptxloom::insn
