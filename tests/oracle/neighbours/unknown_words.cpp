// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <random>
#include <unordered_set>

#include "oracle/neighbours/neighbourhood.hpp"

namespace ptxloom::oracle {
namespace {

using spec::VariantData;

// Lines of a form by itself that have its words in combinations that it lacks, and combinations looked at.
constexpr std::size_t kUnknown = 2000, kLookedAt = 20'000;
constexpr std::size_t kMostScaled = 4;  // vectors whose lengths change with a number
constexpr std::size_t kRelatedSources = 24;
// Lines of a form by itself with words that its family has, and it lacks.
constexpr std::size_t kRelated = 4000;

/// The operands with vectors shorter by one; of one element nothing is left.
Operands shortened(Operands operands) {
  for (std::optional<OperandSpec>& operand : operands) {
    if (!operand || operand->count == 0) continue;
    if (--operand->count == 0) operand.reset();
  }
  return operands;
}

/// The operands with one or more vectors as many times as long as one number is the other.
std::vector<Operands> scaled_with(const Operands& operands, std::string_view from, std::string_view to) {
  if (!is_number(from) || !is_number(to)) return {};
  const int before = std::stoi(std::string(from)), now = std::stoi(std::string(to));
  std::vector<std::size_t> vectors;
  for (std::size_t i = 0; i < operands.size() && vectors.size() < kMostScaled; ++i)
    if (operands[i] && operands[i]->count > 0) vectors.push_back(i);
  std::vector<Operands> result;
  for (std::size_t chosen = 1; chosen < std::size_t{1} << vectors.size(); ++chosen) {
    Operands scaled = operands;
    for (std::size_t v = 0; v < vectors.size(); ++v) {
      int& count = scaled[vectors[v]]->count;
      if ((chosen >> v & 1) != 0) count = std::max(1, count * now / std::max(1, before));
    }
    result.push_back(std::move(scaled));
  }
  return result;
}

/// Words of the form in combinations that no variant has, each a variant with one word replaced, with the
/// operands of that variant and of the nearest one with the new word; where the word is a number, also with
/// vectors longer or shorter as it says. A row that a form has lost shows with these.
std::vector<Case> unknown(const Neighbourhood& around, std::span<const Variant> all, std::mt19937& random) {
  std::unordered_set<std::string_view> known;
  for (const Variant& variant : all) known.insert(variant.opcode());
  const std::vector<int>& slots = around.form().opcode().slots();
  const auto below = [&](std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random);
  };
  std::vector<Case> cases;
  for (std::size_t i = 0; !slots.empty() && i < kLookedAt && cases.size() < kUnknown; ++i) {
    const VariantData& data = *all[below(all.size())].data();
    const int slot = slots[below(slots.size())];
    const auto& domain = around.form().domain(slot);
    const Change change{static_cast<std::size_t>(slot), domain[below(domain.size())].value};
    const std::optional<std::string> opcode = around.opcode_with(data, {&change, 1});
    if (!opcode || known.contains(*opcode)) continue;
    const Case made{.line = {}, .change = around.change_of(change), .foreign = {}};
    for (Operands& operands : around.operands_for(data, {&change, 1})) {
      for (Operands& scaled : scaled_with(operands, data.values[change.first], change.second))
        around.add(*opcode, std::move(scaled), made, cases);
      around.add(*opcode, std::move(operands), made, cases);
    }
  }
  return cases;
}

/// A word in place of the variant's, with the operands of each word that the form has there, also with
/// vectors shorter by one, with an operand fewer, and with one more like the one before.
void with_related(const Neighbourhood& around, const VariantData& data, const Change& change,
                  std::vector<Case>& out) {
  const std::optional<std::string> opcode = around.opcode_with(data, {&change, 1});
  if (!opcode) return;
  const Case made{.line = {}, .change = around.change_of(change), .foreign = {}};
  for (const spec::Alternative& any : around.form().domain(static_cast<int>(change.first))) {
    const VariantData* const mate =
        any.value == spec::kAbsent ? nullptr : around.nearest_with(data, change.first, any.value);
    const std::optional<Operands> operands = mate == nullptr ? std::nullopt : around.fill(mate->values);
    if (!operands) continue;
    for (const Operands& tried : {*operands, shortened(*operands)}) {
      around.add(*opcode, tried, made, out);
      for (std::size_t i = 0; i < tried.size(); ++i) {
        if (tried[i] && tried[i]->kind == OperandSpec::Kind::address) continue;
        Operands other = tried;
        if (tried[i])
          other[i].reset();
        else if (i > 1)  // the first may be a result
          other[i] = tried[i - 1];
        around.add(*opcode, std::move(other), made, out);
      }
    }
  }
}

/// Words that other forms of the family have where this one has others, with the operands that come with
/// those. A word that a form has lost with its last row shows with these.
std::vector<Case> related(const Neighbourhood& around, std::span<const Variant> sources) {
  std::vector<Case> cases;
  for (const Variant& source : sources) {  // outermost: what is too much leaves out sources, and no word
    for (const int index : around.form().opcode().slots()) {
      const auto slot = static_cast<std::size_t>(index);
      for (const std::string& value : around.values(slot)) {
        if (around.is_own(value) || value == spec::kAbsent || around.words().is_foreign(value)) continue;
        if (cases.size() < kRelated) with_related(around, *source.data(), {slot, value}, cases);
      }
    }
  }
  return cases;
}

}  // namespace

std::vector<Case> unknown_words(const Question& question) {
  const std::vector<Variant> all = question.specs.variants(question.form.name);
  const Neighbourhood around(question, all);
  std::vector<Case> cases = unknown(around, all, question.random);
  std::vector<Case> others = related(around, sample(all, kRelatedSources, question.random));
  cases.insert(cases.end(), std::make_move_iterator(others.begin()), std::make_move_iterator(others.end()));
  return cases;
}

}  // namespace ptxloom::oracle
