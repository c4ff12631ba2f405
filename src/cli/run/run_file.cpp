// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "api/host_memory.hpp"
#include "base/file.hpp"
#include "cli/common/say.hpp"
#include "cli/common/settings.hpp"
#include "cli/run/launch_header.hpp"
#include "cli/run/parameter.hpp"
#include "cli/run/run_output.hpp"
#include "cli/run/symbols.hpp"
#include "ptxloom/npy.hpp"
#include "ptxloom/tune.hpp"

namespace ptxloom::cli {
namespace {

using Kind = RunArgument::Kind;

/// "y (in=, out=, inout= or null)" for a pointer, "n (u32)" for a scalar
std::string describe(const KernelParameter& parameter) {
  if (parameter.pointer) return fmt::format("{} (in=, out=, inout= or null)", parameter.name);
  return fmt::format("{} ({}{})", parameter.name, parameter.type.name,
                     parameter.count == 0 ? "" : fmt::format("[{}]", parameter.count));
}

/// Combines the command line's arguments with the file's header: what each parameter gets.
class FileRun {
 public:
  FileRun(const Context& context, Kernel kernel, const std::optional<LaunchHeader>& header,
          const LaunchPlan* launch, const RunFlags& flags)
      : context_(context), kernel_(std::move(kernel)), header_(header), launch_(launch), flags_(flags) {
    given_.resize(kernel_.signature().parameters.size());
  }

  void assign() {
    std::vector<RunArgument> unnamed;
    for (const std::string& text : flags_.args) {
      RunArgument argument = parse_argument(text);
      if (!argument.destination.empty()) check_writable(argument.destination);
      argument.name.empty() ? unnamed.push_back(std::move(argument)) : assign_named(std::move(argument));
    }
    assign_in_order(std::move(unnamed));
    for (std::size_t i = 0; i < given_.size(); ++i) make(i);
  }

  void launch() {
    const LaunchPlan plan = launch_ != nullptr ? *launch_ : LaunchPlan();
    const auto extent = [&](const char* option, const std::string& text,
                            std::array<std::uint32_t, 3> fallback) {
      if (text.empty() && launch_ == nullptr) {
        throw Error(ErrorKind::usage, "no-launch-shape",
                    fmt::format("{} is missing, and the file has no launch line", option),
                    "give --grid and --block, such as --grid 4 --block 128");
      }
      const auto e = text.empty() ? fallback : parse_extent(option, text);
      return Dim3{e[0], e[1], e[2]};
    };
    LaunchConfig config = launch_config_of(plan, context_.device().sms);
    config.grid = extent("--grid", flags_.grid, {config.grid.x, config.grid.y, config.grid.z});
    config.block = extent("--block", flags_.block, plan.block);
    if (flags_.smem != 0) config.shared_bytes = flags_.smem;
    config.cooperative = config.cooperative || flags_.cooperative;
    if (!flags_.cluster.empty()) config.cluster = cluster();
    for (const ClearPlan& range : plan.clear) clear(range);
    const auto begin = std::chrono::steady_clock::now();
    exec::Stats stats;
    kernel_.launch_observed(config, arguments_, make_observer(flags_, stats));
    context_.synchronize();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    write_outputs();  // before the report, which says that all went well
    print_report(context_, flags_,
                 {.run_ms = took.count(),
                  .warnings = kernel_.diagnostics(),
                  .rows = {{"kernel", kernel_.name()},
                           {"device", fmt::format("{}, {}", context_.device().name, kernel_.target().name())},
                           {"run", fmt::format("{:.3f} ms (one launch, cold)", took.count())}}},
                 stats);
  }

 private:
  struct Output {
    std::size_t buffer;
    std::filesystem::path file;
    NpyArray array;
  };

  void write_outputs() {
    for (Output& output : outputs_) {
      buffers_[output.buffer].read(output.array.bytes);
      write_npy(output.file, output.array);
      if (!flags_.repeats) say("wrote {}\n", output.file.string());
    }
  }

  const std::vector<KernelParameter>& parameters() const { return kernel_.signature().parameters; }

  [[noreturn]] void refuse(const std::string& what) const {
    std::string names;
    for (const KernelParameter& parameter : parameters())
      names += (names.empty() ? "" : ", ") + describe(parameter);
    throw Error(ErrorKind::usage, "argument-count", fmt::format("kernel {}: {}", kernel_.name(), what),
                names.empty() ? "it has no parameters" : "its parameters are: " + names);
  }

