// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "ptxloom/ptx.hpp"
#include "text/print_declarations.hpp"
#include "text/print_function.hpp"

namespace ptxloom {
namespace text {
namespace {

void write_header(Buffer& out, const ir::Module& module) {
  write_comments(out, module.header);
  if (!module.header.empty()) out << '\n';
  out << ".version " << module.version.major << '.' << module.version.minor << '\n';
  out << ".target " << std::string_view(module.target);
  for (const std::string& mode : module.modes) out << ", " << std::string_view(mode);
  out << "\n.address_size 64\n";
  for (const std::string& pragma : module.pragmas) out << ".pragma " << std::string_view(pragma) << ";\n";
}

// A function named by an initial value must be declared first; a body may name anything.
void write_declarations(Buffer& out, const ir::Module& module) {
  const auto is_declaration = [](const ir::Function& function) { return !function.defined; };
  if (!module.variables.empty() ||
      std::any_of(module.functions.begin(), module.functions.end(), is_declaration))
    out << '\n';
  for (const ir::Function& function : module.functions)
    if (is_declaration(function)) write_function(out, function);
  for (const ir::Variable& variable : module.variables) {
    write_comments(out, variable.header);
    write_variable(out, variable);
  }
}

void write_debug(Buffer& out, const ir::Module& module) {
  if (!module.files.empty()) out << '\n';
  for (const ir::File& file : module.files) {
    out << ".file " << file.index << ' ' << std::string_view(file.name);
    if (file.stamp) out << ", " << (*file.stamp)[0] << ", " << (*file.stamp)[1];
    out << '\n';
  }
  for (const ir::Section& section : module.sections) {
    out << "\n.section " << std::string_view(section.name) << "\n{\n";
    if (!section.body.empty()) out << std::string_view(section.body) << '\n';
    out << "}\n";
  }
}

std::size_t likely_size(const ir::Module& module) {
  constexpr std::size_t kUsualLine = 80;
  std::size_t size = 4096;
  for (const ir::Function& function : module.functions)
    size += kUsualLine * (function.body.size() + function.variables.size());
  for (const ir::Section& section : module.sections) size += section.body.size();
  return size;
}

}  // namespace
}  // namespace text

std::string print(const ir::Module& module) {
  text::Buffer out(text::likely_size(module));
  text::write_header(out, module);
  text::write_declarations(out, module);
  for (const ir::Function& function : module.functions) {
    if (!function.defined) continue;
    out << '\n';
    text::write_function(out, function);
  }
  if (!module.aliases.empty()) out << '\n';
  for (const ir::Alias& alias : module.aliases)
    out << ".alias " << std::string_view(alias.name) << ", " << std::string_view(alias.of) << ";\n";
  text::write_debug(out, module);
  if (!module.footer.empty()) out << '\n';
  text::write_comments(out, module.footer);
  return out.take();
}

}  // namespace ptxloom
