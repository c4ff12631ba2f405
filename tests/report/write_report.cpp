// SPDX-License-Identifier: Apache-2.0
// Prints the page of results in files, for browser_test.py: write_report RESULT.json ... > page.html
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "cli/report/page.hpp"

int main(int argc, char** argv) {
  std::vector<std::string> results;
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    if (!file) {
      std::cerr << argv[i] << ": cannot be read\n";
      return 2;
    }
    results.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  std::cout << ptxloom::cli::report_page(results);
  return std::cout.flush() ? 0 : 2;
}
