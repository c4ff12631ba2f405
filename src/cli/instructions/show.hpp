// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ptxloom/specs.hpp"
#include "ptxloom/target.hpp"

// The subjects of `show`: the variants of an opcode (show.cpp), a form (show_form.cpp), an element type
// (show_type.cpp); and what these share (show_parts.cpp).
namespace ptxloom::cli {

/// As text, and as a value of docs/json/show.json; restricted to a target, if one is given.
void print_form(const Specs& specs, std::string_view form, const std::optional<Target>& target);
nlohmann::ordered_json form_json(const Specs& specs, std::string_view form,
                                 const std::optional<Target>& target);
void print_type(const Specs& specs, Type type, const std::optional<Target>& target);
nlohmann::ordered_json type_json(const Specs& specs, Type type, const std::optional<Target>& target);

/// A modifier of a form, and the values it has in the form's variants, in order; "-" = omitted.
struct Modifier {
  std::string name;
  std::vector<std::string> values;
};

/// On the target, if one is given.
std::vector<Modifier> modifiers(const Specs& specs, std::string_view form,
                                const std::optional<Target>& target);
/// The values on one line; four or more numbers in equal steps as "8..256/8".
std::string line_of(const std::vector<std::string>& values);

/// Each target that has the variant, or any of the form's, with the lowest PTX version.
using Places = std::vector<std::pair<Target, Version>>;
Places targets_of(const Specs& specs, Variant variant);
Places targets_of(const Specs& specs, std::string_view form);
/// "sm_80 (7.0) sm_86 (7.1)"
std::string to_text(const Places& places);
/// What these PTX versions take on these targets: a line each of a version, CUDA, driver and its targets.
std::string requirements_text(const Places& places);
nlohmann::ordered_json to_json(const Places& places);

/// The targets that lack the variant and get it by a fallback of src/lower.
std::vector<Target> emulating(const Specs& specs, const Variant& variant);

std::string_view direction_name(OperandSpec::Direction direction);

}  // namespace ptxloom::cli
