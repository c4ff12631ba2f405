// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

// What is said to people must never cost them their work: a full disk, a reader that has gone or a closed
// stderr loses the message and nothing else.
namespace ptxloom {

/// Writes to stderr. What cannot be written is dropped; nothing throws, and no SIGPIPE comes of it.
void write_to_stderr(std::string_view text) noexcept;

bool stderr_is_open() noexcept;

/// For the start of a program: where it was started without stdin, stdout or stderr, the next file that it
/// opens would take the place, and get what is printed. Reading from or writing to such a stream fails,
/// stderr drops what it is given.
void fill_closed_streams() noexcept;

}  // namespace ptxloom
