// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/workspace.hpp"

#include <fmt/format.h>

#include <atomic>
#include <compare>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "api/context_state.hpp"

namespace ptxloom {
namespace {

/// The per-thread default stream has the same handle in every thread.
constexpr std::uintptr_t kPerThreadStream = 2;  // CU_STREAM_PER_THREAD

/// A unique number of the calling thread. The system reuses thread ids, and the stream of a new thread must
/// not get a workspace that kernels of an ended thread may still use.
std::uint64_t thread_number() {
  static std::atomic<std::uint64_t> last{0};
  thread_local const std::uint64_t number = ++last;
  return number;
}

struct StreamKey {
  std::uint64_t stream = 0;
  std::uint64_t thread = 0;  ///< for a per-thread default stream
  friend auto operator<=>(const StreamKey&, const StreamKey&) = default;
};

StreamKey key_of(const api::Machine& machine, CUstream_st* stream) {
  const bool own = reinterpret_cast<std::uintptr_t>(stream) == kPerThreadStream;
  return {machine.stream_id(stream), own ? thread_number() : 0};
}

struct Workspace {
  std::mutex turn;  // makes filling and launching one step
  std::unique_ptr<api::Block> memory;
  // The kernel whose launches last used it, after it was zeroed; unknown after a launch that threw.
  std::optional<std::uint64_t> layout = {};

  /// Prepares it for a launch on the stream with this need.
  void prepare(const api::Machine& machine, CUstream_st* stream, const StreamWorkspaces::Need& need) {
    if (!memory || memory->size() < need.bytes) {
      if (memory) machine.synchronize(stream);  // for launches that still use it
      memory.reset();
      memory = machine.allocate(need.bytes);
      layout.reset();
    }
    if (layout != need.layout) memory->fill(std::byte{0}, stream);
    layout.reset();  // until the launch is queued, or has failed
  }
};

}  // namespace

struct StreamWorkspaces::State {
  const std::shared_ptr<const api::Machine> machine;
  const std::uint64_t bytes;
  std::mutex mutex{};
  std::map<StreamKey, std::shared_ptr<Workspace>> by_stream{};

  State(std::shared_ptr<const api::Machine> on, std::uint64_t size) : machine(std::move(on)), bytes(size) {}

  std::shared_ptr<Workspace> of(const StreamKey& key) {
    decltype(by_stream) freed;  // destroyed outside the lock, because it waits for the device
    const std::scoped_lock lock(mutex);
    if (by_stream.size() == kMost && !by_stream.contains(key)) freed.swap(by_stream);
    std::shared_ptr<Workspace>& workspace = by_stream[key];
    if (!workspace) workspace = std::make_shared<Workspace>();
    return workspace;
  }
};

StreamWorkspaces::StreamWorkspaces(const Context& context, std::uint64_t bytes)
    : state_(std::make_shared<State>(context.state_->machine, bytes)) {}

void StreamWorkspaces::with(CUstream_st* stream,
                            const std::function<void(std::uint64_t workspace)>& launch) const {
  with(stream, {.bytes = state_->bytes}, launch);
}

void StreamWorkspaces::with(CUstream_st* stream, const Need& need,
                            const std::function<void(std::uint64_t workspace)>& launch) const {
  const api::Machine& machine = *state_->machine;
  if (machine.is_capturing(stream)) {
    throw Error(ErrorKind::usage, "missing-workspace",
                fmt::format("the kernel needs a workspace of {} bytes, and none is allocated while the "
                            "stream is captured into a graph",
                            need.bytes),
                "pass your own (GemmOperands::workspace): that many bytes at a multiple of 256, filled with "
                "zeros before the capture, for this graph alone");
  }
  const std::shared_ptr<Workspace> workspace = state_->of(key_of(machine, stream));
  const std::scoped_lock turn(workspace->turn);
  workspace->prepare(machine, stream, need);
  launch(workspace->memory->address());
  workspace->layout = need.layout;
}

}  // namespace ptxloom
