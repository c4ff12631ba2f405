// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: any bytes as a PTX file, read, checked, and printed again. What is read without an error
// must print to a text that reads the same; everything else only has to end, within the limits of the run.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "ptxloom/check.hpp"
#include "ptxloom/ptx.hpp"

namespace {

bool has_error(const std::vector<ptxloom::Diagnostic>& found) {
  for (const ptxloom::Diagnostic& diagnostic : found) {
    if (diagnostic.severity == ptxloom::Severity::error) return true;
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto specs = std::make_shared<const ptxloom::Specs>();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ptxloom::ParseResult parsed = ptxloom::parse(text, specs);
  ptxloom::check(parsed.module);
  if (has_error(parsed.diagnostics)) return 0;
  const std::string printed = ptxloom::print(parsed.module);
  const ptxloom::ParseResult again = ptxloom::parse(printed, specs);
  if (has_error(again.diagnostics) || ptxloom::print(again.module) != printed) {
    std::fprintf(stderr, "%s\nprints otherwise when it is read again\n", printed.c_str());
    std::abort();
  }
  return 0;
}
