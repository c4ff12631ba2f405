// SPDX-License-Identifier: Apache-2.0
// How close the assembler puts a reader behind an instruction of fixed latency, by classes of specs/sass,
// against what specs/sass/latencies.json demands; and the errors that the lint reports.
//
//   sass_distances FILE.cubin FILE.dis ...     where FILE.dis is what `nvdisasm -c FILE.cubin` prints
#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <map>
#include <span>
#include <string>

#include "sass/lint/hazards.hpp"
#include "sass/lint/lint.hpp"

using namespace ptxloom;
using namespace ptxloom::sass;

namespace {

std::string read(const char* path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Seen {
  int least = 255;
  long count = 0, under = 0;
  int need = -1;
};

using Distances = std::map<std::string, Seen>;

void add(Distances& to, const std::string& name, int have, std::optional<int> need) {
  Seen& seen = to[name];
  seen.least = std::min(seen.least, have);
  ++seen.count;
  if (!need) return;
  seen.need = *need;
  seen.under += have < *need ? 1 : 0;
}

std::string part(const Access& access) {
  return fmt::format("{}.{}{}", access.type, access.use.operand, access.use.index);
}

void measure(const Listing& listing, int chip, Distances& distances) {
  const OperandTable operands;
  const LatencyTable latencies(chip);
  for (const ListedFunction& function : listing.functions) {
    const Watch watch{.hazard = [](const Hazard&) {},
                      .idle_wait = [](std::size_t, unsigned) {},
                      .distance =
                          [&](const Distance& one) {
                            const std::string kind(1, "RUPQ"[static_cast<int>(file_of(one.writer.use.id))]);
                            add(distances, fmt::format("{} {} {}", kind, part(one.writer), part(one.reader)),
                                one.have, one.need);
                          },
                      .unseen = {}};
    follow(steps_of(function, operands, chip), function.facts.kernel, latencies, watch);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Distances distances;
  std::map<std::string, int> errors;
  long instructions = 0, unknown = 0;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string cubin = read(argv[i]);
    const CubinView view(std::as_bytes(std::span(cubin)), argv[i]);
    const Disassembly disassembly{
        .version = "?", .sections = parse_disassembly(read(argv[i + 1])), .problem = {}};
    const Listing listing = list({.cubin = view, .name = argv[i], .disassembly = &disassembly});
    measure(listing, view.chip(), distances);
    const Lint found = lint(listing, view.chip(), true);
    for (const LintedFunction& function : found.functions) {
      instructions += function.instructions;
      unknown += function.unknown;
      for (const LintFinding& one : function.findings)
        fmt::print("{} {} {} {:04x} {}: {}\n", one.severity == LintSeverity::error ? 'E' : 'N', argv[i],
                   function.name, one.offset, one.code, one.message);
    }
  }
  for (const auto& [name, seen] : distances)
    fmt::print("D {:44} least {:3} need {:3} under {:5} of {}\n", name, seen.least, seen.need, seen.under,
               seen.count);
  fmt::print("{} instructions, {} unknown\n", instructions, unknown);
  return 0;
}
