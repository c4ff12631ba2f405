// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/file.hpp"
#include "cli/command.hpp"
#include "cli/common/ptx_file.hpp"
#include "cli/common/say.hpp"
#include "cli/common/settings.hpp"
#include "cli/report/page.hpp"
#include "cli/sass/kernel_report.hpp"
#include "cli/sass/launch_model.hpp"
#include "cli/sass/model_flags.hpp"
#include "cli/sass/ncu_stalls.hpp"
#include "ptxloom/build_words.hpp"
#include "ptxloom/context.hpp"
#include "ptxloom/ptx.hpp"
#include "target/peak.hpp"

namespace ptxloom::cli {
namespace {

struct ReportFlags {
  std::string kernel;
  std::vector<std::string> sets;
  std::string target, gpu;
  std::string format = "html";
  std::filesystem::path output;
  std::vector<std::filesystem::path> records;
  std::filesystem::path stalls;
  bool no_ncu = false;
  ModelFlags how;
};

/// The machine code of what is reported, and what is known of it.
struct Subject {
  std::string ptx;     ///< empty: a cubin without it
  std::string target;  ///< to link PTX for
  std::string cubin;   ///< empty: PTX that is not linked yet
  ReportWork work;
};

std::string link(const Tool& tool, std::string_view ptx, const std::string& target) {
  const Linker linker(Libraries(), Cache::from_environment(tool.log()));
  const LinkResult result = linker.link(ptx, {.target = target, .line_info = true});
  return {reinterpret_cast<const char*>(result.cubin.data()), result.cubin.size()};
}

Subject of_template(const Tool& tool, const ReportFlags& options) {
  const Task task = parse_task(options.kernel, options.sets);
  const auto specs = tool.specs();
  const Target target = specs->target(options.target.empty() ? "sm_90a" : options.target);
  const Template& made = *task.kernel_template;
  Subject subject;
  ReportWork& work = subject.work;
  work.problem = made.problem(task.settings.problem);
  const BuildWords words = split_build_words(task.settings.config);
  work.config = made.config(*specs, target, work.problem, words.config);
  Emitted emitted = made.emit(specs, target, work.problem, work.config);
  apply_build_words(words.build, emitted.module);
  work.title = fmt::format("{} {}", made.name(), to_words(task.settings.problem));
  work.operations = made.operations(work.problem);
  work.unit = made.unit(work.problem);
  for (const TensorPlan& tensor : made.tensors(work.problem))
    work.bytes += static_cast<double>(tensor.bytes());
  work.launches = launches_of(emitted.launches);
  subject.ptx = print(emitted.module);
  subject.target = target.name();
  return subject;
}

Subject of_file(const Tool& tool, const ReportFlags& options) {
  if (!options.sets.empty())
    throw Error(ErrorKind::usage, "bad-usage", "--set is for a template", "leave it out");
  Subject subject;
  refuse_cuda_source(options.kernel);
  std::string content = read_data(options.kernel);
  subject.work.title = options.kernel;
  if (sass::is_binary(content)) {
    if (!options.target.empty())
      throw Error(ErrorKind::usage, "bad-usage", "--target is for PTX: a cubin has its target",
                  "leave it out");
    subject.cubin = std::move(content);
    return subject;
  }
  const std::string target =
      target_of_ptx(content, options.kernel, options.target, "give a template, a cubin or a PTX file");
  subject.work.launches = launches_in(content);
  subject.target = tool.specs()->target(target).name();
  subject.ptx = std::move(content);
  return subject;
}

/// A file, by its name, or by being there; else a template.
bool is_file(const std::string& kernel) {
  std::error_code none;
  return kernel.find_first_of("./") != std::string::npos || std::filesystem::is_regular_file(kernel, none);
}

std::string names_of(std::span<const target::Product> products) {
  std::string names;
  for (const target::Product& one : products) names += (names.empty() ? "" : ", ") + std::string(one.name);
  return names;
}

/// The GPU that --gpu names, of the chip of the kernel's target.
target::Product named_gpu(const std::string& wanted, int chip, const std::string& target) {
  const std::string others = fmt::format("ptxloom peak sm_{} lists those of its chip", chip);
  const std::vector<target::Product> found = target::find_products(wanted);
  if (found.empty())
    throw Error(ErrorKind::usage, "unknown-product",
                fmt::format("there is no GPU '{}' in specs/targets.json", wanted), others);
  std::vector<target::Product> fits;
  std::ranges::copy_if(found, std::back_inserter(fits),
                       [&](const target::Product& one) { return one.chip == chip; });
  if (fits.empty())
    throw Error(
        ErrorKind::usage, "unknown-product",
        fmt::format("{} is sm_{}; the kernel is for {}", found.front().name, found.front().chip, target),
        others);
  if (fits.size() > 1)
    throw Error(ErrorKind::usage, "bad-usage", fmt::format("--gpu {} is any of {}", wanted, names_of(fits)),
                "give one of them");
  return fits.front();
}

std::optional<target::Product> gpu_of(const std::string& wanted, int chip, const std::string& target) {
  if (!wanted.empty()) return named_gpu(wanted, chip, target);
  if (target::find_products(std::to_string(chip)).empty()) return std::nullopt;
  return target::device_of(chip);
}

void write_report(const ReportFlags& options, const nlohmann::ordered_json& report) {
  const std::string json =
      report.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  const std::string text = options.format == "json"   ? json
                           : options.format == "text" ? kernel_report_text(report)
                                                      : kernel_page(json);
  if (options.output.empty() || options.output == "-")
    std::fwrite(text.data(), 1, text.size(), stdout);
  else
    write_file(options.output, text);
}

/// The chip and the target of a cubin, or those that PTX is to be linked for.
std::pair<int, std::string> target_of(const Tool& tool, const Subject& subject, const std::string& name) {
  if (subject.cubin.empty()) return {tool.specs()->target(subject.target).info().number, subject.target};
  const sass::CubinView cubin(std::as_bytes(std::span(subject.cubin)), name);
  return {cubin.chip(), std::string(cubin.target())};
}

/// The arguments that run the kernel; empty if more must be known for that.
std::vector<std::string> run_of(const Tool& tool, const ReportFlags& options, const Subject& subject) {
  if (is_file(options.kernel) && subject.work.launches.empty()) return {};
  std::vector<std::string> words;
  for (const auto& folder : tool.spec_folders) words.insert(words.end(), {"--specs", folder.string()});
  words.insert(words.end(), {"run", options.kernel, "--device", "gpu"});
  for (const std::string& set : options.sets) words.insert(words.end(), {"--set", set});
  return words;
}

/// What a file of ncu holds. Its kernels may have other names.
void read_stalls(const std::string& name, ReportInput& input) {
  input.measured = read_ncu(read_data(name), name);
  const auto is_measured = [&](const sass::ListedFunction& one) {
    return input.measured.contains(std::string(one.facts.name));
  };
  if (std::ranges::any_of(input.listing.functions, is_measured)) return;
  std::string names;
  for (const auto& [kernel, stalls] : input.measured) names += (names.empty() ? "" : ", ") + kernel;
  const Diagnostic other = {
      .severity = Severity::warning,
      .code = "other-kernels",
      .message = fmt::format("{} has none of the kernels of {}, but {}", name, input.work.title, names),
      .hint = "`ncu --print-kernel-base mangled` names kernels as machine code does"};
  say("{}\n", to_string(other));
  input.unmeasured = fmt::format("{} has none of its kernels", name);
}

/// What Nsight Compute measures of the kernel, or has measured before. Only what the user gave may fail.
void measure_stalls(const ReportFlags& options, const std::vector<std::string>& run, ReportInput& input) {
  if (!options.stalls.empty()) return read_stalls(options.stalls.string(), input);
  if (options.no_ncu) {
    input.unmeasured = "--no-ncu was given";
    return;
  }
  NcuRun made =
      run.empty() ? NcuRun{.problem = "how to launch the kernel is not known"} : run_ncu(run, input.chip);
  try {
    if (made.problem.empty()) input.measured = read_ncu(made.csv, "what ncu printed");
  } catch (const Error& error) {
    made.problem = error.diagnostics().front().message;
  }
  if (!made.problem.empty()) say("note: stall reasons are predicted, not measured: {}\n", made.problem);
  input.unmeasured = std::move(made.problem);
}

/// Links if need be, and disassembles.
nlohmann::ordered_json report_of(const Tool& tool, const ReportFlags& options, Subject subject,
                                 const std::optional<target::Product>& gpu) {
  if (subject.cubin.empty()) subject.cubin = link(tool, subject.ptx, subject.target);
  const auto bytes = std::as_bytes(std::span(subject.cubin));
  const sass::CubinView cubin(bytes, options.kernel);
  const sass::Disassembly disassembly = sass::disassemble(bytes);
  if (disassembly.problem) say("{}\n", to_string(*disassembly.problem));
  const sass::Listing listing =
      sass::list({.cubin = cubin,
                  .name = options.kernel,
                  .ptx = subject.ptx.empty() ? std::nullopt : std::optional<std::string_view>(subject.ptx),
                  .disassembly = &disassembly});
  print_object_note(listing);
  if (listing.functions.empty()) say("note: {} has no code\n", options.kernel);
  if (subject.work.launches.empty()) print_shared_note(options.how);
  const std::vector<std::string> run = run_of(tool, options, subject);
  ReportInput input{.listing = listing,
                    .chip = cubin.chip(),
                    .how = options.how.options(),
                    .work = std::move(subject.work),
                    .gpu = gpu,
                    .records = options.records};
  measure_stalls(options, run, input);
  return kernel_report(input);
}

int run_report(const Tool& tool, const ReportFlags& options) {
  options.how.check();
  if (options.kernel == "-")
    throw Error(ErrorKind::usage, "bad-usage", "report does not read stdin",
                "give a template, a cubin or a PTX file");
  if (!options.output.empty() && options.output != "-") check_writable(options.output);
  Subject subject = is_file(options.kernel) ? of_file(tool, options) : of_template(tool, options);
  const auto [chip, target] = target_of(tool, subject, options.kernel);
  const std::optional<target::Product> gpu = gpu_of(options.gpu, chip, target);
  const auto report = report_of(tool, options, std::move(subject), gpu);
  if (report.at("assumed").get<bool>()) say("{}", assumed_note(chip));
  write_report(options, report);
  return 0;
}

}  // namespace

void add_report(Tool& tool) {
  tool.command<ReportFlags>(
      "report", "show what limits a kernel: resources, roofline, loops, units over time; needs no GPU",
      [](CLI::App& command, ReportFlags& options) {
        command.add_option("kernel", options.kernel, "a template, a PTX file or a cubin")
            ->required()
            ->type_name("KERNEL");
        command.add_option("--set", options.sets, "set a parameter of the problem or the configuration")
            ->allow_extra_args(false)
            ->type_name("NAME=VALUE");
        command
            .add_option("--target", options.target,
                        "target of a template (default: sm_90a) or to link PTX for")
            ->type_name("T");
        command
            .add_option("--gpu", options.gpu,
                        "GPU whose peaks are shown; default: the typical one of the chip")
            ->type_name("GPU");
        add_model_flags(command, options.how);
        command.add_option("--records", options.records, "records of bench insn, for measured ceilings")
            ->allow_extra_args(false)
            ->type_name("FILE");
        command
            .add_option("--stalls", options.stalls,
                        "stall reasons as `ncu --csv` printed them; default: ncu is run, if it is installed "
                        "and there is a GPU")
            ->type_name("FILE.csv");
        command.add_flag("--no-ncu", options.no_ncu, "do not run the kernel under ncu");
        command
            .add_option("--format", options.format, "html (default), text or json (docs/json/report.json)")
            ->check(CLI::IsMember({"text", "html", "json"}));
        command.add_option("-o,--output", options.output, "output file; default: stdout")->type_name("FILE");
      },
      run_report);
}

}  // namespace ptxloom::cli
