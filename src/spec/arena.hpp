// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Owns what views point to, until it dies: texts of an overlay, values made while a form is compiled.
namespace ptxloom::spec {

class Arena {
 public:
  std::string_view keep(std::string text) { return texts_.emplace_back(std::move(text)); }

  template <class T>
  std::span<const T> keep(std::vector<T> items) {
    auto owned = std::make_shared<const std::vector<T>>(std::move(items));
    arrays_.push_back(owned);
    return *owned;
  }
  template <class T>
  const T* keep_one(T item) {
    return keep(std::vector<T>{std::move(item)}).data();
  }

 private:
  std::deque<std::string> texts_;
  std::vector<std::shared_ptr<const void>> arrays_;
};

}  // namespace ptxloom::spec
