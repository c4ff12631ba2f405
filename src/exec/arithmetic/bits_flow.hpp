// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exec/machine/form_flow.hpp"

// The data flow of logic, shifts, bit fields and byte permutation: which bits of a result are undefined.
namespace ptxloom::exec {

FormFlow logic_flow(const Variant& variant);
FormFlow not_flow(const Variant& variant);
FormFlow shift_flow(const Variant& variant);
FormFlow funnel_flow(const Variant& variant);
FormFlow count_flow(const Variant& variant);
FormFlow extract_flow(const Variant& variant);
FormFlow insert_flow(const Variant& variant);
FormFlow extend_flow(const Variant& variant);
FormFlow permute_flow(const Variant& variant);
std::uint64_t table_flow(std::span<const FlowOperand> in, std::size_t result);
std::uint64_t table_and_predicate_flow(std::span<const FlowOperand> in, std::size_t result);

}  // namespace ptxloom::exec
