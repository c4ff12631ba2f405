// SPDX-License-Identifier: Apache-2.0
// Which operands an instruction takes is ptxas's to say. Variants drawn at random from all forms get operands
// that should fit, and one that may not: another type, width, length, space, kind or range. Our verdict must
// be that of ptxas, line by line. PTXLOOM_MUTANTS=100000 draws more, PTXLOOM_FORM=mma draws from some forms,
// PTXLOOM_SEED repeats a run.
#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <iostream>
#include <map>
#include <random>

#include "ptxloom/check.hpp"
#include "ptxloom/ptx.hpp"
#include "spec/cell.hpp"
#include "spec/database.hpp"
#include "support/ptxas.hpp"
#include "support/require.hpp"

namespace ptxloom::operand_mutation_test {
namespace {

using Words = std::vector<std::string>;

const Words kTypes{"b8", "b16", "b32", "b64", "b128", "u8",  "u16", "u32", "u64",
                   "s8", "s16", "s32", "s64", "f16",  "f32", "f64", "pred"};
constexpr int kRegisters = 10;  // of each type
const Words kLiterals{"0",
                      "1",
                      "-1",
                      "7",
                      "70000",
                      "0x10",
                      "1U",
                      "0xFFFFFFFF",
                      "1.0",
                      "-2.5e3",
                      "WARP_SZ",
                      "(1+2)*4",
                      "0f3F800000",
                      "4294967296",
                      "0b101",
                      "017",
                      "0d3FF0000000000000",
                      "-0x80000000"};
const Words kVariables{"q_global", "q_const", "q_shared", "q_local", "q_param"};
const Words kOffsets{"", "+4", "+16", "+-16", "-4", "+1", "+(2*8)"};
const Words kSpecials{"%tid.x", "%tid", "%laneid", "%clock64", "%ctaid.y", "%lanemask_eq"};

/// What lines of one batch share.
struct Batch {
  std::string target, module_decls, body_decls;
  auto operator<=>(const Batch&) const = default;

  std::string header() const {
    std::string text = ".version 9.0\n.target " + target + "\n.address_size 64\n" + module_decls +
                       "\n.global .align 16 .b32 q_global[64];\n.const .align 16 .b32 q_const[64];\n"
                       ".visible .entry k(.param .b64 kp, .param .align 16 .b8 q_param[64])\n{\n" +
                       body_decls +
                       "\n.shared .align 16 .b64 q_shared[8];\n.local .align 16 .b64 q_local[8];\n";
    for (const std::string& type : kTypes)
      text += ".reg ." + type + " q" + type + "_<" + std::to_string(kRegisters) + ">;\n";
    return text;
  }
};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }
  bool one_in(std::size_t n) { return below(n) == 0; }
  template <class Items>
  const auto& one_of(const Items& items) {
    return items[below(std::size(items))];
  }

  /// A line of the variant, most of its operands fitting.
  std::string line(Variant variant) {
    const std::size_t count = variant.operands().size();
    const std::size_t strange = count == 0 || one_in(3) ? count : below(count);
    const std::size_t dropped = count > 0 && one_in(40) ? below(count) : count;
    std::string text(variant.opcode()), operands;
    for (const OperandPiece& piece : variant.pieces()) {
      const auto i = static_cast<std::size_t>(piece.operand);
      if (piece.operand >= 0 && i == dropped) continue;
      operands += piece.text;
      if (piece.operand < 0) continue;
      const OperandSpec& place = variant.operands()[i];
      operands += i == strange ? anything(place) : fitting(place);
    }
    if (one_in(50)) operands += ", " + (one_in(2) ? register_of(one_of(kTypes)) : one_of(kLiterals));
    if (operands.starts_with(",")) operands.erase(0, 1);
    return text + (operands.empty() ? "" : " ") + operands + ";";
  }

 private:
  std::string register_of(const std::string& type) {
    return "q" + type + "_" + std::to_string(below(kRegisters));
  }

  std::string register_like(const Type& type) {
    Words names;  // of its size, bits first
    for (const std::string& name : kTypes) {
      const int bits = name == "pred" ? 1 : std::stoi(name.substr(1));
      const bool same_kind = (name == "pred") == (type.kind == TypeKind::predicate);
      if (same_kind && bits == std::max<int>(type.bits, name == "pred" ? 1 : 8)) names.push_back(name);
    }
    if (one_in(2) && type.kind != TypeKind::predicate) return register_of(names.front());  // .b takes all
    return register_of(one_of(names));
  }

