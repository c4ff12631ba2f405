// SPDX-License-Identifier: Apache-2.0
// A matrix of a checkpoint to MXFP4, and multiplied:
//   mxfp4_checkpoint [FILE.safetensors TENSOR [PREFIX]]
// TENSOR is in BF16, n x k. quantize makes y (e2m1, two in a byte) and its scales (ue8m0, one for 32
// elements), which become PREFIX.y.npy and PREFIX.scale.npy; dequantize gives bf16 values back, and gemm
// multiplies random activations by them. The product is compared with what the host computes from the codes,
// and with that of the original matrix. Without arguments a small checkpoint is written first.
// docs/quantize.md explains it.
//
// It runs in the executor as on an sm_120a, where e2m1 has conversions; Context() is the GPU.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ptxloom/ptxloom.hpp>
#include <random>
#include <string>
#include <vector>

namespace pl = ptxloom;

namespace {

constexpr std::size_t kTokens = 16;

struct Matrix {
  std::size_t rows = 0, columns = 0;
  std::vector<std::byte> bytes;  // bf16
};

double bf16_at(const std::vector<std::byte>& bytes, std::size_t i) {
  return pl::decode(pl::bf16, pl::load_element(pl::bf16, bytes, i));
}

[[noreturn]] void refuse(const std::string& what) {
  throw pl::Error(pl::ErrorKind::usage, "bad-checkpoint", what, "give a file with a matrix in BF16");
}

/// What follows "name": in the header of a safetensors file.
std::string field_of(const std::string& header, const std::string& name, std::size_t from = 0) {
  const std::size_t at = header.find('"' + name + '"', from);
  if (at == std::string::npos) refuse("the file has no " + name);
  return header.substr(header.find(':', at) + 1);
}

/// Two numbers in brackets.
std::array<std::size_t, 2> pair_of(const std::string& text) {
  std::array<std::size_t, 2> pair{};
  if (text.find('[') >= text.find(']') || text.find(']') == std::string::npos) refuse("a list is missing");
  const char *at = text.data() + text.find('['), *const end = text.data() + text.find(']');
  for (std::size_t& number : pair) {
    while (at < end && (*at < '0' || *at > '9')) ++at;
    const auto [rest, error] = std::from_chars(at, end, number);
    if (error != std::errc()) refuse("not a matrix: " + text.substr(0, 40));
    at = rest;
  }
  if (std::any_of(at, end, [](char c) { return c >= '0' && c <= '9'; })) refuse("more than two dimensions");
  return pair;
}

// A safetensors file: 8 bytes with the size of a header in JSON, the header, the data. The header has
// "name": {"dtype": "BF16", "shape": [n, k], "data_offsets": [begin, end]} for each tensor.
Matrix read_matrix(const std::string& path, const std::string& name) {
  std::ifstream file(path, std::ios::binary);
  std::uint64_t size = 0;
  file.read(reinterpret_cast<char*>(&size), sizeof size);
  if (!file || size > std::filesystem::file_size(path)) refuse(path + " is no safetensors file");
  std::string header(size, ' ');
  file.read(header.data(), static_cast<std::streamsize>(size));
  const std::string tensor = field_of(header, name), entry = tensor.substr(0, tensor.find('}'));
  if (field_of(entry, "dtype").find("\"BF16\"") > 2) refuse(name + " is not in BF16");
  const auto [rows, columns] = pair_of(field_of(entry, "shape"));
  const auto [begin, end] = pair_of(field_of(entry, "data_offsets"));
  if (begin > end || end > std::filesystem::file_size(path) || end - begin != 2 * rows * columns)
    refuse(name + " has another size than its shape says");
  Matrix matrix{rows, columns, std::vector<std::byte>(end - begin)};
  file.seekg(static_cast<std::streamoff>(sizeof size + size + begin));
  file.read(reinterpret_cast<char*>(matrix.bytes.data()), static_cast<std::streamsize>(end - begin));
  if (!file) refuse(path + " ends too early");
  return matrix;
}

/// A checkpoint of one matrix, with a few large values as trained weights have them.
void write_example(const std::string& path, const std::string& name) {
  constexpr std::size_t kRows = 96, kColumns = 256;
  std::mt19937 random(std::random_device{}());
  std::normal_distribution<double> normal(0, 0.02);
  std::vector<std::byte> bytes(2 * kRows * kColumns);
  for (std::size_t i = 0; i < kRows * kColumns; ++i) {
    const double value = normal(random) * (random() % 500 == 0 ? 20 : 1);
    pl::store_element(pl::bf16, bytes, i, pl::encode(pl::bf16, value));
  }
  const std::string header =
      fmt::format(R"({{"{}":{{"dtype":"BF16","shape":[{},{}],"data_offsets":[0,{}]}}}})", name, kRows,
                  kColumns, bytes.size());
  const std::uint64_t size = header.size();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&size), sizeof size).write(header.data(), std::ssize(header));
  file.write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
}

