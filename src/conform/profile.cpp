// SPDX-License-Identifier: Apache-2.0
#include "conform/profile.hpp"

#include <algorithm>
#include <array>

#include "conform/roles.hpp"

namespace ptxloom::conform_kernels {
namespace {

constexpr std::array kProfiles = {
    Profile{.name = "alike", .make = Make::alike},
    Profile{.name = "wide", .make = Make::wide},
    Profile{.name = "special", .make = Make::special},
    Profile{.name = "ties", .make = Make::ties},
    Profile{.name = "bits", .make = Make::bits},
    // Every product has its own exponent, across the window.
    Profile{.name = "spread", .highs = 10, .full_highs = 100, .jitter = 40},
    // Terms just above and below the end of the window.
    Profile{.name = "window-edge",
            .zeros = 40,
            .highs = 25,
            .full_highs = 25,
            .edge = true,
            .addend = Addend::edge},
    // The same with all terms tiny.
    Profile{.name = "least-exponent",
            .height = Height::least,
            .zeros = 45,
            .highs = 25,
            .full_highs = 10,
            .edge = true,
            .addend = Addend::zero},
    Profile{.name = "zero-factor", .zeros = 65, .full_highs = 50, .addend = Addend::subnormal},
    Profile{.name = "zero-addend",
            .height = Height::least,
            .highs = 30,
            .full_highs = 100,
            .jitter = 12,
            .addend = Addend::zero},
    Profile{.name = "subnormal",
            .height = Height::subnormal,
            .zeros = 30,
            .highs = 50,
            .full_highs = 75,
            .addend = Addend::subnormal},
    // Large products of both signs, many of which cancel, and small ones that remain.
    Profile{.name = "cancellation", .zeros = 10, .highs = 75, .addend = Addend::cancelling},
};

constexpr std::array<std::uint8_t, 8> kTurns = {0, 1, 2, 3, 0, 1, 4, 3};
constexpr std::array<std::uint8_t, 16> kProductTurns = {0, 5, 6, 7, 8, 9, 10, 11, 1, 2, 6, 7, 3, 4, 7, 11};

constexpr std::size_t kFewestWarps = 64;
constexpr std::size_t kRounds = 16;  // of the schedule, if a set belongs to a warp

std::uint64_t mixed(std::uint64_t seed) { return (seed ^ seed >> 33) * 0x9E3779B97F4A7C15 >> 40; }

}  // namespace

std::span<const Profile> profiles() { return kProfiles; }

Turns::Turns(const Subject& subject, std::uint64_t seed)
    : turns_(kTurns), fewest_threads_(kFewestWarps * kWarpThreads) {
  const Roles roles(subject);
  if (!roles.any()) return;
  turns_ = kProductTurns;
  first_ = mixed(seed) % turns_.size();  // so that no profile is tied to one matrix descriptor
  const bool of_block = std::ranges::any_of(subject.in.fields, [&](const Field& field) {
    const std::string& name = subject.variant.operands()[static_cast<std::size_t>(field.operand)].name;
    return subject.variant.conform(name) == "descriptor";
  });
  if (of_block) set_threads_ = kBlockThreads;
  fewest_threads_ = set_threads_ * turns_.size() * (of_block ? 1 : kRounds);
}

}  // namespace ptxloom::conform_kernels
