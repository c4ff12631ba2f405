// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/target.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "support/errors.hpp"
#include "target/target_table.hpp"

namespace ptxloom {
namespace {

using Catch::Matchers::ContainsSubstring;

bool runs(std::string_view on, std::string_view code_for) {
  return Target(on).satisfies(Target(code_for).info());
}

TEST_CASE("code for a plain target runs on every later chip") {
  CHECK(runs("sm_80", "sm_75"));
  CHECK(runs("sm_121f", "sm_75"));
  CHECK(runs("sm_90a", "sm_90"));
  CHECK_FALSE(runs("sm_80", "sm_86"));
}

TEST_CASE("code for an arch-specific target runs on that chip with suffix a alone") {
  CHECK(runs("sm_90a", "sm_90a"));
  CHECK_FALSE(runs("sm_90", "sm_90a"));
  CHECK_FALSE(runs("sm_100a", "sm_90a"));
  CHECK_FALSE(runs("sm_103a", "sm_100a"));
  CHECK_FALSE(runs("sm_100f", "sm_100a"));
}

TEST_CASE("code for a family target runs on the later chips of the family, with suffix a or f") {
  CHECK(runs("sm_100f", "sm_100f"));
  CHECK(runs("sm_100a", "sm_100f"));
  CHECK(runs("sm_103a", "sm_100f"));
  CHECK(runs("sm_121f", "sm_120f"));
  CHECK_FALSE(runs("sm_103", "sm_100f"));
  CHECK_FALSE(runs("sm_100a", "sm_103f"));
  CHECK_FALSE(runs("sm_110a", "sm_100f"));
  CHECK_FALSE(runs("sm_120a", "sm_100f"));
}

TEST_CASE("an unknown target is refused with the known ones") {
  const Error error = error_of([] { Target("sm_42"); });
  CHECK(error.kind() == ErrorKind::usage);
  CHECK(error.diagnostics().front().code == "unknown-target");
  CHECK_THAT(error.what(),
             ContainsSubstring("sm_42") && ContainsSubstring("sm_75") && ContainsSubstring("sm_121f"));
}

TEST_CASE("a device's target is the most specific one of its chip") {
  CHECK(target_of_device(9, 0).name() == "sm_90a");
  CHECK(target_of_device(8, 9).name() == "sm_89");
  CHECK(target_of_device(12, 1).name() == "sm_121a");
  CHECK(error_of([] { target_of_device(5, 2); }).diagnostics().front().code == "unknown-target");
}

TEST_CASE("versions are read, compared as numbers and printed") {
  CHECK(parse_version("0.0") == Version{0, 0});
  CHECK(parse_version("8.6") == Version{8, 6});
  CHECK(to_string(Version{9, 0}) == "9.0");
  CHECK(Version{8, 10} > Version{8, 9});
  for (const char* wrong : {"", "8", "8.", ".6", "8.6a", "8,6", "-8.6", "8.-6", " 8.6"}) {
    INFO(wrong);
    CHECK(error_of([&] { parse_version(wrong); }).diagnostics().front().code == "bad-version");
  }
}

TEST_CASE("PTX versions ascend and every target begins with one of them") {
  const auto versions = ptx_versions();
  CHECK(std::is_sorted(versions.begin(), versions.end()));
  CHECK(versions.back() == toolkits().back().ptx);
  for (const TargetInfo& info : targets()) {
    INFO(info.name);
    CHECK(std::find(versions.begin(), versions.end(), info.since) != versions.end());
  }
}

TEST_CASE("every chip's limits are those of NVIDIA's table of compute capabilities") {
  // CUDA C++ Programming Guide 13.0, "Technical Specifications per Compute Capability": threads, blocks and
  // shared memory (KB) of a multiprocessor, shared memory of a block. 8.8 is not in the table.
  struct Row {
    int chip, threads, blocks, shared_sm, shared_block;
  };
  const Row table[] = {{75, 1024, 16, 64, 64},    {80, 2048, 32, 164, 163},  {86, 1536, 16, 100, 99},
                       {87, 1536, 16, 164, 163},  {89, 1536, 24, 100, 99},   {90, 2048, 32, 228, 227},
                       {100, 2048, 32, 228, 227}, {103, 2048, 32, 228, 227}, {110, 1536, 24, 228, 227},
                       {120, 1536, 24, 100, 99},  {121, 1536, 24, 100, 99}};
  for (const Row& row : table) {
    const std::string name = "sm_" + std::to_string(row.chip);
    INFO(name);
    const TargetInfo& info = Target(name).info();
    CHECK(info.threads_per_sm == row.threads);
    CHECK(info.blocks_per_sm == row.blocks);
    CHECK(info.shared_per_sm == row.shared_sm * 1024);
    CHECK(info.shared_per_block == row.shared_block * 1024);
    CHECK(info.registers_per_sm == 65536);
  }
}

TEST_CASE("thread blocks of an SM are limited by the registers of a partition") {
  // Worked by hand after the occupancy calculator; ptxas gives a kernel of 64 threads with .minnctapersm 5
  // 168 registers, not 200: 10 warps are 3 in one of the partitions.
  const TargetInfo& chip = Target("sm_80").info();
  CHECK(chip.resident_blocks(64, 168) == 6);
  CHECK(chip.resident_blocks(64, 169) == 4);
  CHECK(chip.resident_blocks(64, 200) == 4);
  CHECK(chip.resident_blocks(128, 200) == 2);
  CHECK(chip.resident_blocks(96, 168) == 4);
  CHECK(chip.resident_blocks(33, 255) == 4);
  CHECK(chip.resident_blocks(1024, 64) == 1);
  CHECK(chip.resident_blocks(1024, 65) == 0);
  CHECK(chip.resident_blocks(1024, 32) == 2);
  CHECK(chip.resident_blocks(64, 0) == 32);
}

TEST_CASE("shared memory limits thread blocks, too, and the system takes some for each") {
  const TargetInfo& chip = Target("sm_90a").info();
  CHECK(chip.shared_reserved() == 1024);
  CHECK(Target("sm_75").info().shared_reserved() == 0);
  CHECK(chip.resident_blocks(128, 32, 0) == chip.resident_blocks(128, 32));
  CHECK(chip.resident_blocks(128, 32, 232448) == 1);
  CHECK(chip.resident_blocks(128, 32, 232449) == 0);
  CHECK(chip.resident_blocks(128, 32, 115712) == 2);
  CHECK(chip.resident_blocks(128, 32, 115713) == 1);
  CHECK(chip.resident_blocks(128, 255, 1) == 2);  // registers are fewer
  for (const TargetInfo& info : targets())
    for (int bytes = 1; bytes <= info.shared_per_block; bytes += 997) {
      const int blocks = info.resident_blocks(64, 16, bytes);
      INFO(info.name << ", " << bytes << " bytes: " << blocks);
      CHECK(blocks >= 1);
      CHECK(blocks * (bytes + info.shared_reserved()) <= info.shared_per_sm);
      CHECK((blocks == info.resident_blocks(64, 16) ||
             (blocks + 1) * (bytes + info.shared_reserved()) > info.shared_per_sm));
    }
}

TEST_CASE("registers of a thread are what as many thread blocks leave it") {
  const TargetInfo& chip = Target("sm_90a").info();
  CHECK(chip.registers_with(1, 128) == 255);
  CHECK(chip.registers_with(1, 288) == 168);  // three warps in one of the partitions
  CHECK(chip.registers_with(5, 64) == 168);
  CHECK(chip.registers_with(2, 256) == 128);
  for (const TargetInfo& info : targets())
    for (const int threads : {32, 96, 160, 288, 416, 1024})
      for (int blocks = 1; blocks * threads <= info.threads_per_sm && blocks <= info.blocks_per_sm;
           ++blocks) {
        const int registers = info.registers_with(blocks, threads);
        INFO(info.name << ", " << blocks << " x " << threads << ": " << registers);
        CHECK(info.resident_blocks(threads, registers) >= blocks);
        if (registers < 248) CHECK(info.resident_blocks(threads, registers + 1) < blocks);
      }
}

TEST_CASE("every chip has SMs, and an H200 as many as its driver says") {
  for (const TargetInfo& info : targets()) {
    INFO(info.name);
    CHECK((info.sms >= 16 && info.sms <= 192));
  }
  CHECK(Target("sm_90a").info().sms == 132);
  CHECK(Target("sm_80").info().sms == 108);
}

TEST_CASE("a malformed targets table is refused with its row") {
  const std::string chips =
      "chip family sms shared_per_block shared_per_sm threads_per_sm blocks_per_sm registers_per_sm "
      "mma_fraction_bits mma_halves";
  const auto error = [&](std::vector<std::string_view> chip_rows, std::vector<std::string_view> target_rows) {
    const Error caught =
        error_of([&] { target::read_targets({std::move(chip_rows), std::move(target_rows)}); });
    return caught.diagnostics().front();
  };
  const std::string_view chip = "90 9 1 1 1 1 1 1 25 no";
  CHECK_THAT(error({chips, chip}, {"target since", "sm_91 8.0"}).message, ContainsSubstring("sm_91 8.0"));
  CHECK_THAT(error({chips, chip}, {"target since", "sm_90"}).message, ContainsSubstring("1 cells"));
  CHECK_THAT(error({chips, chip}, {"target since", "gfx90 8.0"}).message, ContainsSubstring("gfx90"));
  CHECK_THAT(error({chips, chip}, {"target", "sm_90"}).message, ContainsSubstring("'since'"));
  CHECK_THAT(error({chips, chip, chip}, {"target since"}).message, ContainsSubstring("twice"));
  CHECK_THAT(error({chips, "90 9 1 x 1 1 1 1 25 no"}, {"target since"}).message, ContainsSubstring("'x'"));
  CHECK(error({chips, chip}, {"target since", "sm_90 8"}).code == "bad-version");
}

TEST_CASE("limits that an overlay leaves out are the chip's, and there is one row of launch limits") {
  const std::string chips =
      "chip family sms shared_per_block shared_per_sm threads_per_sm blocks_per_sm registers_per_sm "
      "mma_fraction_bits mma_halves";
  const std::string_view chip = "90 9 1 7000 1 1 1 1 25 no", row = "sm_90 8.0";
  const std::vector<TargetInfo> read = target::read_targets({{chips, chip}, {"target since", row}});
  CHECK(read.at(0).shared_static == 7000);
  CHECK(read.at(0).cluster_blocks == 0);
  const std::string_view wide = "90 9 1 7000 1 1 1 1 25 no 4", narrow = "sm_90 8.0 99";
  const std::string with_clusters = chips + " cluster_blocks";
  const std::vector<TargetInfo> said =
      target::read_targets({{with_clusters, wide}, {"target since shared_static", narrow}});
  CHECK(said.at(0).shared_static == 99);
  CHECK(said.at(0).cluster_blocks == 4);
  const std::string_view header =
      "grid_x grid_y grid_z block_x block_y block_z threads cluster_portable local";
  const auto code = [](std::vector<std::string_view> lines) {
    return error_of([&] { target::read_launch_limits(lines); }).diagnostics().front().code;
  };
  CHECK(target::read_launch_limits(std::vector{header, std::string_view("1 2 3 4 5 6 7 8 9")}).block ==
        target::Size3{4, 5, 6});
  CHECK(code({}) == "bad-targets");
  CHECK(code({header}) == "bad-targets");
  CHECK(code({header, "1 2 3 4 5 6 7 8 9", "1 2 3 4 5 6 7 8 9"}) == "bad-targets");
  CHECK(code({header, "1 2 3 4 5 6 7 x 9"}) == "bad-targets");
  CHECK(code({header, "1 2 3 4 5 6 7 8"}) == "bad-targets");
}

TEST_CASE("a chip's tensor cores are those of its row, or of the chip before it") {
  for (const auto& [chip, least_f32, least_f16] : {std::array{75, -132, -20},
                                                   {80, -132, -20},
                                                   {86, -132, -20},
                                                   {89, -132, -20},
                                                   {90, -133, -21},
                                                   {100, -133, -21},
                                                   {121, -133, -21}}) {
    CAPTURE(chip);
    CHECK(target::mma_of(chip).least_f32 == least_f32);
    CHECK(target::mma_of(chip).least_f16 == least_f16);
  }
  for (const int chip : {75, 80, 86, 89, 90, 100, 110, 120}) CHECK(target::mma_of(chip).chip == chip);
  CHECK(target::mma_of(89).fp8_bits == 13);
  CHECK(target::mma_of(100).fp8_bits == 0);
  for (const int chip : {75, 80, 89, 90, 100, 110, 120, 121}) {
    CAPTURE(chip);
    const target::ChipMma& mma = target::mma_of(chip);
    CHECK(mma.fp8_as_f16 == (chip >= 90 && chip < 120));
    CHECK(mma.m8n8k4_scalar == (chip != 75));
    CHECK(mma.wmma_f16_k == (chip == 75 ? 8 : 0));
    CHECK(mma.wmma_tf32_k == (chip == 75 ? 0 : 4));
  }
  const std::string_view header =
      "chip least_f32 least_f16 fp8_bits fp8_as_f16 fp4_bits fp4_least m8n8k4_scalar wmma_f16_k wmma_tf32_k";
  const auto refused = [&](std::string_view row) {
    return error_of([&] { target::read_mma(std::vector{header, row}); }).diagnostics().front().message;
  };
  CHECK(target::read_mma(std::vector{header, std::string_view("91 -1 -2 - yes 3 -4 no - 5")})
            .at(0)
            .wmma_tf32_k == 5);
  CHECK_THAT(refused("91 -1 -2 - - 3 -4 no - 5"),
             ContainsSubstring("'-' in column 'fp8_as_f16' is neither yes nor no"));
  // Those that only an overlay has.
  CHECK(target::mma_of(70).chip == 75);
  CHECK(target::mma_of(81).chip == 80);
  CHECK(target::mma_of(95).chip == 90);
  CHECK(target::mma_of(999).chip == target::mma_of(121).chip);
}

TEST_CASE("every PTX version belongs to a release of CUDA, and the default is one of them") {
  for (const Version version : ptx_versions()) {
    CAPTURE(to_string(version));
    const ToolkitInfo* const first = toolkit_for_ptx(version);
    REQUIRE(first != nullptr);
    CHECK(first->ptx == version);
  }
  CHECK(default_ptx_version() == Version{9, 0});
  const auto versions = ptx_versions();
  CHECK(std::ranges::find(versions, default_ptx_version()) != versions.end());
}

TEST_CASE(
    "a release of CUDA knows PTX up to a version, and one that is not listed is taken as the one before") {
  REQUIRE(find_toolkit({13, 1}) != nullptr);
  CHECK(find_toolkit({13, 1})->ptx == Version{9, 1});
  CHECK(find_toolkit({13, 1})->driver == 590);
  CHECK(find_toolkit({13, 1})->cubin_driver == 580);
  CHECK(find_toolkit({12, 6})->ptx == Version{8, 5});
  CHECK(toolkit_for_ptx({8, 5})->cuda == Version{12, 5});  // the first that has it
  CHECK(find_toolkit({99, 0}) == &toolkits().back());
  CHECK(find_toolkit({9, 2}) == nullptr);
  CHECK(toolkit_for_ptx({99, 0}) == nullptr);
}

TEST_CASE("what a PTX version takes on a target: a release of CUDA, and a driver that knows the chip") {
  CHECK(to_string(requirement_of(Target("sm_80"), {7, 0})) == "CUDA 11.0, driver 450");
  CHECK(to_string(requirement_of(Target("sm_80"), {9, 0})) == "CUDA 13.0, driver 580");
  CHECK(to_string(requirement_of(Target("sm_80"), {9, 1})) == "CUDA 13.1, driver 580");
  // Cubins of CUDA 12 load on driver 525, which is older than the chip; so is the PTX version asked for.
  CHECK(requirement_of(Target("sm_100a"), {8, 0}) ==
        Requirement{.ptx = {8, 6}, .cuda = Version{12, 7}, .driver = 565});
  CHECK(to_string(requirement_of(Target("sm_80"), {99, 0})) == "a release of CUDA that is not known");
}

TEST_CASE("a malformed table of releases is refused with its row") {
  const std::string_view header = "cuda ptx driver cubin_driver";
  const auto message = [&](std::vector<std::string_view> lines) {
    lines.insert(lines.begin(), header);
    return error_of([&] { target::read_toolkits(lines); }).diagnostics().front().message;
  };
  CHECK(target::read_toolkits(std::vector{header, std::string_view("14.0 10.0 - 700")}).at(0).driver == 0);
  CHECK_THAT(message({"13.0 9.0 580 580", "13.0 9.1 590 580"}), ContainsSubstring("ascending"));
  CHECK_THAT(message({"13.1 9.1 590 580", "13.2 9.0 595 580"}), ContainsSubstring("ascending"));
  CHECK_THAT(message({"13.0 9.0 x 580"}), ContainsSubstring("'x'"));
  CHECK_THAT(message({"13 9.0 580 580"}), ContainsSubstring("'13'"));
}

}  // namespace
}  // namespace ptxloom