// guide quantise {
/// A matrix in MXFP4 on the device.
struct Mxfp4 {
  std::size_t rows, columns;
  pl::Buffer y, scale;
};

/// Launches a template's kernel for a problem; the tensors have these names and addresses.
void launch(const pl::Context& ctx, const char* name, const pl::Settings& problem,
            const std::vector<std::string_view>& names, const std::vector<std::uint64_t>& tensors) {
  const pl::Template& what = pl::Templates().find(name);
  const pl::Specialised made = pl::specialise(ctx, what, what.problem(problem));
  pl::PreparedLaunch(made.kernels, made.launches, ctx.device().sms, names).launch(nullptr, tensors);
}

pl::Settings problem_of(std::size_t rows, std::size_t columns) {
  return {{"rows", std::to_string(rows)}, {"n", std::to_string(columns)}, {"format", "mxfp4"}};
}

Mxfp4 quantise(const pl::Context& ctx, const Matrix& w) {
  pl::Buffer x = ctx.alloc(w.bytes.size());
  x.copy_from(w.bytes);
  Mxfp4 q{w.rows, w.columns, ctx.alloc(w.rows * ((w.columns + 1) / 2)),
          ctx.alloc(w.rows * ((w.columns + 31) / 32))};
  launch(ctx, "quantize", problem_of(w.rows, w.columns), {"x", "y", "scale"},
         {x.address(), q.y.address(), q.scale.address()});
  ctx.synchronize();
  return q;
}
// }

// guide multiply {
/// d = a * w, for a of kTokens rows: w becomes bf16 again, and gemm multiplies.
std::vector<float> multiply(const pl::Context& ctx, const pl::HostTensor& a, const Mxfp4& w) {
  pl::Buffer wide = ctx.alloc(2 * w.rows * w.columns);
  launch(ctx, "dequantize", problem_of(w.rows, w.columns), {"x", "scale", "y"},
         {w.y.address(), w.scale.address(), wide.address()});
  const pl::Gemm gemm =
      pl::gemm(ctx, {.m = kTokens, .n = w.rows, .k = w.columns, .a = pl::bf16, .d = pl::f32});
  pl::Buffer da = ctx.alloc(a.bytes.size()), dd = ctx.alloc(4 * kTokens * w.rows);
  da.copy_from(a.bytes);
  gemm.launch(nullptr, {.a = da, .b = wide, .d = dd});
  ctx.synchronize();
  std::vector<float> d(kTokens * w.rows);
  dd.copy_to(d);
  return d;
}
// }

