// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "cuda/symbols.hpp"

// libcublasLt.so: NVIDIA's matrix products, for comparison with ours. None of the packages we require has its
// header, so what is used is declared here, following its stable C interface; a test compares it with the
// header if that is installed. Matrices are column-major. Objects are opaque; attributes are set by number.
struct CUstream_st;
struct ptxloom_cublaslt_handle;
struct ptxloom_cublaslt_operation;
struct ptxloom_cublaslt_layout;
struct ptxloom_cublaslt_preference;

namespace ptxloom::cuda {

struct CublasLtAlgorithm {
  std::array<std::uint64_t, 8> data;
};
struct CublasLtProposal {
  CublasLtAlgorithm algorithm;
  std::size_t workspace;
  int status;
  float waves;
  std::array<int, 4> reserved;
};

}  // namespace ptxloom::cuda

extern "C" {
std::size_t cublasLtGetVersion();
const char* cublasLtGetStatusString(int status);
int cublasLtCreate(ptxloom_cublaslt_handle** handle);
int cublasLtDestroy(ptxloom_cublaslt_handle* handle);
int cublasLtMatmulDescCreate(ptxloom_cublaslt_operation** operation, int compute_type, int scale_type);
int cublasLtMatmulDescDestroy(ptxloom_cublaslt_operation* operation);
int cublasLtMatmulDescSetAttribute(ptxloom_cublaslt_operation* operation, int attribute, const void* value,
                                   std::size_t bytes);
int cublasLtMatrixLayoutCreate(ptxloom_cublaslt_layout** layout, int type, std::uint64_t rows,
                               std::uint64_t columns, std::int64_t leading);
int cublasLtMatrixLayoutSetAttribute(ptxloom_cublaslt_layout* layout, int attribute, const void* value,
                                     std::size_t bytes);
int cublasLtMatrixLayoutDestroy(ptxloom_cublaslt_layout* layout);
int cublasLtMatmulPreferenceCreate(ptxloom_cublaslt_preference** preference);
int cublasLtMatmulPreferenceDestroy(ptxloom_cublaslt_preference* preference);
int cublasLtMatmulPreferenceSetAttribute(ptxloom_cublaslt_preference* preference, int attribute,
                                         const void* value, std::size_t bytes);
int cublasLtMatmulAlgoGetHeuristic(ptxloom_cublaslt_handle* handle, ptxloom_cublaslt_operation* operation,
                                   ptxloom_cublaslt_layout* a, ptxloom_cublaslt_layout* b,
                                   ptxloom_cublaslt_layout* c, ptxloom_cublaslt_layout* d,
                                   ptxloom_cublaslt_preference* preference, int wanted,
                                   ptxloom::cuda::CublasLtProposal* proposals, int* found);
int cublasLtMatmul(ptxloom_cublaslt_handle* handle, ptxloom_cublaslt_operation* operation, const void* alpha,
                   const void* a, ptxloom_cublaslt_layout* a_layout, const void* b,
                   ptxloom_cublaslt_layout* b_layout, const void* beta, const void* c,
                   ptxloom_cublaslt_layout* c_layout, void* d, ptxloom_cublaslt_layout* d_layout,
                   const ptxloom::cuda::CublasLtAlgorithm* algorithm, void* workspace,
                   std::size_t workspace_bytes, CUstream_st* stream);
}

// clang-format off
#define PTXLOOM_CUBLASLT_SYMBOLS(X)                                                                          \
  X(cublasLtGetVersion) X(cublasLtGetStatusString) X(cublasLtCreate) X(cublasLtDestroy)                      \
  X(cublasLtMatmulDescCreate) X(cublasLtMatmulDescDestroy) X(cublasLtMatmulDescSetAttribute)                 \
  X(cublasLtMatrixLayoutCreate) X(cublasLtMatrixLayoutSetAttribute) X(cublasLtMatrixLayoutDestroy)           \
  X(cublasLtMatmulPreferenceCreate) X(cublasLtMatmulPreferenceDestroy) X(cublasLtMatmulPreferenceSetAttribute) \
  X(cublasLtMatmulAlgoGetHeuristic) X(cublasLtMatmul)
// clang-format on

namespace ptxloom::cuda {

struct CublasLt {
  PTXLOOM_CUBLASLT_SYMBOLS(PTXLOOM_SYMBOL_MEMBER)

  static constexpr int kNotSupported = 15;  // CUBLAS_STATUS_NOT_SUPPORTED
  enum DataType { f32 = 0, f64 = 1, f16 = 2, s8 = 3, s32 = 10, bf16 = 14, e4m3 = 28, e5m2 = 29 };
  enum ComputeType { in_f32 = 68, in_f64 = 70, in_s32 = 72, in_tf32 = 77 };
  static constexpr std::int32_t kPlain = 0, kTransposed = 1;
  static constexpr int kOperationA = 3, kOperationB = 4, kFastSums = 25;  // attributes of an operation
  static constexpr int kBatches = 5, kBatchStride = 6;                    // attributes of a layout
  static constexpr int kMostWorkspace = 1;                                // attribute of a preference

  std::string version;  ///< "13.1.0"
  DynamicLibrary library;

  static CublasLt load(const DynamicLibrary& library);
};

}  // namespace ptxloom::cuda
