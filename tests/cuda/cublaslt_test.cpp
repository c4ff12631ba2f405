// SPDX-License-Identifier: Apache-2.0
#include "cuda/cublaslt.hpp"

#include <catch2/catch_test_macros.hpp>

#include "cuda/cublaslt_header.hpp"
#include "support/errors.hpp"
#include "support/fake_driver.hpp"
#include "support/require.hpp"
#include "support/temporary_folder.hpp"

using namespace ptxloom;
using cuda::CublasLt;

TEST_CASE("what we declare of cuBLASLt is what its header says") {
  const auto facts = cublaslt_facts();
  if (!facts) test::skip_without("cublaslt", "there is no cublasLt.h");
  CHECK(facts->not_supported == CublasLt::kNotSupported);
  CHECK(facts->data_types == std::array<int, 8>{CublasLt::f32, CublasLt::f64, CublasLt::f16, CublasLt::s8,
                                                CublasLt::s32, CublasLt::bf16, CublasLt::e4m3,
                                                CublasLt::e5m2});
  CHECK(facts->compute_types ==
        std::array<int, 4>{CublasLt::in_f32, CublasLt::in_f64, CublasLt::in_s32, CublasLt::in_tf32});
  CHECK(facts->transpositions == std::array<int, 2>{CublasLt::kPlain, CublasLt::kTransposed});
  CHECK(facts->attributes == std::array<int, 6>{CublasLt::kOperationA, CublasLt::kOperationB,
                                                CublasLt::kFastSums, CublasLt::kBatches,
                                                CublasLt::kBatchStride, CublasLt::kMostWorkspace});
  CHECK(facts->algorithm_bytes == sizeof(cuda::CublasLtAlgorithm));
  CHECK(facts->proposal_bytes == sizeof(cuda::CublasLtProposal));
  CHECK(facts->workspace_at == offsetof(cuda::CublasLtProposal, workspace));
  CHECK(facts->status_at == offsetof(cuda::CublasLtProposal, status));
}

TEST_CASE("cuBLASLt is opened like the other libraries, and says its version") {
  fresh_fake();
  CHECK(fake_libraries().cublaslt().version == "13.4.2");
  const TemporaryFolder empty;
  const Libraries none({.folders = {empty.path()}, .system = false});
  const Error error = error_of([&] { none.cublaslt(); });
  CHECK(error.kind() == ErrorKind::missing);
  CHECK(error.diagnostics()[0].code == "no-cublaslt");
}
