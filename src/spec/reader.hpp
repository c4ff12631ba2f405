// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "ptxloom/target.hpp"
#include "spec/arena.hpp"
#include "spec/form_data.hpp"

// JSON to FormData: shape and field names are checked here, meaning in compile.hpp. specgen and overlays
// share it.
namespace ptxloom::spec {

/// What a folder of spec files holds. A file is known by its fields: "forms" (insn/*.json, or one form on its
/// own), "types", "classes" (words), "around" (surroundings), "targets" or "ptx" (versions).
struct ReadSpecs {
  std::vector<FormData> forms;
  std::vector<TypeData> types;
  std::vector<WordClass> words;
  std::vector<Surrounding> surroundings;
  std::vector<TargetInfo> targets;
  std::vector<Version> versions;  // of PTX
};

/// Adds the file's contents; texts go into the arena. Throws Error(usage, "spec-...").
void read_file(const std::filesystem::path& path, Arena& arena, ReadSpecs& into);
/// The same from text; `name` is how errors call it.
void read_text(std::string_view text, std::string_view name, Arena& arena, ReadSpecs& into);
/// Every *.json of the folder and of its folder insn, in the order of their names.
void read_folder(const std::filesystem::path& folder, Arena& arena, ReadSpecs& into);

}  // namespace ptxloom::spec
