// SPDX-License-Identifier: Apache-2.0
#include "sass/lint/flow.hpp"

#include <algorithm>
#include <map>

namespace ptxloom::sass {
namespace {

class FlowReader {
 public:
  FlowReader(const std::vector<FlowStep>& steps, bool kernel) : steps_(steps), kernel_(kernel) {}

  std::vector<CodeBlock> read() {
    divide();
    for (CodeBlock& block : blocks_) connect(block);
    std::vector<bool> reached(blocks_.size());
    for (const CodeBlock& block : blocks_)
      for (const std::size_t next : block.next) reached[next] = true;
    for (std::size_t i = 0; i < blocks_.size(); ++i)
      if (!reached[i] && !(i == 0 && kernel_)) blocks_[i].entered = true;
    return std::move(blocks_);
  }

 private:
  bool ends_block(std::size_t i) const {
    const Flow flow = steps_[i].uses->flow;
    return flow != Flow::next && flow != Flow::region;
  }

  void divide() {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (i == 0 || !steps_[i].label.empty() || ends_block(i - 1)) {
        if (!blocks_.empty()) blocks_.back().end = i;
        blocks_.push_back({.begin = i, .end = 0, .next = {}});
        if (!steps_[i].label.empty()) labels_[steps_[i].label] = blocks_.size() - 1;
      }
    }
    if (!blocks_.empty()) blocks_.back().end = steps_.size();
  }

  void connect(CodeBlock& block) {
    const FlowStep& last = steps_[block.end - 1];
    const bool guarded = !last.text->guard.empty();
    switch (last.uses->flow) {
      case Flow::branch:
        // BRA P0, BRA.U UP0 and BRA.DIV UR4 have an operand before the label.
        if (guarded || last.text->operands.size() > 1) go_on(block);
        jump(block, label_in(*last.text));
        break;
      case Flow::end:
        if (guarded) go_on(block);
        // An indirect branch may lead to any label.
        if (last.text->opcode == "EXIT") break;
        enter_labels();
        block.left = true;
        break;
      case Flow::call:
        enter(label_in(*last.text));
        block.left = true;
        break;
      case Flow::sync:
        if (block.end < steps_.size() && !steps_[block.end].label.empty() &&
            steps_[block.end].label == region_of(block.end - 1))
          go_on(block);
        else
          block.left = true;
        break;
      case Flow::collective:
        enter(label_in(*last.text));
        block.left = true;
        go_on(block);
        break;
      default:
        go_on(block);
    }
  }

  void go_on(CodeBlock& block) const {
    const auto index = static_cast<std::size_t>(&block - blocks_.data());
    if (index + 1 < blocks_.size())
      block.next.push_back(index + 1);
    else
      block.left = true;
  }

  void jump(CodeBlock& block, std::string_view label) const {
    if (const auto found = labels_.find(label); found != labels_.end())
      block.next.push_back(found->second);
    else
      block.left = true;
  }

  void enter(std::string_view label) {
    if (const auto found = labels_.find(label); found != labels_.end()) blocks_[found->second].entered = true;
  }

  void enter_labels() {
    for (const auto& [label, index] : labels_) blocks_[index].entered = true;
  }

  /// The label that the last BSSY before a BSYNC names for the same barrier.
  std::string_view region_of(std::size_t sync) const {
    if (steps_[sync].text->operands.empty()) return {};
    const std::string_view barrier = steps_[sync].text->operands.front();
    for (std::size_t i = sync; i-- > 0;)
      if (steps_[i].uses->flow == Flow::region && steps_[i].text->operands.front() == barrier)
        return label_in(*steps_[i].text);
    return {};
  }

  const std::vector<FlowStep>& steps_;
  bool kernel_;
  std::vector<CodeBlock> blocks_;
  std::map<std::string_view, std::size_t> labels_;
};

}  // namespace

std::vector<CodeBlock> blocks_of(const std::vector<FlowStep>& steps, bool kernel) {
  return FlowReader(steps, kernel).read();
}

}  // namespace ptxloom::sass
