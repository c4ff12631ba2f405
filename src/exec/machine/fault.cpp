// SPDX-License-Identifier: Apache-2.0
#include "exec/machine/fault.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "exec/judge/judge.hpp"
#include "exec/machine/block.hpp"
#include "exec/machine/cluster.hpp"
#include "exec/machine/code.hpp"
#include "exec/machine/warp.hpp"
#include "ptxloom/ptx.hpp"

namespace ptxloom::exec {
namespace {

std::string describe(const Index3& index) { return fmt::format("({},{},{})", index[0], index[1], index[2]); }

// The statement that an operation belongs to: an instruction or a call.
template <class F>
auto with_statement(const Code& code, const Operation& op, F f) {
  const ir::Function& function = code.function_of(op);
  return op.is_call ? f(function, function.calls[op.instruction])
                    : f(function, function.instructions[op.instruction]);
}

using SourcePlace = ir::Location::Place;

bool is_same_place(const SourcePlace& one, const SourcePlace& other) {
  return one.file == other.file && one.line == other.line && one.column == other.column;
}

// The call in the kernel's own source of code that a function was inlined for. `location` names the place
// that this function was inlined at, which may be in a function that was inlined, too: an earlier .loc says
// where. The nearest one counts: a function that is inlined twice has the same places in both copies.
SourcePlace outermost_call(const ir::Function& function, const ir::Location& location) {
  const auto first = function.locations.begin();
  auto end = first + (&location - function.locations.data());
  SourcePlace place = *location.inlined_at;
  while (end != first) {
    --end;
    if (!end->inlined_at || !is_same_place(end->place, place)) continue;
    place = *end->inlined_at;
  }
  return place;
}

// Empty if the PTX does not name the file.
std::string file_of(const Code& code, const SourcePlace& place) {
  const auto file = std::ranges::find(code.files, place.file, &ir::File::index);
  if (file == code.files.end()) return {};
  const std::string& name = file->name;
  const bool quoted = name.size() > 1 && name.front() == '"';  // as it stands in the PTX
  return quoted ? name.substr(1, name.size() - 2) : name;
}

void set_source(const Code& code, const ir::Function& function, ir::Statement::Kind kind, std::uint32_t index,
                Site& site) {
  const ir::Location* location = nullptr;
  for (const ir::Statement& statement : function.body) {
    if (statement.kind == ir::Statement::Kind::location) location = &function.locations[statement.index];
    if (statement.kind == kind && statement.index == index) break;
  }
  if (location == nullptr) return;
  site.file = file_of(code, location->place);
  if (site.file.empty()) return;
  site.file_line = static_cast<int>(location->place.line);
  if (!location->inlined_at) return;
  const SourcePlace call = outermost_call(function, *location);
  site.call_file = file_of(code, call);
  site.call_line = static_cast<int>(call.line);
}

Site site_of(const Code& code, const Operation& op) {
  Site site;
  with_statement(code, op, [&](const ir::Function& function, const auto& statement) {
    site.text = print(function, statement);
    site.line = static_cast<int>(statement.line);
    site.column = static_cast<int>(statement.column);
    set_source(code, function, op.is_call ? ir::Statement::Kind::call : ir::Statement::Kind::instruction,
               op.instruction, site);
  });
  return site;
}

Site site_of(const Code& code, const Warp* warp, const Operation& op, int lane) {
  Site site = site_of(code, op);
  site.lane = lane;
  if (warp == nullptr) return site;
  site.block = warp->block().index();
  site.warp = warp->index();
  return site;
}

std::uint32_t number_of(const Code& code, const Operation* op) {
  return op == nullptr ? ~std::uint32_t{0} : code.number_of(*op);
}

// The thread that performs the action.
struct Doer {
  const Warp& warp;
  const Operation& op;
  int lane;
};

// What the warps of both sides did for their order after the first access.
std::vector<Site> sites_between(const Code& code, const Warp& warp, const Misuse& misuse) {
  std::vector<Site> sites;
  if (!misuse.since || warp.judge() == nullptr) return sites;
  for (const SyncEvent& event : warp.judge()->events_since(*misuse.since, warp, misuse.other_warp))
    sites.push_back(site_of(code, event.warp, code.operations[event.operation], -1));
  return sites;
}

// Returns what the finding is counted as.
Findings::Key collect(Findings& findings, const Doer& doer, const Misuse& misuse, std::string_view hint,
                      bool fatal, const std::function<std::string()>& what) {
  const Code& code = doer.warp.block().grid().code();
  std::uint32_t first = number_of(code, &doer.op), second = number_of(code, misuse.other_op);
  // Which of two accesses that race shows it depends on their order.
  if (misuse.code == "data-race" && second < first) std::swap(first, second);
  Findings::Key key{code.kernel.name, std::string(misuse.code), first, second};
  if (!findings.count(key, doer.warp.block().cluster().index())) return key;
  Finding finding{.code = std::string(misuse.code),
                  .what = what(),
                  .hint = std::string(hint),
                  .kernel = code.kernel.name,
                  .at = site_of(code, &doer.warp, doer.op, doer.lane),
                  .other = {},
                  .between = sites_between(code, doer.warp, misuse),
                  .address = misuse.address,
                  .fatal = fatal,
                  .schedule = doer.warp.block().grid().launch().schedule};
  if (misuse.other_op != nullptr) {
    finding.other = site_of(code, misuse.other_warp, *misuse.other_op, misuse.other_lane);
    if (misuse.other_block && misuse.other_warp == nullptr) {
      finding.other->block = *misuse.other_block;
      finding.other->warp = misuse.other_number;
    }
  }
  findings.add(key, std::move(finding));
  return key;
}

}  // namespace

void report(const Actor& actor, const Misuse& misuse, const char* hint,
            const std::function<std::string()>& what) {
  Findings* const findings = actor.warp->block().grid().launch().findings;
  if (findings == nullptr) fault(actor, misuse.code, what(), hint);
  report_to(*findings, actor, misuse, hint, what);
}

Findings::Key report_to(Findings& findings, const Actor& actor, const Misuse& misuse, const char* hint,
                        const std::function<std::string()>& what) {
  return collect(findings, {*actor.warp, *actor.op, actor.lane}, misuse, hint, false, what);
}

namespace {

[[noreturn]] void stop(const Doer& doer, const Misuse& misuse, const std::string& what, std::string hint) {
  const auto& [warp, op, lane] = doer;
  const Grid& grid = warp.block().grid();
  if (Findings* const findings = grid.launch().findings)
    collect(*findings, doer, misuse, hint, true, [&] { return what; });
  Diagnostic diagnostic;
  diagnostic.code = misuse.code;
  diagnostic.hint = std::move(hint);
  const std::string function =
      op.function == 0 ? "" : fmt::format("function {} of ", grid.code().function_of(op).name);
  diagnostic.message =
      fmt::format("{} in {}kernel {}, block {}, thread {} (warp {}, lane {}): {}", describe(warp, op),
                  function, grid.code().kernel.name, describe(warp.block().index()),
                  describe(unflatten(warp.thread(lane), grid.launch().block)), warp.index(), lane, what);
  with_statement(grid.code(), op, [&](const ir::Function&, const auto& statement) {
    diagnostic.line = static_cast<int>(statement.line);
    diagnostic.column = static_cast<int>(statement.column);
  });
  throw Error(ErrorKind::device_fault, {std::move(diagnostic)});
}

}  // namespace

void fault(const Warp& warp, const Operation& op, Mask lanes, std::string_view code, const std::string& what,
           std::string hint) {
  stop({warp, op, std::countr_zero(lanes)}, {.code = code}, what, std::move(hint));
}

void fault(const Actor& actor, const Misuse& misuse, const std::string& what, std::string hint) {
  stop({*actor.warp, *actor.op, actor.lane}, misuse, what, std::move(hint));
}

void fault(const Actor& actor, std::string_view code, const std::string& what, std::string hint) {
  fault(*actor.warp, *actor.op, lane_bit(actor.lane), code, what, std::move(hint));
}

std::string describe(const Warp& warp, const Operation& op) {
  const Code& code = warp.block().grid().code();
  return with_statement(code, op, [](const ir::Function& function, const auto& statement) {
    return fmt::format("`{}`", print(function, statement));
  });
}

std::string describe_with_line(const Warp& warp, const Operation& op) {
  const std::uint32_t line =
      with_statement(warp.block().grid().code(), op,
                     [](const ir::Function&, const auto& statement) { return statement.line; });
  return describe(warp, op) + (line == 0 ? "" : fmt::format(" (line {})", line));
}

std::string describe_address(std::uint64_t address) { return fmt::format("{:#x}", address); }

std::string describe_lanes(Mask lanes) {
  std::string text;
  while (lanes != 0) {
    const int first = std::countr_zero(lanes);
    const int length = std::countr_one(lanes >> first);
    if (!text.empty()) text += ", ";
    text += length == 1 ? fmt::format("{}", first) : fmt::format("{}-{}", first, first + length - 1);
    lanes &= length == kLanes ? 0 : ~((lane_bit(length) - 1) << first);
  }
  return text;
}

std::string describe_count(std::uint32_t count) {
  return count == 0 ? "all threads of the block" : fmt::format("{} threads", count);
}

}  // namespace ptxloom::exec
