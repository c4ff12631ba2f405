// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <thread>
#include <vector>

#include "jit/sample_ptx.hpp"
#include "ptxloom/jit.hpp"
#include "support/errors.hpp"
#include "support/replaced.hpp"
#include "support/temporary_folder.hpp"

using namespace ptxloom;

namespace {

const LinkOptions kSm80{.target = "sm_80"};

bool is_elf(const std::vector<std::byte>& bytes) {
  return bytes.size() > 4 && std::string_view(reinterpret_cast<const char*>(bytes.data()), 4) ==
                                 "\x7f"
                                 "ELF";
}

/// Keeps 64 values alive across a barrier.
std::string ptx_with_many_registers() {
  std::string text =
      ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry hold(.param .u64 x)\n{\n"
      ".reg .f32 %f<64>; .reg .b64 %d; ld.param.u64 %d, [x];\n";
  for (int i = 0; i < 64; ++i) text += fmt::format("ld.global.f32 %f{}, [%d+{}];\n", i, 4 * i);
  text += "bar.sync 0;\n";
  for (int i = 0; i < 64; ++i) text += fmt::format("st.global.f32 [%d+{}], %f{};\n", 4 * ((i * 7) % 64), i);
  return text + "ret;\n}\n";
}

/// Touches an accumulator between issue and wait, which ptxas must serialise. Line 9 is the wgmma.
constexpr std::string_view kSerialisedPtx = R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry serialised(.param .u64 x)
{
  .reg .f32 %f<4>; .reg .b64 %d<3>;
  ld.param.u64 %d0, [x]; ld.global.v2.u64 {%d1, %d2}, [%d0]; ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%d0];
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %d1, %d2, 1, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  st.global.f32 [%d0+64], %f0;
  wgmma.wait_group.sync.aligned 0;
  st.global.v4.f32 [%d0], {%f0, %f1, %f2, %f3};
  ret;
}
)";

}  // namespace

TEST_CASE("PTX becomes a cubin, and the log the resources of its kernel") {
  const LinkResult result = Linker(Libraries()).link(kScalePtx, kSm80);
  CHECK(is_elf(result.cubin));
  CHECK(result.diagnostics.empty());
  CHECK_FALSE(result.cached);
  REQUIRE(result.resources.size() == 1);
  const Resources& kernel = result.resources[0];
  CHECK(kernel.kernel == "scale");
  CHECK((kernel.registers > 0 && kernel.registers < 32));
  CHECK(kernel.barriers == 1);
  CHECK(kernel.stack == 64);
  CHECK(kernel.shared == 1024);
  CHECK(kernel.constant > 16);
  CHECK(kernel.spill_stores == 0);
}

TEST_CASE("every kernel of a module has its resources") {
  const std::string second(kScalePtx.substr(kScalePtx.find(".visible")));
  const std::string both =
      std::string(kScalePtx) + replaced(replaced(second, "scale", "again"), "[1024]", "[4096]");
  auto resources = Linker(Libraries()).link(both, kSm80).resources;
  std::ranges::sort(resources, {}, &Resources::kernel);
  REQUIRE(resources.size() == 2);
  CHECK((resources[0].kernel == "again" && resources[0].shared == 4096));
  CHECK((resources[1].kernel == "scale" && resources[1].shared == 1024));
}

TEST_CASE("options reach the linker") {
  const Linker linker{Libraries()};
  const std::string ptx = ptx_with_many_registers();
  const Resources free = linker.link(ptx, kSm80).resources.at(0);
  CHECK(free.registers > 64);
  CHECK(free.spill_stores == 0);
  const Resources tight = linker.link(ptx, {.target = "sm_80", .max_registers = 32}).resources.at(0);
  CHECK(tight.registers <= 32);
  CHECK(tight.spill_stores > 0);
  CHECK(tight.spill_loads > 0);
  const auto size = [&](const LinkOptions& options) { return linker.link(kScalePtx, options).cubin.size(); };
  CHECK(size({.target = "sm_80", .line_info = true}) > size(kSm80));
  CHECK(size({.target = "sm_80", .debug = true}) != size(kSm80));
  for (int level = 0; level <= 3; ++level) {
    CAPTURE(level);
    CHECK(is_elf(linker.link(kScalePtx, {.target = "sm_80", .optimisation = level}).cubin));
  }
  const auto warned =
      linker.link(ptx, {.target = "sm_80", .max_registers = 32, .extra = {"-Xptxas=--warn-on-spills"}});
  REQUIRE(warned.diagnostics.size() == 1);
  CHECK(warned.diagnostics[0].severity == Severity::warning);
  CHECK(warned.diagnostics[0].code == "ptxas");
}

