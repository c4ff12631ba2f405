// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "ptxloom/context.hpp"
#include "ptxloom/template.hpp"

// What a template makes of a problem and a configuration. A process that finds it in the cache need not
// choose the configuration, compile the specs' forms or emit a single instruction.
namespace ptxloom::api {

struct Emission {
  Settings config;  // whole, with the build words that are given
  LaunchPlan launch;
  std::optional<ir::Module> module;  // made by this process
  std::string ptx;                   // printed by another one
};

/// A template on a target, and the cache that keeps what comes of it.
class Emitter {
 public:
  Emitter(std::shared_ptr<const Specs> specs, const Template& kernel_template, const Target& target,
          Cache cache);

  /// `words` are of the template and build words. Throws what Template::config and Template::emit throw.
  Emission emit(const Settings& problem, const Settings& words) const;
  std::optional<Emission> find(const Settings& problem, const Settings& words) const;
  /// Keeps what this process has emitted, and found to be right, under the words it was asked for.
  void keep(const Settings& problem, const Settings& words, const Emission& emission,
            std::string_view ptx) const;

 private:
  std::string key(const Settings& problem, const Settings& words) const;

  std::shared_ptr<const Specs> specs_;
  const Template& template_;
  const Target& target_;
  Cache cache_;  // finds nothing for a template or specs that may differ from one process to the next
};

}  // namespace ptxloom::api
