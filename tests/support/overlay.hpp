// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <filesystem>
#include <fstream>
#include <span>

#include "support/temporary_folder.hpp"

namespace ptxloom::test {

/// A folder with a spec overlay that has types f24 and g16, a target sm_130a and a form `probe` with the
/// opcode "probe.f24 D, A, S;" on that target only. D has a fragment map. None of it is built in.
class ProbeOverlay {
 public:
  ProbeOverlay() {
    std::ofstream(folder_ / "a_types.json")
        << R"({"types": ["name bits kind lanes literals", "f24 24 float 1 no", "g16 16 float 1 no"]})";
    std::ofstream(folder_ / "b_targets.json") << R"({
      "chips": ["chip family sms shared_per_block shared_per_sm threads_per_sm blocks_per_sm registers_per_sm mma_fraction_bits mma_halves",
                "130 13 64 1000 2000 1024 16 65536 25 no"],
      "targets": ["target since", "sm_130a 9.0"]})";
    std::ofstream(folder_ / "c_form.json") << R"({"form": "probe", "family": "probes", "doc": "A probe.",
      "text": "probe.<t> D, A, S;", "ops": {"D": "out b32[2]", "A": "in <t>", "S": "in b32"},
      "mods": {"t": "f24"}, "need": "sm_130a",
      "frags": {"D": {"type": "g16", "lane": "4*n2 8*m1", "val": "2*n1 2*m8"}}})";
  }
  std::span<const std::filesystem::path> folders() const { return folders_; }

 private:
  TemporaryFolder folder_;
  std::array<std::filesystem::path, 1> folders_{folder_.path()};
};

}  // namespace ptxloom::test
