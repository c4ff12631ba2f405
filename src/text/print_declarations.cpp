// SPDX-License-Identifier: Apache-2.0
#include "text/print_declarations.hpp"

#include <algorithm>
#include <array>

#include "ir/naming.hpp"

namespace ptxloom::text {
namespace {

std::string_view space_name(ir::Space space) {
  switch (space) {
    case ir::Space::global:
      return ".global";
    case ir::Space::shared:
      return ".shared";
    case ir::Space::local:
      return ".local";
    case ir::Space::constant:
      return ".const";
    case ir::Space::param:
    case ir::Space::function:
      return ".param";
    case ir::Space::generic:
    case ir::Space::code:
      break;
  }
  return "";
}

void write_align(Buffer& out, std::uint32_t alignment) {
  if (alignment != 0) out << " .align " << alignment;
}

void write_address(Buffer& out, const ir::AddressValue& address) {
  if (address.mask != 0) out << "0x", out.hex(address.mask, 16), out << '(';
  out << (address.generic ? "generic(" : "") << std::string_view(address.name)
      << (address.generic ? ")" : "");
  if (address.addend != 0) out << '+' << address.addend;
  if (address.mask != 0) out << ')';
}

// Floats as bits, everything else as unsigned integers.
void write_number(Buffer& out, const Type& type, std::uint64_t bits) {
  if (type == f32) {
    out << "0f", out.hex(bits, 8);
  } else if (type == f64) {
    out << "0d", out.hex(bits, 16);
  } else {
    out << bits;
  }
}

bool is_array(const ir::Variable& variable) { return variable.count > 1 || variable.array; }

void write_initial(Buffer& out, const ir::Variable& variable) {
  const auto bytes = static_cast<std::size_t>(variable.type.whole_bytes());
  auto address = variable.addresses.begin();
  out << " = " << (is_array(variable) ? "{" : "");
  for (std::size_t at = 0; at + bytes <= variable.initial.size(); at += bytes) {
    if (at != 0) out << ", ";
    if (address != variable.addresses.end() && address->offset == at) {
      write_address(out, *address++);
      continue;
    }
    std::uint64_t bits = 0;
    for (std::size_t i = std::min<std::size_t>(bytes, 8); i-- > 0;)
      bits = bits << 8 | variable.initial[at + i];
    write_number(out, variable.type, bits);
  }
  if (is_array(variable)) out << '}';
}

void write_parameter(Buffer& out, const ir::Parameter& parameter) {
  out << (parameter.reg ? ".reg" : ".param");
  if (!parameter.pointer) write_align(out, parameter.alignment);
  out << " ." << parameter.type.name;
  if (parameter.pointer) {
    const std::string_view space = space_name(*parameter.pointer);
    out << " .ptr" << (space.empty() ? "" : " ") << space;
    write_align(out, parameter.alignment);
  }
  out << ' ' << std::string_view(parameter.name);
  if (parameter.unsized) out << "[]";
  if (parameter.count != 0) out << '[' << parameter.count << ']';
}

// A name such as "%rs12" as stem and number; the number is -1 if the name has none that `<N>` can express.
struct NumberedName {
  std::string_view stem;
  std::int64_t number = -1;
};
NumberedName split_name(std::string_view name) {
  const std::size_t stem = name.find_last_not_of("0123456789") + 1;
  const std::string_view digits = name.substr(stem);
  if (stem == 0 || digits.empty() || digits.size() > 7 || (digits.size() > 1 && digits[0] == '0'))
    return {name};
  std::int64_t number = 0;
  for (const char digit : digits) number = 10 * number + (digit - '0');
  return {name.substr(0, stem), number};
}

// The number of registers from `first` on that are called name0, name1, ... and have one type.
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

// The number of registers in each class, by the numbers of the unnamed ones.
using ClassSizes = std::array<std::uint32_t, ir::kRegisterClasses.size()>;

ClassSizes class_sizes(const ir::Function& function) {
  ClassSizes sizes{};
  for (const ir::RegisterDecl& decl : function.registers) {
    if (!decl.name.empty()) continue;
    std::uint32_t& size = sizes[ir::register_class(decl.type)];
    size = std::max(size, decl.number + 1);
  }
  return sizes;
}

void write_range(Buffer& out, const Type& type, std::string_view stem, std::size_t count) {
  out << kIndent << ".reg ." << type.name << ' ' << stem << '<' << count << ">;\n";
}

// Registers declared as parameters come first.
std::size_t register_parameters(const ir::Function& function) {
  std::size_t count = 0;
  for (const auto* parameters : {&function.results, &function.parameters})
    for (const ir::Parameter& parameter : *parameters) count += parameter.reg ? 1 : 0;
  return std::min(count, function.registers.size());
}

}  // namespace

void write_linkage(Buffer& out, ir::Linkage linkage) {
  switch (linkage) {
    case ir::Linkage::none:
      break;
    case ir::Linkage::visible:
      out << ".visible ";
      break;
    case ir::Linkage::external:
      out << ".extern ";
      break;
    case ir::Linkage::weak:
      out << ".weak ";
      break;
    case ir::Linkage::common:
      out << ".common ";
      break;
  }
}

void write_attribute(Buffer& out, bool managed, const std::optional<ir::Unified>& unified) {
  if (!managed && !unified) return;
  out << " .attribute(" << (managed ? ".managed" : "") << (managed && unified ? ", " : "");
  if (unified) out << ".unified(" << (*unified)[0] << ", " << (*unified)[1] << ')';
  out << ')';
}

void write_comment(Buffer& out, std::string_view indent, std::string_view text) {
  for (;;) {
    const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
    out << indent << (end == 0 ? "//" : "// ") << text.substr(0, end);
    if (end == text.size()) return;
    out << '\n';
    text.remove_prefix(end + 1);
  }
}

void write_comments(Buffer& out, const std::vector<std::string>& comments) {
  for (const std::string& comment : comments) {
    write_comment(out, "", comment);
    out << '\n';
  }
}

void write_variable(Buffer& out, const ir::Variable& variable) {
  write_linkage(out, variable.linkage);
  out << space_name(variable.space);
  write_attribute(out, variable.managed, variable.unified);
  write_align(out, variable.alignment);
  out << " ." << variable.type.name << ' ' << std::string_view(variable.name);
  if (variable.count == 0) out << "[]";
  if (is_array(variable)) out << '[' << variable.count << ']';
  if (!variable.fields.empty()) out << " = { " << std::string_view(variable.fields) << " }";
  if (!variable.initial.empty()) write_initial(out, variable);
  out << ";\n";
}

void write_parameters(Buffer& out, const std::vector<ir::Parameter>& parameters, bool lines) {
  out << '(';
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (i != 0) out << (lines ? "," : ", ");
    if (lines) out << '\n' << kIndent;
    write_parameter(out, parameters[i]);
  }
  out << (lines && !parameters.empty() ? "\n)" : ")");
}

