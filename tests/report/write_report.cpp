// SPDX-License-Identifier: Apache-2.0
// Prints the page of results in files, for browser_test.py: write_report RESULT.json ... > page.html; and
// that of `report`, for kernel_browser_test.py: write_report --kernel REPORT.json > page.html
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "cli/report/page.hpp"

int main(int argc, char** argv) {
  std::vector<std::string> results;
  const bool kernel = argc == 3 && std::string(argv[1]) == "--kernel";
  for (int i = kernel ? 2 : 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    if (!file) {
      std::cerr << argv[i] << ": cannot be read\n";
      return 2;
    }
    results.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  std::cout << (kernel ? ptxloom::cli::kernel_page(results.front()) : ptxloom::cli::report_page(results));
  return std::cout.flush() ? 0 : 2;
}
