// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <unordered_map>
#include <vector>

#include "exec/judge/fences.hpp"
#include "exec/judge/lane_groups.hpp"
#include "exec/judge/past.hpp"

// The happens-before relation in a cluster, by vector clocks (FastTrack, Flanagan and Freund 2009). Time
// counts synchronisations. The parties are warps, and asynchronous copies are one more. For every other
// party, a warp knows up to which time that party's actions happen before its own; it learns this at places:
// barriers, mbarriers, words in memory that are accessed atomically. Whoever arrives at a place publishes
// what it knows there; whoever passes takes that knowledge along.
//
// Lanes of a warp are told apart: what some lanes publish covers their own actions and, of the other lanes,
// those before the last synchronisation of the warp; what some lanes learn, the others do not know, and a
// fence counts for the lanes that execute it (lane_groups.hpp). Of the actions of one party, two parts that
// were published by different lanes are joined to a larger one, which errs on the side of silence.
//
// What a thread did becomes known through a relaxed access only if a fence of the same thread comes before
// it, and what a relaxed access finds is known only after a fence of the same thread (PTX ISA 8.8, release
// and acquire patterns). A fence.sc also makes known what an earlier fence.sc covers, of whatever thread, if
// a chain of accesses and synchronisation leads from one to the other (fences.hpp). Accesses and fences count
// for threads in their scope only. A relaxed arrival at an mbarrier tells that the reads before it, and the
// copies awaited before it, are over: this is how consumers release a stage of a pipeline to the thread block
// that fills it.
namespace ptxloom::exec {

/// Lanes of a party that act together.
struct Who {
  Party party = 0;
  Mask lanes = kAllLanes;
  Mask live = kAllLanes;  ///< of the warp

  bool whole() const { return (live & ~lanes) == 0; }
};

/// The patterns that a fence is part of (PTX ISA 8.8): fence.release of release patterns only, fence.acquire
/// of acquire patterns only.
struct FenceSides {
  bool acquires = true, releases = true;
  bool sc = false;  ///< fence.sc
};

/// How threads pass a place.
struct Passing {
  bool relaxed = false;  ///< it takes effect with their next fence
  bool for_cta = false;  ///< other thread blocks are not in its scope: of what they did, only reads are over
};

class Order {
 public:
  /// Starts with thread blocks of this many warps, none of which knows anything. `grid`: what the clusters of
  /// the grid know of each other; null: nothing is to be found between them.
  void reset(std::size_t blocks, std::size_t warps, GridOrder* grid, std::uint64_t cluster);
  Time now() const { return now_; }
  /// What follows is later than what was before. Returns the time of that.
  Time advance() { return tick(); }
  /// The party of asynchronous copies; warps have the numbers below.
  Party copies() const { return copies_; }
  Party party_of(std::uint32_t block, std::uint32_t warp) const {
    return static_cast<Party>(block * warps_ + warp);
  }
  /// The memory that a party accesses in shared memory of a thread block.
  FencedSpace space_of(Party party, std::uint32_t block) const {
    return party / warps_ == block ? kSharedSpace : kRemoteSpace;
  }
  /// The smallest scope that includes threads of both parties of the cluster.
  Scope distance(Party one, Party other) const {
    const bool is_copy = std::max(one, other) == copies();
    return is_copy || one / warps_ == other / warps_ ? Scope::cta : Scope::cluster;
  }

  /// What they did so far happens before what those do who pass after the place opens.
  void arrive(const Who& who, const void* place);
  /// Only what a fence of this scope or a larger one covers, but all of it is over.
  void arrive_relaxed(const Who& who, const void* place, Scope scope);
  void open(const void* place);
  /// The same, with exited threads counting as arrived.
  void open_with_exited(const void* place);
  /// The same, with those of this thread block only.
  void open_with_exited(const void* place, std::uint32_t block);
  void pass(const Who& who, const void* place, Passing passing);
  /// Whether they know of all that the last opening of the place published.
  bool knows_opening(const Who& who, const void* place) const;
  /// Threads of the warp exit.
  void exit(const Who& who);

