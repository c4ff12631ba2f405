// SPDX-License-Identifier: Apache-2.0
#include "spec/join.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "spec/database.hpp"
#include "spec/form_data.hpp"

namespace ptxloom::spec {
namespace {

std::vector<std::vector<std::string_view>> values_of(const std::vector<Joined>& rows) {
  std::vector<std::vector<std::string_view>> values;
  for (const Joined& row : rows) values.push_back(row.values);
  return values;
}

}  // namespace

TEST_CASE("if more rows exist than requested, the first are returned") {
  const Database database(compiled_specs(), {});
  std::size_t cut = 0;
  for (const FormData* data : database.forms()) {
    const Form& form = database.form(*data);
    const auto all = values_of(join(form, {}));
    CAPTURE(data->name, all.size());
    for (const std::size_t most : {std::size_t{1}, std::size_t{2}, (all.size() + 1) / 2, all.size() + 1}) {
      const auto first = values_of(join(form, {}, most));
      CHECK(first.size() == std::min(most, all.size()));
      CHECK(std::ranges::equal(
          first, std::vector(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(first.size()))));
      cut += most < all.size() ? 1U : 0U;
    }
  }
  CHECK(cut > 100);
}

}  // namespace ptxloom::spec