TEST_CASE("refused PTX comes back as errors with their lines") {
  const std::string bad =
      replaced(replaced(kScalePtx, "mul.f32 %f1, %f1, %f0", "mul.f32 %f1, %f1, %d0"), "bar.sync", "bar.sink");
  const Error error = error_of([&] { Linker(Libraries()).link(bad, kSm80); });
  CHECK(error.kind() == ErrorKind::link_failure);
  const auto& all = error.diagnostics();
  REQUIRE(all.size() >= 3);
  CHECK(all[0].code == "link-failed");
  CHECK(std::ranges::any_of(all, [](const Diagnostic& d) {
    return d.line == 15 && d.code == "ptxas" && d.message.find(".sink") != std::string::npos;
  }));
  CHECK(std::ranges::none_of(
      all, [](const Diagnostic& d) { return d.message.find("aborted") != std::string::npos; }));
  const Error type_error = error_of([&] {
    Linker(Libraries()).link(replaced(kScalePtx, "mul.f32 %f1, %f1, %f0", "mul.f32 %f1, %f1, %d0"), kSm80);
  });
  REQUIRE(type_error.diagnostics().size() >= 2);
  CHECK(type_error.diagnostics()[1].line == 13);
}

TEST_CASE("text that is no PTX, is empty, or is for a newer target is refused with the reason") {
  const Linker linker{Libraries()};
  for (const std::string& text :
       {std::string(), std::string("hello"), std::string(100, '\0'), replaced(kScalePtx, "sm_80", "sm_90")}) {
    CAPTURE(text);
    const Error error = error_of([&] { linker.link(text, kSm80); });
    CHECK(error.kind() == ErrorKind::link_failure);
    CHECK(error.diagnostics()[0].code == "link-failed");
    CHECK((error.diagnostics().size() > 1 || !error.diagnostics()[0].hint.empty()));
  }
}

TEST_CASE("bad link options are told apart from bad PTX") {
  const Linker linker{Libraries()};
  const LinkOptions bad[] = {{.target = ""},
                             {.target = "sm_1"},
                             {.target = "sm_90b"},
                             {.target = "hopper"},
                             {.target = "sm_91"},
                             {.target = "sm_80", .optimisation = 4},
                             {.target = "sm_80", .max_registers = -1},
                             {.target = "sm_80", .extra = {"-no-such-option"}}};
  for (const LinkOptions& options : bad) {
    CAPTURE(options.target);
    const Error error = error_of([&] { linker.link(kScalePtx, options); });
    CHECK(error.kind() == ErrorKind::usage);
    CHECK(error.diagnostics()[0].code == "bad-link-option");
    CHECK_FALSE(error.diagnostics()[0].hint.empty());
  }
}

TEST_CASE("an advisory on serialised wgmma is a warning with its number and line, cached or not") {
  const TemporaryFolder folder;
  const Linker linker(Libraries(), Cache(folder.path()));
  for (const bool cached : {false, true}) {
    const LinkResult result = linker.link(kSerialisedPtx, {.target = "sm_90a"});
    CHECK(result.cached == cached);
    REQUIRE(result.diagnostics.size() == 1);
    CHECK(result.diagnostics[0].severity == Severity::warning);
    CHECK(result.diagnostics[0].code.starts_with("ptxas-C75"));
    CHECK(result.diagnostics[0].message.find("serialised") != std::string::npos);
  }
}

