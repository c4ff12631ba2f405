// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <optional>

#include "ptxloom/context.hpp"
#include "support/require.hpp"
#include "support/temporary_folder.hpp"

/// A context on the GPU with its own cache and records; skips the test if there is no GPU.
inline ptxloom::Context require_gpu(const TemporaryFolder& folder) {
  std::optional<ptxloom::Context> context;
  try {
    context.emplace(ptxloom::ContextOptions{
        .device = "gpu", .cache_folder = folder / "cache", .records_folder = folder / "records"});
  } catch (const ptxloom::Error& error) {
    ptxloom::test::skip_without("gpu", "there is no GPU: " + error.diagnostics()[0].message);
  }
  return *context;
}
