// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <string_view>
#include <vector>

#include "exec/machine/operation.hpp"
#include "exec/machine/system_call.hpp"

// The families of instructions, and the system calls. Each file of semantics has some, and the machine knows
// no other way to them.
namespace ptxloom::exec {

std::span<const Semantics> integer_semantics();
std::span<const Semantics> bit_semantics();
std::span<const Semantics> float_semantics();
std::span<const Semantics> compare_semantics();
std::span<const Semantics> convert_semantics();
std::span<const Semantics> stochastic_semantics();
std::span<const Semantics> move_semantics();
std::span<const Semantics> special_semantics();
std::span<const Semantics> generic_semantics();
std::span<const Semantics> hint_semantics();
std::span<const Semantics> stack_semantics();
std::span<const Semantics> video_semantics();
std::span<const Semantics> vote_semantics();
std::span<const Semantics> memory_semantics();
std::span<const Semantics> async_semantics();
std::span<const Semantics> atomic_semantics();
std::span<const Semantics> mbarrier_semantics();
std::span<const Semantics> cluster_semantics();
std::span<const Semantics> cancel_semantics();
std::span<const Semantics> bulk_semantics();
std::span<const Semantics> store_async_semantics();
std::span<const Semantics> tensor_semantics();
std::span<const Semantics> tensor_map_semantics();
std::span<const Semantics> control_semantics();
std::span<const Semantics> shuffle_semantics();
std::span<const Semantics> mma_semantics();
std::span<const Semantics> matrix_semantics();
std::span<const Semantics> wmma_semantics();
std::span<const Semantics> wgmma_semantics();

std::span<const SystemFunction> print_functions();
std::span<const SystemFunction> assert_functions();
std::span<const SystemFunction> lacking_functions();

const SystemFunction* find_system_function(std::string_view name) {
  for (const auto functions : {print_functions(), assert_functions(), lacking_functions()}) {
    for (const SystemFunction& function : functions) {
      const bool is_beginning = function.name.ends_with('*');
      if (is_beginning ? name.starts_with(function.name.substr(0, function.name.size() - 1))
                       : name == function.name)
        return &function;
    }
  }
  return nullptr;
}

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
