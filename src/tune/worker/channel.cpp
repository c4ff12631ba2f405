// SPDX-License-Identifier: Apache-2.0
#include "tune/worker/channel.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>

namespace ptxloom::tune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kMagic = 0x50544c31;
constexpr std::uint64_t kMostHead = std::uint64_t{1} << 28, kMostBody = std::uint64_t{1} << 32;

struct Frame {
  std::uint32_t magic = kMagic;
  std::uint32_t reserved = 0;
  std::uint64_t head = 0;
  std::uint64_t body = 0;
};

bool send_all(int socket, const void* data, std::size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t put = ::send(socket, at, size, MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    at += put;
    size -= static_cast<std::size_t>(put);
  }
  return true;
}

Channel::Outcome receive_all(int socket, void* data, std::size_t size,
                             std::optional<Clock::time_point> deadline) {
  char* at = static_cast<char*>(data);
  while (size > 0) {
    int wait_ms = -1;
    if (deadline) {
      const double left = std::chrono::duration<double, std::milli>(*deadline - Clock::now()).count();
      if (left <= 0) return Channel::Outcome::late;
      wait_ms = static_cast<int>(std::ceil(std::min(left, 1e6)));
    }
    pollfd waiting = {.fd = socket, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&waiting, 1, wait_ms);
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    if (ready < 0) return Channel::Outcome::closed;
    const ssize_t got = ::recv(socket, at, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Channel::Outcome::closed;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return Channel::Outcome::message;
}

}  // namespace

bool Channel::send(const Message& message) const {
  using Json = nlohmann::json;
  const std::string head = message.head.dump(-1, ' ', false, Json::error_handler_t::replace);
  const Frame frame{.head = head.size(), .body = message.body.size()};
  return send_all(socket_.get(), &frame, sizeof frame) && send_all(socket_.get(), head.data(), head.size()) &&
         send_all(socket_.get(), message.body.data(), message.body.size());
}

Channel::Outcome Channel::receive(Message& message, double seconds) const {
  std::optional<Clock::time_point> deadline;
  if (seconds > 0)
    deadline =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  Frame frame;
  Outcome outcome = receive_all(socket_.get(), &frame, sizeof frame, deadline);
  if (outcome != Outcome::message) return outcome;
  if (frame.magic != kMagic || frame.head > kMostHead || frame.body > kMostBody) return Outcome::nonsense;
  std::string head(frame.head, '\0');
  message.body.resize(frame.body);
  outcome = receive_all(socket_.get(), head.data(), head.size(), deadline);
  if (outcome == Outcome::message)
    outcome = receive_all(socket_.get(), message.body.data(), message.body.size(), deadline);
  if (outcome != Outcome::message) return outcome;
  message.head = nlohmann::json::parse(head, nullptr, false);
  return message.head.is_object() ? Outcome::message : Outcome::nonsense;
}

}  // namespace ptxloom::tune
