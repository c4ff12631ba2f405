// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "ptxloom/template.hpp"
#include "ptxloom/version.hpp"

/// \file
/// Templates by name: those of this library, and those of template libraries. A template library is a shared
/// library that someone else has compiled against these headers. With
///
///     const pl::Template& scale() {
///       static const Scale instance;  // derived from ptxloom::Template
///       return instance;
///     }
///     PTXLOOM_TEMPLATE_LIBRARY(&scale())
///
/// in libscale.so and PTXLOOM_TEMPLATES=./libscale.so in the environment, `ptxloom run scale`, `emit scale`
/// and `tune scale` work as they do for gemm. The library must not link ptxloom itself: it uses the copy in
/// the program that loads it. CMake: link ptxloom::headers. The command line tool exports what it needs; a
/// program that links ptxloom statically must export its symbols (ENABLE_EXPORTS).
namespace [[gnu::visibility("default")]] ptxloom {

/// What a template library has. PTXLOOM_TEMPLATE_LIBRARY defines the function that returns it.
struct TemplateLibrary {
  const Template* const* templates;  ///< which live as long as the process
  std::size_t count;                 ///< number of templates
};

/// The templates that a program knows.
class Templates {
 public:
  /// A template, and where it comes from.
  struct Entry {
    const Template* value;          ///< the template, which lives as long as the process
    std::filesystem::path library;  ///< of a template library; empty: this library, or the program itself
  };

  /// The templates of this library.
  Templates();
  /// Those, and the ones of the libraries that PTXLOOM_TEMPLATES names (files, separated by colons). Throws
  /// as load().
  static Templates from_environment();

  /// Adds a template, which must live as long as the process. Throws Error(usage): "template-name" if there
  /// is one of this name, "bad-space" for a space that cannot be read, has two parameters of one name, or the
  /// name of another template.
  void add(const Template& added);
  /// Adds all templates of a library, which stays loaded. Throws Error(usage): "template-library" for a file
  /// that cannot be loaded or is no template library, "template-version" for one that was compiled with
  /// another version of ptxloom, and what add() throws.
  void load(const std::filesystem::path& library);

  std::span<const Entry> all() const { return entries_; }  ///< in the order in which they were added
  /// A template by its name. Throws Error(usage, "unknown-template"), with all names.
  const Template& find(std::string_view name) const;

 private:
  void add(const Template& added, const std::filesystem::path& library);
  const Entry* known(std::string_view name) const;

  std::vector<Entry> entries_;
};

/// Defines the entry point of a template library, and the version of its headers, which is read before
/// anything is called. The arguments are addresses of templates that live as long as the process. Give them
/// as above, by functions that make them: the constructor of a global object runs before the version has been
/// compared, and what it throws ends the program.
#define PTXLOOM_TEMPLATE_LIBRARY(...)                                                                   \
  extern "C" {                                                                                          \
  [[gnu::visibility("default")]] extern const char ptxloom_template_library_version[];                  \
  const char ptxloom_template_library_version[] = PTXLOOM_VERSION;                                      \
  [[gnu::visibility("default")]] const ptxloom::TemplateLibrary* ptxloom_template_library() {           \
    static const ptxloom::Template* const templates[] = {__VA_ARGS__};                                  \
    static const ptxloom::TemplateLibrary library{templates, sizeof(templates) / sizeof(templates[0])}; \
    return &library;                                                                                    \
  }                                                                                                     \
  }

}  // namespace ptxloom
