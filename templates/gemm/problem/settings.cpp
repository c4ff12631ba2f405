// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>

#include "gemm/problem/problem.hpp"

namespace ptxloom {
namespace {

/// A value that the enumeration does not have keeps its number, which no parameter accepts.
template <class Enum, std::size_t N>
std::string name_of(Enum value, const std::array<const char*, N>& names) {
  const auto index = static_cast<std::size_t>(value);
  return index < N ? names[index] : std::to_string(index);
}

}  // namespace

Settings GemmProblem::settings() const {
  const auto groups_name = [](GemmGroups of) {
    return name_of(of, std::array{"none", "masked", "contiguous"});
  };
  const auto layout_name = [](MatrixLayout layout) { return name_of(layout, std::array{"row", "col"}); };
  Settings settings = {{"m", std::to_string(m)},
                       {"n", std::to_string(n)},
                       {"k", std::to_string(k)},
                       {"a", std::string(a.name)},
                       {"a_layout", layout_name(a_layout)},
                       {"b_layout", layout_name(b_layout)},
                       {"lda", std::to_string(lda)},
                       {"ldb", std::to_string(ldb)},
                       {"ldc", std::to_string(ldc)},
                       {"ldd", std::to_string(ldd)},
                       {"alpha", fmt::format("{}", alpha)},
                       {"beta", fmt::format("{}", beta)},
                       {"sums", promoted ? "promoted" : "plain"},
                       {"bias", bias ? std::string(bias->name) : "none"},
                       {"activation", gemm_kernel::activation_name(activation)},
                       {"add_c", c_last ? "after" : "before"},
                       {"scale_a", gemm_kernel::scale_name(scale_a, "row")},
                       {"scale_b", gemm_kernel::scale_name(scale_b, "col")},
                       {"scale_d", scale_d ? "tensor" : "none"},
                       {"batch", std::to_string(batch)},
                       {"groups", groups_name(groups)}};
  const std::pair<const char*, const std::optional<std::uint64_t>&> strides[] = {
      {"stride_a", stride_a}, {"stride_b", stride_b}, {"stride_c", stride_c}, {"stride_d", stride_d}};
  for (const auto& [word, stride] : strides)
    if (stride) settings[word] = std::to_string(*stride);
  if (b) settings["b"] = b->name;
  if (c) settings["c"] = c->name;
  if (d) settings["d"] = d->name;
  return settings;
}

}  // namespace ptxloom
