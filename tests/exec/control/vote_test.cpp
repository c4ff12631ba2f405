// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "exec/harness.hpp"

// One warp, values in %a, and masks that split it in groups: each lane's answer is worked out here by a loop
// over the lanes of its group.
namespace ptxloom::exec::test::vote_test {
namespace {

using U32 = std::uint32_t;
using Lanes32 = std::array<U32, 32>;

struct Warp {
  std::vector<U32> values = std::vector<U32>(64), masks = std::vector<U32>(64);

  /// Two groups by chance, values with many alike.
  explicit Warp(Random& random, U32 different) {
    for (std::size_t warp = 0; warp < 2; ++warp) {
      const auto group = static_cast<U32>(random.bits() | 1);
      for (std::size_t lane = 0; lane < 32; ++lane) {
        values[32 * warp + lane] = different == 0 ? static_cast<U32>(random.bits()) : random.below(different);
        masks[32 * warp + lane] = (group >> lane & 1) != 0 ? group : ~group;
      }
    }
  }

  /// f(values of the group of thread i, their lanes' mask).
  template <class F>
  U32 of_group(std::size_t i, F f) const {
    std::vector<U32> group;
    for (std::size_t lane = 0; lane < 32; ++lane)
      if ((masks[i] >> lane & 1) != 0) group.push_back(values[i / 32 * 32 + lane]);
    return f(group, masks[i]);
  }

