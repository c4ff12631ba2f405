// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <string_view>

#include "exec/operation.hpp"

namespace ptxloom::exec {

const Semantics* find_semantics(std::string_view form) {
  static const auto all = [] {
    std::map<std::string_view, const Semantics*> by_form;
    for (const auto family : {integer_semantics(), bit_semantics(), float_semantics(), compare_semantics(),
                              convert_semantics(), move_semantics(), memory_semantics(), async_semantics(),
                              control_semantics(), shuffle_semantics(), mma_semantics(), matrix_semantics()}) {
      for (const Semantics& semantics : family) by_form.emplace(semantics.form, &semantics);
    }
    return by_form;
  }();
  const auto found = all.find(form);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace ptxloom::exec
