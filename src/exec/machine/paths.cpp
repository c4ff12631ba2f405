// SPDX-License-Identifier: Apache-2.0
#include "exec/machine/paths.hpp"

#include "exec/machine/call.hpp"

namespace ptxloom::exec {
namespace {

bool is_call(const Operation& op) { return op.run == &run_call; }
bool is_return(const Operation& op) { return op.run == &run_return; }

// Whether threads may go elsewhere than to the next operation, and still run.
bool divides(const Operation& op) { return op.branches || op.by_index || op.ends || is_call(op); }

bool goes_on(const Operation& op) { return op.guarded || !(op.branches || op.by_index || op.ends); }

// Calls f(pc) for where an operation may send threads, except for a return.
template <class F>
void for_targets(const Code& code, const Operation& op, F f) {
  if (op.branches) f(op.target);
  if (op.by_index)
    for (const std::uint32_t target : op.plan_as<std::vector<std::uint32_t>>()) f(target);
  if (!is_call(op)) return;
  const auto& plan = op.plan_as<CallPlan>();
  for (std::size_t i = 0; i < code.callees.size(); ++i)
    if (code.callees[i].system == nullptr && (plan.address || i == plan.callee)) f(code.callees[i].entry);
}

}  // namespace

Edges::Edges(std::size_t nodes, const std::vector<Edge>& edges) : first_(nodes + 1), targets_(edges.size()) {
  for (const Edge& edge : edges) ++first_[edge.first + 1];
  for (std::size_t i = 0; i < nodes; ++i) first_[i + 1] += first_[i];
  std::vector<std::size_t> next = first_;
  for (const Edge& edge : edges) targets_[next[edge.first]++] = edge.second;
}

std::vector<bool> Edges::reached_from(std::uint32_t node) const {
  std::vector<bool> seen(first_.size() - 1);
  std::vector<std::uint32_t> from{node};
  while (!from.empty()) {
    const std::uint32_t at = from.back();
    from.pop_back();
    for (std::size_t i = first_[at]; i < first_[at + 1]; ++i) {
      if (seen[targets_[i]]) continue;
      seen[targets_[i]] = true;
      from.push_back(targets_[i]);
    }
  }
  return seen;
}

const Paths::Beyond& Paths::beyond(std::uint32_t pc) {
  const std::scoped_lock lock(mutex_);
  if (block_of_.empty()) {
    divide();
    connect();
  }
  const std::uint32_t block = block_of_[pc];
  const auto [place, is_new] = beyond_.try_emplace(block);
  Beyond& beyond = place->second;
  if (!is_new) return beyond;
  beyond = {.block = block, .repeats = false, .blocks = after_.reached_from(block)};
  beyond.repeats = beyond.blocks[block];
  const std::vector<bool> leads_here = before_.reached_from(block);
  for (std::size_t i = 0; i < leads_here.size(); ++i)
    if (leads_here[i]) beyond.blocks[i] = false;
  return beyond;
}

// Numbers the basic blocks in the order of the code.
void Paths::divide() {
  const std::size_t count = code_->operations.size();
  std::vector<bool> begins(count + 1);
  const auto begin = [&](std::uint32_t pc) { begins[pc] = true; };
  begin(code_->entry);
  for (std::uint32_t pc = 0; pc < count; ++pc) {
    const Operation& op = code_->operations[pc];
    for_targets(*code_, op, begin);
    if (divides(op)) begin(pc + 1);
  }
  block_of_.assign(count, 0);
  for (std::size_t pc = 1; pc < count; ++pc) block_of_[pc] = block_of_[pc - 1] + (begins[pc] ? 1 : 0);
}

// A function may return to any call: one more node stands for what returns come to.
void Paths::connect() {
  const std::uint32_t returns = block_of_.back() + 1;
  std::vector<Edges::Edge> after;
  for (std::uint32_t pc = 0; pc < block_of_.size(); ++pc) {
    const Operation& op = code_->operations[pc];
    const std::uint32_t block = block_of_[pc];
    const bool is_last = pc + 1 == block_of_.size();
    for_targets(*code_, op, [&](std::uint32_t target) { after.emplace_back(block, block_of_[target]); });
    if (is_return(op)) after.emplace_back(block, returns);
    if (is_last) break;
    if (is_call(op)) after.emplace_back(returns, block_of_[pc + 1]);
    if (goes_on(op) && block_of_[pc + 1] != block) after.emplace_back(block, block_of_[pc + 1]);
  }
  std::vector<Edges::Edge> before;
  for (const auto& [from, to] : after) before.emplace_back(to, from);
  after_ = Edges(returns + std::size_t{1}, after);
  before_ = Edges(returns + std::size_t{1}, before);
}

}  // namespace ptxloom::exec
