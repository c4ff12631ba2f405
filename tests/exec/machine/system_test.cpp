// SPDX-License-Identifier: Apache-2.0
// System calls, from PTX: every conversion of printf beside the host's, and misuse.
#include <catch2/matchers/catch_matchers_string.hpp>

#include <bit>
#include <cstdarg>
#include <cstdio>

#include "exec/harness.hpp"

namespace ptxloom::exec::test::system_test {
namespace {

using Catch::Matchers::ContainsSubstring;

const std::string kDeclared =
    ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
    ".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 "
    "s);\n";
const std::string kCall =
    "{ .param .b64 p; .param .b64 q; .param .b32 r; st.param.b64 [p], %f; st.param.b64 [q], %a; "
    "call (r), vprintf, (p, q); ld.param.b32 %x, [r]; }\n";

struct Done {
  std::string text;
  int result = -1000;
};

/// printf with this format, and an argument buffer with these bytes, both in global memory.
Done print(std::string format, std::vector<std::byte> arguments) {
  const Program program = program_of(
      ".param .u64 out, .param .u64 format, .param .u64 arguments",
      ".reg .u64 %f, %a, %o; .reg .u32 %x; ld.param.u64 %f, [format]; ld.param.u64 %a, [arguments]; "
      "ld.param.u64 %o, [out];\n" +
          kCall + "st.global.u32 [%o], %x;\n",
      kDeclared);
  Memory memory;
  Done done;
  arguments.resize(arguments.size() + 8);
  const auto parameters =
      pack({memory.map(&done.result, 4, "out"), memory.map(format.data(), format.size() + 1, "format"),
            memory.map(arguments.data(), arguments.size(), "arguments")});
  program.run(memory, {.parameters = parameters,
                       .print = [&](const Printed& printed) { done.text += printed.text; }});
  return done;
}

/// An argument buffer, each value aligned to its size.
class Arguments {
 public:
  template <class T>
  Arguments& add(T value) {
    bytes_.resize((bytes_.size() + sizeof(T) - 1) / sizeof(T) * sizeof(T));
    const auto* begin = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), begin, begin + sizeof(T));
    return *this;
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
std::string on_host(const char* format, ...) {
  std::va_list list;
  va_start(list, format);
  char text[4096];
  std::vsnprintf(text, sizeof text, format, list);
  va_end(list);
  return text;
}
#pragma GCC diagnostic pop

}  // namespace

TEST_CASE("conversions of printf are those of the host") {
  Random random;
  INFO("seed " << random.seed);
  const std::vector<std::string> flags{"", "-", "+", " ", "0", "#", "-+", "#0", "+ "},
      widths{"", "1", "7", "25"}, precisions{"", ".", ".0", ".3", ".12"};
  const auto pick = [&](const std::vector<std::string>& from) {
    return from[random.below(static_cast<std::uint32_t>(from.size()))];
  };
  for (int i = 0; i < 400; ++i) {
    const std::string head = "<%" + pick(flags) + pick(widths) + pick(precisions);
    const std::uint64_t bits = random.bits() >> random.below(64);
    const auto word = static_cast<std::int32_t>(bits);
    const std::string integer(1, "diouxX"[random.below(6)]), floating(1, "eEfFgGaA"[random.below(8)]);
    const auto check = [&](const std::string& format, auto value) {
      INFO(format);
      const Done done = print(format, Arguments().add(value).bytes());
      CHECK(done.text == on_host(format.c_str(), value));
      CHECK(done.result == 1);
    };
    check(head + integer + ">", word);
    check(head + "h" + integer + ">", word);
    check(head + "hh" + integer + ">", word);
    check(head + pick({"l", "ll", "j", "z"}) + integer + ">", bits);
    check(head + floating + ">", random.below(8) == 0 ? HUGE_VAL : random.uniform(-1e9, 1e9));
  }
}

TEST_CASE("printf aligns its arguments, takes widths from them, and prints what is no conversion as it is") {
  const Arguments mixed = Arguments().add(5).add(2.5).add(-6).add(3).add(7.123456).add(std::int64_t{1} << 40);
  const Done done = print("%d %g|%*.*f|%lld %% %q %", mixed.bytes());
  CHECK(done.text == on_host("%d %g|%*.*f|%lld %% ", 5, 2.5, -6, 3, 7.123456, 1ll << 40) + "%q %");
  CHECK(done.result == 6);
  CHECK(print("%c%c", Arguments().add(65).add(0).bytes()).text == std::string("A\0", 2));
  CHECK(print("%p", Arguments().add(std::uint64_t{0x1234}).bytes()).text == "0x1234");
  CHECK(print("%s", Arguments().add(std::uint64_t{0}).bytes()).text == "(null)");
  CHECK(print("", {}).result == 0);

  // A format may name 32 arguments.
  Arguments many;
  std::string format, expected;
  for (int i = 0; i < 35; ++i) {
    many.add(i);
    format += "%d,";
    expected += i < 32 ? std::to_string(i) + "," : "%d,";
  }
  const Done limited = print(format, many.bytes());
  CHECK(limited.text == expected);
  CHECK(limited.result == 32);
}

TEST_CASE("printf checks the bounds of what it reads") {
  const Diagnostic d = fault_of([] { print("%lld %lld %lld", Arguments().add(std::int64_t{1}).bytes()); });
  CHECK(d.code == "out-of-bounds");
  CHECK_THAT(d.message, ContainsSubstring("vprintf") && ContainsSubstring("arguments"));
  const Diagnostic wild = fault_of([] { print("%s", Arguments().add(std::uint64_t{8}).bytes()); });
  CHECK(wild.code == "null-address");
}

TEST_CASE("printf without a format returns -1, and a call by address prints too") {
  const auto out = run<std::int32_t>(
      program_of(
          kOutIn,
          ".reg .u64 %f, %a, %o; .reg .u32 %x; mov.u64 %f, 0; mov.u64 %a, 0; ld.param.u64 %o, [out];\n" +
              kCall + "st.global.u32 [%o], %x;\n",
          kDeclared),
      1, 1);
  CHECK(out[0] == -1);

  const Program by_address = program_of(
      kOutIn,
      ".reg .u64 %f, %a, %g; .reg .u32 %t; .local .align 8 .b32 l[1]; mov.u32 %t, %tid.x; st.local.u32 [l], "
      "%t;\n"
      "mov.u64 %f, text; cvta.global.u64 %f, %f; mov.u64 %a, l; cvta.local.u64 %a, %a; mov.u64 %g, vprintf;\n"
      "proto: .callprototype (.param .b32 _) _ (.param .b64 _, .param .b64 _);\n"
      "{ .param .b64 p; .param .b64 q; .param .b32 r; st.param.b64 [p], %f; st.param.b64 [q], %a; "
      "call (r), %g, (p, q), proto; }\n",
      kDeclared + ".global .align 1 .b8 text[4] = {37, 117, 32, 0};\n");
  std::string text;
  run<std::int32_t>(by_address, 40, 1, std::vector<std::uint32_t>{},
                    {.print = [&](const Printed& printed) { text += printed.text; }});
  std::string expected;
  for (int t = 0; t < 40; ++t) expected += std::to_string(t) + " ";
  CHECK(text == expected);
}

TEST_CASE("what was printed before a fault appears") {
  const Program program = program_of(
      kOutIn,
      ".reg .u64 %f, %a; .reg .u32 %x; mov.u64 %f, text; cvta.global.u64 %f, %f; mov.u64 %a, 0;\n" + kCall +
          "trap;\n",
      kDeclared + ".global .align 1 .b8 text[3] = {104, 105, 0};\n");
  std::string text;
  const Diagnostic d = fault_of([&] {
    run<std::int32_t>(program, 2, 1, std::vector<std::uint32_t>{},
                      {.jobs = 2, .print = [&](const Printed& printed) { text += printed.text; }});
  });
  CHECK(d.code == "trap");
  CHECK(text == "hihi");
}

TEST_CASE("functions of the driver that a module declares otherwise have no body") {
  const std::string call = "{ .param .b64 p; .param .b32 r; st.param.b64 [p], 0; call (r), vprintf, (p); }\n";
  CHECK(fault_of([&] {
          run<std::uint32_t>(
              program_of(kOutIn, call, ".extern .func (.param .b32 r) vprintf(.param .b64 f);\n"), 1, 1);
        }).code == "no-function");
}

}  // namespace ptxloom::exec::test::system_test
