// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "exec/judge/past.hpp"
#include "exec/judge/scope.hpp"

// What fences cover: all that happened before them, as far as their thread knows.
namespace ptxloom::exec {

/// What some fence.sc cover, of any threads.
class ScFences {
 public:
  bool empty() const { return parts_.empty(); }
  /// One of this scope, of the own thread.
  void add(Scope scope, const std::shared_ptr<Past>& known) { join(Scope::cta, scope, known); }
  /// Those of another cluster.
  void add_from_beyond(const Past& past) {
    if (!past.empty()) join(Scope::gpu, Scope::gpu, std::make_shared<Past>(past));
  }
  void join(const ScFences& other);
  /// For threads of another thread block of the cluster.
  ScFences beyond_block() const;
  /// For threads of another cluster.
  Past beyond_cluster() const;
  /// Calls f(past) for what a fence.sc of this scope makes known.
  template <class F>
  void for_each_known(Scope scope, F f) const {
    for (const Part& part : parts_)
      if (part.distance <= scope) f(*part.past);
  }

 private:
  struct Part {
    Scope distance;              // the smallest that includes the threads of the fences
    Scope scope;                 // of the fences; not smaller
    std::shared_ptr<Past> past;  // changed only if nobody shares it: many threads know the same
  };
  void join(Scope distance, Scope scope, const std::shared_ptr<Past>& past);

  std::vector<Part> parts_;
};

/// The fence.sc that are before the next one of a thread in the order of all fence.sc (PTX ISA 8.9.3). Two of
/// them synchronise if the scope of each includes the thread of the other.
struct ScOrder {
  ScFences happened;  ///< before what the thread does
  ScFences observed;  ///< before a write whose value has been read: other threads do not learn this by that

  bool empty() const { return happened.empty() && observed.empty(); }
  void join(const ScOrder& other) {
    happened.join(other.happened);
    observed.join(other.observed);
  }
  ScOrder beyond_block() const {
    return {.happened = happened.beyond_block(), .observed = observed.beyond_block()};
  }
};

/// What fences of some lanes cover, which may begin a release pattern of these lanes (PTX ISA 8.8), by the
/// scope of the fence or a smaller one. Of a thread, a later fence covers all that an earlier one did.
struct Released {
  struct Part {
    Past past;
    ScOrder sc;
    Time own = 0;  ///< until when actions of the lanes themselves are covered
  };
  std::array<std::shared_ptr<const Part>, kScopes> parts;

  void set(Scope scope, const std::shared_ptr<const Part>& part) {
    for (std::size_t i = 0; i <= static_cast<std::size_t>(scope); ++i) parts[i] = part;
  }
  bool operator==(const Released&) const = default;
};

}  // namespace ptxloom::exec
