// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/templates.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "dequantize/template.hpp"
#include "ptxloom/gemm.hpp"
#include "ptxloom/space.hpp"
#include "quantize/template.hpp"
#include "rowwise/template.hpp"
#include "scaled_gemm/template.hpp"
#include "shuffle_weights/template.hpp"
#include "sparse_gemm/template.hpp"

namespace ptxloom {
namespace {

Error refuse(const char* code, std::string message, std::string hint) {
  return Error(ErrorKind::usage, code, std::move(message), std::move(hint));
}

/// The reason that the dynamic linker gives.
std::string loading_failure() {
  const char* const text = ::dlerror();
  return text == nullptr ? "unknown reason" : text;
}

const TemplateLibrary& open(const std::filesystem::path& file) {
  // A name without a slash would be looked for in the system's folders. Nothing closes the library: its
  // templates live as long as the process.
  void* const handle = ::dlopen(std::filesystem::absolute(file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    throw refuse(
        "template-library", "cannot load the template library " + file.string() + ": " + loading_failure(),
        "PTXLOOM_TEMPLATES names shared libraries, separated by colons; an undefined symbol means that "
        "it was compiled against another ptxloom");
  const auto version = static_cast<const char*>(::dlsym(handle, "ptxloom_template_library_version"));
  using Entry = const TemplateLibrary* (*)();
  const auto entry = reinterpret_cast<Entry>(::dlsym(handle, "ptxloom_template_library"));
  if (entry == nullptr)
    throw refuse("template-library", file.string() + " is not a template library",
                 "its source must have PTXLOOM_TEMPLATE_LIBRARY(&my_template()), from ptxloom/templates.hpp");
  if (version == nullptr || version != std::string_view(PTXLOOM_VERSION))
    throw refuse("template-version",
                 file.string() + " was compiled with " +
                     (version == nullptr ? "an earlier ptxloom" : std::string("ptxloom ") + version) +
                     ", and this is " + PTXLOOM_VERSION,
                 "compile it with the headers of this version");
  return *entry();
}

}  // namespace

Templates::Templates()
    : entries_{{&gemm_template(), {}},       {&rowwise_template(), {}},     {&quantize_template(), {}},
               {&dequantize_template(), {}}, {&scaled_gemm_template(), {}}, {&shuffle_weights_template(), {}},
               {&sparse_gemm_template(), {}}} {}

Templates Templates::from_environment() {
  Templates templates;
  const char* const variable = std::getenv("PTXLOOM_TEMPLATES");
  std::string_view rest = variable == nullptr ? "" : variable;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (end > 0) templates.load(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return templates;
}

void Templates::load(const std::filesystem::path& file) try {
  const TemplateLibrary& library = open(file);
  for (const Template* const one : std::span(library.templates, library.count)) add(*one, file);
} catch (const Error& error) {
  if (error.code() != "bad-space") throw;
  const Diagnostic& what = error.diagnostics().front();
  throw refuse("bad-space", file.string() + ": " + what.message, what.hint);
}

void Templates::add(const Template& added) { add(added, {}); }

void Templates::add(const Template& added, const std::filesystem::path& library) {
  const std::string name(added.name());
  if (const Entry* const other = known(name))
    throw refuse("template-name", "there are two templates '" + name + "'",
                 "rename the one of " + (library.empty() ? "the program" : library.string()) +
                     "; the other one is " +
                     (other->library.empty() ? "built in" : "of " + other->library.string()));
  if (const ParameterSpace space(added.space()); space.name() != name)
    throw refuse("bad-space", "the space of template '" + name + "' is that of '" + space.name() + "'",
                 "Template::name() and \"template\" in its space must agree");
  entries_.push_back({&added, library});
}

const Templates::Entry* Templates::known(std::string_view name) const {
  const auto found =
      std::ranges::find(entries_, name, [](const Entry& entry) { return entry.value->name(); });
  return found == entries_.end() ? nullptr : &*found;
}

const Template& Templates::find(std::string_view name) const {
  if (const Entry* const entry = known(name)) return *entry->value;
  std::string names;
  for (const Entry& entry : entries_) names += (names.empty() ? "" : ", ") + std::string(entry.value->name());
  throw refuse("unknown-template", "there is no template '" + std::string(name) + "'",
               "the templates are: " + names +
                   "; PTXLOOM_TEMPLATES adds those of template libraries, and a file of PTX must exist");
}

}  // namespace ptxloom
