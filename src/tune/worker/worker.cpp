// SPDX-License-Identifier: Apache-2.0
// The tuner's side of a worker process. If a candidate takes the process down, only that candidate is lost;
// the next one gets a fresh worker.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "tune/verify/reference.hpp"
#include "tune/worker/process.hpp"
#include "tune/worker/wire.hpp"

namespace ptxloom::tune {
namespace {

constexpr int kMostStarts = 3;

/// The device's lock, while this lives. If locking is impossible, nobody else has it either.
FileDescriptor take_turn(const std::filesystem::path& file) {
  if (file.empty()) return {};
  FileDescriptor turn(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  while (turn && ::flock(turn.get(), LOCK_EX) != 0 && errno == EINTR) {
  }
  return turn;
}

class Worker : public Measurer {
 public:
  Worker(const Task& task, WorkerOptions options) : options_(std::move(options)), task_(share(task)) {
    for (const Expectation& expected : task.expected) check_reference(expected);
    options_.program = find_worker(options_.program);
    start();
  }

  std::string name() const override { return options_.name.empty() ? options_.device : options_.name; }
  Code code() const override { return options_.device == "cpu" ? Code::ptx : Code::cubin; }

  void set_rival(const Trial* rival) override {
    rival_ = rival == nullptr ? std::nullopt : std::optional(to_message(rival->candidate));
    rival_is_there_ = false;
  }

  Reading measure(const Trial& trial) override {
    Message request = to_message(trial.candidate);
    request.head["do"] = "measure";
    request.head["verify"] = trial.verify;
    request.head["samples"] = trial.samples;
    return read(request, options_.candidate_seconds);
  }

  /// Loading the library takes seconds, which no candidate is charged for.
  Reading measure_vendor(int samples) override {
    return read({.head = {{"do", "vendor"}, {"samples", samples}}}, options_.start_seconds);
  }

 private:
  Reading read(const Message& request, double seconds) {
    const FileDescriptor turn = take_turn(options_.turns);
    if (!process_) start();
    send_rival();
    if (!process_) start();  // the rival, of all candidates, took it down
    Message answer;
    if (std::optional<Diagnostic> why = ask(request, answer, seconds)) return lost(std::move(*why));
    try {
      Reading reading = read_reading(answer.head);
      if (!answer.head.value("lost", false)) return reading;
      stop();
      reading.restarted = true;
      return reading;
    } catch (const nlohmann::json::exception&) {
      return lost(garbled());
    }
  }

  static Diagnostic garbled() {
    return {.code = "worker-died", .message = "the answer of the worker cannot be understood", .hint = {}};
  }

  Reading lost(Diagnostic why) {
    stop();
    options_.log(LogLevel::info, fmt::format("restarting the worker: {}", why.message));
    Reading reading;
    reading.problem = std::move(why);
    reading.restarted = true;
    return reading;
  }

  void stop() {
    process_.reset();
    rival_is_there_ = false;
  }

  /// nullopt if there is an answer; otherwise the worker is no longer usable.
  std::optional<Diagnostic> ask(const Message& request, Message& answer, double seconds) {
    Channel::Outcome outcome = Channel::Outcome::closed;
    if (process_->channel().send(request)) outcome = process_->channel().receive(answer, seconds);
    switch (outcome) {
      case Channel::Outcome::message:
        return std::nullopt;
      case Channel::Outcome::late:
        return Diagnostic{.code = "time-limit",
                          .message = fmt::format("it was not done after {:g} s, and was killed", seconds),
                          .hint = "look for an endless loop or a deadlock; or raise the limit"};
      case Channel::Outcome::nonsense:
        return garbled();
      case Channel::Outcome::closed:
        break;
    }
    return Diagnostic{
        .code = "worker-died",
        .message = fmt::format("the worker {}", process_->end()),
        .hint = "the candidate brought down the driver, or the process was killed from outside"};
  }

  void send_rival() {
    if (!rival_ || rival_is_there_) return;
    Message request = *rival_;
    request.head["do"] = "rival";
    Message answer;
    const std::optional<Diagnostic> why = ask(request, answer, options_.candidate_seconds);
    if (why) stop();
    // Without a rival the search continues; its times are just not corrected for drift.
    if (why || answer.head.contains("problem") || answer.head.value("lost", false)) rival_.reset();
    rival_is_there_ = rival_.has_value();
  }

  /// A device may need a moment after a fault; the first start does not wait.
  void start() {
    for (int attempt = 1;; ++attempt) {
      try {
        start_once();
        started_before_ = true;
        return;
      } catch (const Error& error) {
        stop();
        if (!started_before_ || attempt == kMostStarts) throw;
        options_.log(LogLevel::info, fmt::format("the worker does not start: {}", error.what()));
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
      }
    }
  }

  void start_once() {
    process_ = std::make_unique<Process>(options_.program, std::vector<std::string>{options_.device},
                                         task_.memory.get());
    Message request{.head = task_.head}, answer;
    request.head["do"] = "task";
    request.head["surroundings"] = to_json(Surroundings{options_.specs, options_.libraries});
    if (const std::optional<Diagnostic> why = ask(request, answer, options_.start_seconds))
      throw Error(ErrorKind::refused, "worker-lost",
                  fmt::format("{} did not start: {}", options_.program.string(), why->message), why->hint);
    if (answer.head.contains("problem"))
      throw Error(static_cast<ErrorKind>(answer.head.value("kind", 1)),
                  {read_diagnostic(answer.head["problem"])});
  }

  WorkerOptions options_;
  SharedTask task_;
  std::unique_ptr<Process> process_;
  std::optional<Message> rival_;
  bool rival_is_there_ = false;
  bool started_before_ = false;
};

}  // namespace

std::unique_ptr<Measurer> make_worker(const Task& task, WorkerOptions options) {
  return std::make_unique<Worker>(task, std::move(options));
}

}  // namespace ptxloom::tune
