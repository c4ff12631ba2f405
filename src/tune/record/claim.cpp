// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "base/file.hpp"
#include "base/hash.hpp"
#include "ptxloom/record.hpp"

namespace ptxloom {
namespace {

/// One file holds the claims of all problems: each is a lock on one byte of it, at an offset that is a hash.
struct flock claimed_byte(const DeviceKey& device, std::string_view kernel_template,
                          const Settings& problem) {
  std::string key = fmt::format("{}\n{}\n{}\n{}\n{}", device.name, device.sm, device.sms, device.memory_mhz,
                                kernel_template);
  for (const auto& [name, value] : problem) key += fmt::format("\n{}={}", name, value);
  struct flock range = {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(hash128(key).low >> 2);
  range.l_len = 1;
  return range;
}

}  // namespace

std::optional<Claim> Claim::wait(const Records& records, const DeviceKey& device,
                                 std::string_view kernel_template, const Settings& problem, const Log& log,
                                 const std::atomic<bool>* stop) {
  Claim claim;
  std::error_code ignored;
  std::filesystem::create_directories(records.folder(), ignored);
  FileDescriptor lock(::open((records.folder() / ".tuning").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!lock) return claim;
  struct flock range = claimed_byte(device, kernel_template, problem);
  // Locks belong to the open file, not to the process, so threads exclude each other too.
  while (::fcntl(lock.get(), F_OFD_SETLK, &range) != 0) {
    if (errno != EAGAIN && errno != EACCES && errno != EINTR)
      return claim;  // no locks here, so nobody to share with
    if (!claim.waited_)
      log(LogLevel::warning,
          "another process is tuning this problem on such a device: waiting for its result");
    claim.waited_ = true;
    if (stop != nullptr && stop->load()) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  claim.lock_ = std::make_shared<FileDescriptor>(std::move(lock));
  return claim;
}

}  // namespace ptxloom
