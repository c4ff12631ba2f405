// SPDX-License-Identifier: Apache-2.0
// Several products in one kernel, in the CPU executor, compared with the reference and with kernels for
// single products: batches with every memory layout, and refusals. Groups are in groups_test.cpp.
#include <algorithm>
#include <array>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <random>
#include <string>

#include "gemm/batches.hpp"
#include "support/errors.hpp"

namespace ptxloom::test::batch_test {
namespace {

/// With both strategies, staged (where possible) and direct, with sizes as kernel parameters and as
/// constants.
void check(const Settings& problem) {
  for (const char* strategy : kStrategies)
    for (const Settings& more : {Settings{}, Settings{{"epilogue", "direct"}}, Settings{{"static", "mnk"}}})
      run(problem, with(tiles(strategy), more));
}

std::vector<std::byte> part(const HostTensor& whole, std::uint64_t first, std::uint64_t elements) {
  const auto size = static_cast<std::uint64_t>(whole.plan.type.bytes());
  const auto begin = whole.bytes.begin() + static_cast<std::ptrdiff_t>(first * size);
  return {begin, begin + static_cast<std::ptrdiff_t>(elements * size)};
}

}  // namespace

TEST_CASE("a batch equals its products one by one, to the bit", "[gemm]") {
  constexpr int kM = 100, kN = 72, kK = 88, kBatch = 5;
  for (const char* strategy : kStrategies) {
    const Settings one = with(shape(kM, kN, kK), {{"a", "f16"}, {"beta", "0.5"}});
    const RunResult all = run(with(one, {{"batch", std::to_string(kBatch)}}), tiles(strategy));
    for (std::uint64_t i = 0; i < kBatch; ++i) {
      std::vector<HostTensor> inputs;
      const std::pair<const char*, std::uint64_t> matrices[] = {
          {"a", kM * kK}, {"b", kN * kK}, {"c", kM * kN}};
      for (const auto& [name, elements] : matrices) {
        const HostTensor& whole = tensor(all.tensors, name);
        inputs.push_back({{.name = name, .type = whole.plan.type, .shape = {elements}},
                          part(whole, i * elements, elements)});
      }
      const RunResult single = run(one, tiles(strategy), inputs);
      CHECK(tensor(single.tensors, "d").bytes == part(tensor(all.tensors, "d"), i * kM * kN, kM * kN));
    }
  }
}

TEST_CASE("batches of every type and layout", "[gemm][slow]") {
  for (const char* a_layout : {"row", "col"})
    for (const char* b_layout : {"row", "col"})
      check(with(shape(70, 80, 72),
                 {{"a", "bf16"}, {"batch", "3"}, {"a_layout", a_layout}, {"b_layout", b_layout}}));
  for (const char* d : {"f32", "bf16", "s8"})
    check(with(shape(70, 80, 96), {{"a", "e4m3"}, {"d", d}, {"c", "f16"}, {"beta", "2"}, {"batch", "3"}}));
  check(with(shape(70, 80, 40), {{"a", "tf32"}, {"batch", "2"}}));
  check(with(shape(70, 80, 96), {{"a", "s8"}, {"beta", "-3"}, {"alpha", "2"}, {"batch", "3"}}));
  run(with(shape(35, 37, 21), {{"a", "f64"}, {"batch", "3"}, {"beta", "0.5"}}), {});
}

TEST_CASE("batches with gaps, shared, overlapping and side by side", "[gemm]") {
  const Settings problem =
      with(shape(70, 80, 64), {{"a", "bf16"}, {"d", "bf16"}, {"batch", "4"}, {"beta", "0.75"}});
  check(with(problem,
             {{"stride_a", "4800"}, {"stride_b", "5200"}, {"stride_c", "5608"}, {"stride_d", "5640"}}));
  check(with(problem, {{"stride_b", "0"}}));
  check(with(problem, {{"stride_a", "0"}, {"stride_c", "0"}}));
  check(with(problem, {{"stride_a", "64"}, {"stride_b", "128"}, {"stride_c", "80"}}));
  // Like attention heads within rows of tokens.
  check(with(problem, {{"lda", "256"}, {"stride_a", "64"}, {"ldd", "344"}, {"stride_d", "88"}}));
  check(with(problem, {{"ldd", "96"}, {"stride_d", "6704"}}));  // the last row has no padding
}

// Few rows: the reference samples at most 4096 of the elements outside the results.
TEST_CASE("the next batch of D may start in the padding of the last row", "[gemm]") {
  constexpr int kM = 18, kN = 24, kLd = 32;
  const Settings problem =
      with(shape(kM, kN, 40), {{"a", "bf16"}, {"batch", "3"}, {"ldd", std::to_string(kLd)}});
  constexpr int kEndOfLastRow = (kM - 1) * kLd + kN;
  for (int padding = 0; padding <= kLd - kN; padding += 4)
    check(with(problem, {{"stride_d", std::to_string(kEndOfLastRow + padding)}}));
}

TEST_CASE("the reference knows which elements of D's buffer a kernel writes, for each layout", "[gemm]") {
  constexpr int kM = 7, kN = 10, kBatch = 3;
  const auto check_layout = [](int batch, int ld, int stride) {
    const Settings problem =
        gemm_template().problem(with(shape(kM, kN, 8), {{"batch", std::to_string(batch)},
                                                        {"ldd", std::to_string(ld)},
                                                        {"stride_d", std::to_string(stride)}}));
    INFO(words(problem));
    const std::vector<HostTensor> tensors = make_tensors(gemm_template(), problem, {}, Catch::getSeed());
    const Expectation expected = gemm_template().expect(problem, tensors).at(0);
    const std::size_t size = tensors.back().plan.elements();
    // 'D': an element of a result; '.': outside all results; '?': not known.
    std::string wanted(size, '.'), known(size, '?');
    for (int i = 0; i < batch; ++i)
      for (int row = 0; row < kM; ++row)
        for (int column = 0; column < kN; ++column)
          wanted.at(static_cast<std::size_t>(i * stride + row * ld + column)) = 'D';
    for (const std::uint64_t index : expected.untouched) known.at(index) = '.';
    CHECK(std::ranges::count(known, '?') == std::ranges::count(wanted, 'D'));
    for (const Expectation::Point& point : expected.points) known.at(point.index) = 'D';
    CHECK(known == wanted);
  };
  for (const int padding : {0, 1, 6}) {
    const int ld = kN + padding;
    check_layout(1, ld, 0);
    // Batches follow each other: the next starts where the last row ends, in its padding, or after a gap.
    for (int gap = -padding; gap <= 5; ++gap) check_layout(kBatch, ld, kM * ld + gap);
    // They are side by side, and their rows may have more padding at the end.
    for (const int more : {0, 1, 5}) check_layout(kBatch, kBatch * ld + more, ld);
  }
}

TEST_CASE("batches that TMA cannot load are packed, and D is stored row by row", "[gemm]") {
  const Settings problem = with(shape(70, 80, 64), {{"a", "bf16"}, {"d", "bf16"}, {"batch", "3"}});
  const auto packed = [](const Settings& words) {
    return run(words, {{"strategy", "wgmma"}, {"static", "mnk"}}).kernel.launches.front().workspace_bytes > 0;
  };
  CHECK(!packed(problem));
  CHECK(packed(with(problem, {{"stride_a", "4483"}})));
  CHECK(packed(with(problem, {{"stride_b", "5121"}, {"stride_a", "1"}})));
  CHECK(packed(with(problem, {{"k", "67"}})));
  CHECK(packed(with(problem, {{"k", "67"}, {"stride_b", "0"}})));
  CHECK(packed(with(problem, {{"k", "67"}, {"b_layout", "row"}, {"ldb", "83"}, {"a_layout", "col"}})));
  CHECK(packed(with(problem, {{"a", "s8"}, {"d", "s32"}, {"k", "131"}})));
  CHECK(!packed(with(problem, {{"stride_d", "5603"}})));
  const auto workspace = [](const Settings& words) {
    return run(words, {{"strategy", "wgmma"}, {"static", "mnk"}}).kernel.launches.front().workspace_bytes;
  };
  const Settings odd = with(problem, {{"k", "67"}, {"lda", "72"}});
  CHECK(workspace(with(odd, {{"stride_b", "0"}})) == workspace(with(odd, {{"batch", "1"}})));  // packed once
                                                                                               // for all
                                                                                               // batches
  CHECK(workspace(odd) > 2 * workspace(with(odd, {{"batch", "1"}})));
  CHECK(!packed(with(problem, {{"n", "77"}})));
  for (const char* stride : {"5603", "5604", "5608"}) check(with(problem, {{"stride_d", stride}}));
  for (const char* stride : {"4483", "4484"}) run(with(problem, {{"stride_a", stride}}), tiles("mma"));
}

TEST_CASE("batches with split k, epilogues and block scales", "[gemm]") {
  for (const char* strategy : kStrategies) {
    run(with(shape(72, 80, 520), {{"a", "bf16"}, {"batch", "3"}, {"beta", "2"}}),
        with(tiles(strategy), {{"split", "4"}, {"tile_k", "64"}}));
    const Settings vectors{{"bias", "f32"},    {"activation", "silu"}, {"scale_a", "row"},
                           {"scale_b", "col"}, {"scale_d", "tensor"},  {"batch", "3"}};
    run(with(shape(70, 80, 64), with(vectors, {{"a", "e4m3"}})), tiles(strategy));
    const Settings blocks{{"scale_a", "block"}, {"scale_b", "block"}, {"batch", "2"}};
    run(with(shape(70, 144, 272), with(blocks, {{"a", "e4m3"}})), tiles(strategy));
  }
}

TEST_CASE("random batches", "[gemm]") {
  std::mt19937 random(Catch::getSeed());
  const auto size = [&](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  for (int i = 0; i < 20; ++i) {
    const int m = size(1, 200), n = size(1, 200), k = size(1, 150);
    Settings problem = with(shape(m, n, k), {{"a", i % 3 == 0 ? "e4m3" : "bf16"},
                                             {"d", i % 2 == 0 ? "bf16" : "f32"},
                                             {"batch", std::to_string(size(1, 5))},
                                             {"beta", i % 4 == 0 ? "0.5" : "0"}});
    if (random() % 2 == 0) problem["stride_a"] = std::to_string(size(0, 2 * m * k));
    if (random() % 2 == 0) problem["stride_b"] = std::to_string(8 * size(0, n * k / 4));
    if (random() % 2 == 0) problem["stride_d"] = std::to_string(m * n + size(0, 50));
    run(problem, {{"strategy", kStrategies[random() % 2]}});
  }
}

TEST_CASE("batch parameters have no effect on a single product", "[gemm]") {
  const auto whole = [](const Settings& more) {
    return gemm_template().problem(with(shape(64, 48, 32), more));
  };
  const Settings plain = whole({});
  CHECK(!plain.contains("batch"));
  CHECK(!plain.contains("groups"));
  CHECK(whole({{"batch", "1"}, {"stride_a", "7"}, {"stride_d", "0"}, {"groups", "none"}}) == plain);
  const Settings batch = whole({{"batch", "2"}, {"lda", "40"}, {"stride_b", "0"}});
  CHECK(batch.at("stride_a") == "2560");
  CHECK(batch.at("stride_b") == "0");
  CHECK(batch.at("stride_c") == "3072");
  CHECK(batch.at("stride_d") == "3072");
  CHECK(gemm_template().problem(batch) == batch);
  CHECK(whole({{"batch", "2"}, {"a_layout", "col"}, {"lda", "72"}}).at("stride_a") ==
        std::to_string(32 * 72));
  const Settings contiguous = whole({{"batch", "2"}, {"groups", "contiguous"}});
  CHECK(!contiguous.contains("stride_a"));
  CHECK(contiguous.at("stride_b") == "1536");
  const GemmProblem by_fields{.m = 64, .n = 48, .k = 32, .a = bf16, .lda = 40, .batch = 2, .stride_b = 0};
  CHECK(gemm_template().problem(by_fields.settings()) == batch);
  GemmProblem grouped{.m = 64, .n = 48, .k = 32, .a = bf16, .batch = 2};
  grouped.groups = GemmGroups::contiguous;
  CHECK(gemm_template().problem(grouped.settings()) == contiguous);
  grouped.groups = GemmGroups::masked;
  CHECK(gemm_template().problem(grouped.settings()).at("groups") == "masked");
}

TEST_CASE("operations and bytes of a batch are counted", "[gemm]") {
  const auto problem = [](const Settings& more) {
    return gemm_template().problem(with(shape(64, 32, 16), with({{"a", "bf16"}}, more)));
  };
  const Settings batch = problem({{"batch", "3"}}), shared = problem({{"batch", "3"}, {"stride_b", "0"}}),
                 contiguous = problem({{"batch", "3"}, {"groups", "contiguous"}});
  CHECK(gemm_template().operations(batch) == 3 * 2.0 * 64 * 32 * 16);
  CHECK(gemm_template().operations(contiguous) == 2.0 * 64 * 32 * 16);
  CHECK(gemm_template().input_bytes(batch) == 3 * 2.0 * 16 * (64 + 32));
  CHECK(gemm_template().input_bytes(shared) == 2.0 * 16 * (3 * 64 + 32));
  CHECK(gemm_template().input_bytes(contiguous) == 2.0 * 16 * (64 + 3 * 32));
  CHECK(gemm_template().product(shared)->batch == 3);
  CHECK(gemm_template().product(shared)->stride_a == 64 * 16);
  CHECK(gemm_template().product(shared)->stride_b == 0);
  CHECK(!gemm_template().product(contiguous));
  const MatrixProduct product = *gemm_template().product(batch);
  CHECK(std::array{product.stride_a, product.stride_b, product.stride_c, product.stride_d} ==
        std::array<std::uint64_t, 4>{64 * 16, 32 * 16, 64 * 32, 64 * 32});
}

TEST_CASE("a matrix has at most 2^46 elements, padding and all batches included", "[gemm]") {
  const auto check_largest = [](const Settings& problem, const std::string& word, std::uint64_t largest) {
    const auto tensors = [&](std::uint64_t value) {
      const Settings whole = with(problem, {{word, std::to_string(value)}});
      return gemm_template().tensors(gemm_template().problem(whole));
    };
    INFO(words(problem) << word << "=" << largest);
    CHECK_NOTHROW(tensors(largest));
    CHECK(error_of([&] { tensors(largest + 1); }).diagnostics().front().code == "shape-too-large");
  };
  constexpr std::uint64_t kOne = 1, kMost = kOne << 46;
  const Settings one = with(shape(1 << 16, 1 << 16, 16), {{"beta", "1"}});
  const Settings batch = with(shape(1 << 10, 1 << 10, 16), {{"beta", "1"}, {"batch", "65537"}});
  for (const std::string matrix : {"a", "b", "c", "d"}) {
    check_largest(one, "ld" + matrix, kMost >> 16);
    const Settings padded = with(batch, {{"ld" + matrix, std::to_string(kOne << 20)}});
    check_largest(padded, "stride_" + matrix, (kMost - (kOne << 30)) >> 16);
  }
}

TEST_CASE("impossible batches are refused", "[gemm]") {
  const auto refusal = [](const Settings& more) {
    return error_of([&] { gemm_template().problem(with(shape(64, 48, 32), more)); }).diagnostics().front();
  };
  CHECK(refusal({{"batch", "0"}}).code == "bad-value");
  CHECK(refusal({{"batch", "2"}, {"stride_a", "-1"}}).code == "bad-value");
  CHECK(refusal({{"groups", "ragged"}}).code == "bad-value");
  CHECK(refusal({{"batch", "2"}, {"stride_d", "0"}}).code == "bad-stride");
  const Diagnostic overlap = refusal({{"batch", "2"}, {"stride_d", "3071"}});
  CHECK(overlap.message == "gemm: with stride_d=3071 the batches of D overlap");
  CHECK(overlap.hint.find("at least 3072 elements") != std::string::npos);
  CHECK(refusal({{"batch", "3"}, {"ldd", "143"}, {"stride_d", "48"}}).code == "bad-stride");
  CHECK(refusal({{"batch", "3"}, {"ldd", "160"}, {"stride_d", "47"}}).code == "bad-stride");
  CHECK(refusal({{"batch", "2"}, {"groups", "contiguous"}, {"stride_c", "5000"}}).message ==
        "gemm: stride_c cannot be used with groups=contiguous");
  const auto too_large = [](const Settings& more) {
    return error_of([&] {
             const Settings problem = gemm_template().problem(with(shape(64, 48, 32), more));
             const Settings config =
                 gemm_template().config(executor().specs(), Target("sm_90a"), problem, {});
             gemm_template().emit(executor(), Target("sm_90a"), problem, config);
           })
        .diagnostics()
        .front()
        .code;
  };
  CHECK(too_large({{"batch", "2000000000"}, {"stride_a", "65536"}}) == "shape-too-large");
  CHECK(too_large({{"batch", "2147483647"}, {"n", "300"}, {"ldd", "301"}, {"m", "1"}}) == "shape-too-large");
  const Error packed = error_of([&] {
    gemm_template().config(executor().specs(), Target("sm_90a"),
                           gemm_template().problem(with(shape(4096, 4096, 4095), {{"batch", "1100"}})),
                           {{"strategy", "wgmma"}});
  });
  CHECK(std::string(packed.what()).find("packs at most 32 GiB") != std::string::npos);
  const Settings contiguous =
      gemm_template().problem(with(shape(512, 64, 64), {{"batch", "2"}, {"groups", "contiguous"}}));
  const Error tall = error_of([&] {
    gemm_template().config(executor().specs(), Target("sm_90a"), contiguous,
                           {{"strategy", "wgmma"}, {"tile_m", "256"}, {"multicast", "none"}, {"swap", "no"}});
  });
  CHECK(std::string(tall.what()).find("tile_m must divide 128") != std::string::npos);
}

}  // namespace ptxloom::test::batch_test
