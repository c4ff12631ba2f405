// SPDX-License-Identifier: Apache-2.0
// No load is lost between PTX and machine code. ptxas 13.0 takes two guarded loads of one address for one,
// also where only the second guard holds, if the first register has no value else.
#include <catch2/catch_test_macros.hpp>
#include <sstream>

#include "ptxloom/jit.hpp"
#include "ptxloom/ptx.hpp"
#include "ptxloom/templates.hpp"
#include "sass/cubin/cubin_view.hpp"
#include "sass/listing/listing.hpp"
#include "support/settings.hpp"

using namespace ptxloom;

namespace {

std::size_t count_of(const std::string& text, std::string_view word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

void check_loads(const char* name, const Settings& wanted, const Settings& config) {
  const auto specs = std::make_shared<const Specs>();
  const Template& what = Templates().find(name);
  const Target target("sm_90a");
  const Settings problem = what.problem(wanted), all = what.config(*specs, target, problem, config);
  INFO(name << test::words(problem) << test::words(all));
  const std::string ptx = print(what.emit(specs, target, problem, all).module);
  const LinkResult linked = Linker(Libraries()).link(ptx, {.target = std::string(target.name())});
  const sass::CubinView cubin(linked.cubin, "k");
  std::size_t loads = 0;
  for (const sass::ListedFunction& function : sass::list({.cubin = cubin, .name = "k"}).functions)
    for (const sass::ListedInstruction& instruction : function.instructions)
      loads += instruction.text.find("LDG") != std::string::npos ? 1U : 0U;
  CHECK(loads >= count_of(ptx, "ld.global"));
}

}  // namespace

// Rows of several passes: ptxas cannot tell which of their chunks are whole, and removes no load for that.
TEST_CASE("linked kernels for rows at odd addresses have all their loads", "[slow]") {
  for (const char* name : {"quantize", "dequantize"})
    for (const char* lanes : {"8", "32"})
      for (const char* vector : {"4", "8"}) {
        const Settings config{{"lanes", lanes}, {"vector", vector}};
        for (const char* format : {"s4", "e4m3"})
          check_loads(
              name,
              {{"rows", "1030"}, {"n", "8201"}, {"format", format}, {"scales", "group"}, {"group", "32"}},
              config);
        check_loads(name, {{"rows", "1030"}, {"n", "8201"}, {"format", "mxfp8_e5m2"}}, config);
      }
}
