// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <typeindex>
#include <unordered_map>

#include "api/machine.hpp"
#include "ptxloom/context.hpp"

namespace ptxloom {

namespace api {

/// Context::attached. Thread-safe.
class Attachments {
 public:
  void* find(std::type_index type, std::shared_ptr<void> (*make)()) {
    const std::scoped_lock lock(mutex_);
    std::shared_ptr<void>& object = objects_[type];
    if (!object) object = make();
    return object.get();
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::type_index, std::shared_ptr<void>> objects_;
};

}  // namespace api

struct Context::State {
  Log log;
  std::shared_ptr<const Specs> specs;
  Libraries libraries;
  Linker linker;
  Records records;
  std::shared_ptr<api::Machine> machine;
  StartTimes start;
  std::unique_ptr<api::Attachments> attachments = std::make_unique<api::Attachments>();
};

}  // namespace ptxloom
