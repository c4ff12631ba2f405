// SPDX-License-Identifier: Apache-2.0
#include "sass/issue/loops.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace ptxloom::sass {
namespace {

using Blocks = std::vector<CodeBlock>;
using BlockSet = std::set<std::size_t>;

std::vector<std::vector<std::size_t>> before(const Blocks& blocks) {
  std::vector<std::vector<std::size_t>> sources(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i)
    for (const std::size_t next : blocks[i].next) sources[next].push_back(i);
  return sources;
}

/// The blocks from which `last` is reached without passing through `head`, and `head` itself.
BlockSet body_of(const std::vector<std::vector<std::size_t>>& sources, std::size_t head, std::size_t last) {
  BlockSet body = {head};
  std::vector<std::size_t> work = {last};
  while (!work.empty()) {
    const std::size_t block = work.back();
    work.pop_back();
    if (!body.insert(block).second) continue;
    work.insert(work.end(), sources[block].begin(), sources[block].end());
  }
  return body;
}

/// From the head back to it. `next` of a block has the following one first, which is tried first.
class Walk {
 public:
  Walk(const Blocks& blocks, const BlockSet& body, std::size_t head)
      : blocks_(blocks), body_(body), head_(head) {}

  /// Empty if there is no way.
  std::vector<std::size_t> path() {
    go(head_);
    return std::move(path_);
  }

 private:
  bool go(std::size_t block) {
    path_.push_back(block);
    seen_.insert(block);
    for (const std::size_t next : blocks_[block].next) {
      if (next == head_) return true;
      if (body_.contains(next) && !seen_.contains(next) && go(next)) return true;
    }
    path_.pop_back();
    return false;
  }

  const Blocks& blocks_;
  const BlockSet& body_;
  std::size_t head_;
  BlockSet seen_;
  std::vector<std::size_t> path_;
};

CodeLoop loop_of(const Blocks& blocks, std::size_t head, const BlockSet& body) {
  CodeLoop loop{.first = blocks[head].begin, .steps = {}};
  for (const std::size_t block : body) loop.instructions += blocks[block].end - blocks[block].begin;
  for (const std::size_t block : Walk(blocks, body, head).path())
    for (std::size_t i = blocks[block].begin; i < blocks[block].end; ++i) loop.steps.push_back(i);
  return loop;
}

/// The blocks that execution may reach. The code ends with a branch to itself, which it does not.
BlockSet reached(const Blocks& blocks) {
  BlockSet found;
  std::vector<std::size_t> work = {0};
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (blocks[i].entered) work.push_back(i);
  while (!work.empty()) {
    const std::size_t block = work.back();
    work.pop_back();
    if (block < blocks.size() && found.insert(block).second)
      work.insert(work.end(), blocks[block].next.begin(), blocks[block].next.end());
  }
  return found;
}

/// A body that holds the entry of the code, but not as its head, is entered by another way than its head.
bool is_closed(const BlockSet& body, std::size_t head) { return head == 0 || !body.contains(0); }

/// The blocks of each loop, by its head.
std::map<std::size_t, BlockSet> bodies_of(const Blocks& blocks) {
  const auto sources = before(blocks);
  const BlockSet live = reached(blocks);
  std::map<std::size_t, BlockSet> bodies;
  for (std::size_t last = 0; last < blocks.size(); ++last) {
    for (const std::size_t head : blocks[last].next) {
      if (head > last || !live.contains(head)) continue;
      const BlockSet body = body_of(sources, head, last);
      if (is_closed(body, head)) bodies[head].insert(body.begin(), body.end());
    }
  }
  return bodies;
}

/// Nothing but branches and instructions that ask whether something has happened.
bool is_waiting(const std::vector<HazardStep>& steps, const CodeLoop& loop,
                const std::function<bool(std::size_t)>& polls) {
  return std::ranges::any_of(loop.steps, polls) && std::ranges::all_of(loop.steps, [&](std::size_t step) {
           return polls(step) || steps[step].uses.flow != Flow::next;
         });
}

}  // namespace

CodeLoops loops_of(const std::vector<HazardStep>& steps, bool kernel,
                   const std::function<bool(std::size_t)>& polls) {
  std::vector<FlowStep> flow;
  for (const HazardStep& step : steps) flow.push_back({&step.text, &step.uses, step.label});
  const Blocks blocks = blocks_of(flow, kernel);
  CodeLoops made;
  std::map<std::size_t, BlockSet> bodies = bodies_of(blocks);
  made.waiting = static_cast<int>(std::erase_if(bodies, [&](const auto& one) {
    return is_waiting(steps, loop_of(blocks, one.first, one.second), polls);
  }));
  for (const auto& [head, body] : bodies) {
    CodeLoop loop = loop_of(blocks, head, body);
    if (loop.steps.size() < 2) continue;  // a branch to itself ends the code
    for (const auto& [other, outer] : bodies) {
      if (other == head) continue;
      if (outer.contains(head) && outer.size() > body.size()) ++loop.depth;
      if (body.contains(other) && body.size() > outer.size()) loop.inner = false;
    }
    made.loops.push_back(std::move(loop));
  }
  return made;
}

}  // namespace ptxloom::sass
