// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/check.hpp"

// Single statements for `check --jsonl`, drawn from the specs: a form, one of its variants, a target and a
// PTX version that have it, registers of other names each time. An illegal one differs from a legal one by a
// slip: of a word, an operand, a declaration, the target, the version or the syntax. No order, and hardly any
// statement twice.
namespace ptxloom::bench {

struct Statement {
  std::string ptx, decls, target, version;
};

class Statements {
 public:
  Statements(std::shared_ptr<const Specs> specs, unsigned seed) : specs_(std::move(specs)), random_(seed) {
    for (const std::string_view form : specs_->forms()) {
      std::vector<Variant> variants = specs_->variants(form);
      if (!variants.empty()) forms_.push_back(std::move(variants));
    }
  }

  Statement legal() {
    while (true)
      if (std::optional<Draft> made = draft())
        if (Statement statement = text_of(*made); is_legal(statement)) return statement;
  }

  Statement illegal() {
    while (true) {
      std::optional<Draft> made = draft();
      if (!made) continue;
      slip(*made);
      if (Statement statement = text_of(*made); !is_legal(statement)) return statement;
    }
  }

 private:
  struct Operand {
    std::string before, text;  // what stands in front of it: ", [", and itself
    std::string decls = {};    // of its registers
  };
  struct Draft {
    Variant variant;
    std::vector<std::string> words;  // of the opcode
    std::vector<Operand> operands;   // the last has only what stands behind all others
    std::string target, version, end = ";";
  };

  std::size_t below(std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_);
  }
  const auto& one_of(const auto& things) { return things[below(std::size(things))]; }

  bool is_legal(const Statement& statement) const {
    const Snippet snippet{.ptx = statement.ptx,
                          .declarations = statement.decls,
                          .target = statement.target,
                          .version = parse_version(statement.version)};
    return std::ranges::none_of(check(snippet, specs_),
                                [](const Diagnostic& d) { return d.severity == Severity::error; });
  }

  static std::vector<std::string> words_of(std::string_view opcode) {
    std::vector<std::string> words;
    for (std::size_t at = 0; at <= opcode.size();) {
      const std::size_t end = std::min(opcode.find('.', at), opcode.size());
      words.emplace_back(opcode.substr(at, end - at));
      at = end + 1;
    }
    return words;
  }

  static std::string type_of(const OperandSpec& place) {
    if (place.kind == OperandSpec::Kind::address) return place.space == "tmem" ? "b32" : "b64";
    return place.type == pred ? "pred" : fmt::format("b{}", std::max(8, place.type.bytes() * 8));
  }

  /// A few letters, so that few names are met again.
  std::string name() {
    static constexpr std::array<std::string_view, 6> kStems{"%r", "%x", "acc", "frag_", "t", "%val"};
    return fmt::format("{}{}", one_of(kStems), below(10000));
  }

  std::optional<Operand> operand(const OperandPiece& piece, const OperandSpec& place) {
    using Kind = OperandSpec::Kind;
    if (place.kind == Kind::symbol || place.kind == Kind::label || place.space.starts_with("param"))
      return {};
    if (place.kind == Kind::literal) return Operand{piece.text, place.text};
    if (!place.registers_allowed) {
      if (!place.literal_allowed) return {};
      const std::int64_t number = !place.choices.empty() ? one_of(place.choices)
                                  : place.range          ? place.range->first
                                                         : 0;
      return Operand{piece.text, std::to_string(number)};
    }
    const std::string own = name();
    Operand made{piece.text, own, fmt::format(".reg .{} {}", type_of(place), own)};
    for (int i = 0; i < place.count; ++i) {
      const std::string element = fmt::format("{}_{}", own, i);
      made.text = (i == 0 ? "{" : made.text + ", ") + element;
      made.decls = i == 0 ? fmt::format(".reg .{} {}", type_of(place), element) : made.decls + ", " + element;
    }
    if (place.count > 0) made.text += "}";
    made.decls += ";";
    return made;
  }

