// SPDX-License-Identifier: Apache-2.0
#include "insn/run.hpp"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "base/hash.hpp"
#include "insn/probe.hpp"

namespace ptxloom::insn {
namespace {

/// One row with one kind of operands.
struct Task {
  const Row* row = nullptr;
  Data data = Data::plain;
  std::string revision;
};

struct Ready {
  Task task;
  BuiltRow built;
};

std::string_view data_name(Data data) {
  return data == Data::plain ? "plain" : data == Data::zero ? "zero" : "random";
}

Origin origin_of(const Context& context) {
  return {.device = context.device().name,
          .target = std::string(context.target().name()),
          .driver = context.device().driver_api,
          .linker = to_string(context.linker().version()),
          .revision = {}};
}

/// The row that is on the device, in a file: if the process ends there, the next one knows which it was.
class Pending {
 public:
  explicit Pending(const std::filesystem::path& records) : file_(records.string() + ".pending") {}
  std::string left() const {
    std::ifstream in(file_);
    std::string line;
    std::getline(in, line);
    return line;
  }
  void begin(const std::string& key) const { std::ofstream(file_) << key << "\n"; }
  void end() const {
    std::error_code ignored;
    std::filesystem::remove(file_, ignored);
  }

 private:
  std::filesystem::path file_;
};

std::string key_of(const Measured& what) { return what.form + " " + what.opcode + " " + what.data; }

Measured failed(const Task& task, std::string note) {
  return {.form = std::string(task.row->variant.form()),
          .opcode = std::string(task.row->variant.opcode()),
          .essence = task.row->essence,
          .data = std::string(data_name(task.data)),
          .note = std::move(note)};
}

/// Links tasks on several threads, and hands them out as they are ready.
class Builders {
 public:
  Builders(const Context& context, std::vector<Task> tasks, unsigned jobs)
      : context_(context), tasks_(std::move(tasks)) {
    if (jobs == 0) jobs = std::max(1U, std::thread::hardware_concurrency());
    for (unsigned i = 0; i < jobs; ++i) threads_.emplace_back([this] { work(); });
  }
  ~Builders() {
    {
      const std::lock_guard lock(mutex_);
      next_ = tasks_.size();
      stopped_ = true;
    }
    changed_.notify_all();
  }

  /// The next one; nullopt after the last. Throws what a thread threw.
  std::optional<Ready> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return failure_ || !ready_.empty() || taken_ == tasks_.size(); });
    if (failure_) std::rethrow_exception(failure_);
    if (ready_.empty()) return std::nullopt;
    Ready first = std::move(ready_.front());
    ready_.pop_front();
    ++taken_;
    changed_.notify_all();
    return first;
  }

 private:
  static constexpr std::size_t kAhead = 256;

  void work() {
    while (true) {
      Task task;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stopped_ || next_ - taken_ < kAhead; });
        if (stopped_ || next_ >= tasks_.size()) return;
        task = tasks_[next_++];
      }
      Ready made{.task = task, .built = {}};
      try {
        if (task.row->why_not.empty()) made.built = build(*task.row, context_.linker(), context_.target());
      } catch (...) {
        const std::lock_guard lock(mutex_);
        failure_ = std::current_exception();
      }
      {
        const std::lock_guard lock(mutex_);
        ready_.push_back(std::move(made));
      }
      changed_.notify_all();
    }
  }

  const Context& context_;
  const std::vector<Task> tasks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Ready> ready_;
  std::size_t next_ = 0, taken_ = 0;
  bool stopped_ = false;
  std::exception_ptr failure_;
  std::vector<std::jthread> threads_;
};

std::vector<Task> tasks_for(const std::vector<Row>& rows, const Target& target) {
  std::vector<Task> tasks;
  for (const Row& row : rows) {
    const std::string revision = row.why_not.empty() ? revision_of(row, target) : "";
    const auto add = [&](Data data) { tasks.push_back({.row = &row, .data = data, .revision = revision}); };
    if (row.rule->random && row.why_not.empty()) {
      add(Data::zero);
      add(Data::random);
    } else {
      add(Data::plain);
    }
  }
  return tasks;
}

