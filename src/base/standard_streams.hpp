// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

// Messages to people must never cost them their work: a full disk, a reader that has gone or a closed stderr
// loses the message and nothing else.
namespace ptxloom {

/// Writes to stderr. What cannot be written is dropped; this neither throws nor raises SIGPIPE.
void write_to_stderr(std::string_view text) noexcept;

bool stderr_is_open() noexcept;

/// Call at the start of a program: if it was started without stdin, stdout or stderr, the next file it opens
/// would take that number, and receive what is printed. Reading from or writing to such a stream fails;
/// stderr drops what is written to it.
void fill_closed_streams() noexcept;

}  // namespace ptxloom
