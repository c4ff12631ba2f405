// SPDX-License-Identifier: Apache-2.0
#include "sass/issue/critical_path.hpp"

#include <algorithm>
#include <array>

namespace ptxloom::sass {
namespace {

constexpr int kTurns = 24;

struct Node {
  double begin = 0;
  std::size_t producer = 0;  ///< its index among the nodes, if it has one
  bool has_producer = false;
  double latency = 0;  ///< of the producer
};

struct Write {
  std::size_t node = 0;
  RegisterUse use;
  bool any = false;
};

/// Follows the iterations one after the other.
class Chain {
 public:
  Chain(const std::vector<HazardStep>& steps, const CodeLoop& loop, const IssueTable& table,
        const LatencyTable& latencies)
      : steps_(steps), loop_(loop), table_(table), latencies_(latencies) {}

  CriticalPath find() {
    for (int i = 0; i < kTurns; ++i) {
      for (const std::size_t step : loop_.steps) add(step);
      ends_.push_back(latest());
    }
    CriticalPath path;
    const std::size_t half = kTurns / 2;
    path.cycles = (nodes_[ends_.back()].begin - nodes_[ends_[half - 1]].begin) / static_cast<double>(half);
    if (path.cycles > 0) path.chain = turn();
    return path;
  }

 private:
  std::size_t step_of(std::size_t node) const { return loop_.steps[node % loop_.steps.size()]; }

  void add(std::size_t step) {
    const Uses& uses = steps_[step].uses;
    Node node;
    for (const RegisterUse& read : uses.reads) {
      const Write& write = writes_[read.id];
      if (!write.any) continue;
      const double latency = latency_of(step_of(write.node), write.use, uses.type, read);
      if (nodes_[write.node].begin + latency <= node.begin) continue;
      node = {nodes_[write.node].begin + latency, write.node, true, latency};
    }
    for (const RegisterUse& write : uses.writes) writes_[write.id] = {nodes_.size(), write, true};
    nodes_.push_back(node);
  }

  double latency_of(std::size_t writer, const RegisterUse& write, std::string_view reader,
                    const RegisterUse& read) const {
    const HazardStep& step = steps_[writer];
    if (const IssueRow* row = table_.row_of(step.text, step.uses.type); row != nullptr && !row->fixed)
      return table_.latency_of(*row, table_.size_of(step.text));
    return latencies_.cycles({step.uses.type, write}, {reader, read}).value_or(0);
  }

  /// The node of the current last iteration that begins last.
  std::size_t latest() const {
    const std::size_t count = loop_.steps.size();
    const auto last = std::max_element(nodes_.end() - static_cast<std::ptrdiff_t>(count), nodes_.end(),
                                       [](const Node& a, const Node& b) { return a.begin < b.begin; });
    return static_cast<std::size_t>(last - nodes_.begin());
  }

  /// Back from the last node to the first one whose instruction the chain has already.
  std::vector<ChainStep> turn() const {
    std::vector<ChainStep> chain;
    std::vector<std::size_t> seen;
    double latency = 0;
    for (std::size_t at = ends_.back();; at = nodes_[at].producer) {
      const std::size_t step = step_of(at);
      if (const auto known = std::ranges::find(seen, step); known != seen.end()) {
        chain.erase(chain.begin(), chain.begin() + (known - seen.begin()));
        chain.front().cycles = latency;
        break;
      }
      seen.push_back(step);
      chain.push_back({step, latency});
      latency = nodes_[at].latency;
      if (!nodes_[at].has_producer) return {};
    }
    std::ranges::reverse(chain);
    return chain;
  }

  const std::vector<HazardStep>& steps_;
  const CodeLoop& loop_;
  const IssueTable& table_;
  const LatencyTable& latencies_;
  std::vector<Node> nodes_;
  std::vector<std::size_t> ends_;
  std::array<Write, kRegisterIds> writes_{};
};

}  // namespace

CriticalPath critical_path(const std::vector<HazardStep>& steps, const CodeLoop& loop,
                           const IssueTable& table, const LatencyTable& latencies) {
  return Chain(steps, loop, table, latencies).find();
}

}  // namespace ptxloom::sass
