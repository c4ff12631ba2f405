// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <string_view>
#include <vector>

#include "exec/machine/operation.hpp"

namespace ptxloom::exec {

std::vector<std::span<const Semantics>> semantics_families() {
  return {integer_semantics(),     bit_semantics(),        float_semantics(),      compare_semantics(),
          convert_semantics(),     stochastic_semantics(), move_semantics(),       special_semantics(),
          generic_semantics(),     memory_semantics(),     async_semantics(),      atomic_semantics(),
          mbarrier_semantics(),    cluster_semantics(),    cancel_semantics(),     bulk_semantics(),
          store_async_semantics(), tensor_semantics(),     tensor_map_semantics(), control_semantics(),
          stack_semantics(),       video_semantics(),      hint_semantics(),       shuffle_semantics(),
          vote_semantics(),        mma_semantics(),        matrix_semantics(),     wmma_semantics(),
          wgmma_semantics()};
}

std::map<std::string_view, const Semantics*> semantics_by_form() {
  std::map<std::string_view, const Semantics*> by_form;
  for (const auto family : semantics_families()) {
    for (const Semantics& semantics : family) by_form.emplace(semantics.form, &semantics);
  }
  return by_form;
}

}  // namespace ptxloom::exec
