// SPDX-License-Identifier: Apache-2.0
#include "oracle/open.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "spec/cell.hpp"
#include "spec/database.hpp"

namespace ptxloom::oracle {
namespace {

constexpr std::string_view kOperands = "operands", kNumber = "number";

bool is_kind(std::string_view kind, const spec::FormData& form) {
  if (kind == "words" || kind == "order" || kind == kOperands) return true;
  if (!kind.starts_with("operands:")) return false;
  const std::string_view name = kind.substr(kOperands.size() + 1);
  return name == kNumber || std::any_of(form.ops.begin(), form.ops.end(), [&](const spec::Entry& entry) {
           const auto names = spec::split(entry.key, ' ');
           return std::find(names.begin(), names.end(), name) != names.end();
         });
}

}  // namespace

OpenKinds OpenKinds::read(const std::filesystem::path& file, const Specs& specs) {
  OpenKinds result;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string name, kind, reason;
    std::getline(words >> name >> kind >> std::ws, reason);
    const spec::FormData* const form = specs.database().find_form(name);
    if (form == nullptr) throw std::runtime_error(file.string() + ": there is no form '" + name + "'");
    if (!is_kind(kind, *form))
      throw std::runtime_error(file.string() + ": " + name + " has no neighbours of the kind '" + kind +
                               "': words, order, operands, operands:NAME");
    if (reason.empty())
      throw std::runtime_error(file.string() + ": no reason is given for " + name + " " + kind);
    result.add(name, kind, reason);
  }
  return result;
}

void OpenKinds::write(const std::filesystem::path& file) const {
  std::ofstream out(file);
  out << "# Neighbours of forms on which ptxas and `check` still disagree, and which tests/oracle leaves "
         "out:\n"
         "# FORM KIND REASON. `test_oracle --write-open FILE` compares all, adds what disagrees, and with\n"
         "# --all removes what agrees. The aim is an empty file.\n";
  for (const auto& [form, kinds] : forms_) {
    for (const auto& [kind, reason] : kinds) out << form << ' ' << kind << ' ' << reason << '\n';
  }
}

bool OpenKinds::contains(std::string_view form, std::string_view kind) const {
  const auto found = forms_.find(form);
  return found != forms_.end() &&
         (found->second.contains(kind) || found->second.contains(kind.substr(0, kind.find(':'))));
}

void OpenKinds::add(std::string_view form, std::string_view kind, std::string reason) {
  forms_[std::string(form)].emplace(kind, std::move(reason));
}

void OpenKinds::merge(const OpenKinds& other) {
  for (const auto& [form, kinds] : other.forms_) {
    for (const auto& [kind, reason] : kinds) {
      if (!contains(form, kind)) add(form, kind, reason);
    }
  }
}

void OpenKinds::keep_only(const OpenKinds& found) {
  for (auto& [form, kinds] : forms_) {
    std::erase_if(kinds, [&](const auto& entry) {
      const auto among = found.forms_.find(form);
      return among == found.forms_.end() ||
             std::none_of(among->second.begin(), among->second.end(), [&](const auto& other) {
               return other.first == entry.first || other.first.starts_with(entry.first + ":");
             });
    });
  }
}

}  // namespace ptxloom::oracle
