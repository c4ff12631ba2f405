// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "check/rules.hpp"
#include "target/launch_limits.hpp"

// .reqntid and .reqnctapercluster fix the shape of each launch, so a shape that no launch can have is an
// error, although ptxas accepts it. .maxntid and .maxclusterrank are upper bounds: one above the chip's has
// no effect, and compilers emit such bounds (`__launch_bounds__(2048)`).
namespace ptxloom::check_rules {
namespace {

using target::describe;
using target::product;
using target::Size3;

class BoundsCheck {
 public:
  BoundsCheck(const ir::Kernel& kernel, const Target& target, Diagnostics& out)
      : kernel_(kernel), target_(target), out_(out) {}

  void check() {
    if (kernel_.reqntid) required_block(*kernel_.reqntid);
    if (kernel_.maxntid) largest_block(*kernel_.maxntid);
    positive(".minnctapersm", kernel_.minnctapersm);
    positive(".maxnreg", kernel_.maxnreg);
    clusters();
  }

 private:
  void add(Severity severity, std::string message, std::string hint) {
    out_.push_back({.severity = severity,
                    .code = "launch-bounds",
                    .message = "kernel " + kernel_.name + ": " + std::move(message),
                    .hint = std::move(hint)});
  }

  void required_block(const Size3& block) {
    // Grid and memory belong to the launch; only the thread block is checked.
    if (const auto problem = target::find_problem({.block = block}, {}))
      add(Severity::error, ".reqntid " + describe(block) + ": " + problem->message, problem->hint);
  }

  void largest_block(const Size3& block) {
    constexpr std::uint64_t kMostOfPtxas = 0x7fff'ffff;  // above it some values crash ptxas 13.0
    const std::uint64_t threads = product(block), most = target::launch_limits().threads;
    if (threads != 0 && threads <= most) return;
    const bool legal = threads != 0 && threads <= kMostOfPtxas;
    add(legal ? Severity::warning : Severity::error,
        ".maxntid " + describe(block) + " allows " + std::to_string(threads) +
            " threads, but a thread block has at most " + std::to_string(most),
        "write 1 to " + std::to_string(most));
  }

  void positive(const std::string& directive, std::optional<std::uint32_t> value) {
    if (value == 0U) add(Severity::error, directive + " is 0", "write 1 or more, or leave it out");
  }

  void clusters() {
    const std::uint64_t most = static_cast<std::uint64_t>(target_.info().cluster_blocks);
    const auto& required = kernel_.reqnctapercluster;
    if (most == 0) return;  // check_directive_needs reports the directives
    if (required && product(*required) > most)
      add(Severity::error,
          ".reqnctapercluster " + describe(*required) + " has " + std::to_string(product(*required)) +
              " thread blocks, but the most is " + std::to_string(most),
          "use " + std::to_string(most) + " or fewer; every chip with clusters takes " +
              std::to_string(target::launch_limits().cluster_portable));
    if (kernel_.maxclusterrank && *kernel_.maxclusterrank > most)
      add(Severity::warning,
          ".maxclusterrank " + std::to_string(*kernel_.maxclusterrank) + ", but a cluster has at most " +
              std::to_string(most) + " thread blocks",
          "write 1 to " + std::to_string(most));
  }

  const ir::Kernel& kernel_;
  const Target& target_;
  Diagnostics& out_;
};

}  // namespace

void check_launch_bounds(const ir::Module& module, const Target& target, Diagnostics& out) {
  for (const ir::Function& function : module.functions)
    if (function.entry) BoundsCheck(function, target, out).check();
}

}  // namespace ptxloom::check_rules
