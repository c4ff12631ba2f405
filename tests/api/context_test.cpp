// SPDX-License-Identifier: Apache-2.0
// Context, Buffer and Kernel, on the executor.
#include "ptxloom/context.hpp"

#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>
#include <thread>
#include <vector>

#include "ptxloom/builder.hpp"
#include "support/environment.hpp"
#include "support/errors.hpp"
#include "support/temporary_folder.hpp"

using namespace ptxloom;

namespace {

Context executor() { return Context({.device = "cpu"}); }

/// y[i] = a * x[i] + y[i] for i < n
ir::Module scale_add(const Context& context, const char* target = "sm_75") {
  KernelBuilder k(context, "scale_add", Target(target));
  const Reg n = k.param(u32, "n"), a = k.param(f32, "a");
  const Pointer x = k.pointer(f32, "x"), y = k.pointer(f32, "y");
  const Reg i = k.global_thread_x();
  k.if_(k.lt(i, n), [&] { k.store(y[i], k.fma(a, k.load(x[i]), k.load(y[i]))); });
  return k.finish();
}

std::vector<float> random_floats(std::size_t count, unsigned salt) {
  std::mt19937 random(Catch::getSeed() + salt);
  std::uniform_real_distribution<float> uniform(-3, 3);
  std::vector<float> values(count);
  for (float& value : values) value = uniform(random);
  return values;
}

std::string code_of(const Error& error) { return error.diagnostics().front().code; }

}  // namespace

TEST_CASE("a kernel made by hand runs in the executor and computes what it says") {
  const Context context = executor();
  CHECK(!context.is_gpu());
  CHECK(context.device().name == "CPU executor");
  const Kernel kernel = context.load(scale_add(context));
  CHECK(kernel.name() == "scale_add");
  CHECK(kernel.signature().parameters.size() == 4);
  CHECK(kernel.ptx().find(".entry scale_add") != std::string::npos);
  CHECK(kernel.cubin().empty());
  CHECK(!kernel.resources());

  const std::vector<float> x = random_floats(300, 1), y = random_floats(300, 2);
  Buffer dx = context.alloc(4 * x.size()), dy = context.alloc(4 * y.size());
  dx.copy_from(x);
  dy.copy_from(y);
  kernel.launch(nullptr, {.grid = {3}, .block = {128}}, {299, 0.75F, dx, dy});
  context.synchronize();
  std::vector<float> result(300);
  dy.copy_to(result);
  for (std::size_t i = 0; i < 299; ++i) CHECK(result[i] == std::fma(0.75F, x[i], y[i]));
  CHECK(result[299] == y[299]);
}

TEST_CASE("a buffer is filled on request, can be moved, and refuses accesses outside it") {
  const Context context = executor();
  std::vector<unsigned char> bytes(16);
  context.alloc(16, std::byte{0x17}).copy_to(bytes);
  for (const unsigned char byte : bytes) CHECK(byte == 0x17);
  Buffer buffer = context.alloc(16, kPoison);
  buffer.copy_to(bytes);
  for (const unsigned char byte : bytes) CHECK(byte == 0xA5);
  const std::uint64_t address = buffer.address();
  CHECK(address % 256 == 0);
  Buffer moved = std::move(buffer);
  CHECK(moved.address() == address);
  CHECK(buffer.size() == 0);  // NOLINT: a moved-from buffer is empty
  buffer.copy_from(std::vector<int>());
  CHECK(code_of(error_of([&] { moved.copy_from(std::vector<int>(5)); })) == "out-of-range");
  CHECK(code_of(error_of([&] { moved.copy_from(std::vector<int>(1), 13); })) == "out-of-range");
  CHECK(code_of(error_of([&] { moved.copy_to(bytes, ~std::uint64_t{0}); })) == "out-of-range");
  moved.copy_from(std::vector<unsigned char>{1, 2}, 14);
  moved.copy_to(bytes);
  CHECK(bytes[13] == 0xA5);
  CHECK(bytes[15] == 2);
  Buffer empty = context.alloc(0);
  CHECK(empty.size() == 0);
}

