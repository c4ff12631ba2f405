// SPDX-License-Identifier: Apache-2.0
#include "cli/run/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/file.hpp"
#include "cli/common/number.hpp"
#include "cli/common/ptx_file.hpp"
#include "cli/common/say.hpp"
#include "cli/common/settings.hpp"
#include "cli/run/run_output.hpp"
#include "ptxloom/runner.hpp"
#include "ptxloom/templates.hpp"

namespace ptxloom::cli {
namespace {

/// Rejects flags that belong to the other kind of run.
void check_flags(const RunFlags& flags, bool is_file) {
  const auto refuse = [&](const char* flag, bool given) {
    if (!given) return;
    throw Error(ErrorKind::usage, "bad-usage",
                fmt::format("{} cannot be used when running a {}", flag, is_file ? "PTX file" : "template"),
                is_file ? "it is for a template: a PTX file has no parameters, and names its target itself"
                        : "leave it out: a template sets how its kernel is launched");
  };
  if (is_file) {
    refuse("--set", !flags.sets.empty());
    refuse("--target", !flags.target.empty());
    return refuse("--must-hit", flags.must_hit);
  }
  refuse("--entry", !flags.entry.empty());
  refuse("--grid", !flags.grid.empty());
  refuse("--block", !flags.block.empty());
  refuse("--smem", flags.smem != 0);
  refuse("--cluster", !flags.cluster.empty());
  refuse("--cooperative", flags.cooperative);
  refuse("--symbol", !flags.symbols.empty());
}

std::vector<RunArgument> named_arguments(const std::vector<std::string>& texts,
                                         const std::vector<TensorPlan>& tensors) {
  std::vector<RunArgument> arguments;
  for (const std::string& text : texts) {
    RunArgument argument = parse_argument(text);
    const auto tensor = std::ranges::find(tensors, argument.name, &TensorPlan::name);
    const bool output = argument.kind == RunArgument::Kind::out;
    if (tensor == tensors.end() || !argument.is_buffer() ||
        output != (tensor->role == TensorPlan::Role::out)) {
      std::string names;
      for (const TensorPlan& t : tensors) {
        const char* role = t.role == TensorPlan::Role::in    ? "in"
                           : t.role == TensorPlan::Role::out ? "out"
                                                             : "inout";
        names += fmt::format("{}{}={}=...", names.empty() ? "" : ", ", t.name, role);
      }
      throw Error(ErrorKind::usage, "bad-arg", fmt::format("--arg {}: the problem has no such tensor", text),
                  "give its tensors as " + names);
    }
    if (std::ranges::find(arguments, argument.name, &RunArgument::name) != arguments.end())
      throw Error(ErrorKind::usage, "bad-arg",
                  fmt::format("--arg {}: tensor {} is given twice", text, argument.name), "give it once");
    if (!argument.destination.empty()) check_writable(argument.destination);
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

void write_outputs(const std::vector<RunArgument>& arguments, const std::vector<HostTensor>& tensors) {
  for (const RunArgument& argument : arguments) {
    if (argument.destination.empty()) continue;
    for (const HostTensor& tensor : tensors) {
      if (tensor.plan.name == argument.name) write_npy(argument.destination, to_npy(tensor));
    }
  }
}

std::string verdict_text(const Verdict& verdict) {
  if (verdict.wrong != 0)
    return fmt::format("WRONG: {} of {} elements; {}", verdict.wrong, verdict.checked, verdict.first);
  if (!verdict.unwritten.empty())
    return fmt::format("WRONG: {} elements were never written", verdict.unwritten.size());
  return fmt::format("correct: {} elements compared, the largest error is {:.2g} of its tolerance",
                     verdict.checked, verdict.worst);
}

int run_template_task(const Context& context, const Template& kernel_template, const RunFlags& flags) {
  const Task task = parse_task(kernel_template, flags.sets);
  const Settings problem = task.kernel_template->problem(task.settings.problem);
  const std::vector<TensorPlan> plans = task.kernel_template->tensors(problem);
  const std::vector<RunArgument> arguments = named_arguments(flags.args, plans);
  exec::Stats stats;
  RunOptions options{.problem = problem,
                     .config = task.settings.config,
                     .seed = flags.seed,
                     .verify = flags.findings == nullptr,
                     .must_hit = flags.must_hit,
                     .observer = make_observer(flags, stats)};
  for (const RunArgument& argument : arguments) {
    if (argument.source.empty()) continue;
    options.inputs.push_back(
        read_tensor(argument.source, *std::ranges::find(plans, argument.name, &TensorPlan::name)));
  }
  const RunResult result = run_template(context, *task.kernel_template, options);
  write_outputs(arguments, result.tensors);
  const StepTimes& times = result.kernel.kernels.front().times();
  const StartTimes& start = context.start_times();
  const FirstLaunch first{
      .device = start.device,
      .context = start.rest,
      .kernel = result.kernel.emit_ms + times.check + times.print + times.link + times.load};
  print_report(context, flags,
               {.run_ms = result.run_ms,
                .ok = result.verdict.ok(),
                .first_launch = first,
                .warnings = result.kernel.kernels.front().diagnostics(),
                .rows = {{"problem", to_words(result.kernel.problem)},
                         {"configuration", to_words(result.kernel.config)},
                         {"device", fmt::format("{}, {}", context.device().name,
                                                result.kernel.kernels.front().target().name())},
                         {"seed", fmt::format("{}", flags.seed)},
                         {"start", fmt::format("{:.3f} ms, the driver {:.3f} ms", start.rest, start.device)},
                         {"emit", fmt::format("{:.3f} ms", result.kernel.emit_ms)},
                         {"check, print", fmt::format("{:.3f} ms", times.check + times.print)},
                         {"link", fmt::format("{:.3f} ms{}", times.link,
                                              result.kernel.kernels.front().cached() ? " (cached)" : "")},
                         {"load", fmt::format("{:.3f} ms", times.load)},
                         {"first launch", fmt::format("{:.3f} ms after the driver's own start",
                                                      first.context + first.kernel)},
                         {"run", fmt::format("{:.3f} ms (one launch, cold)", result.run_ms)},
                         {"result", verdict_text(result.verdict)}}},
               stats);
  return flags.findings != nullptr || result.verdict.ok() ? 0 : 1;
}

bool is_regular_file(const std::string& path) {
  std::error_code none;
  return std::filesystem::is_regular_file(path, none);
}

}  // namespace

int run_what(const Tool& tool, const RunFlags& flags) {
  const bool is_file = std::filesystem::path(flags.what).extension() == ".ptx" || is_regular_file(flags.what);
  // Names that are neither are reported before anything else.
  const Template* const kernel_template = is_file ? nullptr : &Templates::from_environment().find(flags.what);
  check_flags(flags, is_file);
  if (is_file) refuse_cuda_source(flags.what);
  const std::string ptx = is_file ? read_file(flags.what) : std::string();
  const Context context = open_device(tool, flags);
  const auto refuse_on_gpu = [&](const char* flag, bool given, const char* why) {
    if (given && context.is_gpu())
      throw Error(ErrorKind::usage, "bad-usage", fmt::format("{}: {}", flag, why), "use --device cpu");
  };
  refuse_on_gpu("--target", !flags.target.empty(), "a GPU runs kernels for its own target");
  refuse_on_gpu("--trace", !flags.trace.empty(), "only the executor can trace a kernel");
  if (flags.must_hit && !context.is_gpu())
    throw Error(ErrorKind::missing, "no-device",
                "--must-hit needs a GPU: the executor has neither records nor cached kernels to hit",
                "leave it out, or run on a machine with an NVIDIA GPU and its driver");
  refuse_on_gpu("--step-limit", flags.step_limit.has_value(), "only the executor can count instructions");
  return is_file ? run_file(context, flags, ptx) : run_template_task(context, *kernel_template, flags);
}

Context open_device(const Tool& tool, const RunFlags& flags) {
  ContextOptions options{.device = flags.device, .specs = tool.spec_folders, .log = tool.log()};
  if (!flags.target.empty()) options.cpu_target = flags.target;
  Context context(options);
  if (flags.repeats) return context;
  say("running on {}{}\n", context.device().name,
      context.is_gpu() || !flags.target.empty() ? fmt::format(" ({})", context.target().name()) : "");
  return context;
}

exec::Observer make_observer(const RunFlags& flags, exec::Stats& stats) {
  return {.stats = flags.stats ? &stats : nullptr,
          .trace = flags.trace.empty() ? exec::Trace() : trace_to_stderr(flags.json),
          .traced = flags.trace.empty() || flags.trace == "all" ? nullptr : parse_warps(flags.trace),
          .judge = !flags.no_judge,
          .arithmetic = flags.arithmetic,
          .findings = flags.findings,
          .schedule = flags.schedule,
          .reversals = flags.reversals,
          .step_limit = flags.step_limit.value_or(exec::kStepLimit),
          .print = flags.json ? &print_to_stderr : flags.print};
}

void add_launch_options(CLI::App& app, RunFlags& flags) {
  flags.seed = fresh_seed();
  app.add_option("what", flags.what, "a template or a PTX file")->required()->type_name("TEMPLATE|FILE.ptx");
  app.add_option("--set", flags.sets, "set a parameter of the problem or the configuration")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
  app.add_option("--arg", flags.args,
                 "a tensor of the template (a=in=A.npy), or the next parameter of the kernel")
      ->allow_extra_args(false)
      ->type_name("A");
  app.add_option("--entry", flags.entry, "the kernel to run, if the file has several")->type_name("NAME");
  app.add_option("--grid", flags.grid, "thread blocks in the grid")->type_name("x,y,z");
  app.add_option("--block", flags.block, "threads in a thread block")->type_name("x,y,z");
  app.add_option("--cluster", flags.cluster, "thread blocks in a cluster; default: what the kernel requires")
      ->type_name("x,y,z");
  add_number(app, "--smem", flags.smem, 0, UINT32_MAX, "bytes of dynamic shared memory");
  app.add_flag("--cooperative", flags.cooperative,
               "launch a cooperative grid, whose thread blocks may wait for each other (grid.sync); a "
               "grid that cannot be resident at once is refused");
  app.add_option("--symbol", flags.symbols,
                 "fill a .const or .global variable of the file from an .npy file or raw bytes")
      ->allow_extra_args(false)
      ->type_name("NAME=FILE");
  app.add_option_function<std::string>(
         "--step-limit",
         [&flags](const std::string& text) {
           flags.step_limit = parse_number<std::uint64_t>("--step-limit", text, 0, UINT64_MAX);
         },
         fmt::format("stop with exit code 1 when a warp has executed this many instructions; 0: no "
                     "limit; default: {} (executor)",
                     exec::kStepLimit))
      ->type_name("N");
  app.add_option("--target", flags.target,
                 fmt::format("make the template's kernel for this target (executor); default: {}",
                             ContextOptions().cpu_target))
      ->type_name("T");
  add_number(app, "--seed", flags.seed, 0, UINT64_MAX, "seed of the random inputs; default: a fresh one");
}

void add_run(Tool& tool) {
  CLI::App& command = tool.command<RunFlags>(
      "run", "run a template's kernel and verify its result, or run a PTX file",
      [](CLI::App& app, RunFlags& flags) {
        add_launch_options(app, flags);
        app.add_option("--device", flags.device, "where to run; default: the GPU if there is one, else cpu")
            ->type_name("gpu|gpu:N|cpu");
        app.add_flag("--must-hit", flags.must_hit,
                     "use the record of this problem and the cached kernel, or fail: never link");
        app.add_flag("--trace{all}", flags.trace,
                     "print each instruction and the registers it changes to stderr (executor); "
                     "--trace=WARPS traces only these warps: 0,2-3 of every thread block, 0@5,0,0 of one")
            ->type_name("[=WARPS]");
        app.add_flag("--stats", flags.stats, "count instructions, bank conflicts and sectors (executor)");
        app.add_flag("--no-judge", flags.no_judge,
                     "do not look for data races and other misuse that may give a right result by luck: "
                     "faster (executor)");
        app.add_flag("--json", flags.json,
                     "print JSON (docs/json/run.json); the trace too (docs/json/trace.json)");
      },
      run_what);
  command.footer(
      "--arg: in=A.npy  out=f32[128,64]:D.npy  inout=A.npy:D.npy  null  u32=5  s32=-5  f32=1.5  "
      "bytes=HEX\nAn integer fits any integer parameter of its size. NAME=... sets the parameter of that "
      "name.\nFor a template: a=in=A.npy  d=out=D.npy. Inputs that are not given are random.");
}

}  // namespace ptxloom::cli
