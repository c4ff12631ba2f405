// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/machine.hpp"
#include "ptxloom/ir.hpp"
#include "ptxloom/kernel.hpp"

namespace ptxloom {

struct Kernel::State {
  KernelSignature signature;
  std::optional<Target> target;  // set before it is loaded
  std::string ptx;
  LinkOptions link;
  std::vector<std::byte> cubin;
  std::optional<Resources> resources;
  std::vector<Diagnostic> diagnostics;
  StepTimes times;
  bool cached = false;
  std::shared_ptr<const Specs> specs;           // the executor's program refers to variants
  std::shared_ptr<const api::Machine> machine;  // outlives what is loaded on it
  std::unique_ptr<const api::Loaded> loaded;
};

}  // namespace ptxloom
