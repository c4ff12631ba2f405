// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "ptxloom/target.hpp"
#include "spec/arena.hpp"
#include "spec/form_data.hpp"

// Reads JSON into FormData: structure and field names are checked here, meaning in form.hpp. Shared by
// specgen and overlays.
namespace ptxloom::spec {

/// The contents of a folder of spec files. A file is classified by its fields: "forms" (insn/*.json, or one
/// form on its own), "types", "classes" (words), "around" (surroundings), "directives", "targets" or "ptx"
/// (versions).
struct ReadSpecs {
  std::vector<FormData> forms;
  std::vector<TypeData> types;
  std::vector<WordClass> words;
  std::vector<Surrounding> surroundings;
  DirectivesData directives;
  std::vector<TargetInfo> targets;
  std::vector<Version> versions;  // of PTX
};

/// Adds the file's contents; texts go into the arena. Throws Error(usage, "spec-...").
void read_file(const std::filesystem::path& path, Arena& arena, ReadSpecs& into);
/// The same from text; `name` identifies it in errors.
void read_text(std::string_view text, std::string_view name, Arena& arena, ReadSpecs& into);
/// Reads every *.json of the folder and of its subfolder insn, in name order.
void read_folder(const std::filesystem::path& folder, Arena& arena, ReadSpecs& into);

}  // namespace ptxloom::spec
