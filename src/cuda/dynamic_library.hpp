// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// A shared library opened by name. It is closed with the last copy, so tables of its symbols hold one.
namespace ptxloom::cuda {

class DynamicLibrary {
 public:
  DynamicLibrary() = default;
  /// Opens the first of `names` that can be opened in each folder, in order; an empty folder stands for the
  /// system's loader.
  static std::optional<DynamicLibrary> open_first(const std::vector<std::filesystem::path>& folders,
                                                  const std::vector<std::string>& names);

  /// nullptr if the library lacks the symbol.
  void* find(const char* symbol) const;
  /// The file it was opened from.
  std::string path() const;

 private:
  explicit DynamicLibrary(void* handle);

  std::shared_ptr<void> handle_;
};

}  // namespace ptxloom::cuda
