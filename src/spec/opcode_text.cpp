// SPDX-License-Identifier: Apache-2.0
#include "spec/opcode_text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace ptxloom::spec {
namespace {

constexpr std::size_t kMaxUnits = 32;  // per form; the lint rejects more

/// Depth-first search for the ways to assign an opcode's words to the units.
class Search {
 public:
  Search(const OpcodeText& text, std::vector<OpcodeText::Reading>& out) : text_(text), out_(out) {
    last_in_order_.fill(-1);
  }

  void step(std::string_view rest, std::size_t next_head) {
    const auto& units = text_.units();
    if (rest.empty()) return finish(next_head);
    if (next_head < text_.head()) {
      take(rest, next_head, next_head + 1);
      if (units[next_head].optional) step(rest, next_head + 1);
      return;
    }
    for (std::size_t unit = text_.head(); unit < units.size(); ++unit) {
      if ((used_ >> unit & 1U) == 0) take(rest, unit, next_head);
    }
  }

 private:
  void take(std::string_view rest, std::size_t unit, std::size_t next_head) {
    for (const Unit::Text& text : text_.units()[unit].texts) {
      if (!rest.starts_with(text.text)) continue;
      const std::string_view tail = rest.substr(text.text.size());
      if (!tail.empty() && tail.front() != '.') continue;
      const bool ordered = text.order_class >= 0 && unit >= text_.head();
      const auto order = static_cast<std::size_t>(std::max(text.order_class, 0));
      const int previous = last_in_order_[order];
      if (ordered && previous > static_cast<int>(unit)) continue;
      const std::size_t bound = bindings_.size();
      if (!bind(text.bindings)) continue;
      if (ordered) last_in_order_[order] = static_cast<int>(unit);
      const auto used = used_;
      const bool in_order = in_order_;
      if ((used_ >> unit) != 0) in_order_ = false;
      used_ |= std::uint32_t{1} << unit;
      step(tail, next_head);
      used_ = used;
      in_order_ = in_order;
      if (ordered) last_in_order_[order] = previous;
      bindings_.resize(bound);
    }
  }

  bool bind(const std::vector<Binding>& added) {
    const std::size_t before = bindings_.size();
    for (const Binding& binding : added) {
      const auto same = std::find_if(bindings_.begin(), bindings_.end(),
                                     [&](const Binding& b) { return b.first == binding.first; });
      if (same == bindings_.end()) {
        bindings_.push_back(binding);
      } else if (same->second != binding.second) {
        bindings_.resize(before);
        return false;
      }
    }
    return true;
  }

  void finish(std::size_t next_head) {
    const auto& units = text_.units();
    for (std::size_t unit = std::min(next_head, text_.head()); unit < units.size(); ++unit) {
      if ((used_ >> unit & 1U) == 0 && !units[unit].optional) return;
    }
    out_.push_back({.bindings = bindings_, .in_order = in_order_});
  }

  const OpcodeText& text_;
  std::vector<OpcodeText::Reading>& out_;
  std::vector<Binding> bindings_;
  std::array<int, kMaxOrders> last_in_order_{};
  std::uint32_t used_ = 0;
  bool in_order_ = true;
};

/// The start of the next unit: a dot, or a bracket whose prefix starts with one, outside brackets.
std::size_t unit_end(std::string_view text) {
  int depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool dotted_bracket = text[at] == '<' && at + 1 < text.size() && text[at + 1] == '.';
    if (at > 0 && depth == 0 && (text[at] == '.' || text[at] == '~' || dotted_bracket)) return at;
    if (text[at] == '<') ++depth;
    if (text[at] == '>') --depth;
  }
  return text.size();
}

}  // namespace

void OpcodeText::parse(std::string_view text, SlotNames& slots, Place place) {
  bool head_open = true;
  while (!text.empty()) {
    if (text.front() == '~') {
      head_ = units_.size();
      head_open = false;
      text.remove_prefix(1);
      continue;
    }
    const std::size_t end = unit_end(text);
    const std::string_view part = text.substr(0, end);
    Unit unit;
    unit.text = Template::parse(part, slots, place);
    unit.slots = unit.text.slots();
    unit.optional = part.starts_with("<.") && part.find('>') + 1 == part.size();
    if (head_open && unit.optional && text.find('~') == text.npos) {
      head_ = units_.size();
      head_open = false;
    }
    for (int slot : unit.slots) {
      if (std::find(slots_.begin(), slots_.end(), slot) == slots_.end()) slots_.push_back(slot);
    }
    units_.push_back(std::move(unit));
    text = text.substr(end);
  }
  if (head_open) head_ = units_.size();
  if (units_.size() > kMaxUnits) fail("spec-text", place, "the opcode has more than 32 parts");
}

void OpcodeText::enumerate(const Domain& domain, std::size_t slot_count, const Vocabulary& vocabulary) {
  std::vector<std::string_view> values(slot_count);
  for (Unit& unit : units_) {
    const auto add = [&] {
      std::string text = unit.text.render(values);
      if (text.empty()) return;
      Unit::Text& item = unit.texts.emplace_back();
      const std::string_view word = std::string_view(text).substr(text.front() == '.' ? 1 : 0);
      item.order_class = vocabulary.order_class(word);
      for (int slot : unit.slots) item.bindings.emplace_back(slot, values[static_cast<std::size_t>(slot)]);
      item.text = std::move(text);
    };
    const auto each = [&](auto&& self, std::size_t depth) -> void {
      if (depth == unit.slots.size()) return add();
      const int slot = unit.slots[depth];
      for (std::string_view value : domain(slot)) {
        values[static_cast<std::size_t>(slot)] = value;
        self(self, depth + 1);
      }
    };
    each(each, 0);
  }
}

std::string OpcodeText::render(Values values, const std::vector<bool>& hidden) const {
  std::string out;
  for (const Unit& unit : units_) {
    const bool hide = unit.optional && std::any_of(unit.slots.begin(), unit.slots.end(), [&](int slot) {
                        return hidden[static_cast<std::size_t>(slot)];
                      });
    if (!hide) unit.text.render(values, Template::Absent::nothing, out);
  }
  return out;
}

std::vector<OpcodeText::Reading> OpcodeText::read(std::string_view opcode) const {
  std::vector<Reading> readings;
  Search(*this, readings).step(opcode, 0);
  return readings;
}

}  // namespace ptxloom::spec
