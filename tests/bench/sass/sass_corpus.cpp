// SPDX-License-Identifier: Apache-2.0
// PTX to learn and to measure encodings of machine code with (docs/results/sass.md): a kernel for each
// variant of each instruction that conformance tests know, so that one instruction varies at a time.
//   sass_corpus TARGET FOLDER [VARIANTS-OF-A-FORM]
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "conform/subject.hpp"
#include "ptxloom/error.hpp"

namespace {

using namespace ptxloom;
using namespace ptxloom::conform_kernels;

constexpr std::size_t kKernels = 16;  // of a module: one that ptxas refuses takes the others with it

/// As many subjects of a form as are wanted, from all of it.
std::vector<std::size_t> spread(std::size_t count, std::size_t wanted) {
  std::vector<std::size_t> chosen;
  const std::size_t step = std::max<std::size_t>(1, count / wanted);
  for (std::size_t i = 0; i < count && chosen.size() < wanted; i += step) chosen.push_back(i);
  return chosen;
}

int write_all(const std::string& name, const std::filesystem::path& folder, std::size_t wanted) {
  const Specs specs;
  const Target target(name);
  std::filesystem::create_directories(folder);
  int modules = 0;
  for (const std::string_view form : specs.forms()) {
    std::vector<Subject> all = subjects(specs, form, target);
    std::erase_if(all, [](const Subject& subject) { return !subject.why_not.empty(); });
    const std::vector<std::size_t> chosen = spread(all.size(), wanted);
    for (std::size_t at = 0; at < chosen.size(); at += kKernels) {
      const std::span<const std::size_t> some =
          std::span(chosen).subspan(at, std::min(kKernels, chosen.size() - at));
      std::ofstream(folder / fmt::format("{}.{}.ptx", form, at / kKernels)) << module_text(all, some, target);
      ++modules;
    }
  }
  fmt::print("{} modules for {}\n", modules, name);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: sass_corpus TARGET FOLDER [VARIANTS-OF-A-FORM]\n");
    return 2;
  }
  try {
    return write_all(argv[1], argv[2], argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 64);
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return exit_code(error.kind());
  }
}
