// SPDX-License-Identifier: Apache-2.0
#include "cli/sass/model_flags.hpp"

#include "cli/common/say.hpp"
#include "ptxloom/error.hpp"

namespace ptxloom::cli {
namespace {

constexpr int kLanes = 32, kMostWarps = 64, kMostThreads = 1024, kMostShared = 1 << 20;

sass::LoadFrom loads_from(const std::string& name) {
  if (name == "l1") return sass::LoadFrom::l1;
  return name == "memory" ? sass::LoadFrom::memory : sass::LoadFrom::l2;
}

}  // namespace

bool ModelFlags::given() const {
  return warps > 0 || threads > 0 || shared || !loads.empty() || conflicts > 1;
}

void ModelFlags::check() const {
  if (warps == 0 || block_warps() <= warps) return;
  throw Error(ErrorKind::usage, "bad-usage",
              fmt::format("--block {} is {} warps, more than --warps {}", threads, block_warps(), warps),
              "give as many warps as a thread block has, or more");
}

int ModelFlags::block_warps() const { return (threads + kLanes - 1) / kLanes; }

sass::ModelOptions ModelFlags::options() const {
  return {.warps = warps,
          .block_warps = block_warps(),
          .shared = shared.value_or(0),
          .loads = loads_from(loads),
          .conflicts = conflicts};
}

void add_model_flags(CLI::App& command, ModelFlags& flags) {
  command
      .add_option("--warps", flags.warps, "warps of an SM; default: as many as the kernel's resources allow")
      ->check(CLI::Range(1, kMostWarps))
      ->type_name("N");
  command
      .add_option("--block", flags.threads,
                  "threads of a thread block; default: what the kernel requires or allows, else 256")
      ->check(CLI::Range(1, kMostThreads))
      ->type_name("N");
  command
      .add_option("--smem", flags.shared,
                  "bytes of dynamic shared memory of a thread block; default: what the template or the "
                  "ptxloom.launch line of the PTX says, else 0")
      ->check(CLI::Range(0, kMostShared))
      ->type_name("BYTES");
  command.add_option("--loads", flags.loads, "where loads find their data: l1, l2 (default) or memory")
      ->check(CLI::IsMember({"l1", "l2", "memory"}));
  command
      .add_option("--conflicts", flags.conflicts,
                  "how many words of the most used bank each access to shared memory needs; default: 1")
      ->check(CLI::Range(1, kLanes))
      ->type_name("N");
}

std::string assumed_note(int chip) {
  return fmt::format(
      "note: the issue model was measured on sm_90 only; what is marked as assumed rests on figures of sm_90 "
      "that nobody has published for sm_{}\n",
      chip);
}

void print_model_notes(const sass::IssueModel& model) {
  if (model.assumed) say("{}", assumed_note(model.chip));
  if (model.functions.empty()) say("note: {} has no code\n", model.file);
}

void print_shared_note(const ModelFlags& flags) {
  if (!flags.shared && flags.warps == 0) say("note: dynamic shared memory is not known: give --smem\n");
}

void print_object_note(const sass::Listing& listing) {
  if (listing.relocatable)
    say("note: {} is an object file (ptxas -c): the linker may still change it\n", listing.file);
}

}  // namespace ptxloom::cli
