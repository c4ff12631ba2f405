// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

// Which threads a strong access, or a fence, is for, and which accesses are morally strong relative to each
// other (PTX ISA 8.5 and 8.7).
namespace ptxloom::exec {

/// Smallest first. gpu: sys too.
enum class Scope : std::uint8_t { cta, cluster, gpu };
inline constexpr std::size_t kScopes = 3;

/// The scope with this name in PTX, which may be a level of membar. An instruction without one has the
/// largest.
inline Scope scope_of(std::string_view word) {
  if (word == "cta") return Scope::cta;
  return word == "cluster" ? Scope::cluster : Scope::gpu;
}

/// How an access is made.
struct AccessKind {
  bool strong : 1 = false;
  bool by_proxy : 1 = false;   ///< through the async proxy
  bool read_only : 1 = false;  ///< ld.global.nc, ldu
  std::uint8_t scope : 2 = 0;  ///< of a strong access
  std::uint8_t size : 3 = 0;   ///< of a strong access: the logarithm of its bytes

  static constexpr std::uint8_t kOfMap = 6, kOfCopy = 7;  // in place of the size of a weak read

  static AccessKind weak() { return {}; }
  /// A read by an asynchronous copy, which may still be in flight.
  static AccessKind read_of_copy(bool by_proxy) { return {.by_proxy = by_proxy, .size = kOfCopy}; }
  /// The same, of a tensor map.
  static AccessKind read_of_map() { return {.by_proxy = true, .size = kOfMap}; }
  bool is_read_of_copy() const { return !strong && size >= kOfMap; }
  bool is_read_of_map() const { return !strong && size == kOfMap; }
  static AccessKind proxy() { return {.by_proxy = true}; }
  /// `bytes`: of one element of a vector or packed type, which are accessed one by one (PTX
  /// ISA 8.2.4, 8.2.5).
  static AccessKind strong_of(Scope scope, std::uint32_t bytes) {
    return {.strong = true,
            .scope = static_cast<std::uint8_t>(static_cast<unsigned>(scope) & 3),
            .size = static_cast<std::uint8_t>((std::bit_width(bytes) - 1) & 7)};
  }
  /// `distance`: the smallest scope that includes both threads. Reductions of bulk copies count as other
  /// atomic operations do: the manual says that each is relaxed at gpu scope.
  bool meets(const AccessKind& other, Scope distance) const {
    return strong && other.strong && size == other.size &&
           std::min(scope, other.scope) >= static_cast<std::uint8_t>(distance);
  }
};

/// "; they are strong, but ..." of two accesses that race; empty unless both are strong.
std::string_view why_not_strong(const AccessKind& one, const AccessKind& other);

}  // namespace ptxloom::exec
