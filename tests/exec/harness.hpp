// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/error.hpp"
#include "ptxloom/exec.hpp"
#include "ptxloom/ptx.hpp"
#include "support/narrow.hpp"

// Short kernels from PTX text, run in the executor.
namespace ptxloom::exec::test {

namespace narrow = ptxloom::test::narrow;

/// Random numbers that differ in every run; INFO(random.seed) says how to repeat one.
struct Random {
  std::uint64_t seed = std::random_device{}();
  std::mt19937_64 engine{seed};

  std::uint64_t bits() { return engine(); }
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(bits() % n); }
  double uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(engine);
  }
};

inline std::shared_ptr<const Specs> specs() {
  static const auto shared = std::make_shared<const Specs>();
  return shared;
}

/// The module of a whole PTX text; any diagnostic that is an error fails the test.
inline ir::Module module_of(const std::string& ptx) {
  ParseResult result = parse(ptx, specs());
  for (const Diagnostic& diagnostic : result.diagnostics) UNSCOPED_INFO(to_string(diagnostic));
  INFO(ptx);
  REQUIRE(result.ok());
  return std::move(result.module);
}

/// A kernel `k` with these parameters and body; `outside` stands before it.
inline std::string kernel_text(const std::string& parameters, const std::string& body,
                               const std::string& outside = {}, const std::string& target = "sm_90a") {
  return ".version 9.5\n.target " + target + "\n.address_size 64\n" + outside + "\n.visible .entry k(" +
         parameters + ")\n{\n" + body + "\nret;\n}\n";
}

inline Program program_of(const std::string& parameters, const std::string& body,
                          const std::string& outside = {}, const std::string& target = "sm_90a") {
  return Program(module_of(kernel_text(parameters, body, outside, target)), "k");
}

/// A parameter buffer of 64-bit values.
inline std::vector<std::byte> pack(std::initializer_list<std::uint64_t> values) {
  std::vector<std::byte> bytes(values.size() * 8);
  std::memcpy(bytes.data(), values.begin(), bytes.size());
  return bytes;
}

/// Runs with `threads` threads of one block and gives what out, of `size` elements, holds afterwards. The
/// kernel's first parameter is the address of out, the second that of `in`.
template <class Out, class In = std::uint32_t>
std::vector<Out> run(const Program& program, std::uint32_t threads, std::size_t size, std::vector<In> in = {},
                     Launch launch = {}) {
  Memory memory;
  std::vector<Out> out(size);
  std::memset(out.data(), 0xA5, size * sizeof(Out));
  const auto parameters = pack({memory.map(out.data(), size * sizeof(Out), "out"),
                                memory.map(in.data(), in.size() * sizeof(In), "in")});
  launch.block = {threads, 1, 1};
  launch.parameters = parameters;
  program.run(memory, launch);
  return out;
}

/// For kernels that rely on luck, to see what becomes of them.
inline const Launch kUnjudged{.judge = false};

inline const std::string kOutIn = ".param .u64 out, .param .u64 in";

/// The diagnostic of the Error that f throws.
template <class F>
Diagnostic fault_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.diagnostics().at(0);
  }
  FAIL("nothing was thrown");
  return {};
}

template <class T>
std::string bits_type() {
  return ".b" + std::to_string(8 * sizeof(T));
}

