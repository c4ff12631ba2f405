// SPDX-License-Identifier: Apache-2.0
#include "spec/join.hpp"

#include <algorithm>

namespace ptxloom::spec {
namespace {

/// Depth first over tables, rows and cells; what a step binds it takes back.
class Joiner {
 public:
  /// Rows that are not on the target are left out, if one is given.
  Joiner(const Form& form, const std::vector<Known>& known, std::size_t most, const Target* target = nullptr)
      : form_(form), known_(known), most_(most), target_(target) {
    state_.values.resize(form.slots().size());
    state_.spellings.resize(form.slots().size(), Spelling::written);
    if (form.need() != nullptr) state_.needs.push_back(form.need());
  }

  std::vector<Joined> run() {
    if (sieve_rows()) table(0);
    return std::move(out_);
  }

 private:
  using Index = std::size_t;

  /// Leaves out the rows that what is known excludes by itself; false where a table has no other.
  bool sieve_rows() {
    for (const Table& table : form_.tables()) {
      std::vector<const Row*>& rows = rows_.emplace_back();
      for (const Row& row : table.rows)
        if (may_fit(table, row)) rows.push_back(&row);
      if (rows.empty()) return false;
    }
    return true;
  }

  bool may_fit(const Table& table, const Row& row) const {
    if (row.need != nullptr && !on_target({row.need})) return false;
    for (Index i = 0; i < row.cells.size() && !known_.empty(); ++i) {
      const int slot = table.columns[i];
      const Cell& cell_here = row.cells[i];
      if (cell_here.kind != Cell::Kind::one_of) continue;
      if (std::none_of(cell_here.values.begin(), cell_here.values.end(),
                       [&](const Alternative& any) { return fits(slot, any.value); }))
        return false;
    }
    return true;
  }

  void table(Index index) {
    if (index == form_.tables().size()) return finish();
    for (const Row* const row : rows_[index]) {
      if (out_.size() >= most_) return;
      const bool lax = state_.lax;
      state_.lax = lax || row->lax;
      if (row->need != nullptr) state_.needs.push_back(row->need);
      cell(index, *row, 0);
      if (row->need != nullptr) state_.needs.pop_back();
      state_.lax = lax;
    }
  }

  void cell(Index table_index, const Row& row, Index index) {
    if (index == row.cells.size()) return table(table_index + 1);
    const Cell& cell_here = row.cells[index];
    const int slot = form_.tables()[table_index].columns[index];
    const auto next = [&] { cell(table_index, row, index + 1); };
    switch (cell_here.kind) {
      case Cell::Kind::any:
        return next();
      case Cell::Kind::one_of:
        return choose(slot, cell_here.values, next);
      case Cell::Kind::same_as:
        if (const auto value = value_of(cell_here.slot); value.data() != nullptr) {
          const Alternative same{value, state_.spellings[static_cast<Index>(cell_here.slot)]};
          return choose(slot, {&same, 1}, next);
        }
        break;
      case Cell::Kind::none_of:
        if (const auto value = value_of(slot); value.data() != nullptr) {
          if (!contains(cell_here.values, value)) next();
          return;
        }
        break;
    }
    // It speaks of a slot that a later table binds: hold it against the finished row.
    postponed_.emplace_back(slot, &cell_here);
    next();
    postponed_.pop_back();
  }

  template <class Next>
  void choose(int slot, std::span<const Alternative> values, const Next& next) {
    const auto at = static_cast<Index>(slot);
    const std::string_view bound = state_.values[at];
    const Spelling spelling = state_.spellings[at];
    for (const Alternative& any : values) {
      if (out_.size() >= most_) break;
      if (bound.data() != nullptr ? any.value != bound : !fits(slot, any.value)) continue;
      state_.values[at] = any.value;
      state_.spellings[at] = bound.data() != nullptr ? std::max(spelling, any.spelling) : any.spelling;
      next();
    }
    state_.values[at] = bound;
    state_.spellings[at] = spelling;
  }

  bool fits(int slot, std::string_view value) const {
    return known_.empty() || allows(form_, known_[static_cast<Index>(slot)], slot, value);
  }

  bool on_target(const Needs& needs) const { return target_ == nullptr || lowest_version(needs, *target_); }

  std::string_view value_of(int slot) const { return state_.values[static_cast<Index>(slot)]; }

  void finish() {
    Joined row = state_;
    for (const auto& [slot, cell_here] : postponed_) {
      const auto at = static_cast<Index>(slot);
      if (cell_here->kind == Cell::Kind::same_as) {
        const std::string_view source = row.values[static_cast<Index>(cell_here->slot)];
        if (source.data() == nullptr) unbound(cell_here->slot);
        if (row.values[at].data() == nullptr && fits(slot, source)) row.values[at] = source;
        if (row.values[at] != source) return;
      } else {
        if (row.values[at].data() == nullptr) unbound(slot);
        if (contains(cell_here->values, row.values[at])) return;
      }
    }
    for (Index slot = 0; slot < row.values.size(); ++slot) {
      if (row.values[slot].data() == nullptr) unbound(static_cast<int>(slot));
      if (!known_.empty() && !spelled_as_known(row, slot)) return;
    }
    for (const auto& [word, need] : form_.word_needs()) {
      if (std::find(row.values.begin(), row.values.end(), word) != row.values.end())
        row.needs.push_back(need);
    }
    if (on_target(row.needs)) out_.push_back(std::move(row));
  }

  bool spelled_as_known(const Joined& row, Index slot) const {
    switch (known_[slot].state) {
      case Known::State::written:
        return row.spellings[slot] != Spelling::implied;
      case Known::State::unwritten:
        return row.values[slot] == kAbsent || row.spellings[slot] != Spelling::written;
      default:
        return true;
    }
  }

  [[noreturn]] void unbound(int slot) const {
    std::string row;
    for (Index i = 0; i < state_.values.size(); ++i) {
      if (state_.values[i].data() == nullptr) continue;
      row += (row.empty() ? "" : " ") + std::string(form_.slots().name(static_cast<int>(i))) + "=" +
             std::string(state_.values[i]);
    }
    fail("spec-unbound-slot", form_.place(),
         "the slot " + quote(form_.slots().name(slot)) + " has no value where " +
             (row.empty() ? "nothing is set" : row),
         "each way through the tables must give every slot one value");
  }

  const Form& form_;
  const std::vector<Known>& known_;
  const std::size_t most_;
  const Target* const target_;
  std::vector<std::vector<const Row*>> rows_;  // by table: those that may be in the result
  Joined state_;
  std::vector<std::pair<int, const Cell*>> postponed_;
  std::vector<Joined> out_;
};

}  // namespace

std::vector<Joined> join(const Form& form, const std::vector<Known>& known, std::size_t most) {
  return Joiner(form, known, most).run();
}

bool exists_on(const Form& form, const Target& target) { return !Joiner(form, {}, 1, &target).run().empty(); }

bool allows(const Form& form, const Known& known, int slot, std::string_view value) {
  switch (known.state) {
    case Known::State::value:
    case Known::State::written:
      return known.value == value;
    case Known::State::unwritten:
      return form.may_be_unwritten(slot, value);
    case Known::State::nothing:
      break;
  }
  return true;
}

bool contains(std::span<const Alternative> values, std::string_view value) {
  return std::any_of(values.begin(), values.end(), [&](const Alternative& a) { return a.value == value; });
}

}  // namespace ptxloom::spec
