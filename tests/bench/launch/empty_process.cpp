// SPDX-License-Identifier: Apache-2.0
// What any C++ process takes up to its main: it prints how long ago it was started. first_launch, which
// starts it as `empty_process --timed BEGIN`, shows it beside its own; alone it says nothing.
#include <fmt/format.h>

#include <chrono>
#include <string>

int main(int argc, char** argv) {
  using namespace std::chrono;
  const double now = duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
  if (argc == 3) fmt::print("{}\n", now - std::stod(argv[2]));
  return 0;
}