  std::string immediate(const OperandSpec& place) {
    if (!place.choices.empty()) return std::to_string(one_of(place.choices));
    if (!place.range) return std::to_string(below(5));
    const auto [first, last] = *place.range;
    const auto steps = static_cast<std::size_t>(std::min<std::int64_t>((last - first) / place.step, 1000));
    return std::to_string(first + place.step * static_cast<std::int64_t>(below(steps + 1)));
  }

  std::string scalar(const OperandSpec& place) {
    if (!place.registers_allowed) return place.literal_allowed ? immediate(place) : "_";
    if (place.literal_allowed && one_in(4)) return place.range ? immediate(place) : one_of(kLiterals);
    if (place.sink_allowed && one_in(8)) return "_";
    return register_like(place.type);
  }

  std::string fitting(const OperandSpec& place) {
    switch (place.kind) {
      case OperandSpec::Kind::address:
        return address(place);
      case OperandSpec::Kind::symbol: {
        const std::vector<std::string_view> names = spec::split(place.text, '|');
        return std::string(one_of(names));
      }
      case OperandSpec::Kind::label:
        return "L0";
      case OperandSpec::Kind::literal:
        return place.text;
      case OperandSpec::Kind::value:
        break;
    }
    if (place.count == 0) return scalar(place);
    std::string text = "{";
    const std::string like = register_like(place.type);
    for (int i = 0; i < place.count; ++i) text += (i == 0 ? "" : ", ") + (one_in(9) ? scalar(place) : like);
    return text + "}";
  }

  std::string address(const OperandSpec& place) {
    if (place.space.starts_with("param")) return "q_param" + (one_in(3) ? std::string("+8") : "");
    if (place.space.starts_with("shared") && one_in(3)) return "q_shared";
    if ((place.space.empty() || place.space == "global") && one_in(3)) return "q_global+16";
    if (place.space == "tmem") return register_of("b32");
    return register_of(one_of(Words{"b64", "u64", "s64"})) + (one_in(3) ? "+16" : "");
  }

  /// A register that is no base of 32 bits or less.
  std::string base() {
    return register_of(one_of(Words{"b64", "u64", "s64", "b128", "f64", "f32", "f16", "pred"}));
  }

  std::string anything(const OperandSpec& place) {
    if (place.kind == OperandSpec::Kind::address)
      return one_in(8)   ? std::to_string(below(64))
             : one_in(2) ? base() + one_of(kOffsets)
                         : one_of(kVariables) + one_of(kOffsets);
    if (place.kind == OperandSpec::Kind::value && place.literal_allowed && one_in(3))
      return out_of_range(place);
    if (place.count > 0 && !one_in(5)) return vector(place);
    switch (below(12)) {
      case 0:
      case 1:
      case 2:
        return register_of(one_of(kTypes));
      case 3:
      case 4:
        return one_of(kLiterals);
      case 5:
        return "!" + register_of(one_in(3) ? one_of(kTypes) : "pred");
      case 6:
        return "_";
      case 7:
        return place.type.name.starts_with("bf16") ? "_" : vector(place);
      case 8:
        return one_of(kVariables) + (one_in(3) ? one_of(kOffsets) : "");
      case 9:
        return one_of(kSpecials);
      case 10:
        return register_like(place.type) + "|" + register_like(place.type);
      default:
        return one_in(2) ? "[" + register_of("b64") + "]" : std::to_string(below(1 << 20));
    }
  }

  std::string out_of_range(const OperandSpec& place) {
    if (place.range && one_in(2))
      return std::to_string(one_in(2) ? place.range->first - 1
                                      : std::min(place.range->second, std::int64_t{1} << 40) + 1);
    if (!place.choices.empty() && one_in(2)) return std::to_string(place.choices.back() + 1);
    return std::to_string(static_cast<std::int64_t>(below(300)) - 20);
  }

  std::string vector(const OperandSpec& place) {
    std::size_t count = place.count > 0 && !one_in(3) ? static_cast<std::size_t>(place.count) : 1 + below(9);
    const std::string like = one_in(2) ? one_of(kTypes) : "";
    std::string text = "{";
    for (std::size_t i = 0; i < count; ++i) {
      std::string element = like.empty() ? register_like(place.type) : register_of(like);
      if (one_in(6))
        element = one_in(3)   ? "_"
                  : one_in(3) ? one_of(kLiterals)
                              : register_of(like.empty() ? "f32" : one_of(kTypes));
      if (element.starts_with("qpred") && place.type.kind != TypeKind::predicate) element = "qf32_1";
      text += (i == 0 ? "" : ", ") + element;
    }
    return text + "}";
  }

  std::mt19937_64 random_;
};

