// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <charconv>
#include <string>

#include "check/needs.hpp"
#include "check/rules.hpp"
#include "spec/database.hpp"

// What specs/directives.json says of directives: the targets and PTX versions that have them, where pragmas
// may stand, and the languages that .language names.
namespace ptxloom::check_rules {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return std::tolower(c); });
  return result;
}

class DirectivesCheck {
 public:
  DirectivesCheck(const ir::Module& module, const Target& target, Diagnostics& out)
      : module_(module), target_(target), directives_(module.specs->database().directives()), out_(out) {}

  void check() {
    for (const std::string& pragmas : module_.pragmas) pragma_outside("the module", pragmas, true);
    for_each_need(module_, directives_, [&](const ModuleNeed& one) { judge(one); });
    for (const ir::Function& function : module_.functions) {
      const std::string where = std::string(kind_of(function)) + function.name;
      for (const std::string& language : function.languages) known_language(where, language);
      for (const std::string& pragmas : function.header_pragmas) pragma_outside(where, pragmas, false);
      for (const std::string& pragmas : function.pragmas) pragma_numbers(where, pragmas);
    }
  }

 private:
  void add(std::string code, std::string message, std::string hint) {
    out_.push_back({.code = std::move(code), .message = std::move(message), .hint = std::move(hint)});
  }

  void judge(const ModuleNeed& one) {
    if (spec::allowed({&one.need}, target_, module_.version)) return;
    if (module_.version < target_.since()) return;  // reported once, by check_target
    std::string what(one.kind);
    what.append(one.owner).append(": ").append(one.prefix).append(one.what);
    const std::optional<Version> since = spec::lowest_version({&one.need}, target_);
    if (!since) {
      add("not-on-target", what + " is not on " + std::string(target_.name()),
          "`ptxloom list --target` shows the targets; specs/directives.json has what it needs");
    } else {
      add("version-too-low",
          what + " needs PTX " + to_string(*since) + ", but the module has .version " +
              to_string(module_.version),
          "write .version " + to_string(*since) + " (" + to_string(requirement_of(target_, *since)) + ")");
    }
  }

  void pragma_outside(const std::string& where, std::string_view pragmas, bool of_module) {
    for_each_pragma(pragmas, [&](std::string_view name, std::string_view) {
      if (directives_.need_of_pragma(name) != nullptr) {
        add("bad-pragma",
            where + ": the pragma " + std::string(name) + " stands in the body of a function only",
            "move it behind '{'");
      } else if (of_module && !directives_.knows_pragma(name)) {
        add("bad-pragma", where + ": ptxas has no pragma " + std::string(name), "leave it out");
      }
    });
  }

  // ptxas reads numbers as C does: 12, 0x1F, 017, of any size.
  static bool is_number(std::string_view text, bool positive) {
    const std::size_t start = text.find_first_not_of(kWhitespace);
    text.remove_prefix(std::min(start, text.size()));
    const bool negative = text.starts_with('-');
    if (negative || text.starts_with('+')) text.remove_prefix(1);
    const bool prefixed = text.size() > 1 && text[0] == '0';
    const bool hexadecimal = prefixed && (text[1] == 'x' || text[1] == 'X');
    if (hexadecimal) text.remove_prefix(2);
    const std::string_view digits = hexadecimal ? "0123456789abcdefABCDEF"
                                    : prefixed  ? "01234567"
                                                : "0123456789";
    if (text.empty() || text.find_first_not_of(digits) != text.npos) return false;
    return !positive || (!negative && text.find_first_not_of('0') != text.npos);
  }

  void pragma_numbers(const std::string& where, std::string_view pragmas) {
    for_each_pragma(pragmas, [&](std::string_view name, std::string_view number) {
      const spec::PragmaNumber needed = directives_.number_of_pragma(name);
      const bool positive = needed == spec::PragmaNumber::positive;
      if (needed == spec::PragmaNumber::none || is_number(number, positive)) return;
      add("bad-pragma",
          where + ": the pragma " + std::string(name) + " needs a number" + (positive ? " above 0" : "") +
              (number.empty() ? "" : ", not '" + std::string(number) + "'"),
          "write \"" + std::string(name) + " 4\"");
    });
  }

  void known_language(const std::string& where, std::string_view language) {
    const std::span<const std::string_view> names = directives_.languages();
    std::size_t number = names.size();
    if (language.starts_with('"')) {
      const std::string name = lower(language.substr(1, language.size() - 2));
      number = static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
    } else {
      std::from_chars(language.data(), language.data() + language.size(), number);
    }
    if (number < names.size()) return;
    std::string known;
    for (const std::string_view name : names) known += (known.empty() ? "" : ", ") + std::string(name);
    add("bad-language", where + ": .language does not know " + std::string(language),
        "write a number from 0 to " + std::to_string(names.size() - 1) + ", or one of these names: " + known);
  }

  const ir::Module& module_;
  const Target& target_;
  const spec::Directives& directives_;
  Diagnostics& out_;
};

}  // namespace

void check_directive_needs(const ir::Module& module, const Target& target, Diagnostics& out) {
  if (module.specs) DirectivesCheck(module, target, out).check();
}

void check_required_directive(const Scope& scope, const ir::Instruction& instruction, Diagnostics& out) {
  const auto wanted = instruction.variant.slot("directive");
  if (!wanted || !scope.kernel.entry) return;
  const std::string name = "." + std::string(*wanted);
  const std::vector<std::string_view> names = directives_of(scope.kernel);
  const bool empty = scope.kernel.minperctamemory == 0U && name == ".minperctamemory";
  if (std::ranges::find(names, name) != names.end() && !empty) return;
  out.push_back(located(instruction, {.code = "missing-directive",
                                      .message = "in a kernel it needs the directive " + name +
                                                 (empty ? ", of more than 0" : ""),
                                      .hint = "write " + name + " behind the parameters of the kernel"}));
}

}  // namespace ptxloom::check_rules