  // Strong accesses to one word. A store that does not update the word ends what other threads published
  // there: who reads it has not read what they wrote (PTX ISA 8.8).
  void store(const Who& who, const void* word);
  void release(const Who& who, const void* word, bool relaxed, Scope scope);
  void acquire(const Who& who, const void* word, bool relaxed, Scope scope);

  void fence(const Who& who, Scope scope, FenceSides sides);
  /// What they did so far, and what any of them knows.
  Past known_by(const Who& who);
  /// What they know of now becomes visible to asynchronous copies (fence.proxy.async).
  void fence_proxy(const Who& who, const ProxyFence& fence);

  /// These threads of a warp see each other's actions.
  void sync_lanes(const Who& who);
  /// What the warp has read so far, its lanes have all read.
  void finish_reads(Party warp) { known_[warp].parties[warp].over.join({.all = tick()}); }
  /// All lanes have waited for each other at an instruction that does not order memory accesses.
  void converge(Party warp) { converged_[warp] = tick(); }
  /// What the warp had read when its lanes last did so, they have all read.
  void finish_converged(Party warp) { known_[warp].parties[warp].over.join({.all = converged_[warp]}); }

  /// Whether a lane knows of what a lane of `other` did at `time`.
  bool knows(Party party, std::uint8_t lane, Party other, std::uint8_t other_lane, Time time) const {
    return known_[party].parties[other].seen.covers(time, other_lane) ||
           knows_more(party, lane, other, other_lane, time);
  }
  /// Whether all lanes know of what all lanes of `other` did until then, if that is easy to see.
  bool knows_whole(Party party, Party other, Time time) const {
    if (party == other && party < lanes_synced_.size() && time <= lanes_synced_[party]) return true;
    return time <= known_[party].parties[other].seen.all;
  }
  /// Whether a read, or the write of a copy, is known to be over: another write may follow.
  bool knows_over(Party party, std::uint8_t lane, Party other, std::uint8_t other_lane, Time time) const;
  bool fenced(FencedSpace space, Party party, std::uint8_t lane, Party other, std::uint8_t other_lane,
              Time time) const;
  /// Whether a lane knows of anything that one of these parties did.
  bool knows_any(Party party, std::uint8_t lane, Party first, std::size_t count) const;
  /// The party has passed a barrier of all threads, which are thus all running, whatever it knows of them.
  void meet_all(Party party) { met_all_[party] = true; }
  /// Whether a lane knows of what a party of another cluster did.
  bool knows_other(Party party, std::uint8_t lane, std::uint64_t cluster, Party other,
                   std::uint8_t other_lane, Time time) const;
  /// Whether a fence for asynchronous copies came between.
  bool fenced_other(Party party, std::uint8_t lane, std::uint64_t cluster, Party other,
                    std::uint8_t other_lane, Time time) const;

 private:
  /// What threads publish, and who comes after that learns.
  struct News {
    Past past;
    ScOrder sc;
    void join(const News& other) {
      past.join(other.past);
      sc.join(other.sc);
    }
  };
  /// What relaxed accesses found, by the smallest scope of a fence that makes it known.
  using Found = std::array<News, kScopes>;
  struct Place {
    News gathered;                     // fence.sc only until gather_sc
    std::vector<ScOrder> sc_gathered;  // by thread block of who published
    Past opened = {};
    std::vector<ScOrder> sc_opened = {};  // by thread block of who passes
    std::uint64_t version = 0;            // of what is opened
  };
  struct Published {
    News news;
    ScFences sc;  // before the write
  };
  struct Word {
    std::vector<Published> by_block;  // by threads of a thread block, for threads of it
    Published cluster;                // for other thread blocks of the cluster
    std::set<Party> by;               // who published
    std::uint64_t version = 0;
  };

