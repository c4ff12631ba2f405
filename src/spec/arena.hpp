// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

// Owns what views point to: texts of an overlay, values made while a form is compiled. Compiling keeps
// thousands of small objects, so what needs no destructor is allocated contiguously in blocks.
namespace ptxloom::spec {

class Arena {
 public:
  std::string_view keep(std::string_view text) {
    char* const at = room_for<char>(text.size());
    std::copy(text.begin(), text.end(), at);
    return {at, text.size()};
  }

  template <class T>
    requires std::is_trivially_copyable_v<T>
  std::span<const T> keep(std::span<const T> items) {
    T* const at = room_for<T>(items.size());
    std::uninitialized_copy(items.begin(), items.end(), at);
    return {at, items.size()};
  }
  template <class T>
  std::span<const T> keep(std::vector<T> items) {
    if constexpr (std::is_trivially_copyable_v<T>) {
      return keep(std::span<const T>(items));
    } else {
      auto owned = std::make_shared<const std::vector<T>>(std::move(items));
      owned_.push_back(owned);
      return *owned;
    }
  }
  template <class T>
  const T* keep_one(T item) {
    return keep(std::vector<T>{std::move(item)}).data();
  }

 private:
  static constexpr std::size_t kBlock = 4096;

  template <class T>
  T* room_for(std::size_t count) {
    void* at = next_;
    if (at == nullptr || std::align(alignof(T), count * sizeof(T), at, left_) == nullptr) {
      left_ = std::max(kBlock, count * sizeof(T));
      at = blocks_.emplace_back(std::make_unique_for_overwrite<std::byte[]>(left_)).get();
    }
    next_ = static_cast<std::byte*>(at) + count * sizeof(T);
    left_ -= count * sizeof(T);
    return static_cast<T*>(at);
  }

  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::byte* next_ = nullptr;
  std::size_t left_ = 0;
  std::vector<std::shared_ptr<const void>> owned_;
};

}  // namespace ptxloom::spec
