// SPDX-License-Identifier: Apache-2.0
#include "sass/issue/bulk_copies.hpp"

#include <algorithm>

namespace ptxloom::sass {

BulkCopies::BulkCopies(const ListedFunction& function, const std::vector<HazardStep>& steps,
                       const std::vector<CodeLoop>& loops, const IssueTable& table, const OwnText& own)
    : function_(function), steps_(steps), table_(table), own_(own) {
  double bytes = 0;
  int stages = 0;
  for (const CodeLoop& loop : loops) {
    if (!loop.inner) continue;
    const Counts counts = counts_of(loop.steps);
    unknown_ += counts.unknown;
    if (counts.expects == 0) continue;
    bytes += counts.bytes;
    stages += std::clamp(counts.waits, 1, counts.expects);
  }
  if (stages > 0) stage_bytes_ = bytes / stages;
}

BulkBytes BulkCopies::in(const CodeLoop& loop) const {
  const Counts counts = counts_of(loop.steps);
  if (counts.expects > 0) return {counts.bytes, counts.unknown};
  const int stages = counts.releases > 0 ? std::min(counts.releases, counts.waits) : counts.waits;
  return {stages * stage_bytes_, stages > 0 ? unknown_ : 0};
}

BulkCopies::Counts BulkCopies::counts_of(const std::vector<std::size_t>& steps) const {
  Counts counts;
  for (const std::size_t step : steps) add(step, counts);
  return counts;
}

void BulkCopies::add(std::size_t step, Counts& counts) const {
  const IssueRow* const row = table_.row_of(steps_[step].text, steps_[step].uses.type);
  if (row == nullptr) return;
  if (row->effect == IssueEffect::poll) ++counts.waits;
  if (row->effect == IssueEffect::release) ++counts.releases;
  if (row->effect != IssueEffect::expect) return;
  ++counts.expects;
  if (const std::optional<double> bytes = expected(step))
    counts.bytes += *bytes;
  else
    ++counts.unknown;
}

std::optional<double> BulkCopies::expected(std::size_t step) const {
  const std::string_view operand = table_.bytes_operand(steps_[step].text);
  const std::optional<RegisterId> id = register_of(operand.substr(0, operand.find('.')));
  if (!id || file_of(*id) != RegisterFile::general) return std::nullopt;
  return value_before(step, *id);
}

/// The constant that a register was given last, as the code is written; moves are followed.
std::optional<std::uint64_t> BulkCopies::value_before(std::size_t step, RegisterId id) const {
  while (step-- > 0) {
    const HazardStep& one = steps_[step];
    if (std::ranges::none_of(one.uses.writes, [&](const RegisterUse& use) { return use.id == id; })) continue;
    const std::optional<Moved> moved = own_.moved(one.text.opcode, function_.instructions[step].word);
    if (moved && moved->constant) return moved->value;
    if (!moved || one.uses.reads.size() != 1) return std::nullopt;
    id = one.uses.reads.front().id;
  }
  return std::nullopt;
}

}  // namespace ptxloom::sass
