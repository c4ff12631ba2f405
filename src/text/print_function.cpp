// SPDX-License-Identifier: Apache-2.0
#include "text/print_function.hpp"

#include "text/print_declarations.hpp"
#include "text/print_instruction.hpp"

namespace ptxloom::text {
namespace {

void write_head(Buffer& out, const ir::Function& function) {
  write_linkage(out, function.linkage);
  out << (function.entry ? ".entry" : ".func");
  write_attribute(out, false, function.unified);
  if (!function.results.empty()) {
    out << ' ';
    write_parameters(out, function.results, false);
  }
  out << ' ' << std::string_view(function.name);
  write_parameters(out, function.parameters, true);
  if (!function.entry) write_call_directives(out, function);
}

void write_directives(Buffer& out, const ir::Function& function) {
  const auto triple = [&](std::string_view name, const std::optional<std::array<std::uint32_t, 3>>& n) {
    if (n) out << name << ' ' << (*n)[0] << ", " << (*n)[1] << ", " << (*n)[2] << '\n';
  };
  const auto single = [&](std::string_view name, const std::optional<std::uint32_t>& n) {
    if (n) out << name << ' ' << *n << '\n';
  };
  triple(".maxntid", function.maxntid);
  triple(".reqntid", function.reqntid);
  triple(".reqnctapercluster", function.reqnctapercluster);
  single(".minnctapersm", function.minnctapersm);
  single(".maxnreg", function.maxnreg);
  single(".maxclusterrank", function.maxclusterrank);
  single(".minperctamemory", function.minperctamemory);
  if (function.explicitcluster) out << ".explicitcluster\n";
  if (function.blocksareclusters) out << ".blocksareclusters\n";
  for (std::size_t i = 0; i < function.languages.size(); ++i)
    out << (i == 0 ? ".language " : ", ") << std::string_view(function.languages[i]);
  if (!function.languages.empty()) out << '\n';
  for (const std::string& pragma : function.header_pragmas)
    out << ".pragma " << std::string_view(pragma) << ";\n";
}

void write_comment_statement(Buffer& out, std::string_view comment) {
  if (comment.starts_with("----")) out << '\n';  // a section
  write_comment(out, kIndent, comment);
}

void write_targets(Buffer& out, const ir::Function& function, const ir::Targets& targets) {
  const bool branch = targets.kind == ir::Targets::Kind::branch;
  out << kIndent << std::string_view(function.labels[targets.label])
      << (branch ? ": .branchtargets " : ": .calltargets ");
  for (std::size_t i = 0; i < targets.names.size(); ++i) {
    const std::uint32_t name = targets.names[i];
    out << (i == 0 ? "" : ", ")
        << std::string_view(branch ? function.labels[name] : function.symbols[name].name);
  }
  out << ';';
}

void write_prototype(Buffer& out, const ir::Function& function, const ir::Prototype& prototype) {
  out << kIndent << std::string_view(function.labels[prototype.label]) << ": .callprototype ";
  if (!prototype.results.empty()) {
    write_parameters(out, prototype.results, false);
    out << ' ';
  }
  out << "_ ";
  write_parameters(out, prototype.parameters, false);
  write_call_directives(out, prototype);
  out << ';';
}

void write_place(Buffer& out, const ir::Location::Place& place) {
  out << ' ' << place.file << ' ' << place.line << ' ' << place.column;
}

void write_location(Buffer& out, const ir::Location& location) {
  out << kIndent << (location.intermediate ? ".loc_intermediate" : ".loc");
  write_place(out, location.place);
  if (!location.function.empty()) out << ", function_name " << std::string_view(location.function);
  if (!location.inlined_at) return;
  out << ", inlined_at";
  write_place(out, *location.inlined_at);
}

void write_statement(Buffer& out, const ir::Function& function, const InstructionPrinter& instructions,
                     const ir::Statement& statement) {
  const std::uint32_t i = statement.index;
  switch (statement.kind) {
    case ir::Statement::Kind::instruction:
      out << kIndent;
      return instructions.write(out, function.instructions[i]);
    case ir::Statement::Kind::call:
      out << kIndent;
      return instructions.write(out, function.calls[i]);
    case ir::Statement::Kind::label:
      out << std::string_view(function.labels[i]) << ':';
      return;
    case ir::Statement::Kind::pragma:
      out << kIndent << ".pragma " << std::string_view(function.pragmas[i]) << ';';
      return;
    case ir::Statement::Kind::comment:
      return write_comment_statement(out, function.comments[i]);
    case ir::Statement::Kind::targets:
      return write_targets(out, function, function.targets[i]);
    case ir::Statement::Kind::prototype:
      return write_prototype(out, function, function.prototypes[i]);
    case ir::Statement::Kind::location:
      return write_location(out, function.locations[i]);
  }
}

void write_body(Buffer& out, const ir::Function& function) {
  out << "{\n";
  write_registers(out, function);
  for (const ir::Variable& variable : function.variables) {
    out << kIndent;
    write_variable(out, variable);
  }
  if (!function.registers.empty() || !function.variables.empty()) out << '\n';
  const RegisterNames names(function);
  const InstructionPrinter instructions(function, names);
  for (const ir::Statement& statement : function.body) {
    write_statement(out, function, instructions, statement);
    out << '\n';
  }
  out << "}\n";
}

}  // namespace

void write_function(Buffer& out, const ir::Function& function) {
  write_comments(out, function.header);
  write_head(out, function);
  out << (function.defined ? "\n" : ";\n");
  if (!function.defined) return;
  write_directives(out, function);
  write_body(out, function);
}

}  // namespace ptxloom::text