/// The value of an element, from its code and the scale, as the formats' specification has them.
double value_of(const std::vector<std::byte>& y, const std::vector<std::byte>& scale, std::size_t columns,
                std::size_t row, std::size_t i) {
  constexpr double kValues[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  const auto byte = std::to_integer<unsigned>(y[row * ((columns + 1) / 2) + i / 2]);
  const unsigned code = byte >> (i % 2 * 4) & 15;
  const auto exponent = std::to_integer<int>(scale[row * ((columns + 31) / 32) + i / 32]) - 127;
  return (code >= 8 ? -1 : 1) * std::ldexp(kValues[code % 8], exponent);
}

/// The root mean square of the differences, over that of the wanted values.
struct Difference {
  double difference = 0, wanted = 0;
  void add(double got, double exact) {
    difference += (got - exact) * (got - exact);
    wanted += exact * exact;
  }
  double relative() const { return std::sqrt(difference / wanted); }
};

/// Prints the errors. Whether the product is that of the codes.
bool check(const Matrix& w, const pl::HostTensor& a, const std::vector<std::byte>& y,
           const std::vector<std::byte>& scale, const std::vector<float>& d) {
  Difference of_weights, of_codes, of_product;
  for (std::size_t row = 0; row < w.rows; ++row) {
    std::vector<double> values(w.columns);
    for (std::size_t i = 0; i < w.columns; ++i) {
      values[i] = value_of(y, scale, w.columns, row, i);
      of_weights.add(values[i], bf16_at(w.bytes, row * w.columns + i));
    }
    for (std::size_t token = 0; token < kTokens; ++token) {
      double narrow = 0, wide = 0;
      for (std::size_t i = 0; i < w.columns; ++i) {
        const double activation = bf16_at(a.bytes, token * w.columns + i);
        narrow += activation * values[i];
        wide += activation * bf16_at(w.bytes, row * w.columns + i);
      }
      of_codes.add(d[token * w.rows + row], narrow);
      of_product.add(d[token * w.rows + row], wide);
    }
  }
  fmt::print(
      "relative error of the weights {:.4f}, of the product {:.4f}; against the host's product of the "
      "codes {:.1e}\n",
      of_weights.relative(), of_product.relative(), of_codes.relative());
  return of_codes.relative() < 1e-5;
}

void write_codes(const std::string& path, std::size_t rows, const std::vector<std::byte>& bytes) {
  pl::write_npy(path, {.dtype = "|u1", .shape = {rows, bytes.size() / rows}, .bytes = bytes});
  fmt::print("wrote {}\n", path);
}

int run(const std::string& file, const std::string& tensor, const std::string& prefix) {
  const pl::Context ctx({.device = "cpu", .cpu_target = "sm_120a"});
  const Matrix w = read_matrix(file, tensor);
  const Mxfp4 q = quantise(ctx, w);
  std::vector<std::byte> y(w.rows * ((w.columns + 1) / 2)), scale(w.rows * ((w.columns + 31) / 32));
  q.y.copy_to(y);
  q.scale.copy_to(scale);
  fmt::print("{} x {}: {} bytes in bf16, {} in MXFP4\n", w.rows, w.columns, w.bytes.size(),
             y.size() + scale.size());
  if (!prefix.empty()) {
    write_codes(prefix + ".y.npy", w.rows, y);
    write_codes(prefix + ".scale.npy", w.rows, scale);
  }
  const pl::HostTensor a = pl::random_tensor({.name = "a", .type = pl::bf16, .shape = {kTokens, w.columns}},
                                             std::random_device{}());
  return check(w, a, y, scale, multiply(ctx, a, q)) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 3 || argc == 4) return run(argv[1], argv[2], argc == 4 ? argv[3] : "");
    if (argc != 1) {
      fmt::print(stderr, "usage: mxfp4_checkpoint [FILE.safetensors TENSOR [PREFIX]]\n");
      return 2;
    }
    const std::filesystem::path file = std::filesystem::temp_directory_path() / "ptxloom_example.safetensors";
    write_example(file, "layers.0.down_proj.weight");
    return run(file, "layers.0.down_proj.weight", "");
  } catch (const pl::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return pl::exit_code(error.kind());
  }
}
