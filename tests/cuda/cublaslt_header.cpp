// SPDX-License-Identifier: Apache-2.0
#include "cuda/cublaslt_header.hpp"

#if __has_include(<cublasLt.h>) && __has_include(<driver_types.h>)
#include <cublasLt.h>

std::optional<CublasLtFacts> cublaslt_facts() {
  using Result = cublasLtMatmulHeuristicResult_t;
  return CublasLtFacts{
      .not_supported = CUBLAS_STATUS_NOT_SUPPORTED,
      .data_types = {CUDA_R_32F, CUDA_R_64F, CUDA_R_16F, CUDA_R_8I, CUDA_R_32I, CUDA_R_16BF, CUDA_R_8F_E4M3,
                     CUDA_R_8F_E5M2},
      .compute_types = {CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_64F, CUBLAS_COMPUTE_32I,
                        CUBLAS_COMPUTE_32F_FAST_TF32},
      .transpositions = {CUBLAS_OP_N, CUBLAS_OP_T},
      .attributes = {CUBLASLT_MATMUL_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSB,
                     CUBLASLT_MATMUL_DESC_FAST_ACCUM, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                     CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES},
      .algorithm_bytes = sizeof(cublasLtMatmulAlgo_t),
      .proposal_bytes = sizeof(Result),
      .workspace_at = offsetof(Result, workspaceSize),
      .status_at = offsetof(Result, state)};
}
#else
std::optional<CublasLtFacts> cublaslt_facts() { return std::nullopt; }
#endif
