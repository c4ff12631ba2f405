// SPDX-License-Identifier: Apache-2.0
// The vendor's library on our products, with a fake driver and a fake cuBLASLt that computes on the host:
// gemm's own reference checks that it is called for the intended product, in every layout.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>

#include "ptxloom/gemm.hpp"
#include "support/fake_driver.hpp"
#include "support/temporary_folder.hpp"
#include "tune/worker/session.hpp"

using namespace ptxloom;

namespace {

tune::Task make_task(const Settings& words) {
  const Template& gemm = gemm_template();
  const Settings problem = gemm.problem(words);
  tune::Task task{.tensors = make_tensors(gemm, problem, {}, Catch::getSeed()),
                  .product = gemm.product(problem)};
  task.expected = gemm.expect(problem, task.tensors);
  return task;
}

tune::Reading measure(const tune::Task& task, const Libraries& libraries = fake_libraries()) {
  fresh_fake();
  const DeviceContext device(libraries);
  const auto bench = tune::make_gpu_bench(device, task);
  tune::Session session(*bench, task);
  bool lost = false;
  return session.measure_vendor(3, lost);
}

}  // namespace

TEST_CASE("the vendor's library is called for the product that gemm computes, in every layout") {
  for (const char* type : {"s8", "f64"}) {
    for (const char* a_layout : {"row", "col"}) {
      for (const char* b_layout : {"row", "col"}) {
        for (const char* beta : {"0", "3"}) {
          const Settings words{{"m", "19"},
                               {"n", "23"},
                               {"k", "29"},
                               {"a", type},
                               {"lda", "37"},
                               {"ldb", "41"},
                               {"ldc", "43"},
                               {"ldd", "47"},
                               {"alpha", "-2"},
                               {"beta", beta},
                               {"a_layout", a_layout},
                               {"b_layout", b_layout}};
          CAPTURE(type, a_layout, b_layout, beta);
          const tune::Reading reading = measure(make_task(words));
          INFO((reading.problem ? to_string(*reading.problem) : ""));
          CHECK(!reading.problem);
          CHECK(reading.us.size() == 3);
          CHECK(reading.library == "cuBLASLt 13.4.2");
        }
      }
    }
  }
}

TEST_CASE("the vendor's library is called for batches: separate, side by side and shared") {
  for (const char* beta : {"0", "3"})
    for (const Settings& strides : {Settings{}, Settings{{"stride_a", "2000"}, {"stride_d", "3000"}},
                                    Settings{{"stride_b", "0"}, {"stride_c", "0"}},
                                    Settings{{"ldd", "100"}, {"stride_d", "25"}, {"stride_c", "50"}}}) {
      Settings words{{"m", "19"}, {"n", "23"},    {"k", "29"},     {"a", "s8"},
                     {"b", "s8"}, {"batch", "4"}, {"alpha", "-2"}, {"beta", beta}};
      words.insert(strides.begin(), strides.end());
      const tune::Reading reading = measure(make_task(words));
      INFO((reading.problem ? to_string(*reading.problem) : ""));
      CHECK(!reading.problem);
    }
}

TEST_CASE("the vendor's first proposal can be timed next to its fastest") {
  fresh_fake();
  const tune::Task task = make_task({{"m", "19"}, {"n", "23"}, {"k", "29"}, {"a", "s8"}});
  const DeviceContext device(fake_libraries());
  const auto bench = tune::make_gpu_bench(device, task);
  const tune::Bench::Vendor vendor = bench->load_vendor();
  const std::size_t d = task.tensors.size() - 1;
  for (tune::Bench::Loaded* by : {vendor.standard.get(), vendor.fastest.get()}) {
    REQUIRE(by != nullptr);
    HostTensor output = poisoned_tensor(task.tensors[d].plan);
    bench->prepare(kPoison);
    bench->run(*by);
    bench->read(d, output.bytes);
    CHECK(verify(task.expected.at(0), output).ok());
    CHECK(bench->time_us(*by) > 0);
  }
}

TEST_CASE("the vendor's result is verified like any other") {
  tune::Task task = make_task({{"m", "19"}, {"n", "23"}, {"k", "29"}, {"a", "s8"}});
  task.expected.at(0).points[5].value += 1;
  const tune::Reading reading = measure(task);
  REQUIRE(reading.problem);
  CHECK(reading.problem->code == "wrong-result");
}

TEST_CASE("a product the vendor's library lacks, and a missing library, are reported") {
  const auto code = [](const Settings& words, const Libraries& libraries = fake_libraries()) {
    const tune::Reading reading = measure(make_task(words), libraries);
    return reading.problem ? reading.problem->code : "";
  };
  CHECK(code({{"m", "8"}, {"n", "8"}, {"k", "16"}, {"a", "u8"}}) == "vendor-refused");    // no such type
  CHECK(code({{"m", "8"}, {"n", "8"}, {"k", "16"}, {"a", "bf16"}}) == "vendor-refused");  // refused by the
                                                                                          // library
  const TemporaryFolder folder;
  std::filesystem::create_symlink(fake_driver_folder() / "libcuda.so.1", folder / "libcuda.so.1");
  CHECK(code({{"m", "8"}, {"n", "8"}, {"k", "16"}, {"a", "s8"}},
             Libraries({.folders = {folder.path()}, .system = false})) == "no-cublaslt");
  tune::Task none = make_task({{"m", "8"}, {"n", "8"}, {"k", "16"}, {"a", "s8"}});
  none.product.reset();
  CHECK(measure(none).problem->code == "vendor-refused");
}
