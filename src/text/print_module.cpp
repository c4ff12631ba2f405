// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "ir/naming.hpp"
#include "ptxloom/ptx.hpp"
#include "text/print_instruction.hpp"

namespace ptxloom {
namespace text {
namespace {

constexpr std::string_view kIndent = "    ";

std::string_view space_name(ir::Space space) {
  switch (space) {
    case ir::Space::global:
      return ".global";
    case ir::Space::shared:
      return ".shared";
    case ir::Space::local:
      return ".local";
    case ir::Space::constant:
      break;
  }
  return ".const";
}

void write_align(Buffer& out, std::uint32_t alignment) {
  if (alignment != 0) out << " .align " << alignment;
}

// Elements as PTX writes them: floats by their bits, everything else as unsigned integers.
void write_initial(Buffer& out, const ir::Variable& variable) {
  const auto bytes = static_cast<std::size_t>(variable.type.bytes());
  out << " = " << (variable.count > 1 ? "{" : "");
  for (std::size_t at = 0; at + bytes <= variable.initial.size(); at += bytes) {
    std::uint64_t bits = 0;
    for (std::size_t i = bytes; i-- > 0;) bits = bits << 8 | variable.initial[at + i];
    if (at != 0) out << ", ";
    if (variable.type == f32) {
      out << "0f", out.hex(bits, 8);
    } else if (variable.type == f64) {
      out << "0d", out.hex(bits, 16);
    } else {
      out << bits;
    }
  }
  if (variable.count > 1) out << '}';
}

void write_variable(Buffer& out, const ir::Variable& variable) {
  if (variable.external) out << ".extern ";
  out << space_name(variable.space);
  write_align(out, variable.alignment);
  out << " ." << variable.type.name << ' ' << std::string_view(variable.name);
  if (variable.count == 0) out << "[]";
  if (variable.count > 1) out << '[' << variable.count << ']';
  if (!variable.initial.empty()) write_initial(out, variable);
  out << ";\n";
}

void write_parameter(Buffer& out, const ir::Parameter& parameter) {
  out << ".param";
  if (!parameter.pointer) write_align(out, parameter.alignment);
  out << " ." << parameter.type.name;
  if (parameter.pointer) {
    out << " .ptr " << space_name(*parameter.pointer);
    write_align(out, parameter.alignment);
  }
  out << ' ' << std::string_view(parameter.name);
  if (parameter.count != 0) out << '[' << parameter.count << ']';
}

void write_signature(Buffer& out, const ir::Kernel& kernel) {
  out << ".visible .entry " << std::string_view(kernel.name) << '(';
  std::string_view before = "\n";
  for (const ir::Parameter& parameter : kernel.parameters) {
    out << before << kIndent;
    write_parameter(out, parameter);
    before = ",\n";
  }
  out << (kernel.parameters.empty() ? ")\n" : "\n)\n");
}

void write_directives(Buffer& out, const ir::Kernel& kernel) {
  const auto triple = [&](std::string_view name, const std::optional<std::array<std::uint32_t, 3>>& n) {
    if (n) out << name << ' ' << (*n)[0] << ", " << (*n)[1] << ", " << (*n)[2] << '\n';
  };
  const auto single = [&](std::string_view name, const std::optional<std::uint32_t>& n) {
    if (n) out << name << ' ' << *n << '\n';
  };
  triple(".maxntid", kernel.maxntid);
  triple(".reqntid", kernel.reqntid);
  triple(".reqnctapercluster", kernel.reqnctapercluster);
  single(".minnctapersm", kernel.minnctapersm);
  single(".maxnreg", kernel.maxnreg);
  single(".maxclusterrank", kernel.maxclusterrank);
  if (kernel.explicitcluster) out << ".explicitcluster\n";
}

// A name such as "%rs12" as its stem and number; the number is -1 where the name has none that could stand in
// `<N>`.
struct NumberedName {
  std::string_view stem;
  std::int64_t number = -1;
};
NumberedName split_name(std::string_view name) {
  const std::size_t stem = name.find_last_not_of("0123456789") + 1;
  const std::string_view digits = name.substr(stem);
  if (stem == 0 || digits.empty() || digits.size() > 9 || (digits.size() > 1 && digits[0] == '0'))
    return {name};
  std::int64_t number = 0;
  for (const char digit : digits) number = 10 * number + (digit - '0');
  return {name.substr(0, stem), number};
}

// How many registers from `first` on are name0, name1, ... of one type.
std::size_t run_length(std::span<const ir::RegisterDecl> registers, std::size_t first) {
  const NumberedName start = split_name(registers[first].name);
  if (start.number != 0) return 1;
  std::size_t n = 1;
  while (first + n < registers.size() && registers[first + n].type == registers[first].type) {
    const NumberedName next = split_name(registers[first + n].name);
    if (next.stem != start.stem || next.number != static_cast<std::int64_t>(n)) break;
    ++n;
  }
  return n;
}

void write_registers(Buffer& out, const ir::Kernel& kernel) {
  std::array<std::uint32_t, ir::kRegisterClasses.size()> used{};
  for (const ir::RegisterDecl& decl : kernel.registers)
    if (decl.name.empty()) {
      std::uint32_t& count = used[ir::register_class(decl.type)];
      count = std::max(count, decl.number + 1);
    }
  for (std::size_t i = 0; i < used.size(); ++i) {
    const ir::RegisterClass& cls = ir::kRegisterClasses[i];
    if (used[i] != 0)
      out << kIndent << ".reg ." << cls.type.name << ' ' << cls.prefix << '<' << used[i] << ">;\n";
  }
  for (std::size_t i = 0; i < kernel.registers.size();) {
    const ir::RegisterDecl& decl = kernel.registers[i];
    if (decl.name.empty()) {
      ++i;
      continue;
    }
    const std::size_t run = run_length(kernel.registers, i);
    out << kIndent << ".reg ." << decl.type.name << ' ';
    if (run == 1) out << std::string_view(decl.name);
    if (run > 1) out << split_name(decl.name).stem << '<' << run << '>';
    out << ";\n";
    i += run;
  }
}

void write_body(Buffer& out, const ir::Kernel& kernel) {
  const RegisterNames names(kernel);
  const InstructionPrinter instructions(kernel, names);
  for (const ir::Statement& statement : kernel.body) {
    switch (statement.kind) {
      case ir::Statement::Kind::instruction:
        out << kIndent;
        instructions.write(out, kernel.instructions[statement.index]);
        break;
      case ir::Statement::Kind::label:
        out << std::string_view(kernel.labels[statement.index]) << ':';
        break;
      case ir::Statement::Kind::pragma:
        out << kIndent << ".pragma " << std::string_view(kernel.pragmas[statement.index]) << ';';
        break;
      case ir::Statement::Kind::comment: {
        const std::string_view comment = kernel.comments[statement.index];
        const bool section = comment.starts_with("----");
        out << (section ? "\n" : "") << kIndent << (comment.empty() ? "//" : "// ") << comment;
        break;
      }
    }
    out << '\n';
  }
}

void write_kernel(Buffer& out, const ir::Kernel& kernel) {
  out << '\n';
  write_signature(out, kernel);
  write_directives(out, kernel);
  out << "{\n";
  write_registers(out, kernel);
  for (const ir::Variable& variable : kernel.variables) {
    out << kIndent;
    write_variable(out, variable);
  }
  if (!kernel.registers.empty() || !kernel.variables.empty()) out << '\n';
  write_body(out, kernel);
  out << "}\n";
}

}  // namespace
}  // namespace text

std::string print(const ir::Module& module) {
  std::size_t instructions = 0;
  for (const ir::Kernel& kernel : module.kernels) instructions += kernel.instructions.size();
  constexpr std::size_t kUsualLine = 80;
  text::Buffer out(4096 + kUsualLine * instructions);
  for (const std::string& line : module.header)
    out << (line.empty() ? "//" : "// ") << std::string_view(line) << '\n';
  if (!module.header.empty()) out << '\n';
  out << ".version " << module.version.major << '.' << module.version.minor << '\n';
  out << ".target " << std::string_view(module.target) << '\n';
  out << ".address_size 64\n";
  if (!module.variables.empty()) out << '\n';
  for (const ir::Variable& variable : module.variables) text::write_variable(out, variable);
  for (const ir::Kernel& kernel : module.kernels) text::write_kernel(out, kernel);
  return out.take();
}

}  // namespace ptxloom
