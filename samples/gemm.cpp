// SPDX-License-Identifier: Apache-2.0
// D = A * B on matrices from .npy files: gemm A.npy B.npy D.npy. A is m x k, B is n x k (so D = A times B
// transposed), both f16; D is m x n, f32. Without arguments it first writes two small matrices and prints
// their paths.
#include <fmt/format.h>

#include <filesystem>
#include <ptxloom/ptxloom.hpp>
#include <random>
#include <string>

namespace pl = ptxloom;

namespace {

std::string write_example(const std::filesystem::path& folder, const char* name, std::size_t rows,
                          std::size_t columns) {
  std::random_device seed;
  const pl::HostTensor matrix =
      pl::random_tensor({.name = name, .type = pl::f16, .shape = {rows, columns}}, seed());
  const std::string file = folder / (std::string(name) + ".npy");
  pl::write_npy(file, {.dtype = pl::npy_dtype(pl::f16), .shape = {rows, columns}, .bytes = matrix.bytes});
  fmt::print("wrote {}\n", file);
  return file;
}

void multiply(const std::string& a_file, const std::string& b_file, const std::string& d_file) {
  // README gemm {
  const pl::NpyArray a = pl::read_npy(a_file), b = pl::read_npy(b_file);
  const std::size_t m = a.shape.at(0), k = a.shape.at(1), n = b.shape.at(0);

  const pl::Context ctx;  // the GPU; where there is none, the CPU executor
  const pl::Gemm gemm = pl::gemm(ctx, {.m = m, .n = n, .k = k, .a = pl::f16, .d = pl::f32});
  pl::Buffer da = ctx.alloc(a.bytes.size()), db = ctx.alloc(b.bytes.size()), dd = ctx.alloc(4 * m * n);
  da.copy_from(a.bytes);
  db.copy_from(b.bytes);
  gemm.launch(nullptr, {.a = da, .b = db, .d = dd});
  ctx.synchronize();

  pl::NpyArray d{.dtype = "<f4", .shape = {m, n}, .bytes = std::vector<std::byte>(4 * m * n)};
  dd.copy_to(d.bytes);
  pl::write_npy(d_file, d);
  // }
  fmt::print("{} x {} x {} on {}: wrote {}\n", m, n, k, ctx.device().name, d_file);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 4) {
      multiply(argv[1], argv[2], argv[3]);
      return 0;
    }
    const std::filesystem::path folder = std::filesystem::temp_directory_path() / "ptxloom-gemm";
    std::filesystem::create_directories(folder);
    multiply(write_example(folder, "a", 37, 45), write_example(folder, "b", 29, 45), folder / "d.npy");
  } catch (const pl::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return pl::exit_code(error.kind());
  }
}
