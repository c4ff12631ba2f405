// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "launch/context.hpp"

namespace ptxloom {
namespace {

/// A driver handle that is destroyed in its context.
template <typename Handle>
class Owned {
 public:
  using Destroy = CUresult (*)(Handle);

  Owned(std::shared_ptr<DeviceContext::State> context, Destroy destroy)
      : context_(std::move(context)), destroy_(destroy) {}
  ~Owned() try {
    if (handle_ == nullptr) return;
    const auto current = context_->make_current();
    destroy_(handle_);
  } catch (const Error&) {
    // The context is gone, and the handle with it.
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;

  Handle get() const { return handle_; }
  Handle* out() { return &handle_; }
  DeviceContext::State& context() const { return *context_; }
  const cuda::Driver& driver() const { return context_->driver; }

 private:
  std::shared_ptr<DeviceContext::State> context_;
  Destroy destroy_;
  Handle handle_ = nullptr;
};

struct NativeStream : Owned<CUstream> {
  NativeStream(const std::shared_ptr<DeviceContext::State>& owner, unsigned flags)
      : Owned(owner, owner->driver.cuStreamDestroy) {
    const auto current = owner->make_current();
    owner->check(driver().cuStreamCreate(out(), flags), "creating a stream");
  }
};

/// The names of the kernels in a graph, so that a fault in a replay can be attributed to them.
std::vector<std::string> kernels_of(const cuda::Driver& driver, CUgraph graph) {
  std::size_t count = 0;
  if (driver.cuGraphGetNodes(graph, nullptr, &count) != CUDA_SUCCESS) return {};
  std::vector<CUgraphNode> nodes(count);
  if (driver.cuGraphGetNodes(graph, nodes.data(), &count) != CUDA_SUCCESS) return {};
  std::vector<std::string> names;
  for (const CUgraphNode node : nodes) {
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    CUDA_KERNEL_NODE_PARAMS parameters = {};
    const char* name = nullptr;
    if (driver.cuGraphNodeGetType(node, &type) == CUDA_SUCCESS && type == CU_GRAPH_NODE_TYPE_KERNEL &&
        driver.cuGraphKernelNodeGetParams(node, &parameters) == CUDA_SUCCESS && parameters.func != nullptr &&
        driver.cuFuncGetName(&name, parameters.func) == CUDA_SUCCESS) {
      names.emplace_back(name);
    }
  }
  return names;
}

}  // namespace

struct Stream::State : NativeStream {
  using NativeStream::NativeStream;
};

// Not CU_STREAM_NON_BLOCKING: copies of DeviceMemory use the default stream and must wait for this one.
Stream::Stream(const DeviceContext& context)
    : state_(std::make_shared<State>(context.state(), CU_STREAM_DEFAULT)) {}

Stream::operator CUstream_st*() const { return state_->get(); }

void Stream::synchronize() const {
  const auto current = state_->context().make_current();
  state_->context().check(state_->driver().cuStreamSynchronize(state_->get()), "waiting for a stream");
}

struct Event::State : Owned<CUevent> {
  explicit State(const std::shared_ptr<DeviceContext::State>& owner)
      : Owned(owner, owner->driver.cuEventDestroy) {
    const auto current = owner->make_current();
    owner->check(driver().cuEventCreate(out(), CU_EVENT_DEFAULT), "creating an event");
  }
};

Event::Event(const DeviceContext& context) : state_(std::make_shared<State>(context.state())) {}

void Event::record(CUstream_st* stream) const {
  const auto current = state_->context().make_current();
  state_->context().check(state_->driver().cuEventRecord(state_->get(), stream), "recording an event");
}

void Event::synchronize() const {
  const auto current = state_->context().make_current();
  state_->context().check(state_->driver().cuEventSynchronize(state_->get()), "waiting for an event");
}

bool Event::completed() const {
  const auto current = state_->context().make_current();
  const CUresult result = state_->driver().cuEventQuery(state_->get());
  if (result == CUDA_ERROR_NOT_READY) return false;
  state_->context().check(result, "asking for the state of an event");
  return true;
}

void Event::wait_in(CUstream_st* stream) const {
  const auto current = state_->context().make_current();
  state_->context().check(state_->driver().cuStreamWaitEvent(stream, state_->get(), 0),
                          "waiting for an event");
}

float Event::elapsed_ms(const Event& start) const {
  synchronize();
  const auto current = state_->context().make_current();
  float milliseconds = 0;
  state_->context().check(
      state_->driver().cuEventElapsedTime(&milliseconds, start.state_->get(), state_->get()),
      "timing between two events");
  return milliseconds;
}

struct Graph::State : Owned<CUgraphExec> {
  std::vector<std::string> kernels;

  explicit State(const std::shared_ptr<DeviceContext::State>& owner)
      : Owned(owner, owner->driver.cuGraphExecDestroy) {}
};

Graph::Graph(const DeviceContext& context, const std::function<void(CUstream_st*)>& work)
    : state_(std::make_shared<State>(context.state())) {
  const cuda::Driver& driver = state_->driver();
  const NativeStream stream(context.state(), CU_STREAM_NON_BLOCKING);
  Owned<CUgraph> graph(context.state(), driver.cuGraphDestroy);
  const auto current = context.state()->make_current();
  context.state()->check(driver.cuStreamBeginCapture(stream.get(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                         "beginning to record a graph");
  try {
    work(stream.get());
  } catch (...) {
    driver.cuStreamEndCapture(stream.get(), graph.out());
    throw;
  }
  context.state()->check(driver.cuStreamEndCapture(stream.get(), graph.out()), "recording a graph");
  context.state()->check(driver.cuGraphInstantiate(state_->out(), graph.get(), 0),
                         "making a graph ready to run");
  // Otherwise the first launch does it, and takes longer than those that follow.
  context.state()->check(driver.cuGraphUpload(state_->get(), stream.get()), "uploading a graph");
  state_->kernels = kernels_of(driver, graph.get());
}

void Graph::launch(CUstream_st* stream) const {
  for (const std::string& kernel : state_->kernels) state_->context().trail.add(kernel);
  const auto current = state_->context().make_current();
  state_->context().check(state_->driver().cuGraphLaunch(state_->get(), stream), "launching a graph");
}

}  // namespace ptxloom
