// SPDX-License-Identifier: Apache-2.0
#include "sass/instruction/nvdisasm.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <system_error>
#include <vector>

#include "base/file.hpp"
#include "base/program.hpp"

namespace ptxloom::sass {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHint =
    "install the CUDA toolkit, or `pip install nvidia-cuda-nvdisasm`, and name the program in "
    "PTXLOOM_NVDISASM";

constexpr std::string_view kSection = "\t.section\t";  // where one begins in its output

/// How long it may take: many times what it takes for a cubin of that many bytes.
std::chrono::milliseconds limit_for(std::size_t bytes) {
  return std::chrono::seconds(60) + std::chrono::milliseconds(bytes / 20);
}

/// A file of the cubin, removed with its folder.
class TemporaryCubin {
 public:
  explicit TemporaryCubin(std::span<const std::byte> bytes) {
    std::string pattern = (fs::temp_directory_path() / "ptxloom-sass-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
      throw Error(ErrorKind::usage, "unwritable-file",
                  fmt::format("cannot make a temporary folder {}: {}", pattern,
                              std::generic_category().message(errno)));
    folder_ = pattern;
    try {
      write_file(path(), bytes);
    } catch (...) {
      remove();
      throw;
    }
  }
  ~TemporaryCubin() { remove(); }
  TemporaryCubin(const TemporaryCubin&) = delete;
  TemporaryCubin& operator=(const TemporaryCubin&) = delete;

  fs::path path() const { return folder_ / "kernel.cubin"; }

 private:
  void remove() const {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  fs::path folder_;
};

/// "13.2" of "Cuda compilation tools, release 13.2, V13.2.86"
std::string release_in(std::string_view text) {
  static constexpr std::string_view kWord = "release ";
  const std::size_t at = text.find(kWord);
  if (at == text.npos) return "";
  text.remove_prefix(at + kWord.size());
  return std::string(text.substr(0, text.find_first_not_of("0123456789.")));
}

/// The first line that tells of an error, else the last.
std::string reason_in(std::string_view text) {
  std::string_view line;
  while (!text.empty()) {
    const std::string_view next = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(next.size() + 1, text.size()));
    if (next.empty()) continue;
    line = next;
    if (line.find("error") != line.npos || line.find("fatal") != line.npos) break;
  }
  return std::string(line);
}

/// What to do about it. An older version does not know newer architectures.
std::string hint_for(std::string_view reason) {
  if (reason.find("rchitecture") != reason.npos)
    return "a newer one may: `pip install nvidia-cuda-nvdisasm`, and name it in PTXLOOM_NVDISASM";
  return "`nvdisasm -c FILE` shows all that it prints; another one can be named in PTXLOOM_NVDISASM";
}

/// The text between two others, without them; nullopt if the line does not begin with the first.
std::optional<std::string_view> between(std::string_view line, std::string_view first,
                                        std::string_view second) {
  if (!line.starts_with(first)) return std::nullopt;
  line.remove_prefix(first.size());
  return line.substr(0, line.find(second));
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t{");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t;") - begin + 1);
}

}  // namespace

fs::path find_nvdisasm() {
  if (const char* named = std::getenv("PTXLOOM_NVDISASM"); named != nullptr && *named != '\0') {
    if (::access(named, X_OK) == 0) return named;
    throw Error(ErrorKind::missing, "no-nvdisasm",
                fmt::format("PTXLOOM_NVDISASM names {}, which is no program that can be run", named), kHint);
  }
  std::vector<fs::path> folders;
  for (const fs::path& folder : folders_in("PTXLOOM_CUDA_PATH")) {
    folders.push_back(folder);
    folders.push_back(folder.parent_path() / "bin");
  }
  for (const fs::path& folder : folders_in("PATH")) folders.push_back(folder);
  for (const fs::path& root : folders_in("CUDA_HOME")) folders.push_back(root / "bin");
  folders.emplace_back("/usr/local/cuda/bin");
  for (const fs::path& folder : folders) {
    const fs::path program = folder / "nvdisasm";
    if (::access(program.c_str(), X_OK) == 0) return program;
  }
  throw Error(ErrorKind::missing, "no-nvdisasm", "nvdisasm was not found", kHint);
}

std::map<std::string, SectionText, std::less<>> parse_disassembly(std::string_view output) {
  std::map<std::string, SectionText, std::less<>> sections;
  SectionText* section = nullptr;
  std::vector<std::string> labels;  // of the next instruction
  while (!output.empty()) {
    const std::string_view line = output.substr(0, output.find('\n'));
    output.remove_prefix(std::min(line.size() + 1, output.size()));
    if (const auto name = between(line, "\t.section\t.text.", "\",")) {
      // The name ends at the comma before the quotation marks of its flags.
      section = &sections[std::string(name->substr(0, name->rfind(",\"")))];
      labels.clear();
    } else if (line.starts_with(".L_") && line.ends_with(':')) {
      labels.emplace_back(line.substr(0, line.size() - 1));
    } else if (const std::size_t begin = line.find("/*");
               section != nullptr && begin != line.npos && line.find_first_not_of(' ') == begin) {
      const std::size_t end = line.find("*/", begin);
      char* stopped = nullptr;
      const std::string digits(line.substr(begin + 2, end - begin - 2));
      const std::uint64_t offset = std::strtoull(digits.c_str(), &stopped, 16);
      if (end == line.npos || digits.empty() || *stopped != '\0') continue;
      section->instructions[offset] = trimmed(line.substr(end + 2));
      for (const std::string& label : labels) section->labels[offset] = label;
      labels.clear();
    }
  }
  return sections;
}

Disassembly disassemble(std::span<const std::byte> cubin) {
  Disassembly found;
  try {
    const fs::path program = find_nvdisasm();
    found.version = release_in(run_program(program, {"--version"}, limit_for(0)).output);
    const TemporaryCubin file(cubin);
    const Ended ended = run_program(program, {"-c", file.path().string()}, limit_for(cubin.size()));
    // A program that is no nvdisasm may succeed, too.
    if (ended.success && ended.output.find(kSection) != std::string::npos) {
      found.sections = parse_disassembly(ended.output);
    } else {
      const std::string why = ended.success ? "it printed no section" : reason_in(ended.output);
      found.problem = Diagnostic{
          .severity = Severity::warning,
          .code = "nvdisasm-failed",
          .message = fmt::format("nvdisasm{}{} cannot read this cubin: {}", found.version.empty() ? "" : " ",
                                 found.version, why.empty() ? "it printed nothing" : why),
          .hint = hint_for(why)};
    }
  } catch (const Error& error) {
    found.problem = error.diagnostics().front();
    found.problem->severity = Severity::warning;
  }
  return found;
}

}  // namespace ptxloom::sass
