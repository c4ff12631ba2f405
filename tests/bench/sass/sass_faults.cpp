// SPDX-License-Identifier: Apache-2.0
// What share of planted faults the lint finds: each wait bit of the assembler's is cleared, and each stall
// count above 1 is lowered by 1 and to 1, one at a time.
//
//   sass_faults [--show N] FILE.cubin FILE.dis ...     where FILE.dis is what `nvdisasm -c FILE.cubin` prints
#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <random>
#include <span>
#include <string>

#include "sass/lint/hazards.hpp"

using namespace ptxloom;
using namespace ptxloom::sass;

namespace {

std::string read(const char* path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool found(const std::vector<HazardStep>& steps, bool kernel, const LatencyTable& latencies) {
  bool any = false;
  const Watch watch{.hazard = [&](const Hazard&) { any = true; },
                    .idle_wait = [](std::size_t, unsigned) {},
                    .distance = {},
                    .unseen = {}};
  follow(steps, kernel, latencies, watch);
  return any;
}

struct Share {
  long planted = 0, found = 0;
};

class Planter {
 public:
  Planter(int show, const LatencyTable& latencies) : show_(show), latencies_(latencies) {}

  void plant(std::vector<HazardStep> steps, const ListedFunction& function, std::string_view file) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const ControlCode before = steps[i].control;
      for (unsigned bit = 0; bit < kScoreboards; ++bit) {
        if ((before.wait >> bit & 1U) == 0) continue;
        steps[i].control.wait = before.wait & ~(1U << bit);
        count(waits, steps, function, i, file, fmt::format("wait {}", bit));
        steps[i].control = before;
      }
      if (before.stall > 1) {
        steps[i].control.stall = before.stall - 1;
        count(less, steps, function, i, file, "");
        steps[i].control.stall = 1;
        count(one, steps, function, i, file, before.stall > 3 ? "stall" : "");
        steps[i].control = before;
      }
    }
  }
  Share waits, less, one;

 private:
  void count(Share& share, const std::vector<HazardStep>& steps, const ListedFunction& function,
             std::size_t i, std::string_view file, const std::string& what) {
    ++share.planted;
    if (found(steps, function.facts.kernel, latencies_)) {
      ++share.found;
    } else if (!what.empty() && static_cast<int>(random_() % 1000) < show_) {
      fmt::print("M {} {} {:04x} {} {}\n", file, function.facts.name, function.instructions[i].offset, what,
                 function.instructions[i].text);
    }
  }
  int show_;
  const LatencyTable& latencies_;
  std::mt19937 random_{1};
};

}  // namespace

int main(int argc, char** argv) {
  const int show = argc > 2 && std::string_view(argv[1]) == "--show" ? std::atoi(argv[2]) : 0;
  Share waits, less, one;
  const auto add = [](Share& to, const Share& from) {
    to.planted += from.planted;
    to.found += from.found;
  };
  for (int i = show > 0 ? 3 : 1; i + 1 < argc; i += 2) {
    const std::string cubin = read(argv[i]);
    const CubinView view(std::as_bytes(std::span(cubin)), argv[i]);
    const Disassembly disassembly{
        .version = "?", .sections = parse_disassembly(read(argv[i + 1])), .problem = {}};
    const Listing listing = list({.cubin = view, .name = argv[i], .disassembly = &disassembly});
    const OperandTable operands;
    const LatencyTable latencies(view.chip());
    Planter planter(show, latencies);
    for (const ListedFunction& function : listing.functions)
      planter.plant(steps_of(function, operands, view.chip()), function, argv[i]);
    add(waits, planter.waits);
    add(less, planter.less);
    add(one, planter.one);
  }
  fmt::print("waits {} of {}, stalls lowered by 1 {} of {}, to 1 {} of {}\n", waits.found, waits.planted,
             less.found, less.planted, one.found, one.planted);
  return 0;
}
