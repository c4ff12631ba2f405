// SPDX-License-Identifier: Apache-2.0
#include "sass/lint/latencies.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "generated/latencies.hpp"
#include "sass/instruction/table_text.hpp"

namespace ptxloom::sass {
namespace {

constexpr std::pair<std::string_view, RegisterFile> kFileNames[] = {{"R", RegisterFile::general},
                                                                    {"UR", RegisterFile::uniform},
                                                                    {"P", RegisterFile::predicate},
                                                                    {"UP", RegisterFile::uniform_predicate}};

/// The names under which tables may have an access, the most special first: "wide.c1", "wide".
std::array<std::string, 2> names_of(const Access& access) {
  if (access.use.operand == 'g') return {"guard", "guard"};
  const std::string type(access.type);
  return {type + '.' + access.use.operand + std::to_string(access.use.index), type};
}

}  // namespace

LatencyTable::LatencyTable(int chip) {
  static const nlohmann::json data = nlohmann::json::parse(kLatencies);
  for (const auto& table : data.at("latencies")) {
    if (!has_chip(table.at("chips").get_ref<const std::string&>(), chip)) continue;
    const std::string file = table.at("file");
    Rows& rows = files_[std::ranges::find(kFileNames, file, &std::pair<std::string_view, RegisterFile>::first)
                            ->second];
    std::vector<std::string> writers;
    for (const auto& line : table.at("cycles")) {
      const std::vector<std::string> cells = split(line.get_ref<const std::string&>(), ' ');
      if (writers.empty()) {
        writers = cells;
        continue;
      }
      for (std::size_t i = 1; i < cells.size(); ++i) {
        if (cells[i] == "-") continue;
        const int cycles = std::stoi(cells[i]);
        longest_ = std::max(longest_, cycles);
        for (const std::string& reader : split(cells[0], '|'))
          for (const std::string& writer : split(writers.at(i), '|')) rows[{writer, reader}] = cycles;
      }
    }
  }
}

std::optional<int> LatencyTable::cycles(const Access& writer, const Access& reader) const {
  const auto rows = files_.find(file_of(writer.use.id));
  if (rows == files_.end()) return std::nullopt;
  for (const std::string& of_writer : names_of(writer)) {
    for (const std::string& of_reader : names_of(reader)) {
      const auto row = rows->second.find({of_writer, of_reader});
      if (row != rows->second.end()) return row->second;
    }
  }
  return std::nullopt;
}

int LatencyTable::longest(const Access& writer) const {
  const auto rows = files_.find(file_of(writer.use.id));
  if (rows == files_.end()) return 0;
  int longest = 0;
  for (const std::string& name : names_of(writer))
    for (auto row = rows->second.lower_bound({name, ""});
         row != rows->second.end() && row->first.first == name; ++row)
      longest = std::max(longest, row->second);
  return longest;
}

bool LatencyTable::has(const Access& writer) const { return longest(writer) > 0; }

}  // namespace ptxloom::sass
