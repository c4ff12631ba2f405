// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/file.hpp"
#include "cli/command.hpp"
#include "cli/common/ptx_file.hpp"
#include "cli/common/say.hpp"
#include "cli/sass/launch_model.hpp"
#include "cli/sass/model_flags.hpp"
#include "ptxloom/jit.hpp"
#include "sass/lint/lint.hpp"
#include "sass/listing/listing.hpp"

namespace ptxloom::cli {
namespace {

struct SassFlags {
  std::filesystem::path file;
  std::string target;
  std::string format = "text";
  bool no_nvdisasm = false;
  bool lint = false;
  bool model = false;
  ModelFlags how;
};

/// The cubin of a PTX file, with line tables.
std::string link_file(const Tool& tool, const SassFlags& options, std::string_view ptx) {
  const Target target = tool.specs()->target(
      target_of_ptx(ptx, options.file.string(), options.target, "give a cubin, or a PTX file"));
  const Linker linker(Libraries(), Cache::from_environment(tool.log()));
  const LinkResult result = linker.link(ptx, {.target = std::string(target.name()), .line_info = true});
  return {reinterpret_cast<const char*>(result.cubin.data()), result.cubin.size()};
}

/// What the user should know, on stderr.
void print_notes(const sass::Listing& listing, const std::optional<Diagnostic>& problem) {
  if (problem) say("{}\n", to_string(*problem));
  print_object_note(listing);
  if (listing.ptx.empty())
    say("note: {} has no line table, so no PTX is shown: assemble with -lineinfo, or give the PTX file\n",
        listing.file);
  if (listing.functions.empty()) say("note: {} has no code\n", listing.file);
}

void check_flags(const SassFlags& options) {
  if (options.file == "-")
    throw Error(ErrorKind::usage, "bad-usage", "sass does not read stdin", "give a cubin or a PTX file");
  options.how.check();
  if (options.model && options.lint)
    throw Error(ErrorKind::usage, "bad-usage", "--model and --lint are two things to do", "give one of them");
  if (options.model && options.format == "html")
    throw Error(ErrorKind::usage, "bad-usage", "--model has no --format html",
                "ptxloom report makes a page; else use text or json");
  if (!options.model && options.how.given())
    throw Error(ErrorKind::usage, "bad-usage",
                "--warps, --block, --smem, --loads and --conflicts are for --model", "add --model");
  if (!options.lint) return;
  if (options.format == "html")
    throw Error(ErrorKind::usage, "bad-usage", "--lint has no --format html", "use text or json");
  if (options.no_nvdisasm)
    throw Error(ErrorKind::usage, "bad-usage", "--lint reads the text of nvdisasm",
                "leave --no-nvdisasm out");
}

/// 1 if the lint found an error.
int print_lint(const sass::Listing& listing, const sass::CubinView& cubin,
               const sass::Disassembly& disassembly, const SassFlags& options) {
  if (disassembly.problem)
    throw Error(ErrorKind::missing, disassembly.problem->code, disassembly.problem->message,
                disassembly.problem->hint);
  print_object_note(listing);
  const sass::Lint lint = sass::lint(listing, cubin.chip(), true);
  const std::string text = options.format == "json" ? sass::lint_json(lint) : sass::lint_text(lint);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return lint.count(sass::LintSeverity::error) > 0 ? 1 : 0;
}

int print_model(const sass::Listing& listing, const sass::CubinView& cubin,
                const sass::Disassembly& disassembly, const SassFlags& options,
                std::span<const ModelLaunch> launches) {
  if (disassembly.problem) say("{}\n", to_string(*disassembly.problem));
  const sass::IssueModel model = model_of(listing, cubin.chip(), options.how.options(), launches);
  print_object_note(listing);
  if (launches.empty()) print_shared_note(options.how);
  print_model_notes(model);
  const std::string text = options.format == "json" ? sass::model_json(model) : sass::model_text(model);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

int run_sass(const Tool& tool, const SassFlags& options) {
  check_flags(options);
  refuse_cuda_source(options.file);
  const std::string content = read_data(options.file);
  const bool ptx = !sass::is_binary(content);
  if (!ptx && !options.target.empty())
    throw Error(ErrorKind::usage, "bad-usage", "--target is for PTX: a cubin has its target", "leave it out");
  const std::string linked = ptx ? link_file(tool, options, content) : "";
  const auto bytes = std::as_bytes(std::span(ptx ? linked : content));
  const std::string name = options.file.string();
  const sass::CubinView cubin(bytes, name);
  sass::Disassembly disassembly;
  if (!options.no_nvdisasm) disassembly = sass::disassemble(bytes);
  const sass::Listing listing =
      sass::list({.cubin = cubin,
                  .name = name,
                  .ptx = ptx ? std::optional<std::string_view>(content) : std::nullopt,
                  .disassembly = options.no_nvdisasm ? nullptr : &disassembly});
  if (options.lint) return print_lint(listing, cubin, disassembly, options);
  if (options.model)
    return print_model(listing, cubin, disassembly, options,
                       ptx ? launches_in(content) : std::vector<ModelLaunch>());
  print_notes(listing, disassembly.problem);
  const auto print = options.format == "json"   ? sass::listing_json
                     : options.format == "html" ? sass::listing_html
                                                : sass::listing_text;
  const std::string text = print(listing);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

}  // namespace

void add_sass(Tool& tool) {
  tool.command<SassFlags>(
      "sass", "show machine code beside the PTX it was made of",
      [](CLI::App& command, SassFlags& options) {
        command.add_option("file", options.file, "a cubin, or PTX, which is linked")
            ->required()
            ->type_name("FILE");
        command.add_option("--target", options.target, "target to link PTX for; default: the file's .target")
            ->type_name("T");
        command.add_option("--format", options.format, "text, html or json (docs/json/sass.json)")
            ->check(CLI::IsMember({"text", "html", "json"}));
        command.add_flag(
            "--lint", options.lint,
            "check the control codes instead: stall counts and scoreboards against the registers "
            "that are read and written (docs/json/sass_lint.json)");
        command.add_flag(
            "--model", options.model,
            "predict the time of each loop instead, and what limits it (docs/json/sass_model.json)");
        add_model_flags(command, options.how);
        command.add_flag("--no-nvdisasm", options.no_nvdisasm,
                         "show opcodes and registers as specs/sass has them, even if nvdisasm is installed");
      },
      run_sass);
}

}  // namespace ptxloom::cli
