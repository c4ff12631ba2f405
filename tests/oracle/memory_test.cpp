// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "oracle/checks.hpp"
#include "support/temporary_folder.hpp"

// What is known of ptxas's verdicts, with a program in its place that refuses the lines with a given word.
namespace ptxloom::oracle {
namespace {

struct Assembler {
  TemporaryFolder folder;
  std::filesystem::path program = folder / "ptxas", runs = folder / "runs", file = folder / "verdicts.bin";

  void refuse(const std::string& word) const {
    std::ofstream(program)
        << "#!/bin/sh\necho run >> '" << runs.string()
        << "'\nfor file; do case $file in *.ptx) break;; esac; done\ngrep -n '" << word
        << "' \"$file\" | sed 's/\\([0-9]*\\):.*/ptxas x, line \\1; error   : no such thing/'\n"
           "! grep -q '"
        << word << "' \"$file\"\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  }

  std::size_t times_run() const {
    std::ifstream in(runs);
    return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(in), {}, '\n'));
  }
};

const std::vector<std::string> kLines{"add.one;", "add.two;", "sub.three;"};
const Target kTarget("sm_80");
const Surroundings kNothing{};
const Place kPlace{kTarget, {8, 0}, kNothing};

std::vector<bool> accepted(const std::vector<Verdict>& verdicts) {
  std::vector<bool> result;
  for (const Verdict& verdict : verdicts) result.push_back(verdict.accepted);
  return result;
}

void learn(const Assembler& assembler) {
  VerdictsWriter writer("version 1");
  Judge(assembler.program, {.learned = &writer}).judge(kLines, kPlace);
  writer.write(assembler.file);
}

constexpr unsigned kNever = ~0U;  // one of so many is proven

}  // namespace

TEST_CASE("the oracle does not ask what it knows, but for what is to be proven again") {
  const Assembler assembler;
  assembler.refuse("two");
  learn(assembler);
  const Verdicts known(assembler.file, "version 1");
  CHECK(known.has_assembler());
  CHECK(known.lines() == kLines.size());
  const std::size_t before = assembler.times_run();

  Judge judge(assembler.program, {.known = &known, .proven = kNever});
  CHECK(accepted(judge.judge(kLines, kPlace)) == std::vector{true, false, true});
  CHECK(assembler.times_run() == before);
  CHECK(judge.recalled().known == kLines.size());
  CHECK(judge.recalled().proven == 0);

  const std::vector<std::string> more{"add.two;", "add.new;"};
  CHECK(accepted(judge.judge(more, kPlace)) == std::vector{false, true});
  CHECK(judge.recalled().asked == 1);
  const Place elsewhere{
      kTarget, {8, 1}, kNothing};  // another version, depth or declarations: another question
  const Surroundings declared{.module_decls = ".global .b32 g;", .body_decls = {}};
  judge.judge(kLines, elsewhere);
  judge.judge(kLines, kPlace, Depth::code);
  judge.judge(kLines, {kTarget, {8, 0}, declared});
  CHECK(judge.recalled().asked == 1 + 3 * kLines.size());
}

TEST_CASE("the oracle names a line that ptxas judges otherwise than when it was learned") {
  const Assembler assembler;
  assembler.refuse("two");
  learn(assembler);
  const Verdicts known(assembler.file, "version 1");
  Judge steady(assembler.program, {.known = &known, .proven = 1});
  steady.judge(kLines, kPlace);
  CHECK(steady.recalled().proven == kLines.size());
  CHECK(steady.recalled().wrong.empty());

  assembler.refuse("three");
  Judge changed(assembler.program, {.known = &known, .proven = 1});
  changed.judge(kLines, kPlace);
  REQUIRE(changed.recalled().wrong.size() == 2);
  CHECK(changed.recalled().wrong[0].find("add.two;  @ sm_80 8.0 check") != std::string::npos);
  CHECK(changed.recalled().wrong[1].find("sub.three;  @ sm_80 8.0 check") != std::string::npos);
}

