// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/nearest.hpp"
#include "spec/near.hpp"
#include "spec/select.hpp"

// Explains why an opcode does not exist, or not on this target.
namespace ptxloom {
namespace {

using spec::Misreading;

constexpr std::size_t kWordsListed = 10, kExchangesListed = 3;

std::string joined(const auto& parts, std::string_view separator) {
  std::string text;
  for (const auto& part : parts) text.append(text.empty() ? "" : separator).append(part);
  return text;
}

std::string nearest_mnemonic(const spec::Database& database, std::string_view opcode) {
  std::vector<std::string> mnemonics;
  for (const spec::FormData* form : database.forms())
    for (const std::string_view mnemonic : form->mnemonics) mnemonics.emplace_back(mnemonic);
  return nearest(spec::mnemonic_of(opcode), mnemonics);
}

/// ".m16n8k32 instead of .m16n8k16", "without .ftz", ".rn or .rz added".
std::string text_of(const spec::Exchange& exchange) {
  std::vector<std::string> words = exchange.to;
  const auto none = std::find(words.begin(), words.end(), "");
  const bool without = none != words.end();
  if (without) words.erase(none);
  const bool more = words.size() > kWordsListed;
  words.resize(std::min(words.size(), kWordsListed));
  std::string text = joined(words, " ") + (more ? " ..." : "");
  if (exchange.from.empty()) return text + " added";
  if (text.empty()) return "without " + exchange.from;
  return text + (without ? " or nothing" : "") + " instead of " + exchange.from;
}

std::string hint_of(const Misreading& misreading, std::string_view mnemonic, const Target& target) {
  if (misreading.nearest.empty())
    return "`ptxloom list " + std::string(mnemonic) + " --variants` lists its opcodes";
  std::string text;
  for (std::size_t i = 0; i < std::min(misreading.legal.size(), kExchangesListed); ++i)
    text += (i == 0 ? "legal: " : ", or ") + text_of(misreading.legal[i]);
  text += text.empty() ? "nearest: " : "; nearest: ";
  bool first = true;
  for (const spec::NearOpcode& near : misreading.nearest) {
    text.append(first ? "" : ", ").append(near.opcode);
    first = false;
    if (!near.needs.empty()) text += " (not on " + std::string(target.name()) + ": needs " + near.needs + ")";
  }
  return text;
}

/// The code and the explanation.
std::pair<std::string, std::string> reason_of(const Misreading& misreading, std::string_view opcode,
                                              std::string_view mnemonic) {
  using Why = Misreading::Why;
  const std::string there_is_no = "there is no " + std::string(opcode);
  const std::string word(misreading.word), of = " of " + std::string(mnemonic);
  switch (misreading.why) {
    case Why::unknown_word:
      return {"unknown-modifier",
              word + " is not a modifier" + of +
                  (misreading.nearest_word.empty() ? "" : "; did you mean " + misreading.nearest_word + "?")};
    case Why::missing:
      return {"missing-modifier",
              there_is_no + (misreading.expected.empty() ? ": a modifier is missing"
                                                         : ": " + misreading.expected + " is missing")};
    case Why::repeated:
      return {"repeated-modifier", there_is_no + ": " + word + " is given twice"};
    case Why::order:
      return {"modifier-order", there_is_no + ": its modifiers have another order"};
    case Why::illegal:
      break;
  }
  if (!word.empty())
    return {"illegal-combination",
            there_is_no + ": " + word + " cannot be combined with the other modifiers"};
  if (misreading.together.empty()) return {"illegal-combination", there_is_no};
  return {"illegal-combination", there_is_no + ": the table '" + misreading.table + "' of " +
                                     misreading.form + " has no row with " +
                                     joined(misreading.together, " ")};
}

}  // namespace

Diagnostic Specs::explain(std::string_view opcode, const Target& target) const {
  return database_->remember_reason(std::string(target.name()) + ' ' + std::string(opcode), [&] {
    const std::span<const Variant> readings = database_->match(opcode);
    const auto documented = std::ranges::find_if(readings, [](Variant v) { return !v.undocumented(); });
    if (documented != readings.end())
      return Diagnostic{.code = "not-on-target",
                        .message = std::string(opcode) + " is not on " + std::string(target.name()),
                        .hint = "it needs " + spec::where_legal(*documented)};
    const std::string mnemonic(spec::mnemonic_of(opcode));
    if (database_->with_mnemonic(mnemonic).empty())
      return Diagnostic{
          .code = "unknown-instruction",
          .message = "there is no instruction '" + mnemonic + "'",
          .hint = "did you mean " + nearest_mnemonic(*database_, opcode) + "? `ptxloom list` shows them all"};
    const Misreading misreading = spec::misread(*database_, opcode, target);
    const std::string hint = hint_of(misreading, mnemonic, target);
    if (!readings.empty())
      return Diagnostic{
          .code = "undocumented",
          .message = "the manual does not document " + std::string(opcode) + ", but ptxas accepts it",
          .hint = "documented alternatives: " + hint};
    auto [code, message] = reason_of(misreading, opcode, mnemonic);
    const auto at = misreading.word.empty() ? 0 : misreading.word.data() - opcode.data();
    return Diagnostic{.code = std::move(code),
                      .message = std::move(message),
                      .hint = hint,
                      .column = static_cast<int>(at) + 1};
  });
}

}  // namespace ptxloom
