// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/libraries.hpp"

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "cuda/driver.hpp"
#include "cuda/nvjitlink.hpp"
#include "support/environment.hpp"
#include "support/errors.hpp"
#include "support/fake_driver.hpp"
#include "support/temporary_folder.hpp"

using namespace ptxloom;
namespace fs = std::filesystem;

namespace {

void check_missing(const Error& error, const std::string& code) {
  CHECK(error.kind() == ErrorKind::missing);
  REQUIRE(error.diagnostics().size() == 1);
  CHECK(error.diagnostics()[0].code == code);
  CHECK_FALSE(error.diagnostics()[0].hint.empty());
}

/// The machine's own nvJitLink under another name and in another place.
void link_nvjitlink_as(const fs::path& path) {
  fs::create_symlink(Libraries().nvjitlink().library.path(), path);
}

}  // namespace

TEST_CASE("what is missing is named, each with the way to get it") {
  const TemporaryFolder empty;
  const Libraries libraries({.folders = {empty.path()}, .system = false});
  check_missing(error_of([&] { libraries.driver(); }), "no-driver");
  check_missing(error_of([&] { libraries.nvjitlink(); }), "no-nvjitlink");
  check_missing(error_of([&] { libraries.nvrtc(); }), "no-nvrtc");
  check_missing(error_of([&] { libraries.nvml(); }), "no-nvml");
  CHECK_FALSE(libraries.has_driver());
  CHECK_FALSE(libraries.has_nvjitlink());
  CHECK(libraries.include_folders().empty());
  const auto status = libraries.status();
  REQUIRE(status.size() == 4);
  for (const LibraryStatus& library : status) {
    CAPTURE(library.name);
    CHECK(library.problem);
    CHECK(library.path.empty());
  }
}

TEST_CASE("a file that is no library is as good as none") {
  const TemporaryFolder folder;
  std::ofstream(folder / "libcuda.so.1") << "not a library";
  const Libraries libraries({.folders = {folder.path()}, .system = false});
  check_missing(error_of([&] { libraries.driver(); }), "no-driver");
}

TEST_CASE("PTXLOOM_CUDA_PATH names folders, colons between them") {
  fresh_fake();
  const ScopedVariable path("PTXLOOM_CUDA_PATH", "/no/such/folder:" + fake_driver_folder().string());
  CHECK(Libraries().has_driver());
  CHECK(Libraries().status()[0].version == "13.0");
  CHECK(fs::equivalent(Libraries().status()[0].path, fake_driver_folder() / "libcuda.so.1"));
}

TEST_CASE("an older linker is taken where the newer is missing") {
  const TemporaryFolder folder;
  link_nvjitlink_as(folder / "libnvJitLink.so.12");
  const Libraries libraries({.folders = {folder.path()}, .system = false});
  CHECK(libraries.nvjitlink().major >= 12);
}

TEST_CASE("a driver without the entry points is too old, and says of which CUDA it is") {
  const Libraries libraries({.folders = {old_driver_folder()}, .system = false});
  const Error error = error_of([&] { libraries.driver(); });
  check_missing(error, "driver-too-old");
  CHECK(error.diagnostics()[0].message.find("CUDA 11.8") != std::string::npos);
}

TEST_CASE("a driver of an older CUDA major cannot load what the linker makes") {
  CHECK_FALSE(check_driver_version(13000, 13));
  CHECK_FALSE(check_driver_version(13020, 13));
  CHECK_FALSE(check_driver_version(13000, 12));
  const auto problem = check_driver_version(12080, 13);
  REQUIRE(problem);
  CHECK(problem->code == "driver-too-old");
  CHECK(problem->message.find("12.8") != std::string::npos);
  CHECK(problem->message.find("13") != std::string::npos);
}

TEST_CASE("a driver without a device, or that does not start, is told apart") {
  FakeCuda& fake = fresh_fake();
  fake.failures["cuInit"] = CUDA_ERROR_NO_DEVICE;
  check_missing(error_of([&] { fake_libraries().driver(); }), "no-device");
  fake.failures["cuInit"] = CUDA_ERROR_UNKNOWN;
  check_missing(error_of([&] { fake_libraries().driver(); }), "no-driver");
  fake.failures.clear();
  fake.device_count = 0;
  const Libraries libraries = fake_libraries();
  check_missing(error_of([&] { libraries.driver(); }), "no-device");
  // Asking again tries again.
  fake.device_count = 1;
  CHECK(libraries.has_driver());
}

TEST_CASE("the toolkit's headers are found") {
  for (const fs::path& folder : Libraries().include_folders()) CHECK(fs::exists(folder / "cuda_fp16.h"));
  CHECK_FALSE(Libraries().include_folders().empty());
}