  const ArgumentPlan* planned(std::size_t index) const {
    if (launch_ == nullptr) return nullptr;
    const auto& arguments = launch_->arguments;
    const auto found = std::ranges::find(arguments, parameters()[index].name, &ArgumentPlan::name);
    if (found != arguments.end()) return &*found;
    return index < arguments.size() ? &arguments[index] : nullptr;
  }

  const TensorPlan* planned_tensor(std::size_t index) const {
    const ArgumentPlan* plan = planned(index);
    if (plan == nullptr || plan->tensor.empty() || plan->tensor == kWorkspace) return nullptr;
    return &*std::ranges::find(header_->tensors, plan->tensor, &TensorPlan::name);
  }

  void assign_named(RunArgument argument) {
    const auto parameter = std::ranges::find(parameters(), argument.name, &KernelParameter::name);
    if (parameter == parameters().end()) refuse(fmt::format("there is no parameter '{}'", argument.name));
    auto& given = given_[static_cast<std::size_t>(parameter - parameters().begin())];
    if (given) refuse(fmt::format("parameter '{}' is given twice", argument.name));
    given = std::move(argument);
  }

  /// Unnamed arguments stand for all parameters, or for those that the header leaves open.
  void assign_in_order(std::vector<RunArgument> unnamed) {
    std::vector<std::size_t> all, open;
    for (std::size_t i = 0; i < given_.size(); ++i) {
      if (given_[i]) continue;
      all.push_back(i);
      if (planned(i) == nullptr || planned_tensor(i) != nullptr) open.push_back(i);
    }
    if (unnamed.empty()) return;
    const std::vector<std::size_t>& places = unnamed.size() == all.size() ? all : open;
    if (unnamed.size() != places.size()) {
      refuse(fmt::format("it has {} parameters, but {} arguments are given", all.size(), unnamed.size()));
    }
    for (std::size_t i = 0; i < places.size(); ++i) given_[places[i]] = std::move(unnamed[i]);
  }

  void make(std::size_t index) {
    if (given_[index]) return make_given(index, *given_[index]);
    const ArgumentPlan* plan = planned(index);
    if (plan == nullptr) refuse(fmt::format("parameter {} is not given", parameters()[index].name));
    if (const TensorPlan* tensor = planned_tensor(index)) {
      const bool input = tensor->role != TensorPlan::Role::out;
      take_memory(tensor->bytes());
      if (input) return add_buffer(index, to_npy(random_tensor(*tensor, flags_.seed)), {});
      add_unwritten(index, to_npy(poisoned_tensor(*tensor)), {});
    } else if (plan->tensor == kWorkspace) {
      add_memory(index, workspace());
    } else {
      const bool pointer = parameters()[index].pointer;  // a matrix that the problem does not use
      arguments_.push_back(pointer ? Argument::pointer(plan->bits) : Argument::bits(plan->type, plan->bits));
    }
  }

  void make_given(std::size_t index, const RunArgument& argument) {
    if (!argument.is_buffer()) {
      values_.push_back(value_bytes(kernel_.signature(), index, argument));
      const bool pointer = parameters()[index].pointer;
      arguments_.push_back(pointer ? Argument(nullptr) : Argument::bytes(values_.back()));
      return;
    }
    const ArgumentPlan* plan = planned(index);
    if (plan == nullptr || !plan->map) require_pointer(kernel_.signature(), index, argument);
    if (argument.kind == Kind::out) return add_output(index, argument);
    add_buffer(index, read_input(index, argument), argument.destination);
  }

  /// The value of --cluster; LaunchConfig cannot express an explicit cluster of one thread block.
  Dim3 cluster() const {
    const auto given = parse_extent("--cluster", flags_.cluster);
    const auto& required = kernel_.signature().cluster;
    if (required && *required != given) {
      throw Error(ErrorKind::usage, "launch-cluster",
                  fmt::format("kernel {}: --cluster is {}, but the kernel requires {} (.reqnctapercluster)",
                              kernel_.name(), fmt::join(given, ","), fmt::join(*required, ",")),
                  "leave out --cluster");
    }
    return {given[0], given[1], given[2]};
  }

  void add_output(std::size_t index, const RunArgument& argument) {
    const TensorPlan plan = output_plan(index, argument);
    take_memory(plan.bytes());
    add_unwritten(index, to_npy(poisoned_tensor(plan)), argument.destination);
  }

  void take_memory(std::uint64_t bytes) { api::check_host_memory(memory_bytes_ += bytes); }