/// One call of run().
class Session {
 public:
  Session(const Context& context, const RunOptions& options)
      : context_(context),
        options_(options),
        records_(options.records, origin_of(context)),
        pending_(options.records),
        left_(pending_.left()) {
    result_.skipped_lines = records_.skipped();
  }

  RunResult run() {
    const std::vector<Probe> probes_wanted = probes(options_.selection == "probe" ? "" : options_.selection);
    std::vector<Row> rows_wanted;
    if (options_.selection.empty() || probes_wanted.empty())
      rows_wanted = rows(context_.specs(), context_.target(), options_.selection);
    std::vector<Task> tasks = tasks_for(rows_wanted, context_.target());
    total_ = tasks.size() + probes_wanted.size();
    std::erase_if(tasks, [&](const Task& task) { return passed_over(failed(task, ""), task.revision); });
    Device device(context_.device_context());
    run_probes(device, probes_wanted);
    run_rows(device, std::move(tasks));
    for (const auto& [what, revision] : wanted_) {
      if (std::string line = records_.line(what, revision); !line.empty())
        result_.records.push_back(std::move(line));
    }
    return std::move(result_);
  }

 private:
  bool stopped() const { return options_.stop != nullptr && options_.stop->load(); }

  /// Whether it is recorded, or the last run ended with it.
  bool passed_over(const Measured& what, const std::string& revision) {
    const std::string key = key_of(what);
    wanted_.emplace_back(what, revision);
    if (!left_.empty() && key == left_) {
      Measured lost = what;
      lost.note = "the run ended while it was on the device";
      records_.append(lost, revision);
      pending_.end();
    } else if (options_.again || !records_.has(what.opcode, what.form, what.data, revision)) {
      return false;
    }
    ++result_.known;
    return true;
  }

  void run_rows(Device& device, std::vector<Task> tasks) {
    Builders builders(context_, std::move(tasks), options_.jobs);
    while (!stopped()) {
      const std::optional<Ready> ready = builders.take();
      if (!ready) break;
      const Task& task = ready->task;
      measure_one(failed(task, ""), task.revision,
                  [&] { return measure(device, *task.row, ready->built, task.data); });
    }
  }

  void run_probes(Device& device, const std::vector<Probe>& all) {
    for (const Probe& probe : all) {
      if (stopped()) return;
      const std::string ptx = probe_text(probe, context_.target()),
                        revision = to_hex(hash128(ptx)).substr(0, 12);
      Measured what{.form = "probe", .opcode = probe.label(), .essence = probe.name, .data = "plain"};
      if (passed_over(what, revision)) continue;
      measure_one(what, revision, [&] {
        const std::vector<std::byte> cubin =
            context_.linker().link(ptx, {.target = std::string(context_.target().name())}).cubin;
        const ProbeResult found = measure(device, probe, cubin);
        Measured made = what;
        made.note = found.note;
        made.latencies.push_back({.from = "step",
                                  .cycles = found.cycles,
                                  .state = "one",
                                  .spread = found.spread,
                                  .nanoseconds = found.nanoseconds});
        made.clock_mhz = found.clock_mhz;
        return made;
      });
    }
  }

  template <typename Work>
  void measure_one(const Measured& what, const std::string& revision, Work work) {
    if (options_.progress) options_.progress(result_.known + result_.measured, total_, what.opcode);
    pending_.begin(key_of(what));
    std::exception_ptr fault;
    Measured made = what;
    try {
      made = work();
    } catch (const Error& error) {
      made.note = error.diagnostics().front().message;
      if (error.kind() == ErrorKind::device_fault) fault = std::current_exception();
    }
    records_.append(made, revision);
    ++result_.measured;
    pending_.end();
    if (fault) std::rethrow_exception(fault);
  }

  const Context& context_;
  const RunOptions& options_;
  RecordFile records_;
  Pending pending_;
  std::string left_;
  std::size_t total_ = 0;
  std::vector<std::pair<Measured, std::string>> wanted_;  ///< with their revisions
  RunResult result_;
};

}  // namespace

RunResult run(const Context& context, const RunOptions& options) { return Session(context, options).run(); }

}  // namespace ptxloom::insn