TEST_CASE("a raw pointer is reachable once it is registered, and within its bounds") {
  const Context context = executor();
  const Kernel kernel = context.load(scale_add(context));
  std::vector<float> x = random_floats(64, 3), y(64, 1.0F);
  const auto launch = [&](unsigned n) {
    kernel.launch(nullptr, {.grid = {1}, .block = {64}}, {n, 2.0F, x.data(), y.data() + 8});
  };
  CHECK(code_of(error_of([&] { launch(1); })) == "out-of-bounds");
  context.register_memory(x.data(), 4 * x.size());
  context.register_memory(y.data(), 4 * y.size());
  launch(56);
  for (std::size_t i = 0; i < 8; ++i) CHECK(y[i] == 1.0F);
  for (std::size_t i = 8; i < 64; ++i) CHECK(y[i] == std::fma(2.0F, x[i - 8], 1.0F));
  CHECK(code_of(error_of([&] { launch(57); })) == "out-of-bounds");
  context.unregister_memory(y.data());
  CHECK(code_of(error_of([&] { launch(1); })) == "out-of-bounds");
  CHECK(code_of(error_of([&] { context.unregister_memory(y.data()); })) == "unknown-allocation");
}

TEST_CASE("a buffer of another context is out of bounds") {
  const Context context = executor(), other = executor();
  const Kernel kernel = context.load(scale_add(context));
  const Buffer x = context.alloc(256), y = context.alloc(256), foreign = other.alloc(256);
  const LaunchConfig one{.grid = {1}, .block = {32}};
  kernel.launch(nullptr, one, {0, 1.0F, x, foreign});  // never accessed
  CHECK(code_of(error_of([&] { kernel.launch(nullptr, one, {1, 1.0F, x, foreign}); })) == "out-of-bounds");
  CHECK(code_of(error_of([&] { kernel.launch(nullptr, one, {1, 1.0F, foreign, y}); })) == "out-of-bounds");
}

TEST_CASE("a moved-from context or kernel is as good as before") {
  Context context = executor();
  Kernel kernel = context.load(scale_add(context));
  const Context taken = std::move(context);
  const Kernel moved = std::move(kernel);
  CHECK(context.device().name == taken.device().name);
  CHECK(kernel.name() == moved.name());
  Context assigned = executor();
  assigned = std::move(context);
  CHECK(&context.specs() == &assigned.specs());
  const Buffer x = context.alloc(256, std::byte{0}), y = assigned.alloc(256, std::byte{0});
  kernel.launch(nullptr, {.grid = {1}, .block = {64}}, {64, 1.0F, x, y});
}

TEST_CASE("memory that is not there cannot be registered") {
  const Context context = executor();
  int value = 0;
  CHECK(code_of(error_of([&] { context.register_memory(nullptr, 4); })) == "bad-memory");
  CHECK(code_of(error_of([&] { context.register_memory(&value, 0); })) == "bad-memory");
}

TEST_CASE("arguments are checked against the kernel's signature") {
  const Context context = executor();
  const Kernel kernel = context.load(scale_add(context));
  const Buffer x = context.alloc(4), y = context.alloc(4);
  const LaunchConfig one{.grid = {1}, .block = {1}};
  CHECK(code_of(error_of([&] { kernel.launch(nullptr, one, {1, 1.0F, x}); })) == "argument-count");
  CHECK(code_of(error_of([&] { kernel.launch(nullptr, one, {1, 1.0, x, y}); })) == "argument-type");
  CHECK(code_of(error_of([&] { kernel.launch(nullptr, one, {1, 1.0F, 5, y}); })) == "argument-type");
  CHECK(code_of(error_of([&] { kernel.launch(nullptr, one, {-1, 1.0F, x, y}); })) == "argument-range");
  CHECK(error_of([&] { kernel.launch(nullptr, {.grid = {0}, .block = {1}}, {1, 1.0F, x, y}); }).kind() ==
        ErrorKind::usage);
}

TEST_CASE("a buffer that is gone is no longer reachable") {
  const Context context = executor();
  const Kernel kernel = context.load(scale_add(context));
  const Buffer x = context.alloc(4);
  const std::uint64_t stale = context.alloc(4).address();
  const Error error = error_of(
      [&] { kernel.launch(nullptr, {.grid = {1}, .block = {1}}, {1, 1.0F, x, Argument::pointer(stale)}); });
  CHECK(error.kind() == ErrorKind::device_fault);
  CHECK(code_of(error) == "out-of-bounds");
}

