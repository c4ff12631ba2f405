// SPDX-License-Identifier: Apache-2.0
// ptxloom-worker DEVICE: started by a tuner (src/tune/worker/worker.cpp) with a socket and shared memory
// open. It receives a task once, then candidates, and answers each. It exits when the tuner does, or when the
// device is lost; any other failure is attributed to the candidate.
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "base/reason.hpp"
#include "base/standard_streams.hpp"
#include "tune/worker/process.hpp"
#include "tune/worker/session.hpp"
#include "tune/worker/wire.hpp"
#include "worker/cpu_bench.hpp"

namespace ptxloom::worker {
namespace {

using tune::Message;

/// "gpu" or "gpu:N".
int ordinal_of(std::string_view device) {
  int ordinal = 0;
  if (device == "gpu") return ordinal;
  const char* end = device.data() + device.size();
  if (device.starts_with("gpu:")) {
    const auto [stop, error] = std::from_chars(device.data() + 4, end, ordinal);
    if (error == std::errc() && stop == end) return ordinal;
  }
  throw Error(ErrorKind::usage, "unknown-device", "there is no device '" + std::string(device) + "'",
              "use gpu, gpu:N (N from 0) or cpu");
}

class Worker {
 public:
  Worker(std::string device, tune::Channel channel)
      : device_name_(std::move(device)), channel_(std::move(channel)) {}

  void serve() {
    Message request;
    while (!lost_ && channel_.receive(request) == tune::Channel::Outcome::message) {
      Message answer{.head = nlohmann::json::object()};
      try {
        answer.head = handle(request);
      } catch (const Error& error) {
        answer.head = {{"problem", tune::to_json(error.diagnostics().front())},
                       {"kind", static_cast<int>(error.kind())}};
        lost_ = bench_ == nullptr || !bench_->alive(error);
      } catch (const std::exception& error) {
        answer.head = {
            {"problem", tune::to_json(Diagnostic{.code = "bad-task", .message = reason_of(error)})},
            {"kind", static_cast<int>(ErrorKind::usage)}};
      }
      if (lost_) answer.head["lost"] = true;
      if (!channel_.send(answer)) return;
    }
  }

 private:
  nlohmann::json handle(const Message& request) {
    const std::string what = request.head.at("do");
    if (what == "task") {
      take_task(request);
      return nlohmann::json::object();
    }
    if (!session_) throw Error(ErrorKind::usage, "bad-task", "a candidate came before the task");
    if (what == "vendor") return tune::to_json(session_->measure_vendor(request.head.at("samples"), lost_));
    const tune::Candidate candidate = tune::read_candidate(request);
    if (what == "rival") {
      session_->set_rival(&candidate);
      return nlohmann::json::object();
    }
    return tune::to_json(
        session_->measure(candidate, request.head.at("verify"), request.head.at("samples"), lost_));
  }

  void take_task(const Message& request) {
    task_ = tune::read_task(request.head, tune::kMemoryFd);
    ::close(tune::kMemoryFd);
    const tune::Surroundings surroundings = tune::read_surroundings(request.head.at("surroundings"));
    if (device_name_ == "cpu") {
      bench_ = make_cpu_bench(task_, surroundings.specs);
    } else {
      device_.emplace(Libraries(surroundings.libraries), ordinal_of(device_name_));
      bench_ = make_gpu_bench(*device_, task_);
    }
    session_.emplace(*bench_, task_);
  }

  std::string device_name_;
  tune::Channel channel_;
  tune::Task task_;
  std::optional<DeviceContext> device_;
  std::unique_ptr<tune::Bench> bench_;
  std::optional<tune::Session> session_;
  bool lost_ = false;
};

}  // namespace
}  // namespace ptxloom::worker

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("ptxloom-worker is not run by hand: the tuner of ptxloom starts it\n", stderr);
    return 2;
  }
  ptxloom::fill_closed_streams();
  // During an endless kernel this thread does not notice that the tuner has gone. (PR_SET_PDEATHSIG is not
  // suitable: it signals the end of the thread that started this process, and tuners have several.)
  std::thread([] {
    pollfd tuner = {.fd = ptxloom::tune::kSocketFd, .events = POLLRDHUP, .revents = 0};
    while (::poll(&tuner, 1, -1) < 0 && errno == EINTR) {
    }
    std::_Exit(0);
  }).detach();
  try {
    ptxloom::worker::Worker(argv[1],
                            ptxloom::tune::Channel(ptxloom::FileDescriptor(ptxloom::tune::kSocketFd)))
        .serve();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ptxloom-worker: %s\n", ptxloom::reason_of(error).c_str());
    return 1;
  }
  // A normal exit would wait for a kernel that never ends.
  std::_Exit(0);
}
