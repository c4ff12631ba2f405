// SPDX-License-Identifier: Apache-2.0
#include "oracle/records.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace ptxloom::oracle {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Outcome, cases, lines, disagreements, foreign, foreign_words,
                                                unjudged, stricter, expanded, taken, allowed, barren)

Records::Records(const std::filesystem::path& file, std::string assembler)
    : assembler_(std::move(assembler)) {
  constexpr std::string_view kUnnamed = "13.0";  // records without an assembler are of this one
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const auto record = nlohmann::json::parse(line, nullptr, false);
    if (record.is_discarded() || record.value("assembler", kUnnamed) != assembler_) continue;
    outcomes_[record.at("piece")] = record.at("outcome").get<Outcome>();
  }
  out_.open(file, std::ios::app);
  if (!out_) throw std::runtime_error("cannot write " + file.string());
}

const Outcome* Records::find(std::string_view piece) const {
  const auto found = outcomes_.find(piece);
  return found != outcomes_.end() && found->second.disagreements.empty() ? &found->second : nullptr;
}

void Records::add(std::string_view piece, unsigned seed, const Outcome& outcome) {
  if (!out_.is_open()) return;
  out_ << nlohmann::json{{"piece", piece}, {"assembler", assembler_}, {"seed", seed}, {"outcome", outcome}}
       << std::endl;
}

}  // namespace ptxloom::oracle