  TensorPlan output_plan(std::size_t index, const RunArgument& argument) const {
    const TensorPlan* plan = planned_tensor(index);
    if (argument.shape.empty() && plan == nullptr) {
      refuse(fmt::format("the output for {} needs a type and a shape, out=f32[128,64]:FILE.npy",
                         parameters()[index].name));
    }
    if (argument.shape.empty()) return *plan;
    return {.name = parameters()[index].name,
            .type = argument.type,
            .shape = argument.shape,
            .role = TensorPlan::Role::out};
  }

  /// Without a header the file's own type is all that is known.
  NpyArray read_input(std::size_t index, const RunArgument& argument) const {
    const TensorPlan* plan = planned_tensor(index);
    return plan == nullptr ? read_npy(argument.source) : to_npy(read_tensor(argument.source, *plan));
  }

  /// The parameter gets the buffer, or the tensor map of it that the header describes.
  void add_buffer(std::size_t index, NpyArray array, const std::filesystem::path& file) {
    buffers_.push_back(context_.alloc(array.bytes.size()));
    buffers_.back().write(array.bytes);
    add_last(index, std::move(array), file);
  }

  /// The executor poisons memory itself, and knows that nobody has written it.
  void add_unwritten(std::size_t index, NpyArray array, const std::filesystem::path& file) {
    if (context_.is_gpu()) return add_buffer(index, std::move(array), file);
    buffers_.push_back(context_.alloc(array.bytes.size()));
    add_last(index, std::move(array), file);
  }

  void add_last(std::size_t index, NpyArray array, const std::filesystem::path& file) {
    buffer_of_[index] = buffers_.size() - 1;
    add_memory(index, buffers_.back());
    if (!file.empty()) outputs_.push_back({buffers_.size() - 1, file, std::move(array)});
  }

  void add_memory(std::size_t index, const Buffer& memory) {
    if (const ArgumentPlan* plan = planned(index); plan != nullptr && plan->map) {
      TensorMap map = *plan->map;
      map.address += memory.address();
      maps_.push_back(context_.encode(map));
      arguments_.push_back(Argument::bytes(maps_.back().bytes));
    } else {
      arguments_.push_back(memory);
    }
  }

  /// A tensor that is null is not cleared.
  void clear(const ClearPlan& range) {
    const std::vector<std::byte> zeros(range.bytes);
    if (range.tensor == kWorkspace) return workspace().write(zeros, range.offset);
    for (const auto& [parameter, buffer] : buffer_of_)
      if (planned(parameter)->tensor == range.tensor) buffers_[buffer].write(zeros, range.offset);
  }

  Buffer& workspace() {
    if (workspace_.size() == 0) {
      take_memory(launch_->workspace_bytes);
      workspace_ = context_.alloc(launch_->workspace_bytes);
      workspace_.fill(std::byte{0});
    }
    return workspace_;
  }

  const Context& context_;
  Kernel kernel_;
  const std::optional<LaunchHeader>& header_;
  const LaunchPlan* launch_;  ///< of the header; null: it has none of this kernel
  const RunFlags& flags_;
  std::vector<std::optional<RunArgument>> given_;  // by parameter
  std::vector<Argument> arguments_;
  std::vector<Buffer> buffers_;
  std::map<std::size_t, std::size_t> buffer_of_;  // by parameter, index into buffers_
  Buffer workspace_;
  std::uint64_t memory_bytes_ = 0;
  std::deque<EncodedTensorMap> maps_;          // arguments refer to them
  std::deque<std::vector<std::byte>> values_;  // and to these
  std::vector<Output> outputs_;
};

/// The launch in the header that `run` repeats.
const LaunchPlan* choose(const std::optional<LaunchHeader>& header, const std::string& entry) {
  if (!header) return nullptr;
  const std::vector<LaunchPlan>& launches = header->launches;
  if (launches.size() == 1) return launches.data();
  if (entry.empty())
    throw Error(
        ErrorKind::usage, "several-launches",
        fmt::format("the file's launch line has {} launches, but `run` of a file runs one", launches.size()),
        "choose its kernel with --entry NAME, or run the template");
  const auto found = std::ranges::find(launches, entry, &LaunchPlan::entry);
  return found == launches.end() ? nullptr : &*found;
}

}  // namespace

int run_file(const Context& context, const RunFlags& flags, const std::string& ptx) {
  const std::optional<LaunchHeader> header = read_launch_header(ptx);
  const LaunchPlan* launch = choose(header, flags.entry);
  const std::string entry = flags.entry.empty() && launch != nullptr ? launch->entry : flags.entry;
  const Kernel kernel = context.load(ptx, entry);
  FileRun run(context, kernel, header, launch, flags);
  run.assign();
  write_symbols(kernel, flags.symbols);
  run.launch();
  return 0;
}

}  // namespace ptxloom::cli