void write_call_directives(Buffer& out, const ir::Interface& interface) {
  if (interface.noreturn) out << " .noreturn";
  if (interface.abi_preserve) out << " .abi_preserve " << *interface.abi_preserve;
  if (interface.abi_preserve_control) out << " .abi_preserve_control " << *interface.abi_preserve_control;
}

// In declaration order, because it matters to ptxas without optimisation.
void write_registers(Buffer& out, const ir::Function& function) {
  ClassSizes unwritten = class_sizes(function);
  for (std::size_t i = register_parameters(function); i < function.registers.size();) {
    const ir::RegisterDecl& decl = function.registers[i];
    if (decl.name.empty()) {
      const std::size_t index = ir::register_class(decl.type);
      const ir::RegisterClass& cls = ir::kRegisterClasses[index];
      if (unwritten[index] != 0) write_range(out, cls.type, cls.prefix, unwritten[index]);
      unwritten[index] = 0;
      ++i;
      continue;
    }
    const std::size_t run = run_length(function.registers, i);
    if (run > 1) {
      write_range(out, decl.type, split_name(decl.name).stem, run);
    } else {
      out << kIndent << ".reg ." << decl.type.name << ' ' << std::string_view(decl.name) << ";\n";
    }
    i += run;
  }
}

}  // namespace ptxloom::text
