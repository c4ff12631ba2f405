// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/conform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/dotted.hpp"
#include "base/hash.hpp"
#include "base/nearest.hpp"
#include "conform/compare.hpp"
#include "conform/run.hpp"
#include "conform/subject.hpp"
#include "ptxloom/exec.hpp"
#include "ptxloom/ptx.hpp"

namespace ptxloom {
namespace {

using namespace conform_kernels;

constexpr std::size_t kBatch = 32;  // kernels per module, linked at once

/// The first line of an error's message.
std::string reason(const Error& error) { return error.diagnostics().front().message; }

/// Several subjects as one module, on both sides.
class Batch {
 public:
  Batch(const Context& context, std::span<const Subject> subjects, const ConformOptions& options)
      : context_(context), subjects_(subjects), options_(options) {}

  std::vector<ConformResult> run() {
    std::vector<ConformResult> results;
    for (const Subject& subject : subjects_) {
      ConformResult& result = results.emplace_back();
      result.form = subject.variant.form();
      result.opcode = subject.variant.opcode();
      result.note = subject.why_not;
    }
    parse_all(results);
    link_all(results);
    for (std::size_t i = 0; i < subjects_.size(); ++i) {
      if (parsed_[i]) run_one(i, results[i]);
    }
    return results;
  }

 private:
  // What the executor can run: it must accept the kernel before the device is used.
  void parse_all(std::vector<ConformResult>& results) {
    parsed_.resize(subjects_.size());
    for (std::size_t i = 0; i < subjects_.size(); ++i) {
      if (!subjects_[i].why_not.empty()) continue;
      try {
        const std::size_t one[] = {i};
        const ParseResult read = parse(module_text(subjects_, one, context_.target()), context_);
        if (!read.ok()) throw Error(ErrorKind::illegal_ptx, read.diagnostics);
        parsed_[i].emplace(read.module, entry_name(i));
      } catch (const Error& error) {
        const bool missing = error.diagnostics().front().code == "exec-unsupported";
        results[i].state = missing ? ConformResult::State::skipped : ConformResult::State::failed;
        results[i].note = reason(error);
      }
    }
  }

  void link_all(std::vector<ConformResult>& results) {
    if (!context_.is_gpu()) return;
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; i < subjects_.size(); ++i) {
      if (parsed_[i]) indices.push_back(i);
    }
    if (indices.empty()) return;
    try {
      module_.emplace(context_.device_context(), link(indices));
    } catch (const Error&) {
      for (const std::size_t i : indices) try_to_link(i, results[i]);
    }
  }

  std::vector<std::byte> link(std::span<const std::size_t> indices) const {
    return context_.linker()
        .link(module_text(subjects_, indices, context_.target()),
              {.target = std::string(context_.target().name())})
        .cubin;
  }

  // One kernel of a batch was refused: finds out which.
  void try_to_link(std::size_t i, ConformResult& result) {
    try {
      const std::size_t one[] = {i};
      singles_.emplace(i, DeviceModule(context_.device_context(), link(one)));
    } catch (const Error& error) {
      const bool missing = error.kind() == ErrorKind::missing || !linker_has(subjects_[i]);
      result.state = missing ? ConformResult::State::skipped : ConformResult::State::failed;
      result.note = reason(error);
      parsed_[i].reset();
    }
  }

  // Some instructions of earlier PTX versions are known to later assemblers alone.
  bool linker_has(const Subject& subject) const {
    const Version release = context_.linker().version();
    if (find_toolkit(release) == nullptr) return true;
    const Specs specs(context_.specs().overlays(), release);
    return std::ranges::any_of(specs.match(subject.variant.opcode()),
                               [&](Variant v) { return v.since(context_.target()).has_value(); });
  }

  void run_one(std::size_t i, ConformResult& result) {
    const Subject& subject = subjects_[i];
    const std::uint64_t seed = options_.seed ^ hash128(subject.variant.opcode()).low;
    const Given given = given_to(subject, threads_for(subject, options_.elements), seed);
    try {
      const Outcome executor = run_executor(*parsed_[i], entry_name(i), subject, given, !context_.is_gpu());
      const Outcome other = context_.is_gpu()
                                ? run_device(context_.device_context(), module_ ? *module_ : singles_.at(i),
                                             entry_name(i), subject, given)
                                : run_executor(*parsed_[i], entry_name(i), subject, given, false);
      compare(subject, Turns(subject, seed), given.in, other, executor, result);
    } catch (const Error& error) {
      if (error.diagnostics().front().code == "device-fault") throw;
      result.state = ConformResult::State::failed;
      result.note = reason(error);
    }
  }

  const Context& context_;
  std::span<const Subject> subjects_;
  const ConformOptions& options_;
  std::vector<std::optional<exec::Program>> parsed_;
  std::optional<DeviceModule> module_;
  std::map<std::size_t, DeviceModule> singles_;
};

/// A form's name, its family, or a prefix of the family: wgmma for wgmma.fence.
bool is_meant(const Specs::FormInfo& form, std::string_view wanted) {
  return wanted.empty() || form.name == wanted || begins_with_words(form.family, wanted);
}

std::vector<Subject> chosen(const Context& context, const std::string& wanted) {
  std::vector<Subject> all;
  std::vector<std::string> known;
  for (const std::string_view name : context.specs().forms()) {
    const Specs::FormInfo form = context.specs().info(name);
    known.emplace_back(form.name);
    known.emplace_back(form.family);
    const bool whole = is_meant(form, wanted);
    const std::string_view mnemonic = std::string_view(wanted).substr(0, wanted.find('.'));
    if (!whole && !form.text.starts_with(mnemonic) && !form.text.starts_with('<')) continue;
    for (Subject& subject : subjects(context.specs(), name, context.target())) {
      if (whole || subject.variant.opcode().starts_with(wanted)) all.push_back(std::move(subject));
    }
  }
  if (all.empty())
    throw Error(ErrorKind::usage, "unknown-family",
                fmt::format("{} has no instruction, family or form '{}'", context.target().name(), wanted),
                fmt::format("did you mean '{}'? ptxloom list shows all", nearest(wanted, known)));
  return all;
}

}  // namespace

std::vector<ConformResult> conform(const Context& context, const ConformOptions& options) {
  const std::vector<Subject> subjects = chosen(context, options.selection);
  std::vector<ConformResult> results(subjects.size());
  std::mutex mutex;
  std::size_t next = 0, done = 0;
  std::exception_ptr failure;
  const auto work = [&] {
    while (true) {
      std::size_t first = 0;
      {
        const std::lock_guard lock(mutex);
        const bool stopped = failure || (options.stop != nullptr && options.stop->load());
        if (stopped || next >= subjects.size()) return;
        first = std::exchange(next, next + kBatch);
      }
      const std::size_t count = std::min(kBatch, subjects.size() - first);
      try {
        auto batch = Batch(context, std::span(subjects).subspan(first, count), options).run();
        std::ranges::move(batch, results.begin() + static_cast<std::ptrdiff_t>(first));
      } catch (...) {
        const std::lock_guard lock(mutex);
        failure = std::current_exception();
      }
      const std::lock_guard lock(mutex);
      done += count;
      if (options.progress) options.progress(done, subjects.size());
    }
  };
  {
    std::vector<std::jthread> workers;
    const unsigned jobs =
        options.jobs != 0 ? options.jobs : std::max(1U, std::thread::hardware_concurrency());
    for (unsigned i = 0; i < jobs; ++i) workers.emplace_back(work);
  }
  if (failure) std::rethrow_exception(failure);
  results.resize(std::min(next, subjects.size()));
  return results;
}

}  // namespace ptxloom
