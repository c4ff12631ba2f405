// SPDX-License-Identifier: Apache-2.0
// Checking PTX. Claims: at least 20,000 lines a second by `check --jsonl`, legal or not, which takes all
// cores; parse and check of a large file at least 20 times as fast as ptxas -O0, both in CPU time, which a
// busy machine does not change; the specs are there in less than 1 ms.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <span>

#include "bench.hpp"
#include "ptxloom/check.hpp"

namespace {

using namespace ptxloom;

struct Line {
  std::string ptx, decls;
  std::string_view target;
};

/// A line of every hundredth or so variant of the specs, with registers of the right size.
std::vector<Line> lines_of(const Specs& specs, std::mt19937& random) {
  std::vector<Line> lines;
  for (const std::string_view form : specs.forms()) {
    std::vector<Variant> variants = specs.variants(form);
    std::shuffle(variants.begin(), variants.end(), random);
    variants.resize(std::min<std::size_t>(variants.size(), 40));
    for (const Variant variant : variants) {
      Line line{.ptx = std::string(variant.opcode()) + " ", .decls = "", .target = ""};
      for (const TargetInfo& target : targets())
        if (variant.since(Target(target))) line.target = target.name;
      bool plain = !line.target.empty();
      for (const OperandPiece& piece : variant.pieces()) {
        line.ptx += piece.text;
        if (piece.operand < 0) continue;
        const OperandSpec& place = variant.operands()[static_cast<std::size_t>(piece.operand)];
        plain = plain && place.kind != OperandSpec::Kind::symbol && place.kind != OperandSpec::Kind::label &&
                place.registers_allowed && !place.space.starts_with("param");
        const bool address = place.kind == OperandSpec::Kind::address;
        const std::string type =
            place.type == pred ? "pred" : "b" + std::to_string(std::max(8, place.type.bytes() * 8));
        const std::string name = "r" + std::to_string(piece.operand);
        line.decls += ".reg ." + (address ? "b64" : type) + " " + name + ";";
        if (place.count == 0) line.ptx += name;
        for (int i = 0; i < place.count; ++i) line.ptx += (i == 0 ? "{" : ", ") + name;
        if (place.count > 0) line.ptx += "}";
      }
      line.ptx += ";";
      if (plain) lines.push_back(std::move(line));
    }
  }
  std::shuffle(lines.begin(), lines.end(), random);
  return lines;
}

/// The same with one word of the opcode exchanged for one of another line's.
std::vector<Line> illegal(std::vector<Line> lines, std::mt19937& random) {
  const auto words_end = [](const std::string& text) { return std::min(text.find(' '), text.size()); };
  for (Line& line : lines) {
    const std::string& other = lines[random() % lines.size()].ptx;
    const std::size_t from = other.rfind('.', words_end(other)),
                      at = line.ptx.rfind('.', words_end(line.ptx));
    if (from == other.npos || at == line.ptx.npos) continue;
    line.ptx.replace(at, words_end(line.ptx) - at, other.substr(from, words_end(other) - from) + "x");
  }
  return lines;
}

/// Of the programs that ran and ended.
double cpu_seconds_of_children() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Lines a second by `ptxloom check --jsonl FILE`, start included.
struct Rate {
  double all = 0;       // by the clock
  double one_core = 0;  // of CPU time
};

Rate rate(const std::filesystem::path& tool, const std::vector<Line>& lines, int times) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / fmt::format("check_bench.{}", ::getpid());
  std::ofstream out(file);
  for (int i = 0; i < times; ++i)
    for (const Line& line : lines)
      out << fmt::format(R"({{"id":{},"ptx":"{}","decls":"{}","target":"{}"}})", i, line.ptx, line.decls,
                         line.target)
          << "\n";
  out.close();
  const std::string command =
      fmt::format("'{}' check --jsonl '{}' > /dev/null", tool.string(), file.string());
  const double before = cpu_seconds_of_children();
  int status = 0;
  const double ms = bench::milliseconds_of([&] { status = std::system(command.c_str()); });
  std::filesystem::remove(file);
  if (status != 0 && status != 256) fmt::print(stderr, "{} failed\n", command);
  const double count = static_cast<double>(lines.size()) * times;
  return {.all = 1000 * count / ms, .one_core = count / (cpu_seconds_of_children() - before)};
}

/// A module of about so many bytes: the largest gemm, again and again.
std::string large_module(const std::shared_ptr<const Specs>& specs, std::size_t bytes) {
  const Target target("sm_80");
  const auto most = bench::largest(specs, target, {{"m", "4096"}, {"n", "4096"}, {"k", "4096"}});
  ir::Module module = gemm_template().emit(specs, target, most.problem, most.config).module;
  const std::size_t one = print(module).size();
  const ir::Function first = module.functions.at(0);
  for (std::size_t i = 1; i * one < bytes; ++i) {
    module.functions.push_back(first);
    module.functions.back().name += std::to_string(i);
  }
  return print(module);
}

void compare_with_ptxas(const std::shared_ptr<const Specs>& specs) {
  const std::string ptx = large_module(specs, 5'000'000);
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / fmt::format("large.{}.ptx", ::getpid());
  std::ofstream(file) << ptx;
  std::size_t found = 0;
  double ours = 1e9;
  for (int i = 0; i < 3; ++i)
    ours = std::min(ours, bench::cpu_milliseconds_of([&] {
                      const ParseResult read = parse(ptx, specs);
                      found = read.diagnostics.size() + check(read.module).size();
                    }));
  fmt::print("parse and check of {:.1f} MB: {:.0f} ms, {:.0f} MB/s, {} diagnostics\n",
             static_cast<double>(ptx.size()) / 1e6, ours, static_cast<double>(ptx.size()) / 1e3 / ours,
             found);
  const double before = cpu_seconds_of_children();
  const int status =
      std::system(fmt::format("ptxas -O0 -arch=sm_80 '{}' -o /dev/null", file.string()).c_str());
  const double ptxas = 1000 * (cpu_seconds_of_children() - before);
  std::filesystem::remove(file);
  if (status == 0) fmt::print("ptxas -O0: {:.0f} ms; of the ratio 20 claimed: {:.1f}\n", ptxas, ptxas / ours);
}

}  // namespace

int main(int, char** argv) {
  const std::filesystem::path tool =
      std::filesystem::absolute(argv[0]).parent_path().parent_path().parent_path() / "ptxloom";
  std::vector<double> starts;
  for (int i = 0; i < 21; ++i) starts.push_back(bench::milliseconds_of([] { const Specs specs; }));
  fmt::print("specs: {:.3f} ms; of the 1 ms claimed: {:.2f}\n", bench::median(starts), bench::median(starts));
  const auto specs = std::make_shared<const Specs>();
  std::mt19937 random(1);
  const std::vector<Line> legal = lines_of(*specs, random);
  for (const auto& [what, rate] : {std::pair("legal", rate(tool, legal, 20)),
                                   std::pair("illegal", rate(tool, illegal(legal, random), 4))})
    fmt::print("check --jsonl, {}: {:.0f} lines/s, {:.0f} of CPU time; of the 20000 claimed: {:.2f}\n", what,
               rate.all, rate.one_core, rate.all / 20000);
  compare_with_ptxas(specs);
}