  /// Nothing where the variant needs declarations other than registers.
  std::optional<Draft> draft() {
    const Variant variant = one_of(one_of(forms_));
    std::vector<std::pair<std::string_view, Version>> places;
    for (const TargetInfo& target : targets())
      for (const Version version : ptx_versions())
        if (version >= target.since && variant.allowed(Target(target), version))
          places.emplace_back(target.name, version);
    if (places.empty() || !variant.mode().empty()) return std::nullopt;
    const auto& [target, version] = one_of(places);
    Draft made{.variant = variant,
               .words = words_of(variant.opcode()),
               .operands = {},
               .target = std::string(target),
               .version = to_string(version)};
    for (const OperandPiece& piece : variant.pieces()) {
      std::optional<Operand> next = Operand{piece.text, ""};
      if (piece.operand >= 0)
        next = operand(piece, variant.operands()[static_cast<std::size_t>(piece.operand)]);
      if (!next) return std::nullopt;
      made.operands.push_back(std::move(*next));
    }
    return made;
  }

  /// One slip of a kind; where the draft has no place for it, it stays as it is.
  void slip(Draft& draft) {
    switch (below(10)) {
      case 0:
      case 1:
      case 2:
        return slip_of_word(draft);
      case 3: {
        draft.target = one_of(targets()).name;
        return;
      }
      case 4:
        draft.version = to_string(one_of(ptx_versions()));
        return;
      case 5:
      case 6:
        return slip_of_operand(draft);
      case 7:
        return slip_of_declaration(draft);
      case 8:
        draft.end = one_of(std::array<std::string_view, 3>{"", ";;}", " extra;"});
        return;
      default:
        slip_of_word(draft);
        slip_of_operand(draft);
    }
  }

  void slip_of_word(Draft& draft) {
    const std::size_t at = below(draft.words.size());
    const auto place = draft.words.begin() + static_cast<std::ptrdiff_t>(at);
    const std::vector<std::string> others = words_of(one_of(one_of(forms_)).opcode());
    switch (below(6)) {
      case 0:
        *place = one_of(others);
        return;
      case 1:
        draft.words.insert(place + 1, one_of(others));
        return;
      case 2:
        if (at > 0) draft.words.erase(place);
        return;
      case 3:
        if (place->size() > 1) place->erase(below(place->size()), 1);
        return;
      case 4:
        place->insert(below(place->size() + 1), 1, static_cast<char>('a' + below(26)));
        return;
      default:
        if (at > 0) std::swap(*place, draft.words[1 + below(draft.words.size() - 1)]);
    }
  }

  void slip_of_operand(Draft& draft) {
    if (draft.operands.empty()) return;
    const std::size_t at = below(draft.operands.size());
    Operand& operand = draft.operands[at];
    switch (below(4)) {
      case 0:
        operand.text = one_of(std::array<std::string_view, 6>{"0", "1.5", "_", "{1, 2}", "[0]", "-7"});
        return;
      case 1:
        draft.operands.erase(draft.operands.begin() + static_cast<std::ptrdiff_t>(at));
        return;
      case 2:
        draft.operands.insert(draft.operands.begin() + static_cast<std::ptrdiff_t>(at), {", ", "4"});
        return;
      default:
        std::swap(operand.text, one_of_operands(draft).text);
    }
  }

  Operand& one_of_operands(Draft& draft) { return draft.operands[below(draft.operands.size())]; }

  /// Missing, or of another type.
  void slip_of_declaration(Draft& draft) {
    if (draft.operands.empty()) return;
    std::string& decls = one_of_operands(draft).decls;
    const std::size_t type = decls.find(" .");
    if (type == decls.npos || below(3) == 0) {
      decls.clear();
      return;
    }
    static constexpr std::array<std::string_view, 8> kTypes{"b16", "b32",  "b64", "f32",
                                                            "f64", "pred", "s16", "b128"};
    decls.replace(type + 2, decls.find(' ', type + 2) - type - 2, one_of(kTypes));
  }

  static Statement text_of(const Draft& draft) {
    Statement made{.ptx = {}, .decls = {}, .target = draft.target, .version = draft.version};
    for (const std::string& word : draft.words) made.ptx += (made.ptx.empty() ? "" : ".") + word;
    if (!draft.operands.empty()) made.ptx += ' ';
    for (const Operand& operand : draft.operands) {
      made.ptx += operand.before + operand.text;
      made.decls += operand.decls;
    }
    made.ptx += draft.end;
    return made;
  }

  std::shared_ptr<const Specs> specs_;
  std::mt19937 random_;
  std::vector<std::vector<Variant>> forms_;
};

inline std::string json_of(std::size_t id, const Statement& statement) {
  return nlohmann::ordered_json{{"id", id},
                                {"ptx", statement.ptx},
                                {"decls", statement.decls},
                                {"target", statement.target},
                                {"version", statement.version}}
      .dump();
}

}  // namespace ptxloom::bench