  /// Runs the statements with %a the value and %b the mask, and compares what f says of each group.
  template <class F>
  void check(const std::string& statements, F f) const {
    const auto out = each_thread<U32>(statements, values, masks);
    for (std::size_t i = 0; i < 64; ++i) {
      CAPTURE(statements, i, masks[i], values[i]);
      REQUIRE(out[i] ==
              of_group(i, [&](const std::vector<U32>& group, U32 mask) { return f(group, mask, i); }));
    }
  }
};

constexpr auto kFold = [](auto f) {
  return [=](const std::vector<U32>& group, U32, std::size_t) {
    U32 result = group[0];
    for (std::size_t i = 1; i < group.size(); ++i) result = f(result, group[i]);
    return result;
  };
};

const std::string kOdd = ".reg .pred %p, %q; .reg .b32 %x; and.b32 %x, %a, 1; setp.ne.u32 %p, %x, 0; ";
bool odd(U32 value) { return value % 2 != 0; }

}  // namespace

TEST_CASE("votes are counted within each member mask") {
  Random random;
  INFO("seed " << random.seed);
  for (const U32 different : {1u, 2u, 7u}) {
    const Warp warp(random, different);
    const auto decide = [&](const std::string& mode, auto f) {
      const auto result = [&](const std::vector<U32>& group, U32, std::size_t) { return f(group) ? 1u : 0u; };
      warp.check(kOdd + "vote.sync." + mode + ".pred %q, %p, %b; selp.u32 %d, 1, 0, %q;", result);
    };
    decide("all", [](const auto& group) { return std::ranges::all_of(group, odd); });
    decide("any", [](const auto& group) { return std::ranges::any_of(group, odd); });
    decide("uni", [](const auto& group) {
      return std::ranges::all_of(group, odd) || std::ranges::none_of(group, odd);
    });
    const auto ballot = [&](bool wanted) {
      return [&warp, wanted](const std::vector<U32>&, U32 mask, std::size_t i) {
        U32 votes = 0;
        for (std::size_t lane = 0; lane < 32; ++lane)
          votes |= U32{odd(warp.values[i / 32 * 32 + lane]) == wanted} << lane;
        return votes & mask;
      };
    };
    warp.check(kOdd + "vote.sync.ballot.b32 %d, %p, %b;", ballot(true));
    warp.check(kOdd + "vote.sync.ballot.b32 %d, !%p, %b;", ballot(false));
  }
}

TEST_CASE("match finds the lanes with the same value") {
  Random random;
  INFO("seed " << random.seed);
  const auto any = [](const Warp& warp) {
    return [&warp](const std::vector<U32>&, U32 mask, std::size_t i) {
      U32 same = 0;
      for (std::size_t lane = 0; lane < 32; ++lane)
        same |= U32{warp.values[i / 32 * 32 + lane] == warp.values[i]} << lane;
      return same & mask;
    };
  };
  const Warp few(random, 3);
  few.check("match.any.sync.b32 %d, %a, %b;", any(few));
  few.check("match.any.sync.b32 %a, %a, %b; mov.b32 %d, %a;", any(few));
  // Values that differ in the upper word alone.
  few.check(".reg .b64 %w; mov.b64 %w, {%b, %a}; match.any.sync.b64 %d, %w, %b;", any(few));
  for (const U32 different : {1u, 2u}) {
    const Warp warp(random, different);
    const auto alike = [](const std::vector<U32>& group) {
      return std::ranges::all_of(group, [&](U32 value) { return value == group[0]; });
    };
    warp.check("match.all.sync.b32 %d, %a, %b;",
               [&](const auto& group, U32 mask, std::size_t) { return alike(group) ? mask : 0; });
    warp.check(
        ".reg .pred %p; .reg .b64 %w; mov.b64 %w, {%b, %a}; match.all.sync.b64 %d|%p, %w, %b; selp.u32 %d, "
        "1, 0, %p;",
        [&](const auto& group, U32, std::size_t) { return alike(group) ? 1u : 0u; });
  }
}

TEST_CASE("redux folds the integers of a group") {
  Random random;
  INFO("seed " << random.seed);
  const Warp warp(random, 0);
  const auto check = [&](const std::string& words, auto f) {
    warp.check("redux.sync." + words + " %d, %a, %b;", kFold(f));
  };
  const auto by_sign = [](auto choose) {
    return [=](U32 a, U32 b) {
      return static_cast<U32>(choose(static_cast<std::int32_t>(a), static_cast<std::int32_t>(b)));
    };
  };
  check("add.u32", [](U32 a, U32 b) { return a + b; });
  check("add.s32", [](U32 a, U32 b) { return a + b; });
  check("min.u32", [](U32 a, U32 b) { return std::min(a, b); });
  check("max.u32", [](U32 a, U32 b) { return std::max(a, b); });
  check("min.s32", by_sign([](auto a, auto b) { return std::min(a, b); }));
  check("max.s32", by_sign([](auto a, auto b) { return std::max(a, b); }));
  check("and.b32", [](U32 a, U32 b) { return a & b; });
  check("or.b32", [](U32 a, U32 b) { return a | b; });
  check("xor.b32", [](U32 a, U32 b) { return a ^ b; });
}

TEST_CASE("redux of floats leaves NaN out, or spreads the canonical one") {
  Random random;
  INFO("seed " << random.seed);
  const auto all = floats32(random);
  const auto extreme = [](bool is_min, bool abs, bool nan) {
    return [=](const std::vector<U32>& group, U32, std::size_t) {
      bool any_nan = false, any_number = false;
      float best = 0;
      for (const U32 bits : group) {
        float value = std::bit_cast<float>(bits);
        if (value != value) {
          any_nan = true;
          continue;
        }
        if (abs) value = std::fabs(value);
        const bool below = value < best || (value == best && std::signbit(value) && !std::signbit(best));
        const bool above = value > best || (value == best && !std::signbit(value) && std::signbit(best));
        if (!any_number || (is_min ? below : above)) best = value;
        any_number = true;
      }
      return (nan && any_nan) || !any_number ? 0x7fff'ffffu : std::bit_cast<U32>(best);
    };
  };
  for (int round = 0; round < 20; ++round) {
    Warp warp(random, 0);
    for (U32& value : warp.values) value = std::bit_cast<U32>(all[random.below(kSamples)]);
    if (round % 4 != 0) {  // without NaN, or of nothing else
      for (U32& value : warp.values)
        if ((value & 0x7fff'ffff) > 0x7f80'0000 || round % 4 == 3)
          value = round % 4 == 3 ? value | 0x7fc0'0000 : 0x8000'0000;
    }
    for (const bool is_min : {false, true}) {
      for (const bool abs : {false, true}) {
        for (const bool nan : {false, true}) {
          warp.check(std::string("redux.sync.") + (is_min ? "min" : "max") + (abs ? ".abs" : "") +
                         (nan ? ".NaN" : "") + ".f32 %d, %a, %b;",
                     extreme(is_min, abs, nan));
        }
      }
    }
  }
}

TEST_CASE("one thread of each group is elected, and all know which") {
  Random random;
  INFO("seed " << random.seed);
  const Warp warp(random, 0);
  const auto out = each_thread<U32>(".reg .pred %p; elect.sync %d|%p, %b; @%p or.b32 %d, %d, 256;",
                                    warp.values, warp.masks);
  for (std::size_t i = 0; i < 64; ++i) {
    const std::size_t leader = i / 32 * 32 + out[i] % 32;
    CHECK(warp.masks[leader] == warp.masks[i]);
    CHECK((out[leader] & 256) != 0);
    CHECK(((out[i] & 256) != 0) == (leader == i));
    CHECK(out[i] % 32 == out[leader] % 32);
  }
}

TEST_CASE("activemask has the threads that are here now") {
  const auto out =
      each_thread<U32>(".reg .pred %p; setp.lt.u32 %p, %a, 5; mov.b32 %d, 0; @%p activemask.b32 %d;", [] {
        std::vector<U32> numbers(64);
        for (U32 i = 0; i < 64; ++i) numbers[i] = i % 7;
        return numbers;
      }());
  for (U32 i = 0; i < 64; ++i) {
    U32 expected = 0;
    for (U32 lane = 0; lane < 32; ++lane) expected |= U32{(i / 32 * 32 + lane) % 7 < 5} << lane;
    CHECK(out[i] == (i % 7 < 5 ? expected : 0));
  }
}

TEST_CASE("the instructions of a warp wait for their members, and only for those that live") {
  const std::string start =
      ".reg .pred %p, %q; setp.lt.u32 %p, %t, 9; setp.lt.u32 %q, %t, 4; mov.b32 %d, 7; ";
  const std::pair<std::string, U32> cases[] = {
      {"vote.sync.ballot.b32 %d, %q, 0xffffffff;", 15},
      {"match.any.sync.b32 %d, %a, 0xffffffff;", 0x1ff},
      {"redux.sync.add.u32 %d, %a, 0xffffffff;", 27},
      {"elect.sync %d|%q, 0xffffffff; mov.b32 %d, 1;", 1},
  };
  const std::vector<U32> threes(64, 3);
  for (const auto& [instruction, expected] : cases) {
    CAPTURE(instruction);
    const Diagnostic d = fault_of([&] {
      each_thread<U32>(
          start + "setp.lt.u32 %p, %t, 9; @%p " + instruction + " @!%p bar.warp.sync 0xffffffff;", threes);
    });
    CHECK(d.code == "barrier-deadlock");
    // The others exit, later than these come.
    const auto out =
        each_thread<U32>(start + "@!%p bra OUT; " + instruction + " bra DONE; OUT: exit; DONE:", threes);
    for (std::size_t i = 0; i < 9; ++i) CHECK(out[i] == expected);
  }
}

TEST_CASE("lanes of one mask that are at different instructions of a kind get the same as at one") {
  Random random;
  INFO("seed " << random.seed);
  // Each lane takes one of three branches, which name their operands differently.
  const auto in_branches = [](const std::string& first, const std::string& second, const std::string& third) {
    return ".reg .b32 %x, %y; .reg .pred %p, %q; mov.b32 %y, %a; xor.b32 %x, %a, 5; rem.u32 %x, %x, 3; "
           "setp.eq.u32 %p, "
           "%x, 0; @%p bra one; setp.eq.u32 %p, %x, 1; @%p bra two; " +
           first + " bra done; one: " + second + " bra done; two: " + third + " done:";
  };
  for (const U32 different : {0u, 2u, 7u}) {
    const Warp warp(random, different);
    warp.check(in_branches("redux.sync.add.u32 %d, %a, %b;", "redux.sync.add.u32 %y, %y, %b; mov.b32 %d, %y;",
                           "xor.b32 %y, %b, 0; redux.sync.add.u32 %d, %a, %y;"),
               kFold([](U32 a, U32 b) { return a + b; }));
    warp.check(in_branches("setp.ne.u32 %p, %x, 0; vote.sync.ballot.b32 %d, %p, %b;",
                           "setp.eq.u32 %q, %x, 0; vote.sync.ballot.b32 %d, !%q, %b;",
                           "setp.ne.u32 %q, %x, 0; vote.sync.ballot.b32 %d, %q, %b;"),
               [&](const std::vector<U32>&, U32 mask, std::size_t i) {
                 U32 votes = 0;
                 for (std::size_t lane = 0; lane < 32; ++lane)
                   votes |= U32{(warp.values[i / 32 * 32 + lane] ^ 5) % 3 != 0} << lane;
                 return votes & mask;
               });
    warp.check(in_branches("match.any.sync.b32 %d, %a, %b;", "match.any.sync.b32 %d, %y, %b;",
                           "match.any.sync.b32 %y, %y, %b; mov.b32 %d, %y;"),
               [&](const std::vector<U32>&, U32 mask, std::size_t i) {
                 U32 equal = 0;
                 for (std::size_t lane = 0; lane < 32; ++lane)
                   equal |= U32{warp.values[i / 32 * 32 + lane] == warp.values[i]} << lane;
                 return equal & mask;
               });
  }
}

TEST_CASE("a shuffle takes values from lanes that are at another one, each with its own source") {
  Random random;
  INFO("seed " << random.seed);
  std::vector<U32> values(64), sources(64);
  for (U32& value : values) value = static_cast<U32>(random.bits());
  for (U32& source : sources) source = random.below(32);
  const auto out = each_thread<U32>(
      ".reg .b32 %x, %y; .reg .pred %p; and.b32 %x, %a, 1; setp.eq.u32 %p, %x, 0; mov.b32 %y, %a; @%p bra "
      "even; "
      "shfl.sync.idx.b32 %d, %a, %b, 31, -1; bra done; even: shfl.sync.idx.b32 %y, %y, %b, 0x1f, 0xffffffff; "
      "mov.b32 %d, %y; done:",
      values, sources);
  for (std::size_t i = 0; i < 64; ++i) {
    CAPTURE(i, values[i], sources[i]);
    REQUIRE(out[i] == values[i / 32 * 32 + sources[i]]);
  }
}

TEST_CASE("lanes meet whether their instruction has a second result or not") {
  Random random;
  INFO("seed " << random.seed);
  std::vector<U32> values(64), sources(64);
  for (U32& value : values) value = static_cast<U32>(random.bits());
  for (U32& source : sources) source = random.below(32);
  // One of three branches for each lane: without a second result, with it, and with it alone. Who has it adds
  // whether the source was in range.
  const auto shuffled = each_thread<U32>(
      ".reg .b32 %x, %y, %z; .reg .pred %p, %q; rem.u32 %x, %a, 3; mov.b32 %y, %a; setp.eq.u32 %q, 0, 1; "
      "setp.eq.u32 %p, %x, 0; @%p bra one; setp.eq.u32 %p, %x, 1; @%p bra two; shfl.sync.up.b32 %d, %a, %b, "
      "0, -1; bra done; one: shfl.sync.up.b32 %y|%q, %y, %b, 0, -1; mov.b32 %d, %y; bra done; two: "
      "shfl.sync.up.b32 %d|%q, %y, %b, 0, -1; done: selp.b32 %z, 1, 0, %q; add.u32 %d, %d, %z;",
      values, sources);
  for (std::size_t i = 0; i < 64; ++i) {
    CAPTURE(i, values[i], sources[i]);
    const bool in_range = sources[i] <= i % 32;
    REQUIRE(shuffled[i] == values[in_range ? i - sources[i] : i] + (in_range && values[i] % 3 < 2 ? 1 : 0));
  }
  const U32 value = static_cast<U32>(random.bits()), odd_one = random.below(64);
  std::vector<U32> alike(64, value);
  alike[odd_one] ^= 1u << random.below(32);
  const auto matched = each_thread<U32>(
      ".reg .b32 %z; .reg .pred %p, %q; setp.eq.u32 %q, 0, 1; mov.u32 %d, %laneid; setp.lt.u32 %p, %d, 7; "
      "@%p bra one; setp.gt.u32 %p, %d, 20; @%p bra two; match.all.sync.b32 %d, %a, -1; bra done; one: "
      "match.all.sync.b32 %d|%q, %a, -1; bra done; two: mov.b32 %d, 5; match.all.sync.b32 _|%q, %a, -1; "
      "done: selp.b32 %z, 100, 0, %q; xor.b32 %d, %d, %z;",
      alike);
  for (std::size_t i = 0; i < 64; ++i) {
    CAPTURE(i, odd_one);
    const bool equal = i / 32 != odd_one / 32, has_mask = i % 32 <= 20,
               has_predicate = i % 32 < 7 || !has_mask;
    const U32 mask = has_mask ? (equal ? ~U32{0} : 0) : 5;
    REQUIRE(matched[i] == (mask ^ (equal && has_predicate ? 100 : 0)));
  }
}

TEST_CASE("a trace shows what each lane's own instruction did, where lanes meet at several") {
  const Program program = program_of(
      "",
      ".reg .u32 %t, %x, %y; .reg .pred %p, %q; mov.u32 %t, %tid.x; mov.u32 %x, 70; mov.u32 %y, 70;\n"
      "setp.lt.u32 %p, %t, 4; @%p bra low; shfl.sync.idx.b32 %x, %t, 9, 31, -1; bra done;\n"
      "low: shfl.sync.idx.b32 %y|%q, %t, 8, 31, -1; done:\n");
  Memory memory;
  std::vector<std::string> steps;
  program.run(memory, {.grid = {1, 1, 1}, .block = {32, 1, 1}, .trace = [&](const Step& step) {
                         if (!step.instruction.variant.opcode().starts_with("shfl")) return;
                         std::string text = std::to_string(step.lanes);
                         for (const Change& change : step.changes)
                           text += " " + change.name + " " + std::to_string(change.lanes) + " " +
                                   std::to_string(change.values[step.lanes == 15 ? 0 : 31]);
                         steps.push_back(std::move(text));
                       }});
  REQUIRE(steps.size() == 3);
  CHECK(steps[0] == "4294967280");  // lanes 4 to 31 wait
  CHECK(steps[1].starts_with("15 %y 15 8"));
  CHECK(steps[2] == "4294967280 %x 4294967280 9");
}

TEST_CASE("shfl and vote of old PTX take the active threads") {
  const std::string text =
      ".version 6.3\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u64 in)\n{\n"
      ".reg .u64 %o; .reg .u32 %t, %x, %y; .reg .pred %p, %q; ld.param.u64 %o, [out]; mov.u32 %t, %tid.x;\n"
      "mad.wide.u32 %o, %t, 4, %o; setp.lt.u32 %p, %t, 8; mov.u32 %x, 77; @!%p bra DONE;\n"
      "shfl.bfly.b32 %x|%q, %t, 3, 31; vote.ballot.b32 %y, %q; shl.b32 %y, %y, 8; or.b32 %x, %x, %y;\n"
      "DONE: st.global.u32 [%o], %x; ret;\n}\n";
  const auto out = run<U32>(Program(module_of(text), "k"), 32, 32);
  for (U32 i = 0; i < 32; ++i) CHECK(out[i] == (i < 8 ? ((i ^ 3) | 0xff00) : 77));
}

}  // namespace ptxloom::exec::test::vote_test
