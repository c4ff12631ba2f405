// SPDX-License-Identifier: Apache-2.0
#include "spec/join.hpp"

#include <algorithm>
#include <set>

namespace ptxloom::spec {
namespace {

/// Which rows of tables are left out.
struct Sieve {
  bool lax = false;                                     ///< all lax rows
  std::optional<std::size_t> documented_of_table = {};  ///< the undocumented rows of this table
  std::optional<Version> by = {};                       ///< what the target has only in later PTX versions
};

/// Depth-first search over tables, rows and cells; bindings of a step are undone afterwards.
class Joiner {
 public:
  /// Rows that are not available on the target are left out, if one is given.
  Joiner(const Form& form, std::span<const Known> known, std::size_t most, const JoinVisitor& visit,
         const Target* target = nullptr, Sieve sieve = {})
      : form_(form), known_(known), most_(most), visit_(visit), target_(target), sieve_(sieve) {
    state_.values.resize(form.slots().size());
    state_.spellings.resize(form.slots().size(), Spelling::written);
    if (form.need() != nullptr) state_.needs.push_back(form.need());
    state_.lax = !form.data().undocumented.empty();
  }

  /// Returns the number of rows found.
  std::size_t run() {
    if (sieve_rows()) table(0);
    return found_;
  }

 private:
  using Index = std::size_t;

  /// Leaves out the rows that the known values exclude by themselves; false if a table has no other.
  bool sieve_rows() {
    ends_.reserve(form_.tables().size());
    for (const Table& table : form_.tables()) {
      const std::size_t begin = rows_.size();
      for (const Row& row : table.rows)
        if (!left_out(ends_.size(), row) && may_fit(table, row)) rows_.push_back(&row);
      if (rows_.size() == begin) return false;
      ends_.push_back(rows_.size());
    }
    return true;
  }

  bool left_out(Index table, const Row& row) const {
    return row.lax ? sieve_.lax : sieve_.documented_of_table == table;
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
    for (Index at = index == 0 ? 0 : ends_[index - 1]; at < ends_[index]; ++at) {
      if (found_ >= most_) return;
      const Row* const row = rows_[at];
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
    // It refers to a slot that a later table binds: check it against the finished row.
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
      if (found_ >= most_) break;
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

  bool on_target(const Needs& needs) const {
    if (target_ == nullptr) return true;
    const std::optional<Version> lowest = lowest_version(needs, *target_);
    return lowest && (!sieve_.by || *lowest <= *sieve_.by);
  }

  std::string_view value_of(int slot) const { return state_.values[static_cast<Index>(slot)]; }

  void finish() {
    Joined& row = finished_;
    row = state_;
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
    if (!on_target(row.needs)) return;
    ++found_;
    visit_(row);
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
             (row.empty() ? "nothing else is set" : row),
         "give every slot one value on each way through the tables");
  }

  const Form& form_;
  const std::span<const Known> known_;
  const std::size_t most_;
  const JoinVisitor& visit_;
  const Target* const target_;
  const Sieve sieve_;
  std::vector<const Row*> rows_;  // by table: the rows that may be in the result
  std::vector<Index> ends_;       // end of each table in it
  Joined state_, finished_;
  std::vector<std::pair<int, const Cell*>> postponed_;
  std::size_t found_ = 0;
};

}  // namespace

void join(const Form& form, std::span<const Known> known, std::size_t most, const JoinVisitor& visit) {
  Joiner(form, known, most, visit).run();
}

std::vector<Joined> join(const Form& form, std::span<const Known> known, std::size_t most) {
  std::vector<Joined> rows;
  join(form, known, most, [&](const Joined& row) { rows.push_back(row); });
  return rows;
}

namespace {

/// Whether some assemblers take an operand of the row in another way than the manual has it.
bool takes_otherwise(const Form& form, const LaxOperands& lax, const Joined& row) {
  return std::ranges::any_of(lax.operands, [&](const OperandTemplate& operand) {
    const auto at = std::ranges::find(form.operand_names(), operand.name) - form.operand_names().begin();
    const std::string usual = form.operands()[static_cast<std::size_t>(at)].fill(row.values);
    return !usual.empty() && operand.fill(row.values) != usual;
  });
}

bool has_lax_operands(const Form& form, const LaxOperands& lax, const Wanted& wanted) {
  if (wanted.target != nullptr && !lowest_version(Needs{lax.need}, *wanted.target)) return false;
  bool found = false;
  const JoinVisitor look = [&](const Joined& row) { found = found || takes_otherwise(form, lax, row); };
  Joiner(form, wanted.known, kAllRows, look, wanted.target, {.lax = true, .by = wanted.by}).run();
  return found;
}

}  // namespace

bool exists(const Form& form, const Wanted& wanted) {
  const JoinVisitor none = [](const Joined&) {};
  const auto found = [&](Sieve sieve) {
    sieve.by = wanted.by;
    return Joiner(form, wanted.known, 1, none, wanted.target, sieve).run() > 0;
  };
  if (!form.data().undocumented.empty()) return !wanted.documented.value_or(false) && found({});
  if (!wanted.documented || *wanted.documented) return found({.lax = wanted.documented.has_value()});
  for (const LaxOperands& lax : form.lax_operands())
    if (has_lax_operands(form, lax, wanted)) return true;
  for (std::size_t table = 0; table < form.tables().size(); ++table) {
    const bool any = std::ranges::any_of(form.tables()[table].rows, &Row::lax);
    if (any && found({.documented_of_table = table})) return true;
  }
  return false;
}

std::optional<Version> earliest(const Form& form, const Target& target) {
  const std::span<const Version> known = form.vocabulary().versions();  // those of overlays come last
  const std::set<Version> sorted(known.begin(), known.end());
  const std::vector<Version> versions(sorted.begin(), sorted.end());
  const auto lacks = [&](Version by) { return !exists(form, {.target = &target, .known = {}, .by = by}); };
  const auto first = std::partition_point(versions.begin(), versions.end(), lacks);
  return first == versions.end() ? std::nullopt : std::optional(*first);
}

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
