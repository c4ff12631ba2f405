// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "exec/judge/horizon.hpp"

// What lanes of a warp have beyond what all of them have. Each lane is in one group at most; the lanes of a
// group have the same. A group is divided where something is added for some of its lanes, and lanes to which
// the same is added one by one come together again: accesses are judged lane by lane.
namespace ptxloom::exec {

/// What is added: what is at a part of a place, in this version. Without a place, it is like nothing else.
struct LaneKey {
  const void* place = nullptr;
  std::uint64_t version = 0;
  std::uint8_t part = 0;  ///< versions of different parts have nothing to do with each other

  bool operator==(const LaneKey& other) const {
    return place != nullptr && place == other.place && version == other.version && part == other.part;
  }
};

template <class Content>
class LaneGroups {
 public:
  struct Group {
    Content content;
    Mask lanes = 0;
    std::uint32_t id = 0;
    LaneKey key;               // of what was added last
    std::uint32_t parent = 0;  // the group that the lanes were in before; 0: none
  };

  bool empty() const { return groups_.empty(); }
  const std::vector<Group>& all() const { return groups_; }
  void clear() { groups_.clear(); }

  /// Calls f(content) for the groups with any of the lanes.
  template <class F>
  void for_each(Mask lanes, F f) {
    for (Group& group : groups_)
      if ((group.lanes & lanes) != 0) f(group.content);
  }
  /// Changes the contents of these groups: who gets the same added later does not have what they have.
  template <class F>
  void change(Mask lanes, F f) {
    for (Group& group : groups_) {
      if ((group.lanes & lanes) == 0) continue;
      f(group.content);
      group.key = {};
    }
  }
  template <class F>
  bool any(std::uint8_t lane, F holds) const {
    return std::ranges::any_of(groups_, [&](const Group& group) {
      return (lane == kSeveralLanes || (group.lanes >> lane & 1) != 0) && holds(group.content);
    });
  }

  /// Adds something for the lanes: calls f(content) for each group of them.
  template <class F>
  void add(Mask lanes, const LaneKey& key, F f) {
    const std::size_t count = groups_.size();
    Mask rest = lanes;
    for (std::size_t i = 0; i < count; ++i) {
      const Mask part = groups_[i].lanes & lanes;
      rest &= ~part;
      if (part == 0 || groups_[i].key == key) continue;  // they have it
      add_for(i, part, key, f);
    }
    if (rest != 0 && !join_sibling(0, rest, key)) {
      groups_.push_back({.content = {}, .lanes = rest, .id = ++last_id_, .key = key});
      f(groups_.back().content);
    }
    drop_empty();
  }
  /// The lanes leave their groups, and have this instead.
  void replace(Mask lanes, Content content) {
    remove(lanes);
    groups_.push_back({.content = std::move(content), .lanes = lanes, .id = ++last_id_});
  }
  void remove(Mask lanes) {
    for (Group& group : groups_) group.lanes &= ~lanes;
    drop_empty();
  }
  /// Groups that have the same become one.
  void join_equal() {
    for (std::size_t i = 0; i < groups_.size(); ++i)
      for (std::size_t j = i + 1; j < groups_.size(); ++j)
        if (groups_[j].lanes != 0 && groups_[i].content == groups_[j].content)
          groups_[i].lanes |= std::exchange(groups_[j].lanes, 0);
    drop_empty();
  }
  /// Calls f(content) for groups that have all of these lanes, and drops them.
  template <class F>
  void take_whole(Mask live, F f) {
    for (Group& group : groups_) {
      if ((live & ~group.lanes) != 0) continue;
      f(group.content);
      group.lanes = 0;
    }
    drop_empty();
  }

 private:
  // The same has been added before for lanes that were in the same group.
  bool join_sibling(std::uint32_t parent, Mask lanes, const LaneKey& key) {
    const auto sibling = std::ranges::find_if(
        groups_, [&](const Group& each) { return each.parent == parent && each.key == key; });
    if (sibling == groups_.end()) return false;
    sibling->lanes |= lanes;
    return true;
  }

  template <class F>
  void add_for(std::size_t index, Mask part, const LaneKey& key, F f) {
    if (join_sibling(groups_[index].id, part, key)) {
      groups_[index].lanes &= ~part;
    } else if (part == groups_[index].lanes) {
      groups_[index].key = key;
      groups_[index].parent = groups_[index].id;
      groups_[index].id = ++last_id_;
      f(groups_[index].content);
    } else {
      Group divided = groups_[index];
      groups_[index].lanes &= ~part;
      divided.lanes = part;
      divided.parent = divided.id;
      divided.id = ++last_id_;
      divided.key = key;
      f(divided.content);
      groups_.push_back(std::move(divided));
    }
  }

  void drop_empty() {
    std::erase_if(groups_, [](const Group& group) { return group.lanes == 0; });
  }

  std::vector<Group> groups_;
  std::uint32_t last_id_ = 0;
};

}  // namespace ptxloom::exec
