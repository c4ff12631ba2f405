// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <concepts>
#include <cstring>
#include <string>
#include <string_view>

// Text under construction. The same as appending to a std::string, without its call and its terminating zero
// for every few characters: printing an instruction is dozens of such pieces.
namespace ptxloom::text {

class Buffer {
 public:
  explicit Buffer(std::size_t capacity) : storage_(capacity, '\0') {}

  Buffer& operator<<(std::string_view piece) {
    reserve(piece.size());
    std::memcpy(storage_.data() + size_, piece.data(), piece.size());
    size_ += piece.size();
    return *this;
  }
  Buffer& operator<<(char c) {
    reserve(1);
    storage_[size_++] = c;
    return *this;
  }
  Buffer& operator<<(std::integral auto number) {
    constexpr std::size_t kLongest = 24;
    reserve(kLongest);
    char* const start = storage_.data() + size_;
    size_ += static_cast<std::size_t>(std::to_chars(start, start + kLongest, number).ptr - start);
    return *this;
  }
  /// The lowest `digits` hexadecimal digits, upper case.
  Buffer& hex(std::uint64_t bits, int digits) {
    for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
      *this << "0123456789ABCDEF"[(bits >> shift) & 15];
    return *this;
  }
  /// `length` characters of a fixed-size record: a copy that compiles to one move.
  template <std::size_t N>
  void copy(const char (&record)[N], std::size_t length) {
    reserve(N);
    std::memcpy(storage_.data() + size_, record, N);
    size_ += length;
  }

  std::string take() {
    storage_.resize(size_);
    return std::move(storage_);
  }

 private:
  void reserve(std::size_t more) {
    if (storage_.size() - size_ < more) storage_.resize(2 * storage_.size() + more);
  }

  std::string storage_;
  std::size_t size_ = 0;
};

}  // namespace ptxloom::text
