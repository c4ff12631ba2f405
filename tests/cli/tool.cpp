// SPDX-License-Identifier: Apache-2.0
#include "cli/tool.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

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

[[noreturn]] void become_tool(const std::vector<std::string>& arguments,
                              const std::map<std::string, std::string>& environment,
                              const fs::path& scratch) {
  for (const char* name : {"PTXLOOM_SPECS", "PTXLOOM_LOG"}) ::unsetenv(name);
  ::setenv("PTXLOOM_CACHE_DIR", (scratch / "cache").c_str(), 1);
  ::setenv("PTXLOOM_RECORDS", (scratch / "records").c_str(), 1);
  for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
  const auto redirect = [&](const char* name, int flags, int to) {
    const int fd = ::open((scratch / name).c_str(), flags, 0600);
    ::dup2(fd, to);
    ::close(fd);
  };
  redirect("stdin", O_RDONLY, STDIN_FILENO);
  redirect("stdout", O_WRONLY | O_CREAT, STDOUT_FILENO);
  redirect("stderr", O_WRONLY | O_CREAT, STDERR_FILENO);
  std::vector<char*> argv = {const_cast<char*>(PTXLOOM_TOOL)};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::execv(PTXLOOM_TOOL, argv.data());
  ::_exit(127);
}

}  // namespace

ToolResult run_tool(const std::vector<std::string>& arguments,
                    const std::map<std::string, std::string>& environment, const std::string& input) {
  const TemporaryFolder scratch;
  write_text(scratch / "stdin", input);
  const pid_t child = ::fork();
  if (child == 0) become_tool(arguments, environment, scratch.path());
  int status = 0;
  ::waitpid(child, &status, 0);
  return {.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          .out = read_text(scratch / "stdout"),
          .err = read_text(scratch / "stderr")};
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
  return nlohmann::json::parse(read_text(fs::path(PTXLOOM_SOURCE_DIR) / "docs/json" / (name + ".json")));
}

}  // namespace ptxloom::test
