// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "api/machine.hpp"
#include "ptxloom/context.hpp"

namespace ptxloom {

struct Context::State {
  Log log;
  std::shared_ptr<const Specs> specs;
  Libraries libraries;
  Linker linker;
  Records records;
  std::shared_ptr<api::Machine> machine;
  StartTimes start;
};

}  // namespace ptxloom
