// SPDX-License-Identifier: Apache-2.0
#include "spec/feasible.hpp"

#include <algorithm>

namespace ptxloom::spec {
namespace {

using Domain = std::vector<std::string_view>;

class Narrowing {
 public:
  Narrowing(const Form& form, const std::vector<Known>& known) : form_(form) {
    for (std::size_t slot = 0; slot < known.size(); ++slot) {
      Domain& domain = domains_.emplace_back();
      for (const Alternative& any : form.domain(static_cast<int>(slot)))
        if (allows(form, known[slot], static_cast<int>(slot), any.value)) domain.push_back(any.value);
    }
  }

  const Table* run() {
    for (bool narrowed = true; narrowed;) {
      narrowed = false;
      for (const Table& table : form_.tables()) {
        std::vector<const Row*> rows;
        for (const Row& row : table.rows)
          if (!row.lax && possible(table, row)) rows.push_back(&row);
        if (rows.empty()) return &table;
        for (std::size_t column = 0; column < table.columns.size(); ++column)
          narrowed = narrow(table.columns[column], rows, column) || narrowed;
      }
    }
    return nullptr;
  }

 private:
  const Domain& domain(int slot) const { return domains_[static_cast<std::size_t>(slot)]; }

  /// Whether the cell allows the value for the slot.
  bool takes(const Cell& cell, std::string_view value) const {
    switch (cell.kind) {
      case Cell::Kind::one_of:
        return contains(cell.values, value);
      case Cell::Kind::none_of:
        return !contains(cell.values, value);
      case Cell::Kind::same_as: {
        const Domain& other = domain(cell.slot);
        return std::find(other.begin(), other.end(), value) != other.end();
      }
      default:
        return true;
    }
  }

  bool possible(const Table& table, const Row& row) const {
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const Domain& values = domain(table.columns[i]);
      if (std::none_of(values.begin(), values.end(),
                       [&](std::string_view v) { return takes(row.cells[i], v); }))
        return false;
    }
    return true;
  }

  /// Drops the values that none of the remaining rows has in this column.
  bool narrow(int slot, const std::vector<const Row*>& rows, std::size_t column) {
    return std::erase_if(domains_[static_cast<std::size_t>(slot)], [&](std::string_view value) {
             return std::none_of(rows.begin(), rows.end(),
                                 [&](const Row* row) { return takes(row->cells[column], value); });
           }) != 0;
  }

  const Form& form_;
  std::vector<Domain> domains_;
};

}  // namespace

const Table* table_without_row(const Form& form, const std::vector<Known>& known) {
  return Narrowing(form, known).run();
}

}  // namespace ptxloom::spec
