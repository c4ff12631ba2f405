// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <sstream>
#include <string>

#include "exec/harness.hpp"
#include "support/folders.hpp"
#include "support/ptxas.hpp"
#include "support/require.hpp"

// The *.cu files of this folder, compiled by nvcc.
namespace ptxloom::exec::test {

/// Skips the test where there is no nvcc, or one that cannot compile the file.
inline ir::Module compiled_by_nvcc(const std::string& file, const std::string& target) {
  const auto nvcc = find_cuda_tool("nvcc");
  if (!nvcc) ptxloom::test::skip_without("nvcc", "nvcc is not installed");
  const TemporaryFolder folder;
  const std::string ptx = (folder / "kernels.ptx").string();
  const CommandResult compiled =
      run_command("'" + *nvcc + "' -ptx -std=c++17 -arch=" + target + " " + ptxloom::test::source_folder() +
                  "/tests/exec/machine/" + file + " -o " + ptx);
  if (compiled.status != 0)
    ptxloom::test::skip_without("nvcc", "nvcc cannot compile " + file + " here: " + compiled.output);
  std::ostringstream text;
  text << std::ifstream(ptx).rdbuf();
  return module_of(text.str());
}

}  // namespace ptxloom::exec::test
