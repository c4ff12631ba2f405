// SPDX-License-Identifier: Apache-2.0
#include "cli/run/symbols.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/file.hpp"
#include "ptxloom/error.hpp"
#include "ptxloom/npy.hpp"

namespace ptxloom::cli {
namespace {

std::vector<std::byte> read_bytes(const std::filesystem::path& file) {
  if (file.extension() == ".npy") return read_npy(file).bytes;
  const std::string content = read_data(file);
  const auto* const first = reinterpret_cast<const std::byte*>(content.data());
  return {first, first + content.size()};
}

std::map<std::string, std::string> parse(const std::vector<std::string>& symbols) {
  std::map<std::string, std::string> files;
  for (const std::string& symbol : symbols) {
    const std::size_t equals = symbol.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == symbol.size()) {
      throw Error(ErrorKind::usage, "bad-symbol", fmt::format("--symbol {}: this is not NAME=FILE", symbol),
                  "give NAME=FILE.npy, or a file of raw bytes");
    }
    if (!files.emplace(symbol.substr(0, equals), symbol.substr(equals + 1)).second) {
      throw Error(ErrorKind::usage, "bad-symbol",
                  fmt::format("--symbol {}: the variable is set twice", symbol), "set it once");
    }
  }
  return files;
}

}  // namespace

void write_symbols(const Kernel& kernel, const std::vector<std::string>& symbols) {
  const auto files = parse(symbols);
  if (files.empty()) return;
  const std::vector<KernelVariable> variables = kernel.variables();
  for (const auto& [name, file] : files) {
    const std::vector<std::byte> bytes = read_bytes(file);
    const auto variable = std::ranges::find(variables, name, &KernelVariable::name);
    if (variable != variables.end() && variable->bytes != bytes.size()) {
      throw Error(ErrorKind::usage, "variable-size",
                  fmt::format("--symbol {}={}: the variable has {} bytes, but the file has {}", name, file,
                              variable->bytes, bytes.size()),
                  "give all of its bytes, in C order and little-endian");
    }
    kernel.write_variable(name, bytes);
  }
}

}  // namespace ptxloom::cli
