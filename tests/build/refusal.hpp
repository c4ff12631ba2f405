// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <utility>

#include "ptxloom/builder.hpp"
#include "support/errors.hpp"

// What a builder refuses: the Error names the kernel, the operation, the operand and the caller's line.
namespace ptxloom::refusal_test {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;

inline std::shared_ptr<const Specs> shared_specs() {
  static const auto instance = std::make_shared<const Specs>();
  return instance;
}

inline KernelBuilder builder(std::string name = "weighted") {
  return {shared_specs(), std::move(name), Target("sm_90a")};
}

inline std::string code_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    CHECK_FALSE(error.diagnostics().front().hint.empty());
    return error.diagnostics().front().code;
  }
  return "none";
}

using Work = std::function<void(KernelBuilder&)>;

/// Refused, and the message says where: on the line on which this is called.
inline void check_place(const Work& work, const std::string& code, const std::string& operation,
                        std::source_location here = std::source_location::current()) {
  KernelBuilder k = builder();
  const auto line = here.line();
  const std::string file = std::filesystem::path(here.file_name()).filename().string();
  const Error error = error_of([&] { work(k); });
  CHECK(error.diagnostics().front().code == code);
  CHECK_THAT(error.what(), ContainsSubstring("kernel weighted") && ContainsSubstring(operation) &&
                               ContainsSubstring(file + ":" + std::to_string(line)));
  CHECK_NOTHROW(k.barrier());  // and the builder goes on
}

}  // namespace ptxloom::refusal_test
