// SPDX-License-Identifier: Apache-2.0
#include "cli/common/interrupt.hpp"

#include <csignal>

namespace ptxloom::cli {
namespace {

// A signal handler can reach nothing but a global.
std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

}  // namespace

const std::atomic<bool>& catch_interrupt() {
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupted = true; };
  action.sa_flags = SA_RESETHAND;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);  // sent by mpirun when a rank has died, and by job schedulers
  return interrupted;
}

}  // namespace ptxloom::cli
