// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>

#include "oracle/checks.hpp"
#include "oracle/instance.hpp"
#include "oracle/words.hpp"

namespace ptxloom::oracle {
namespace {

constexpr std::size_t kInserting = 4;    // sources that every word there is is added to
constexpr std::size_t kWithOperand = 2;  // of these, sources that get an operand with it, as a hint needs one

/// "add.rn.f32" as "add" ".rn" ".f32".
std::vector<std::string> words_of(std::string_view opcode) {
  std::vector<std::string> words;
  for (std::string_view word : spec::split(opcode, '.'))
    words.push_back((words.empty() ? "" : ".") + std::string(word));
  return words;
}

std::string joined(const std::vector<std::string>& words) {
  std::string opcode;
  for (const std::string& word : words) opcode += word;
  return opcode;
}

/// Whether ptxas reads it as a word: ".3d" it takes for a number, unless the instruction expects it.
bool is_word(std::string_view word) {
  return std::isalpha(static_cast<unsigned char>(word.front())) != 0 && word.find('=') == word.npos;
}

}  // namespace

std::vector<Case> other_spellings(const Question& question, std::span<const Variant> sources) {
  const Words known(question.specs, question.form, question.unread.of(question.form.name));
  const bool thorough = question.options.all || question.options.alone;
  std::vector<Case> cases;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::vector<std::string> texts = operand_texts(sources[i].operands());
    const auto add = [&](const std::vector<std::string>& words, std::string change,
                         std::string foreign = {}) {
      cases.push_back(
          {line_of(joined(words), sources[i].pieces(), texts), std::move(change), std::move(foreign)});
    };
    const std::vector<std::string> words = words_of(sources[i].opcode());
    for (std::size_t at = 1; at < words.size(); ++at) {
      std::vector<std::string> changed = words;
      changed.insert(changed.begin() + static_cast<std::ptrdiff_t>(at), words[at]);
      add(changed, words[at] + " twice", "twice:" + words[at].substr(1));
      changed = words;
      changed.push_back(words[at]);
      add(changed, words[at] + " again at the end", "twice:" + words[at].substr(1));
      if (at + 1 < words.size()) {
        changed = words;
        std::swap(changed[at], changed[at + 1]);
        add(changed, words[at] + " after " + words[at + 1]);
      }
    }
    std::vector<std::string> shuffled = words;
    std::shuffle(shuffled.begin() + 1, shuffled.end(), question.random);
    add(shuffled, "shuffled");
    if (i >= kInserting * (question.options.all ? 15 : 1)) continue;
    for (const std::string& word : known.all()) {
      std::vector<std::string> changed = words;
      if (!is_word(word) || std::find(words.begin(), words.end(), "." + word) != words.end()) continue;
      changed.insert(changed.end() - (words.size() > 1 ? 1 : 0), "." + word);
      const bool type = question.specs.database().vocabulary().type(word) != nullptr;
      const std::string foreign = type || known.is_foreign(word) ? word : "";
      add(changed, "." + word + " added", foreign);
      if (!thorough || i >= kWithOperand) continue;
      for (const char* one : {"R32_250", "R64_250"})
        cases.push_back({line_of(joined(changed), with_one_more(sources[i].pieces(), one), texts),
                         "." + word + " added, one more: " + one, foreign});
    }
    if (!thorough) continue;
    for (const std::string& order : known.of_class("semantics")) {
      for (const std::string& scope : known.of_class("scope")) {  // which come together
        std::vector<std::string> changed = words;
        changed.insert(changed.end() - (words.size() > 1 ? 1 : 0), {"." + order, "." + scope});
        const bool foreign = known.is_foreign(order) || known.is_foreign(scope);
        add(changed, "." + order + "." + scope + " added",
            foreign ? known.is_foreign(order) ? order : scope : "");
      }
    }
  }
  return cases;
}

}  // namespace ptxloom::oracle