TEST_CASE("PTX text loads like a module") {
  const Context context = executor();
  const std::string ptx = context.load(scale_add(context)).ptx();
  const Kernel kernel = context.load(ptx);
  CHECK(kernel.ptx() == ptx);
  CHECK(kernel.times().parse > 0);
  Buffer x = context.alloc(4), y = context.alloc(4);
  x.copy_from(std::vector{3.0F});
  y.copy_from(std::vector{1.0F});
  kernel.launch(nullptr, {.grid = {1}, .block = {1}}, {1, 2.0F, x, y});
  std::vector<float> result(1);
  y.copy_to(result);
  CHECK(result[0] == 7.0F);

  CHECK(code_of(error_of([&] { context.load(ptx, "other"); })) == "unknown-kernel");
  CHECK(error_of([&] { context.load("this is no PTX"); }).kind() == ErrorKind::illegal_ptx);
  std::string broken = ptx;
  broken.replace(broken.find("fma.rn.f32"), 10, "fma.rx.f32");
  const Error illegal = error_of([&] { context.load(broken); });
  CHECK(illegal.kind() == ErrorKind::illegal_ptx);
  CHECK(illegal.diagnostics().front().line > 0);
}

TEST_CASE("several threads may use one context and one kernel") {
  const Context context = executor();
  const Kernel kernel = context.load(scale_add(context));
  std::vector<int> wrong(4, -1);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const Kernel own = context.load(scale_add(context));
      int count = 0;
      for (unsigned round = 0; round < 10; ++round) {
        const std::vector<float> x = random_floats(100, 7 * t + round),
                                 y = random_floats(100, 7 * t + round + 99);
        Buffer dx = context.alloc(400), dy = context.alloc(400);
        dx.copy_from(x);
        dy.copy_from(y);
        (round % 2 == 0 ? kernel : own).launch(nullptr, {.grid = {1}, .block = {128}}, {100, -1.5F, dx, dy});
        std::vector<float> result(100);
        dy.copy_to(result);
        for (std::size_t i = 0; i < 100; ++i) count += result[i] != std::fma(-1.5F, x[i], y[i]) ? 1 : 0;
      }
      wrong[t] = count;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>{0, 0, 0, 0});
}

TEST_CASE("what is made from a context keeps it alive") {
  std::optional<Kernel> kernel;
  std::optional<Buffer> x, y;
  {
    const Context context = executor();
    kernel = context.load(scale_add(context));
    x = context.alloc(4);
    y = context.alloc(4);
  }
  x->copy_from(std::vector{3.0F});
  y->copy_from(std::vector{1.0F});
  kernel->launch(nullptr, {.grid = {1}, .block = {1}}, {1, 2.0F, *x, *y});
  std::vector<float> result(1);
  y->copy_to(result);
  CHECK(result[0] == 7.0F);
}

TEST_CASE("the log reports what happens, and is silent by default") {
  std::vector<std::string> lines;
  const Context context(
      {.device = "cpu", .log = Log([&](LogLevel, std::string_view line) { lines.emplace_back(line); })});
  context.load(scale_add(context));
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].find("CPU executor") != std::string::npos);
  CHECK(lines[1].find("scale_add") != std::string::npos);
}

TEST_CASE("PTXLOOM_SPECS names overlays, in order and before those of the options") {
  const ScopedVariable folders("PTXLOOM_SPECS", "/a::/b/c:");
  CHECK(spec_folders_from_environment() == std::vector<std::filesystem::path>{"/a", "/b/c"});
}

TEST_CASE("a device is selected by name") {
  CHECK(code_of(error_of([] { Context({.device = "cuda"}); })) == "unknown-device");
  CHECK(code_of(error_of([] { Context({.device = "gpu:"}); })) == "unknown-device");
  const LibraryOptions none{.folders = {}, .system = false};
  const std::string missing = code_of(error_of([&] { Context({.device = "gpu", .libraries = none}); }));
  const bool with_cuda = missing != "no-cuda-support";
  if (with_cuda) CHECK(missing == "no-driver");
  const Context fallen_back({.libraries = none});
  CHECK(!fallen_back.is_gpu());
  CHECK(fallen_back.target().name() == "sm_90a");
  CHECK(code_of(error_of([&] { fallen_back.device_context(); })) == "no-device");
  CHECK(code_of(error_of([&] { const Stream stream(fallen_back); })) == "no-device");
  const Error linking = error_of([&] { fallen_back.linker().link("", {.target = "sm_80"}); });
  CHECK(linking.kind() == ErrorKind::missing);
  if (with_cuda) CHECK(code_of(linking) == "no-nvjitlink");
}
