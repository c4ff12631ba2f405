// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "exec/judge/horizon.hpp"

// What the clusters of a grid know of each other, through strong accesses to words of global memory. A word
// keeps all that was published at it since a thread that had not published stored to it. Used by one host
// thread.
//
// What is known is a tree with a leaf for each cluster, and is never changed: two trees share what they have
// in common, and are joined by what they have not. A word that all clusters of a grid publish at thus costs
// each of them a path of the tree.
namespace ptxloom::exec {

class GridOrder {
 public:
  using Horizons = std::vector<Horizon>;  ///< by party of a cluster
  struct Node {
    std::vector<std::shared_ptr<const Node>> children;  ///< none: a leaf
    Horizons horizons;                                  ///< of a leaf
  };
  using Known = std::shared_ptr<const Node>;  ///< null: nothing

  explicit GridOrder(std::uint64_t clusters);

  static void join(Known& known, const Known& more);
  /// What a cluster's parties did up to these horizons.
  Known of(std::uint64_t cluster, Horizons horizons) const;
  bool covers(const Known& known, std::uint64_t cluster, Party party, std::uint8_t lane, Time time) const;

  struct Shared {
    Known seen = {};
    Known fenced = {};  ///< of that, what is visible to asynchronous copies too (fence.proxy.async)
  };
  static void join(Shared& shared, const Shared& more) {
    join(shared.seen, more.seen);
    join(shared.fenced, more.fenced);
  }
  /// What was published at a word.
  struct Word {
    Shared known = {};
    Shared sc = {};                             ///< what fence.sc cover (fences.hpp): before the write
    Shared sc_happened = {}, sc_observed = {};  ///< who comes after the write learns this, too
    std::set<std::pair<std::uint64_t, Party>> by = {};  ///< who published: cluster and party
    std::uint64_t version = 0;                          ///< each has its own
  };
  void publish(const void* word, std::uint64_t cluster, Party party, const Word& more) {
    Word& at = words_[word];
    at.by.emplace(cluster, party);
    at.version = ++last_version_;
    join(at.known, more.known);
    join(at.sc, more.sc);
    join(at.sc_happened, more.sc_happened);
    join(at.sc_observed, more.sc_observed);
  }
  /// A store ends what others published.
  void store(const void* word, std::uint64_t cluster, Party party) {
    const auto found = words_.find(word);
    if (found != words_.end() && !found->second.by.contains({cluster, party})) words_.erase(found);
  }
  const Word* at(const void* word) const {
    const auto found = words_.find(word);
    return found == words_.end() ? nullptr : &found->second;
  }

 private:
  int levels_ = 0;  // above the leaves
  std::uint64_t last_version_ = 0;
  std::unordered_map<const void*, Word> words_;
};

}  // namespace ptxloom::exec