  /// Whether something that the lane knows beyond what all lanes know satisfies a condition.
  template <class F>
  bool any_beyond(Party party, std::uint8_t lane, F holds) const;
  bool knows_more(Party party, std::uint8_t lane, Party other, std::uint8_t other_lane, Time time) const;
  /// What they do from now on is later than what this covers.
  Horizon own(const Who& who);
  /// Calls f(past) for what all lanes know, and for what some of these know.
  template <class F>
  void for_known(const Who& who, F f);
  /// The same, if f changes it. `who` is the whole warp.
  template <class F>
  void change_known(const Who& who, F f);
  /// Without what threads of other thread blocks of the cluster did, but all of it is over.
  Past within_block(Party party, const Past& past) const;
  void publish(const Who& who, News& at);
  void publish_released(const Who& who, News& at, Scope scope);
  void publish_over(const Who& who, Past& at);
  /// What was just gathered at a place comes from this thread block.
  void gather_sc(Place& place, std::size_t block);
  void gather_exited(Place& place, std::size_t block);
  /// Of what was gathered by thread block of who published: what threads of each thread block learn.
  static std::vector<ScOrder> for_blocks(const std::vector<ScOrder>& gathered);
  /// To threads of other clusters.
  void publish_beyond(Party by, const void* word, const News& published, const ScFences& sc);
  GridOrder::Shared beyond(const Past& published) const;
  void learn(const Who& who, const Past& past, const LaneKey& key);
  void sync_some(const Who& who);
  /// A fence makes known what relaxed accesses found.
  void learn_found(const Who& who, Scope scope);
  /// A fence.sc makes known what those before it cover.
  void learn_sc(const Who& who, Scope scope);
  /// Lanes that know the same execute a fence.sc.
  void cover_sc(Party party, Mask lanes, Scope scope, Past known, Time now);
  ScOrder sc_of(const Who& who) const;
  void add_sc(const Who& who, const ScOrder& sc, const LaneKey& key);
  /// Calls f(past, lanes) with what they know, and when it is now, for lanes that know the same.
  template <class F>
  void for_alike(const Who& who, F f);
  void take_beyond(const Who& who, const GridOrder::Word& word, const LaneKey& key, bool relaxed);
  /// After an access that finds this: `scope` includes both threads, no smaller one does. `before`: the
  /// write.
  void find(const Who& who, const Past& past, const ScOrder& sc, const ScFences& before, const LaneKey& key,
            bool relaxed, Scope scope);
  /// Calls f(past) for what they have in common, and for what each group of them has beyond it, if only some
  /// lanes of the warp do something that counts for themselves.
  template <class F>
  void mark(const Who& who, F f);
  /// Everything up to now is before what follows. When time runs out, nothing new is found.
  Time tick() { return now_ + 1 == kInFlight ? now_ : now_++; }

  Time now_ = 1;
  std::uint64_t last_version_ = 0;  // of a place or word
  std::size_t blocks_ = 1, warps_ = 1;
  Party copies_ = 0;
  std::uint64_t cluster_ = 0;
  GridOrder* grid_ = nullptr;
  std::vector<Past> known_;               // by party: what all its lanes know
  std::vector<LaneGroups<Past>> groups_;  // by warp: what some of its lanes know
  std::vector<LaneGroups<Found>> found_;  // by warp: what relaxed accesses of its lanes found, until a fence
  std::vector<LaneGroups<Released>> released_;  // by warp: what fences of its lanes cover
  std::vector<LaneGroups<ScOrder>> sc_;         // by warp: the fence.sc before the next one of its lanes
  bool any_sc_ = false;                         // there was a fence.sc
  bool fences_ = false;                         // there was a fence: relaxed accesses may publish something
  std::vector<News> exited_;                    // by thread block
  std::vector<Time> lanes_synced_;
  std::vector<Time> converged_;  // by warp
  std::vector<bool> met_all_;
  std::unordered_map<const void*, Place> places_;
  std::unordered_map<const void*, Word> words_;
};

}  // namespace ptxloom::exec
