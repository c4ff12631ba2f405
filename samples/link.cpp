// SPDX-License-Identifier: Apache-2.0
// PTX to machine code without a GPU: what the linker reports, and the cache, where the second call finds the
// result.
#include <fmt/format.h>

#include <filesystem>
#include <ptxloom/ptxloom.hpp>
#include <random>

namespace pl = ptxloom;

namespace {

constexpr const char* kPtx = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .entry zero(.param .u64 out) {
  .reg .b32 %thread;
  .reg .b64 %to, %offset;
  ld.param.u64 %to, [out];
  mov.u32 %thread, %tid.x;
  mul.wide.u32 %offset, %thread, 4;
  add.u64 %to, %to, %offset;
  st.global.u32 [%to], 0;
  ret;
}
)";

bool link(const std::filesystem::path& folder) {
  // README link {
  // Cache::from_environment() is the usual folder.
  const pl::Linker linker{pl::Libraries(), pl::Cache(folder)};
  const pl::LinkResult result = linker.link(kPtx, {.target = "sm_90a"});
  for (const pl::Resources& each : result.resources)
    fmt::print("{}: {} registers, {} bytes spilled\n", each.kernel, each.registers, each.spill_stores);
  for (const pl::Diagnostic& remark : result.diagnostics) fmt::print("{}\n", pl::to_string(remark));
  fmt::print("{} bytes of machine code{}\n", result.cubin.size(), result.cached ? ", from the cache" : "");
  // }

  // README cached_only {
  // Neither links nor opens nvJitLink: takes what is in the cache, or throws "not-cached".
  const pl::LinkResult again = linker.link(kPtx, {.target = "sm_90a", .cached_only = true});
  // }
  return again.cached && again.cubin == result.cubin;
}

}  // namespace

int main() {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("ptxloom-link-{:x}", std::random_device()());
  int code = 0;
  try {
    if (pl::Libraries().has_nvjitlink()) {
      code = link(folder) ? 0 : 1;
    } else {
      fmt::print("nvJitLink is not installed; ptxloom doctor says how to get it\n");
    }
  } catch (const pl::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    code = pl::exit_code(error.kind());
  }
  std::filesystem::remove_all(folder);
  return code;
}