/// What `statements` leave in %d in each thread i, with %a, %b, %c set to element i of the inputs.
template <class D, class... In>
std::vector<D> each_thread_on(const std::string& target, const std::string& statements,
                              const std::vector<In>&... in) {
  const std::string names = "abcef";
  Memory memory;
  std::string parameters = ".param .u64 out",
              body = ".reg .u64 %to, %i; .reg " + bits_type<D>() +
                     " %d; .reg .u32 %t, %n, %g; mov.u32 %t, %tid.x; mov.u32 %n, %ntid.x;\n"
                     "mov.u32 %g, %ctaid.x; mad.lo.u32 %t, %g, %n, %t;\n";
  std::size_t count = 0, number = 0;
  std::vector<std::uint64_t> addresses;
  const auto add = [&]<class T>(const std::vector<T>& values) {
    const std::string name(1, names[number++]);
    count = values.size();
    addresses.push_back(memory.allocate(values.size() * sizeof(T), name));
    std::memcpy(memory.at(addresses.back(), values.size() * sizeof(T)), values.data(),
                values.size() * sizeof(T));
    parameters += ", .param .u64 in_" + name;
    body += ".reg " + bits_type<T>() + " %" + name + "; ld.param.u64 %to, [in_" + name +
            "]; mad.wide.u32 %to, %t, " + std::to_string(sizeof(T)) + ", %to; ld.global" + bits_type<T>() +
            " %" + name + ", [%to];\n";
  };
  (add(in), ...);
  body += statements + "\nld.param.u64 %to, [out]; mad.wide.u32 %to, %t, " + std::to_string(sizeof(D)) +
          ", %to; st.global" + bits_type<D>() + " [%to], %d;\n";
  const Program program = program_of(parameters, body, {}, target);

  std::vector<D> out(count);
  addresses.insert(addresses.begin(), memory.map(out.data(), count * sizeof(D), "out"));
  std::vector<std::byte> buffer(addresses.size() * 8);
  std::memcpy(buffer.data(), addresses.data(), buffer.size());
  REQUIRE(count % 64 == 0);
  // What a division by zero gives is tested too.
  const bool divides = statements.starts_with("div.") || statements.starts_with("rem.");
  program.run(memory, {.grid = {static_cast<std::uint32_t>(count / 64), 1, 1},
                       .block = {64, 1, 1},
                       .parameters = buffer,
                       .judge = !divides});
  return out;
}

template <class D, class... In>
std::vector<D> each_thread(const std::string& statements, const std::vector<In>&... in) {
  return each_thread_on<D>("sm_100a", statements, in...);
}

inline constexpr std::size_t kSamples = 4096;

/// Random integers, among them many near the ends of the range and near zero.
template <class T>
std::vector<T> integers(Random& random) {
  std::vector<T> values(kSamples);
  for (T& value : values) {
    value = static_cast<T>(random.bits());
    if (random.below(2) == 0) value = static_cast<T>(value >> random.below(8 * sizeof(T)));
    if (random.below(4) == 0)
      value = static_cast<T>((std::uint64_t{1} << random.below(8 * sizeof(T))) - random.below(3));
  }
  return values;
}

/// Random floats of all magnitudes, with zeros, subnormals, infinities and NaN among them.
template <class T>
std::vector<T> floats(Random& random, int mantissa_bits) {
  constexpr int width = 8 * sizeof(T);
  const std::uint64_t mantissas = (std::uint64_t{1} << mantissa_bits) - 1,
                      sign_bit = std::uint64_t{1} << (width - 1);
  const std::uint64_t infinity = sign_bit - mantissas - 1, one = infinity >> 1 & ~mantissas;
  std::vector<T> values(kSamples);
  for (T& value : values) {
    std::uint64_t bits = random.bits();
    const std::uint64_t sign = bits & sign_bit, mantissa = bits & mantissas;
    switch (random.below(8)) {
      case 0:
        bits = sign | mantissa;
        break;  // subnormal
      case 1:
        bits = random.below(2) != 0 ? sign : sign | infinity;
        break;  // zero, infinity
      case 2:
        bits = sign | one | (mantissa & mantissa << 3);
        break;  // near one
      case 3:
        bits = sign | (one + (std::uint64_t{random.below(16)} << mantissa_bits)) | mantissa;
        break;
      default:
        break;
    }
    std::memcpy(&value, &bits, sizeof value);
  }
  return values;
}
inline std::vector<float> floats32(Random& random) { return floats<float>(random, 23); }
inline std::vector<double> floats64(Random& random) { return floats<double>(random, 52); }

/// Compares bit by bit; floats as bits too, all NaN of a width being one.
template <class T>
bool same(T got, T expected) {
  if constexpr (std::is_floating_point_v<T>) {
    if (got != got || expected != expected) return got != got && expected != expected;
  }
  return std::memcmp(&got, &expected, sizeof got) == 0;
}

/// Checks `statements` against reference(inputs...) in every thread.
template <class D, class F, class... In>
void expect(const std::string& statements, F reference, const std::vector<In>&... in) {
  const std::vector<D> out = each_thread<D>(statements, in...);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const D expected = reference(in[i]...);
    if (same(out[i], expected)) continue;
    CAPTURE(statements, i, +out[i], +expected);
    std::string inputs;
    ((inputs += std::to_string(in[i]) + " "), ...);
    CAPTURE(inputs);
    FAIL_CHECK("wrong result");
    return;
  }
  SUCCEED();
}

}  // namespace ptxloom::exec::test