constexpr std::size_t kShown = 500;  // disagreements

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::stoull(text);
}

std::string target_for(Variant variant, Generator& generator) {
  Words all;
  for (const TargetInfo& info : targets())
    if (variant.allowed(Target(info), ptx_versions().back())) all.emplace_back(info.name);
  return all.empty() ? "" : generator.one_of(all);
}

using Batches = std::map<Batch, std::vector<std::string>>;

Batches draw(const Specs& specs, Generator& generator, std::size_t count) {
  std::vector<const spec::FormData*> forms;
  const char* const only = std::getenv("PTXLOOM_FORM");
  for (const spec::FormData* form : specs.database().forms())
    if (only == nullptr || form->name.find(only) != form->name.npos) forms.push_back(form);
  Batches batches;
  for (std::size_t i = 0; i < count; ++i) {
    const spec::FormData& form = *generator.one_of(forms);
    if (!form.mode.empty() && !form.mode.starts_with('!')) continue;
    static std::map<std::string_view, std::vector<Variant>> variants;
    auto& all = variants[form.name];
    if (all.empty()) all = specs.variants(form.name);
    const Variant variant = generator.one_of(all);
    const std::string target = target_for(variant, generator);
    if (target.empty()) continue;
    const auto own = [](std::string_view mine, std::string_view shared) {
      return std::string(mine.empty() ? shared : mine);
    };
    batches[{target, own(form.module_decls, form.file->module_decls),
             own(form.body_decls, form.file->body_decls)}]
        .push_back(generator.line(variant));
  }
  return batches;
}

/// Lines of one batch that we refuse: each is checked alone in the batch's module.
std::set<std::size_t> refused_by_us(const std::shared_ptr<const Specs>& specs, const Batch& batch,
                                    const Words& lines) {
  const std::string header = batch.header();
  const auto first = static_cast<std::size_t>(std::count(header.begin(), header.end(), '\n')) + 1;
  constexpr std::size_t kAtOnce = 100;  // fewer than the reader stops at
  std::set<std::size_t> refused;
  for (std::size_t begin = 0; begin < lines.size(); begin += kAtOnce) {
    std::string text = header;
    for (std::size_t i = begin; i < std::min(begin + kAtOnce, lines.size()); ++i) text += lines[i] + "\n";
    ParseResult read = parse(text + "L0: ret;\n}\n", specs);
    std::vector<Diagnostic> found = check(read.module);
    found.insert(found.end(), read.diagnostics.begin(), read.diagnostics.end());
    for (const Diagnostic& diagnostic : found) {
      if (diagnostic.severity != Severity::error) continue;
      const auto line = static_cast<std::size_t>(diagnostic.line);
      INFO(to_string(diagnostic));
      REQUIRE(line >= first);  // the batch's own declarations are legal
      refused.insert(begin + line - first);
    }
  }
  return refused;
}

}  // namespace

TEST_CASE("operands of random variants, mutated at random, get the verdict of ptxas", "[.mutants][oracle]") {
  const std::optional<std::string> path = find_cuda_tool("ptxas");
  if (!path) test::skip_without("ptxas", "ptxas is not installed");
  const std::uint64_t seed = from_environment("PTXLOOM_SEED", std::random_device{}());
  INFO("seed " << seed);
  Generator generator(seed);
  const auto specs = std::make_shared<const Specs>();
  const Ptxas ptxas(*path);
  std::size_t accepted = 0, refused = 0, wrong = 0;
  for (const auto& [batch, lines] : draw(*specs, generator, from_environment("PTXLOOM_MUTANTS", 3000))) {
    const std::set<std::size_t> ours = refused_by_us(specs, batch, lines);
    const std::set<std::size_t> theirs =
        ptxas.refused(batch.header(), lines, "L0: ret;\n}\n", "compute_" + batch.target.substr(3));
    for (std::size_t i = 0; i < lines.size(); ++i) {
      (theirs.contains(i) ? refused : accepted) += 1;
      if (ours.contains(i) == theirs.contains(i)) continue;
      if (++wrong <= kShown)
        std::cout << "  " << batch.target << (theirs.contains(i) ? ": ptxas refuses " : ": ptxas takes ")
                  << lines[i] << '\n';
    }
  }
  std::cout << "seed " << seed << ": " << accepted + refused << " lines, ptxas takes " << accepted
            << ", refuses " << refused << "; disagreements: " << wrong << "\n";
  CHECK(wrong == 0);
  CHECK(accepted > refused / 9);
  CHECK(refused > accepted / 9);
}

}  // namespace ptxloom::operand_mutation_test