TEST_CASE("a tenth of the questions is proven again, another in each draw") {
  const Assembler assembler;
  assembler.refuse("two");
  VerdictsWriter writer("version 1");
  Judge learner(assembler.program, {.learned = &writer});
  std::vector<std::string> lines;
  for (int i = 0; i < 200; ++i) lines.push_back("add.l" + std::to_string(i) + ";");
  learner.judge(lines, kPlace);
  writer.write(assembler.file);
  const Verdicts known(assembler.file, "version 1");
  const auto proven = [&](unsigned draw) {
    Judge judge(assembler.program, {.known = &known, .seed = draw});
    std::vector<std::size_t> drawn;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::size_t before = judge.recalled().proven;
      judge.judge(std::span(lines).subspan(i, 1), kPlace);
      if (judge.recalled().proven > before) drawn.push_back(i);
    }
    return drawn;
  };
  const auto one = proven(20261123), other = proven(20261124);
  CHECK(one == proven(20261123));
  CHECK(one != other);
  CHECK(one.size() + other.size() > 15);
  CHECK(one.size() + other.size() < 70);
}

TEST_CASE("a damaged file of verdicts is refused, and the same verdicts make the same file") {
  const Assembler assembler;
  assembler.refuse("two");
  learn(assembler);
  const auto content_of = [](const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const std::string content = content_of(assembler.file);
  learn(assembler);
  CHECK(content_of(assembler.file) == content);
  for (std::size_t at = 0; at < content.size(); ++at) {
    std::string broken = content;
    broken[at] = static_cast<char>(broken[at] ^ 1);
    std::ofstream(assembler.file, std::ios::binary) << broken;
    CHECK_THROWS_AS(Verdicts(assembler.file, "version 1"), std::runtime_error);
  }
  std::ofstream(assembler.file, std::ios::binary) << content.substr(0, content.size() - 1);
  CHECK_THROWS_AS(Verdicts(assembler.file, "version 1"), std::runtime_error);
  CHECK(Verdicts(assembler.folder / "absent", "version 1").lines() == 0);
}

TEST_CASE("a file of verdicts has those of several assemblers, and each serves its own alone") {
  const Assembler assembler;
  const auto version = [](const std::string& number) {
    return "ptxas: NVIDIA (R) Ptx optimizing assembler\nCuda compilation tools, release 13.0, V" + number +
           "\n";
  };
  const auto learn_as = [&](const std::string& name, const std::string& refused) {
    assembler.refuse(refused);
    VerdictsWriter writer(name);
    writer.keep_others(Verdicts(assembler.file, name));
    Judge(assembler.program, {.learned = &writer}).judge(kLines, kPlace);
    writer.write(assembler.file);
  };
  learn_as(version("13.0.88"), "two");
  learn_as(version("13.5.37"), "three");
  const auto known_to = [&](const std::string& name) {
    const Verdicts known(assembler.file, name);
    return accepted(Judge(assembler.program, {.known = &known, .proven = kNever}).judge(kLines, kPlace));
  };
  const std::size_t before = assembler.times_run();
  CHECK(known_to(version("13.0.88")) == std::vector{true, false, true});
  CHECK(known_to(version("13.5.37")) == std::vector{true, true, false});
  CHECK(assembler.times_run() == before);
  CHECK(Verdicts(assembler.file, version("13.5.37")).lines() == kLines.size());

  const Verdicts other(assembler.file, version("13.5.99"));  // another build: nothing is known of it
  CHECK_FALSE(other.has_assembler());
  CHECK(other.lines() == 0);
  learn_as(version("13.5.37"), "one");  // learned again, it replaces its own verdicts alone
  CHECK(known_to(version("13.0.88")) == std::vector{true, false, true});
  CHECK(known_to(version("13.5.37")) == std::vector{false, true, true});
}

TEST_CASE("learning goes on from what is known, and forgets what is asked no more") {
  const Assembler assembler;
  const std::string name = "release 13.0, V13.0.88";
  assembler.refuse("two");
  VerdictsWriter first(name);
  Judge(assembler.program, {.learned = &first}).judge(kLines, kPlace);
  first.write(assembler.file);

  const std::size_t before = assembler.times_run();
  const std::vector<std::string> fewer(kLines.begin(), kLines.begin() + 2);
  {
    const Verdicts known(assembler.file, name);
    VerdictsWriter again(name);
    again.keep_others(known);
    Judge(assembler.program, {.known = &known, .learned = &again, .proven = kNever}).judge(fewer, kPlace);
    again.write(assembler.file);
  }
  CHECK(assembler.times_run() == before);
  const Verdicts known(assembler.file, name);
  CHECK(known.lines() == fewer.size());
  const auto now = Judge(assembler.program, {.known = &known, .proven = kNever}).judge(fewer, kPlace);
  CHECK(accepted(now) == std::vector{true, false});
  CHECK(assembler.times_run() == before);
}

TEST_CASE("an assembler says its release, also one that nobody knows yet") {
  CHECK(release_of("Cuda compilation tools, release 13.5, V13.5.37\nBuild x\n") == Version{13, 5});
  CHECK(release_of("Cuda compilation tools, release 99.0, V99.0.1\n") == Version{99, 0});
  CHECK_FALSE(release_of("no ptxas at all"));
  CHECK(name_of_assembler("release 13.5, V13.5.37\nBuild x\n") == "V13.5.37");
}

TEST_CASE("a list of words names the assemblers that take them, and blessing keeps those of others") {
  const TemporaryFolder folder;
  const auto file = folder / "words.txt";
  std::ofstream(file) << "# Assemblers: 13.0\nadd: a b\nsub:\nadd 13.0-13.1: c\n";
  const Version v13{13, 0}, v131{13, 1}, v135{13, 5};
  CHECK(ForeignWords::read(file, v13).of("add") == std::set<std::string>{"a", "b", "c"});
  CHECK(ForeignWords::read(file, Version{12, 0}).of("add").size() == 3);  // as the next that wrote the list
  CHECK(ForeignWords::read(file, v135).of("add").size() == 3);            // as the last
  CHECK(ForeignWords::read(file).of("add").size() == 3);
  CHECK(ForeignWords::read(file, v13).contains("mul", "anything"));  // a form without an entry
  CHECK_FALSE(ForeignWords::read(file, v13).contains("sub", "anything"));

  ForeignWords found;
  found.set("add", {"a", "d"});
  found.set("sub", {});
  found.bless(file, v135);
  CHECK(ForeignWords::read(file, v13).of("add") == std::set<std::string>{"a", "b", "c"});
  // Never blessed: it may take what those before and after it take.
  CHECK(ForeignWords::read(file, v131).of("add") == std::set<std::string>{"a", "b", "c", "d"});
  CHECK(ForeignWords::read(file, Version{13, 6}).of("add") == std::set<std::string>{"a", "d"});
  CHECK(ForeignWords::read(file, v135).of("add") == std::set<std::string>{"a", "d"});
  CHECK_FALSE(ForeignWords::read(file, v135).contains("sub", "anything"));
}

TEST_CASE("what the oracle leaves unjudged has limits, for a sample and for a tenth") {
  const TemporaryFolder folder;
  std::ofstream(folder / "limits.txt")
      << "# comment\ncrashes 10 2\nexpansions 0 0\nforeign 5 5\nstricter 0 0\n"
         "barren 0 0\n";
  Outcome outcome;
  outcome.unjudged = 10;
  const auto whole = beyond_limits(outcome, folder / "limits.txt", false);
  REQUIRE(whole.size() == 1);  // no limit of `unproven`
  CHECK(whole[0].find("unproven") != std::string::npos);
  CHECK(beyond_limits(outcome, folder / "limits.txt", true).size() == 2);
  outcome.unjudged = 11;
  CHECK(beyond_limits(outcome, folder / "limits.txt", false).size() == 2);
  std::ofstream(folder / "limits.txt", std::ios::app) << "crashes/13.5 11 2\n";
  CHECK(beyond_limits(outcome, folder / "limits.txt", false, Version{13, 5}).size() == 1);
  CHECK(beyond_limits(outcome, folder / "limits.txt", false, Version{13, 4}).size() == 2);
}

}  // namespace ptxloom::oracle
