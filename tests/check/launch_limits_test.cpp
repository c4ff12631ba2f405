// SPDX-License-Identifier: Apache-2.0
// Limits of the hardware that a module must keep: shared memory that it declares, blocks and clusters that it
// asks for, types that a declaration takes. ptxas is asked on both sides of each.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "ptxloom/check.hpp"
#include "ptxloom/ptx.hpp"
#include "support/ptxas.hpp"
#include "support/require.hpp"

namespace ptxloom::launch_limits_test {
namespace {

using Catch::Matchers::ContainsSubstring;

std::shared_ptr<const Specs> shared_specs() {
  static const auto instance = std::make_shared<const Specs>();
  return instance;
}

std::string start(std::string_view target) {
  const Version version = std::max(Version{9, 0}, Target(target).since());
  return ".version " + to_string(version) + "\n.target " + std::string(target) + "\n.address_size 64\n";
}

std::vector<Diagnostic> found_in(const std::string& ptx) {
  const ParseResult read = parse(ptx, shared_specs());
  CAPTURE(ptx);
  REQUIRE(read.ok());
  return check(read.module);
}

bool is_legal(const std::string& ptx) {
  for (const Diagnostic& one : found_in(ptx))
    if (one.severity == Severity::error) return false;
  return true;
}

std::string with_static(std::string_view target, int bytes) {
  return start(target) + ".entry k() { .shared .b8 a[" + std::to_string(bytes) + "]; ret; }\n";
}

// Modules around the limit of sm_80: how ptxas counts.
struct Case {
  std::string body;
  bool legal;
};
std::vector<Case> layouts() {
  const auto n = [](int less) { return std::to_string(49152 - less); };
  const std::string store_a = "{ .reg .b32 r; mov.b32 r, a; st.shared.b32 [r], r; }\n";
  const std::string store_b = "{ .reg .b32 r; mov.b32 r, b; st.shared.b32 [r], r; }\n";
  const std::string f = ".func f()\n{ .shared .b8 a[" + n(-1) + "]; ret; }\n";
  return {
      // variables of the entry, used or not
      {".entry k()\n{ .shared .b8 a[" + n(4) + "]; .shared .b8 b[4]; ret; }", true},
      {".entry k()\n{ .shared .b8 a[" + n(4) + "]; .shared .b8 b[5]; ret; }", false},
      {".entry k()\n{ .shared .b32 a[12288]; ret; }", true},
      {".entry k()\n{ .shared .b32 a[12289]; ret; }", false},
      {".entry k()\n{ .shared .v4 .b32 a[3072]; .shared .b8 b; ret; }", false},
      // each aligned, in the order of declaration
      {".entry k()\n{ .shared .b8 a; .shared .align 16 .b8 b[" + n(16) + "]; ret; }", true},
      {".entry k()\n{ .shared .b8 a; .shared .align 16 .b8 b[" + n(15) + "]; ret; }", false},
      {".entry k()\n{ .shared .align 16 .b8 b[" + n(1) + "]; .shared .b8 a; ret; }", true},
      // two entries do not add up
      {".entry k()\n{ .shared .b8 a[" + n(0) + "]; ret; }\n.entry l()\n{ .shared .b8 a[" + n(0) + "]; ret; }",
       true},
      // of the module's what is named
      {".shared .b8 a[" + n(-1) + "];\n.entry k()\n{ ret; }", true},
      {".shared .b8 a[" + n(-1) + "];\n.entry k()\n{ " + store_a + "ret; }", false},
      {".shared .b8 a[30000];\n.shared .b8 b[30000];\n.entry k()\n{ " + store_a + "ret; }\n.entry l()\n{ " +
           store_b + "ret; }",
       true},
      {".shared .b8 a[30000];\n.shared .b8 b[30000];\n.entry k()\n{ " + store_a + store_b + "ret; }", false},
      {".shared .b8 a;\n.entry k()\n{ .shared .align 16 .b8 b[" + n(16) + "]; " + store_a + "ret; }", true},
      {".shared .b8 a;\n.entry k()\n{ .shared .align 16 .b8 b[" + n(15) + "]; " + store_a + "ret; }", false},
      {".shared .b8 b[" + n(1) + "];\n.entry k()\n{ .shared .b8 a; " + store_b + "ret; }", true},
      {".extern .shared .align 128 .b8 b[];\n.entry k()\n{ .shared .b8 a[" + n(0) + "]; " + store_b +
           "ret; }",
       true},
      // functions that the entry reaches
      {f + ".entry k()\n{ ret; }", true},
      {f + ".entry k()\n{ call f; ret; }", false},
      {f + ".func g()\n{ call f; ret; }\n.entry k()\n{ call g; ret; }", false},
      {f + ".func g()\n{ call f; ret; }\n.entry k()\n{ ret; }", true},
      {f + ".visible .func z();\n.alias z, f;\n.entry k()\n{ call z; ret; }", false},
      {f + ".entry k()\n{ .reg .b64 r; P: .callprototype _(); mov.u64 r, f; call r, P; ret; }", false},
      {f + ".global .u64 T[1] = {f};\n.entry k()\n{ ret; }", true},
      {f + ".global .u64 T[1] = {f};\n.entry k()\n{ .reg .b64 r; P: .callprototype _(); ld.global.u64 r, "
           "[T]; call r, P; "
           "ret; }",
       false},
      {".func f()\n{ .shared .b8 a[16]; ret; }\n.entry k()\n{ .shared .b8 b[" + n(16) + "]; call f; ret; }",
       true},
      {".func f()\n{ .shared .b8 a[16]; ret; }\n.entry k()\n{ .shared .b8 b[" + n(15) + "]; call f; ret; }",
       false},
      {".func f();\n.entry k()\n{ .shared .b8 b[" + n(15) +
           "]; call f; ret; }\n.func f()\n{ .shared .b8 a[16]; ret; }",
       false},
      {".func g()\n{ .shared .b8 b[30000]; ret; }\n.func f()\n{ .shared .b8 a[19152]; ret; }\n.entry k()\n{ "
       "call f; "
       "call g; call f; ret; }",
       true},
      {".func g()\n{ .shared .b8 b[30000]; ret; }\n.func f()\n{ .shared .b8 a[19153]; ret; }\n.entry k()\n{ "
       "call f; "
       "call g; ret; }",
       false},
  };
}

// One entry, its directives, and what is said of them.
struct Bounds {
  std::string directives;
  std::string target;
  std::string said;  // "": nothing; "!...": an error
};
const Bounds kBounds[] = {
    {".reqntid 1024", "sm_80", ""},
    {".reqntid 16, 16, 4", "sm_80", ""},
    {".reqntid 1, 1, 64", "sm_80", ""},
    {".reqntid 1025", "sm_80", "!block.x is 1025, but the most is 1024"},
    {".reqntid 2048", "sm_90a", "!the most is 1024"},
    {".reqntid 32, 33", "sm_80", "!has 1056 threads, but the most is 1024"},
    {".reqntid 1, 1, 65", "sm_80", "!block.z is 65, but the most is 64"},
    {".maxntid 1024", "sm_80", ""},
    {".maxntid 32, 32, 1", "sm_80", ""},
    {".maxntid 1025", "sm_80", "allows 1025 threads, but a thread block has at most 1024"},
    {".maxntid 32, 33", "sm_80", "allows 1056 threads"},
    {".maxntid 4294967295", "sm_80", "!allows 4294967295 threads"},  // ptxas 13.0 crashes
    {".reqnctapercluster 16", "sm_90", ""},
    {".reqnctapercluster 4, 2, 2", "sm_90a", ""},
    {".reqnctapercluster 17", "sm_90", "!has 17 thread blocks, but the most is 16"},
    {".reqnctapercluster 4, 5", "sm_120a", "!has 20 thread blocks, but the most is 16"},
    {".reqnctapercluster 0", "sm_90", ""},
    {".maxclusterrank 16", "sm_90", ""},
    {".maxclusterrank 17", "sm_90", "a cluster has at most 16 thread blocks"},
    {".explicitcluster", "sm_100", ""},
};

std::string bounds_text(const Bounds& one) {
  return start(one.target) + ".entry k() " + one.directives + " { ret; }\n";
}

// What only a program can declare: the reader knows no such types.
ir::Module with_types(const ir::Variable& variable) {
  ir::Module module = parse(start("sm_90a") + ".entry k() { ret; }\n", shared_specs()).module;
  module.functions[0].variables.push_back(variable);
  return module;
}

std::string code_in(const ir::Module& module) {
  const std::vector<Diagnostic> found = check(module);
  return found.empty() ? "" : found.front().code;
}

}  // namespace

TEST_CASE("each target's limit of static shared memory is enforced") {
  for (const TargetInfo& target : targets()) {
    CAPTURE(target.name);
    const bool own_code = target.suffix == 'a';
    CHECK(target.shared_static == (own_code ? target.shared_per_block : 49152));
    CHECK(found_in(with_static(target.name, target.shared_static)).empty());
    const std::vector<Diagnostic> found = found_in(with_static(target.name, target.shared_static + 1));
    REQUIRE(found.size() == 1);
    CHECK(found[0].code == "too-much-shared");
    CHECK_THAT(found[0].message, ContainsSubstring("kernel k: " + std::to_string(target.shared_static + 1)) &&
                                     ContainsSubstring("is " + std::to_string(target.shared_static)));
    CHECK_THAT(found[0].hint, ContainsSubstring(std::to_string(target.shared_per_block)));
  }
  CHECK(Target("sm_90a").info().shared_static == 232448);
  CHECK(Target("sm_100a").info().shared_static == 232448);
  CHECK(Target("sm_120a").info().shared_static == 101376);
}

TEST_CASE("the limit of static shared memory is that of ptxas, for every target", "[oracle]") {
  const std::optional<std::string> path = find_cuda_tool("ptxas");
  if (!path) test::skip_without("ptxas", "ptxas is not installed");
  const Ptxas ptxas(*path);
  for (const TargetInfo& target : targets_of_ptxas(*path)) {
    const std::string name(target.name);
    int least = 1, beyond = 1 << 20;  // assembled, refused
    while (beyond - least > 1) {
      const int middle = least + (beyond - least) / 2;
      (ptxas.assemble(with_static(name, middle), name).status == 0 ? least : beyond) = middle;
    }
    CAPTURE(name);
    CHECK(least == target.shared_static);
  }
}

TEST_CASE("shared memory is counted by what an entry reaches") {
  for (const Case& one : layouts()) {
    CAPTURE(one.body);
    CHECK(is_legal(start("sm_80") + one.body + "\n") == one.legal);
  }
  const std::string huge =
      start("sm_80") + ".entry k() { .shared .b64 a[100000000000]; .shared .b8 b[1000]; ret; }\n";
  CHECK_THAT(found_in(huge).at(0).message, ContainsSubstring("800000001000 bytes"));
}

TEST_CASE("shared memory is counted as ptxas counts", "[oracle]") {
  const std::optional<std::string> path = find_cuda_tool("ptxas");
  if (!path) test::skip_without("ptxas", "ptxas is not installed");
  const Ptxas ptxas(*path);
  for (const Case& one : layouts()) {
    const CommandResult result = ptxas.assemble(start("sm_80") + one.body + "\n", "sm_80");
    CAPTURE(one.body, result.output);
    CHECK((result.status == 0) == one.legal);
  }
}

TEST_CASE("thread blocks and clusters that no launch can have are refused; larger bounds give a remark") {
  for (const Bounds& one : kBounds) {
    CAPTURE(one.directives, one.target);
    const std::vector<Diagnostic> found = found_in(bounds_text(one));
    CHECK(found.size() == (one.said.empty() ? 0U : 1U));
    if (one.said.empty() || found.empty()) continue;
    const bool error = one.said[0] == '!';
    CHECK(found[0].code == "launch-bounds");
    CHECK((found[0].severity == Severity::error) == error);
    CHECK_THAT(found[0].message,
               ContainsSubstring("kernel k: ") && ContainsSubstring(one.said.substr(error)));
    CHECK_FALSE(found[0].hint.empty());
  }
  ir::Module module = with_types({.name = "x"});  // which the reader does not let through
  module.functions[0].reqntid = {32, 0, 1};
  CHECK(code_in(module) == "launch-bounds");
  module.functions[0].reqntid.reset();
  module.functions[0].maxntid = {0, 1, 1};
  CHECK(code_in(module) == "launch-bounds");
}

TEST_CASE("ptxas has no clusters exactly where the check has none", "[oracle]") {
  const std::optional<std::string> path = find_cuda_tool("ptxas");
  if (!path) test::skip_without("ptxas", "ptxas is not installed");
  const Ptxas ptxas(*path);
  for (const TargetInfo& target : targets_of_ptxas(*path)) {
    const Bounds one{".reqnctapercluster 2", std::string(target.name), {}};
    CAPTURE(target.name);
    CHECK((ptxas.assemble(bounds_text(one), one.target).status == 0) == (target.cluster_blocks != 0));
  }
}

TEST_CASE("declarations of types without storage are refused before a linker sees them") {
  const Type refused[] = {bf16, tf32, bf16x2, e4m3, e5m2, e3m2, e2m3, e2m1, ue8m0, ue4m3, s4, u4, b1, pred};
  const Type taken[] = {b8, b16, b32, b64, b128, s8, s16, s32, s64, u8, u16, u32, u64, f16, f32, f64};
  for (const auto space :
       {ir::Space::shared, ir::Space::global, ir::Space::constant, ir::Space::local, ir::Space::function}) {
    for (const Type& type : refused) {
      CAPTURE(type.name, static_cast<int>(space));
      ir::Module module = with_types({.name = "x", .space = space, .type = type, .count = 4});
      CHECK(code_in(module) == "type-without-storage");
      module.variables = std::move(module.functions[0].variables);
      module.functions[0].variables.clear();
      CHECK(code_in(module) == "type-without-storage");
    }
    for (const Type& type : taken)
      CHECK(code_in(with_types({.name = "x", .space = space, .type = type, .count = 4})).empty());
  }
  for (const Type& type : refused) {
    CAPTURE(type.name);
    ir::Module module = with_types({.name = "x"});
    ir::Function& k = module.functions[0];
    k.parameters.push_back({.name = "p", .type = type});
    CHECK(code_in(module) == "type-without-storage");
    k.parameters[0] = {.name = "p", .type = type, .count = 4};
    CHECK(code_in(module) == "type-without-storage");
    k.parameters.clear();
    k.results.push_back({.name = "r", .type = type});
    CHECK(code_in(module) == "type-without-storage");
    k.results.clear();
    ir::Prototype prototype;
    prototype.parameters.push_back({.name = "p", .type = type});
    k.prototypes.push_back(prototype);
    k.labels.push_back("P");
    CHECK(code_in(module) == "type-without-storage");
    k.prototypes.clear();
    if (type == pred) continue;
    k.registers.push_back({.type = b32, .number = 0});
    k.registers.push_back({.type = type, .name = "r"});
    CHECK(code_in(module) == "type-without-storage");
  }
  ir::Module module = with_types({.name = "x", .type = e4m3});
  CHECK_THAT(check(module).at(0).message, ContainsSubstring("kernel k: variable x is declared as .e4m3"));
  CHECK_THAT(check(module).at(0).hint, ContainsSubstring(".b8"));
}

TEST_CASE("PTX text that declares them is refused too") {
  for (const Type& type : {bf16, tf32, bf16x2, e4m3, e5m2, e3m2, e2m3, e2m1, ue8m0, ue4m3, s4, u4, b1}) {
    const std::string name(type.name);
    for (const std::string& text :
         {".entry k() { .shared ." + name + " x[4]; ret; }", ".shared ." + name + " x[4];",
          ".global ." + name + " x;", ".const ." + name + " x[2];",
          ".entry k() { .local ." + name + " x[2]; ret; }", ".entry k(.param ." + name + " x) { ret; }",
          ".entry k() { .reg ." + name + " x; ret; }", ".func f(.param ." + name + " x) { ret; }",
          ".func f(.reg ." + name + " x) { ret; }", ".entry k() { .param ." + name + " x[4]; ret; }",
          ".entry k() { p: .callprototype _ (.param ." + name + " x); ret; }"}) {
      CAPTURE(text);
      CHECK_FALSE(parse(start("sm_100a") + text + "\n", shared_specs()).ok());
    }
  }
}

}  // namespace ptxloom::launch_limits_test
