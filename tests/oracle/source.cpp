// SPDX-License-Identifier: Apache-2.0
#include "oracle/source.hpp"

#include <algorithm>
#include <cctype>
#include <set>

#include "spec/database.hpp"

namespace ptxloom::oracle {
namespace {

constexpr int kRegisters = 300;             // of each class; lines use fewer
constexpr int kFirstRegisters = 9;          // the line where declarations of registers begin
constexpr std::string_view kPairs = "H32";  // the registers of .f16x2
constexpr std::string_view kClasses = "RFSUHV";

/// The classes of registers that a line names: "R32" of "R32_7".
void add_registers(std::string_view line, std::set<std::string>& into) {
  for (std::size_t at = line.find('_'); at != line.npos; at = line.find('_', at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && std::isdigit(static_cast<unsigned char>(line[begin - 1])) != 0) --begin;
    const bool named = begin > 0 && begin < at && kClasses.find(line[begin - 1]) != line.npos;
    const bool whole = begin < 2 || std::isalnum(static_cast<unsigned char>(line[begin - 2])) == 0;
    if (named && whole) into.emplace(line.substr(begin - 1, at - begin + 1));
  }
}

std::string type_of(std::string_view registers) {
  if (registers == kPairs) return "f16x2";
  std::string type(registers);
  if (type[0] == 'V') return "v2 .b" + type.substr(1);  // `V32_7.x` is an element of one
  type[0] = registers[0] == 'R' ? 'b' : static_cast<char>(std::tolower(registers[0]));
  return type;
}

/// The directive of a kernel that special registers need, if a line names one, where the place has it.
std::string directives_for(std::span<const std::string> lines, std::span<const std::size_t> live,
                           const Place& place) {
  constexpr std::string_view kDirective = ".minperctamemory";
  static const Specs specs;
  const spec::Need* const need = specs.database().directives().need(kDirective);
  const auto names = [&](std::size_t index) {
    return lines[index].find("%perctamemory") != std::string::npos;
  };
  if (!std::ranges::any_of(live, names) || !spec::allowed({need}, place.target, place.version)) return {};
  return std::string(kDirective) + " 16 ";
}

}  // namespace

Source::Source(std::span<const std::string> lines, std::span<const std::size_t> live, const Place& place) {
  std::set<std::string> registers;
  for (std::size_t index : live) add_registers(lines[index], registers);
  registers_.assign(registers.begin(), registers.end());
  const std::string count = "<" + std::to_string(kRegisters) + ">;\n";
  text_ = ".version " + to_string(place.version) + "\n.target " + std::string(place.target.name()) +
          (place.around.mode.empty() ? "" : ", " + place.around.mode) + "\n.address_size 64\n" +
          place.around.module_decls + "\n.global .b64 v_global; .const .b64 v_const;\n" +
          ".visible .entry k(.param .b64 kp) " + directives_for(lines, live, place) +
          "{\n.shared .b64 v_shared; .local .b64 v_local;\n.reg .pred P" + count;
  for (const std::string& name : registers_) text_ += ".reg ." + type_of(name) + " " + name + "_" + count;
  text_ += place.around.body_decls + "\n";
  for (std::size_t index : live) text_ += lines[index] + "\n";
  text_ += "L0: ret;\n}\n";
  first_line_ = kFirstRegisters + static_cast<int>(registers_.size()) + 1;
  lines_ = static_cast<int>(live.size());
}

std::string_view Source::registers_at(int line) const {
  const auto at = static_cast<std::size_t>(line - kFirstRegisters);
  return line >= kFirstRegisters && at < registers_.size() ? registers_[at] : std::string_view{};
}

int Source::position(int line) const {
  return line >= first_line_ && line < first_line_ + lines_ ? line - first_line_ : -1;
}

}  // namespace ptxloom::oracle