TEST_CASE("a cached result is the one that was made, and only for the very same question") {
  const TemporaryFolder folder;
  const Linker linker(Libraries(), Cache(folder.path()));
  const LinkResult made = linker.link(kScalePtx, kSm80);
  const LinkResult found = linker.link(kScalePtx, kSm80);
  CHECK_FALSE(made.cached);
  CHECK(found.cached);
  CHECK(found.cubin == made.cubin);
  REQUIRE(found.resources.size() == 1);
  CHECK(found.resources[0].registers == made.resources[0].registers);
  CHECK_FALSE(linker.link(kScalePtx, {.target = "sm_80", .optimisation = 0}).cached);
  CHECK_FALSE(linker.link(kScalePtx, {.target = "sm_90"}).cached);
  CHECK_FALSE(linker.link(std::string(kScalePtx) + "\n", kSm80).cached);
  CHECK(linker.cache().stat().entries == 5);  // and the list of linkers
  // Refusals are not kept.
  error_of([&] { linker.link("hello", kSm80); });
  CHECK(linker.cache().stat().entries == 5);
}

TEST_CASE("what is cached can be had without nvJitLink, and nothing else") {
  const TemporaryFolder folder;
  const Cache cache(folder.path());
  const LinkResult made = Linker(Libraries(), cache).link(kScalePtx, kSm80);
  // Libraries of a folder that holds none, and nothing else is looked at.
  const Linker without(Libraries({.folders = {folder / "none"}, .system = false}), cache);
  LinkOptions options = kSm80;
  options.cached_only = true;
  const LinkResult found = without.link(kScalePtx, options);
  CHECK(found.cached);
  CHECK(found.cubin == made.cubin);
  const auto code = [&] {
    return error_of([&] { without.link(kScalePtx, options); }).diagnostics().front().code;
  };
  options.optimisation = 0;
  CHECK(code() == "not-cached");
  options.optimisation = 3;
  CHECK(cache.clear() == 2);
  CHECK(code() == "not-cached");
}

TEST_CASE("a linker serves several threads at once") {
  const TemporaryFolder folder;
  const Linker linker(Libraries(), Cache(folder.path()));
  std::vector<LinkResult> results(16);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (std::size_t i = 0; i < 4; ++i) {
          const auto bytes = fmt::format("[{}]", 1024 * (i + 1));
          results[4 * t + i] = linker.link(replaced(kScalePtx, "[1024]", bytes), kSm80);
        }
      });
    }
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    REQUIRE(results[i].resources.size() == 1);
    CHECK(results[i].resources[0].shared == 1024 * (static_cast<int>(i % 4) + 1));
  }
}

TEST_CASE("linker and compiler say which targets they know, and keep their word") {
  const Linker linker{Libraries()};
  const NvrtcCompiler compiler{Libraries()};
  for (const TargetInfo& target : targets()) {
    const std::string name(target.name);
    const std::string ptx =
        fmt::format(".version {}\n.target {}\n.address_size 64\n", to_string(target.since), name);
    const auto links = [&] {
      try {
        return !linker.link(ptx, {.target = name}).cubin.empty();
      } catch (const Error&) {
        return false;
      }
    };
    CAPTURE(name);
    CHECK(linker.serves(name) == links());
    CHECK(compiler.serves(name) == linker.serves(name));
  }
  CHECK_FALSE(linker.serves("sm_1"));
  CHECK_FALSE(linker.serves("hopper"));
  CHECK_FALSE(compiler.serves("sm_1"));
  CHECK_FALSE(compiler.serves("hopper"));
}

TEST_CASE("without nvJitLink, linking says how to get it") {
  const TemporaryFolder folder;
  const Linker linker(Libraries({.folders = {folder.path()}, .system = false}));
  const Error error = error_of([&] { linker.link(kScalePtx, kSm80); });
  CHECK(error.kind() == ErrorKind::missing);
  CHECK(error.diagnostics()[0].code == "no-nvjitlink");
  CHECK(error.diagnostics()[0].hint.find("PTXLOOM_CUDA_PATH") != std::string::npos);
}
