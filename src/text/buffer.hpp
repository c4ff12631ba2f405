// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <concepts>
#include <cstring>
#include <string>
#include <string_view>

// Text under construction. Like appending to a std::string, without a call and a terminating zero for every
// few characters: printing an instruction takes dozens of such pieces, which are collected here first.
namespace ptxloom::text {

class Buffer {
 public:
  explicit Buffer(std::size_t capacity) { text_.reserve(capacity); }

  Buffer& operator<<(std::string_view piece) {
    if (piece.size() > sizeof gathered_) {
      flush();
      text_ += piece;
      return *this;
    }
    make_room(piece.size());
    size_ += piece.copy(gathered_ + size_, piece.size());
    return *this;
  }
  Buffer& operator<<(char c) {
    make_room(1);
    gathered_[size_++] = c;
    return *this;
  }
  Buffer& operator<<(std::integral auto number) {
    constexpr std::size_t kLongest = 24;
    make_room(kLongest);
    char* const start = gathered_ + size_;
    size_ += static_cast<std::size_t>(std::to_chars(start, start + kLongest, number).ptr - start);
    return *this;
  }
  /// The lowest `digits` hexadecimal digits, upper case.
  Buffer& hex(std::uint64_t bits, int digits) {
    for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
      *this << "0123456789ABCDEF"[(bits >> shift) & 15];
    return *this;
  }
  /// `length` characters of a fixed-size record: the copy compiles to one move.
  template <std::size_t N>
  void copy(const char (&record)[N], std::size_t length) {
    make_room(N);
    std::memcpy(gathered_ + size_, record, N);
    size_ += length;
  }

  std::string take() {
    flush();
    return std::move(text_);
  }

 private:
  void make_room(std::size_t more) {
    if (sizeof gathered_ - size_ < more) flush();
  }
  void flush() {
    text_.append(gathered_, size_);
    size_ = 0;
  }

  std::string text_;
  std::size_t size_ = 0;
  char gathered_[4096];  // the first `size_` are text
};

}  // namespace ptxloom::text
