// SPDX-License-Identifier: Apache-2.0
#include "spec/laid.hpp"

namespace ptxloom::spec {
namespace {

class Layer {
 public:
  explicit Layer(const Form& form) : units_(form.opcode().units()) { laid_.texts.resize(units_.size()); }

  Laid run(std::string_view rest) {
    while (!rest.empty()) {
      const auto [unit, text] = find(rest);
      if (text == nullptr) {
        const std::string_view word = rest.substr(0, rest.find('.', 1));
        laid_.left.push_back(word);
        rest.remove_prefix(word.size());
        continue;
      }
      if (unit < next_) laid_.in_order = false;
      next_ = unit + 1;
      laid_.texts[unit] = text;
      laid_.understood += text->text.size();
      rest.remove_prefix(text->text.size());
    }
    return std::move(laid_);
  }

 private:
  /// The unit that reads the longest part of the text; the next unit is tried first.
  std::pair<std::size_t, const Unit::Text*> find(std::string_view rest) const {
    std::pair<std::size_t, const Unit::Text*> best{0, nullptr};
    for (std::size_t i = 0; i < units_.size(); ++i) {
      const std::size_t unit = (next_ + i) % units_.size();
      if (laid_.texts[unit] != nullptr) continue;
      for (const Unit::Text& text : units_[unit].texts) {
        const std::size_t length = text.text.size();
        if (best.second != nullptr && length <= best.second->text.size()) continue;
        if (!rest.starts_with(text.text) || (rest.size() > length && rest[length] != '.')) continue;
        if (agrees(text)) best = {unit, &text};
      }
    }
    return best;
  }

  bool agrees(const Unit::Text& text) const {
    for (const Unit::Text* other : laid_.texts) {
      if (other == nullptr) continue;
      for (const Binding& a : text.bindings)
        for (const Binding& b : other->bindings)
          if (a.first == b.first && a.second != b.second) return false;
    }
    return true;
  }

  const std::vector<Unit>& units_;
  Laid laid_;
  std::size_t next_ = 0;
};

}  // namespace

Laid lay(const Form& form, std::string_view opcode) { return Layer(form).run(opcode); }

}  // namespace ptxloom::spec
