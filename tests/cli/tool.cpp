// SPDX-License-Identifier: Apache-2.0
#include "cli/tool.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "cli/scale_ptx.hpp"
#include "ptxloom/npy.hpp"
#include "support/folders.hpp"

namespace ptxloom::test {
namespace fs = std::filesystem;

void write_text(const fs::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

std::string read_text(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

namespace {

void set_environment(const std::map<std::string, std::string>& environment, const fs::path& scratch) {
  for (const char* name : {"PTXLOOM_SPECS", "PTXLOOM_LOG"}) ::unsetenv(name);
  ::setenv("PTXLOOM_CACHE_DIR", (scratch / "cache").c_str(), 1);
  ::setenv("PTXLOOM_RECORDS", (scratch / "records").c_str(), 1);
  for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
}

[[noreturn]] void execute_tool(const std::vector<std::string>& arguments) {
  const std::string tool = tool_path();
  std::vector<char*> argv = {const_cast<char*>(tool.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::execv(tool.c_str(), argv.data());
  ::_exit(127);
}

[[noreturn]] void become_tool(const std::vector<std::string>& arguments,
                              const std::map<std::string, std::string>& environment, const fs::path& scratch,
                              const Streams& streams) {
  set_environment(environment, scratch);
  const auto redirect = [&](const std::string& given, const char* name, int flags, int to) {
    if (given == "closed") {
      ::close(to);
      return;
    }
    const int fd = ::open((given.empty() ? scratch / name : fs::path(given)).c_str(), flags, 0600);
    ::dup2(fd, to);
    ::close(fd);
  };
  redirect("", "stdin", O_RDONLY, STDIN_FILENO);
  redirect(streams.out, "stdout", O_WRONLY | O_CREAT, STDOUT_FILENO);
  redirect(streams.err, "stderr", O_WRONLY | O_CREAT, STDERR_FILENO);
  execute_tool(arguments);
}

ToolResult result_of(pid_t child, std::string out, std::string err) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return {.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          .out = std::move(out),
          .err = std::move(err)};
}

}  // namespace

namespace {

ToolResult run(const Streams& streams, const std::vector<std::string>& arguments,
               const std::map<std::string, std::string>& environment, const std::string& input) {
  const TemporaryFolder scratch;
  write_text(scratch / "stdin", input);
  const pid_t child = ::fork();
  if (child == 0) become_tool(arguments, environment, scratch.path(), streams);
  ToolResult result = result_of(child, "", "");
  if (streams.out.empty()) result.out = read_text(scratch / "stdout");
  if (streams.err.empty()) result.err = read_text(scratch / "stderr");
  return result;
}

}  // namespace

ToolResult run_tool(const std::vector<std::string>& arguments,
                    const std::map<std::string, std::string>& environment, const std::string& input) {
  return run({}, arguments, environment, input);
}

ToolResult run_tool_with(const Streams& streams, const std::vector<std::string>& arguments,
                         const std::map<std::string, std::string>& environment) {
  return run(streams, arguments, environment, "");
}

RunningTool::RunningTool(const std::vector<std::string>& arguments) {
  int in[2], out[2];
  if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  pid_ = ::fork();
  if (pid_ == 0) {
    set_environment({}, scratch_.path());
    ::dup2(in[0], STDIN_FILENO);
    ::dup2(out[1], STDOUT_FILENO);
    execute_tool(arguments);
  }
  ::close(in[0]);
  ::close(out[1]);
  in_ = in[1];
  out_ = out[0];
}

RunningTool::~RunningTool() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  if (in_ >= 0) ::close(in_);
  ::close(out_);
}

void RunningTool::write(const std::string& text) const {
  REQUIRE(::write(in_, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
}

bool RunningTool::read_more(int milliseconds) {
  pollfd ready{.fd = out_, .events = POLLIN, .revents = 0};
  if (::poll(&ready, 1, milliseconds) <= 0) return false;
  char bytes[4096];
  const ssize_t count = ::read(out_, bytes, sizeof bytes);
  if (count > 0) unread_.append(bytes, static_cast<std::size_t>(count));
  return count > 0;
}

std::string RunningTool::read_line() {
  while (unread_.find('\n') == std::string::npos)
    if (!read_more(30'000)) return {};
  const std::string line = unread_.substr(0, unread_.find('\n'));
  unread_.erase(0, line.size() + 1);
  return line;
}

ToolResult RunningTool::finish() {
  ::close(std::exchange(in_, -1));
  while (read_more(-1)) {
  }
  return result_of(std::exchange(pid_, -1), unread_, "");
}

std::vector<Use> uses_of_all_subcommands(const fs::path& folder) {
  const std::string ptx = folder / "scale.ptx", lines = folder / "lines.jsonl", x = folder / "x.npy";
  write_text(ptx, kScalePtx);
  write_text(lines, R"({"ptx": "add.s32 %r0, %r0, 1;", "decls": ".reg .b32 %r<1>;", "target": "sm_80"})"
                    "\n");
  write_npy(x, {.dtype = "<f4", .shape = {32}, .bytes = std::vector<std::byte>(128)});
  const std::string opcode = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32";
  return {
      {{"doctor"}, true},
      {{"list", "prmt"}, true},
      {{"show", opcode}, true},
      {{"check", ptx}},
      {{"check", "--jsonl", lines}},
      {{"emit", "gemm", "--set", "m=16", "n=8", "k=32", "-o", folder / "gemm.ptx"}},
      {{"compile", ptx, "--target", "sm_90a", "-o", folder / "scale.cubin"}},
      {{"sass", ptx, "--target", "sm_90a"}},
      {{"report", ptx, "--target", "sm_90a"}},
      {{"layout", opcode, "--operand", "A"}},
      {{"layout", opcode, "--operand", "A", "--format", "json"}, true},
      {{"run", "gemm", "--set", "m=16", "n=8", "k=32", "--device", "cpu", "--seed", "3"}, true},
      {{"run", ptx, "--device", "cpu", "--grid", "1", "--block", "32", "--arg", "u32=32", "f32=2", "in=" + x,
        "out=f32[32]:" + (folder / "y.npy").string()},
       true},
      {{"sanitize", ptx, "--grid", "1", "--block", "32", "--arg", "u32=32", "f32=2", "in=" + x,
        "out=f32[32]:" + (folder / "z.npy").string()}},
      {{"tune", "gemm", "--set", "m=16", "n=8", "k=32", "--device", "cpu", "--budget", "2evals", "--report",
        folder / "report.html"},
       true},
      {{"bench", "cache", "--count", "2"}, true},
      {{"conform", "prmt", "--device", "cpu", "--count", "100"}, true},
      {{"cache", "stat"}},
  };
}

namespace {

bool has_type(const nlohmann::json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  throw std::invalid_argument("unknown type in a schema: " + type);
}

std::string check_object(const nlohmann::json& value, const nlohmann::json& schema,
                         const std::string& where) {
  const nlohmann::json properties = schema.value("properties", nlohmann::json::object());
  for (const nlohmann::json& name : schema.value("required", nlohmann::json::array())) {
    if (!value.contains(name.get<std::string>())) return where + ": lacks " + name.get<std::string>();
  }
  for (const auto& [name, member] : value.items()) {
    const nlohmann::json rule = properties.contains(name)
                                    ? properties.at(name)
                                    : schema.value("additionalProperties", nlohmann::json(true));
    if (rule == false) return where + ": has an unknown " + name;
    if (!rule.is_object()) continue;
    if (std::string why = check_schema(member, rule, where + "." + name); !why.empty()) return why;
  }
  return "";
}

std::string check_word(const std::string& word, const nlohmann::json& rule, const nlohmann::json& value,
                       const nlohmann::json& schema, const std::string& where) {
  if (word == "const") return value == rule ? "" : where + ": is not " + rule.dump();
  if (word == "type") return has_type(value, rule) ? "" : where + ": is no " + rule.get<std::string>();
  if (word == "enum")
    return std::find(rule.begin(), rule.end(), value) != rule.end()
               ? ""
               : where + ": is not one of " + rule.dump();
  if (word == "properties") return value.is_object() ? check_object(value, schema, where) : "";
  if (word == "additionalProperties")
    return schema.contains("properties") || !value.is_object() ? "" : check_object(value, schema, where);
  if (word == "items") {
    for (std::size_t i = 0; value.is_array() && i < value.size(); ++i) {
      if (std::string why = check_schema(value[i], rule, where + "[" + std::to_string(i) + "]"); !why.empty())
        return why;
    }
    return "";
  }
  if (word == "anyOf") {
    std::string why;
    for (const nlohmann::json& one : rule) {
      why = check_schema(value, one, where);
      if (why.empty()) return "";
    }
    return why;
  }
  if (word == "$schema" || word == "title" || word == "required") return "";
  throw std::invalid_argument("unknown word in a schema: " + word);
}

}  // namespace

std::string check_schema(const nlohmann::json& value, const nlohmann::json& schema,
                         const std::string& where) {
  for (const auto& [word, rule] : schema.items()) {
    if (std::string why = check_word(word, rule, value, schema, where); !why.empty()) return why;
  }
  return "";
}

nlohmann::json read_schema(const std::string& name) {
  return nlohmann::json::parse(read_text(fs::path(source_folder()) / "docs/json" / (name + ".json")));
}

nlohmann::json run_json(const std::vector<std::string>& arguments, const std::string& schema) {
  const ToolResult result = run_tool(arguments);
  CAPTURE(arguments, result.err);
  REQUIRE(result.code == 0);
  nlohmann::json value = nlohmann::json::parse(result.out);
  CHECK(check_schema(value, read_schema(schema)) == "");
  return value;
}

}  // namespace ptxloom::test
