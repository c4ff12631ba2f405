// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/file.hpp"

// Messages between a tuner and its worker over a stream socket: a JSON object followed by bytes. Either side
// may disappear at any moment, and a worker's messages are not trusted.
namespace ptxloom::tune {

struct Message {
  nlohmann::json head;
  std::vector<std::byte> body = {};
};

class Channel {
 public:
  Channel() = default;
  explicit Channel(FileDescriptor socket) : socket_(std::move(socket)) {}

  explicit operator bool() const { return static_cast<bool>(socket_); }
  /// False if the other side is gone.
  bool send(const Message& message) const;
  enum class Outcome { message, closed, late, nonsense };
  /// Waits for `seconds`, or forever if they are 0.
  Outcome receive(Message& message, double seconds = 0) const;

 private:
  FileDescriptor socket_;
};

}  // namespace ptxloom::tune
