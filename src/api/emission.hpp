// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ptxloom/context.hpp"
#include "ptxloom/template.hpp"

// What a template generates for a problem and a configuration. A process that finds it in the cache need not
// choose the configuration, compile the forms of the specs or emit a single instruction.
namespace ptxloom::api {

struct Emission {
  Settings config;  // complete, with the given build parameters
  std::vector<LaunchPlan> launches;
  std::optional<ir::Module> module;  // if emitted by this process
  std::string ptx;                   // if printed by another process
};

/// A template on a target, and the cache that keeps its output.
class Emitter {
 public:
  Emitter(std::shared_ptr<const Specs> specs, const Template& kernel_template, const Target& target,
          Cache cache);

  /// `words`: template and build parameters. Throws what Template::config and Template::emit throw.
  Emission emit(const Settings& problem, const Settings& words) const;
  std::optional<Emission> find(const Settings& problem, const Settings& words) const;
  /// Caches what this process has emitted and found correct, under the parameters it was requested with.
  void keep(const Settings& problem, const Settings& words, const Emission& emission,
            std::string_view ptx) const;

 private:
  std::string key(const Settings& problem, const Settings& words) const;

  std::shared_ptr<const Specs> specs_;
  const Template& template_;
  const Target& target_;
  Cache cache_;  // disabled for a template or specs that may differ between processes
};

}  // namespace ptxloom::api
