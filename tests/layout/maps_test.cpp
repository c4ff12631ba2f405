// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <set>
#include <string>
#include <tuple>

#include "layout/maker.hpp"
#include "layout/manual.hpp"
#include "spec/fragment_lint.hpp"
#include "support/errors.hpp"
#include "support/specs.hpp"
#include "support/temporary_folder.hpp"

// Every map of every form, against what the manual says, and what becomes of it when a digit changes.
namespace ptxloom {
namespace {

struct Mapped {
  Variant variant;
  const OperandSpec* operand;
  Variant::FragmentMap map;
};

std::string text_of(const Variant::FragmentMap& map) {
  return map.type + " | " + map.warp + " | " + map.lane + " | " + map.val + " | " + map.bits + " | " +
         map.block;
}

std::optional<ManualFragment> manual_of(const Mapped& mapped, const Selection& selection = {}) {
  return manual_fragment(mapped.variant, mapped.operand->name, selection);
}

/// The maps of all variants of all forms; of those that agree in map, operand and what the manual says of the
/// operand, the first.
const std::vector<Mapped>& all_maps() {
  static const std::vector<Mapped> all = [] {
    std::vector<Mapped> maps;
    std::set<std::tuple<std::string_view, std::string, std::string, std::string>> seen;
    for (std::string_view form : specs().forms()) {
      for (const Variant& v : specs().variants(form)) {
        if (v.undocumented()) continue;  // the manual says nothing of it
        for (const OperandSpec& operand : v.operands()) {
          if (operand.kind == OperandSpec::Kind::address || !has_layout(v, operand.name)) continue;
          Mapped mapped{v, &operand, v.fragment(operand.name)};
          const auto manual = manual_of(mapped);
          std::string says = "nothing";
          if (manual) {
            says = manual->type + std::to_string(manual->shift) + ' ' + std::to_string(manual->block) + ' ';
            for (const LayoutElement& e : manual_elements(*manual, operand))
              if (e.lane % 5 == 3) says += std::to_string(e.row * 1024 + e.col) + ' ';
          }
          if (seen.emplace(form, operand.name + operand.describe(), text_of(mapped.map), says).second)
            maps.push_back(std::move(mapped));
        }
      }
    }
    return maps;
  }();
  return all;
}

/// The first difference between a map and the manual; empty if they agree for this selection.
std::string difference(const Mapped& mapped, const Selection& selection) {
  const auto manual = manual_of(mapped, selection);
  if (!manual) return "the manual has no such fragment";
  std::vector<LayoutSelector> selectors;
  for (const auto& [operand, value] : selection) selectors.push_back({operand, value});
  const Layout made = LayoutMaker(mapped.variant, *mapped.operand, mapped.map, selectors).make();
  if (made.type.name != manual->type) return "type " + std::string(made.type.name) + ", not " + manual->type;
  if (made.block != manual->block) return "block " + std::to_string(made.block);
  if (made.lanes != manual->lanes) return std::to_string(made.lanes) + " lanes";
  if (made.rows > 1 && made.row_axis != manual->axes[0]) return std::string("rows count ") + made.row_axis;
  if (made.cols > 1 && made.col_axis != manual->axes[1]) return std::string("columns count ") + made.col_axis;
  const auto expected = manual_elements(*manual, *mapped.operand);
  if (made.elements().size() != expected.size())
    return std::to_string(made.elements().size()) + " elements, not " + std::to_string(expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (made.elements()[i] == expected[i]) continue;
    return "element " + std::to_string(i) + " of lane " + std::to_string(expected[i].lane);
  }
  return "";
}

bool refused_or_different(const Mapped& mapped, const Selection& selection) {
  try {
    return !difference(mapped, selection).empty();
  } catch (const Error&) {
    return true;  // a value of a selector that selects nothing any more
  }
}

/// Every choice of values for the operands that the map depends on.
std::vector<Selection> selections_of(const Mapped& mapped) {
  std::vector<Selection> all(1);
  for (const spec::Digit& digit : spec::parse_fragment(mapped.map, {}).selectors()) {
    std::vector<Selection> longer;
    for (const Selection& selection : all) {
      for (int value = 0; value < digit.radix; ++value) {
        longer.push_back(selection);
        longer.back()[digit.selector] = value * digit.stride;
      }
    }
    all = std::move(longer);
  }
  return all;
}

TEST_CASE("every map of every form is as the manual has it, for every value of its selectors") {
  std::size_t compared = 0;
  for (const Mapped& mapped : all_maps()) {
    INFO(mapped.variant.opcode() << " " << mapped.operand->name << ": " << text_of(mapped.map));
    for (const Selection& selection : selections_of(mapped)) {
      for (const auto& [operand, value] : selection) UNSCOPED_INFO(operand << " = " << value);
      CHECK(difference(mapped, selection) == "");
      ++compared;
    }
    if (const auto manual = manual_of(mapped)) {
      std::set<std::string> selectors(manual->selectors.begin(), manual->selectors.end()), mine;
      for (const spec::Digit& digit : spec::parse_fragment(mapped.map, {}).selectors())
        mine.insert(digit.selector);
      CHECK(mine == selectors);
    }
  }
  WARN("fragment maps: " << all_maps().size() << ", with selectors " << compared);
  CHECK(all_maps().size() > 50);
}

TEST_CASE("every map is one to one, has no gaps, and is as large as its operand", "[slow]") {
  for (const Mapped& mapped : all_maps()) {
    INFO(mapped.variant.opcode() << " " << mapped.operand->name << ": " << text_of(mapped.map));
    CHECK(spec::fragment_fault(mapped.variant, *mapped.operand, mapped.map) == "");
    // The same by hand, for the lint is no judge of itself.
    const Layout made = layout(mapped.variant, mapped.operand->name);
    std::set<std::tuple<int, int, int>> places, bits;
    bool inside = true, found = true;
    for (const LayoutElement& e : made.elements()) {
      places.emplace(e.matrix, e.row, e.col);
      bits.emplace(e.lane, e.reg, e.bit);
      inside = inside && e.bit + made.bits <= made.register_bits && e.reg < made.registers;
      found = found && made.find(e.row, e.col, e.matrix) == e;
    }
    CHECK(inside);
    CHECK(found);
    CHECK(places.size() == made.elements().size());
    CHECK(bits.size() == made.elements().size());
    CHECK(made.elements().size() == static_cast<std::size_t>(made.rows * made.cols * made.matrices));
  }
}

/// Maps with one thing changed: a digit's radix, axis, stride, selector or place, the padding, the type.
std::vector<Variant::FragmentMap> mutants_of(const Variant::FragmentMap& map) {
  std::vector<Variant::FragmentMap> mutants;
  const auto with = [&](auto&& change) {
    mutants.push_back(map);
    change(mutants.back());
  };
  for (auto part : {&Variant::FragmentMap::warp, &Variant::FragmentMap::lane, &Variant::FragmentMap::val}) {
    const std::vector<spec::Digit> digits = spec::parse_digits(map.*part, {});
    const auto write = [&](std::vector<spec::Digit> changed) {
      std::string text;
      for (const spec::Digit& d : changed) {
        text += std::to_string(d.radix) + '*';
        text += d.axis == '\0' ? "=" + d.selector + "/" : std::string(1, d.axis);
        text += std::to_string(d.stride) + ' ';
      }
      with([&](Variant::FragmentMap& mutant) { mutant.*part = text; });
    };
    for (std::size_t i = 0; i < digits.size(); ++i) {
      const auto changed = [&](auto&& change) {
        std::vector<spec::Digit> copy = digits;
        change(copy);
        write(copy);
      };
      if (digits[i].radix == 1) continue;  // a selector that allows one value
      changed([&](auto& d) { d[i].radix *= 2; });
      changed([&](auto& d) { d[i].radix /= 2; });
      changed([&](auto& d) { d[i].stride *= 2; });
      changed([&](auto& d) { d[i].stride += 1; });
      if (digits[i].stride > 1) changed([&](auto& d) { d[i].stride /= 2; });
      changed([&](auto& d) { d.erase(d.begin() + static_cast<std::ptrdiff_t>(i)); });
      if (i + 1 < digits.size() && digits[i + 1].radix > 1)
        changed([&](auto& d) { std::swap(d[i], d[i + 1]); });
      for (char axis : spec::kAxes) {
        if (axis != digits[i].axis) changed([&](auto& d) { d[i].axis = axis; });
      }
      changed([&](auto& d) { d[i].axis = '\0', d[i].selector = "NOPE"; });
    }
  }
  with([](Variant::FragmentMap& m) { std::swap(m.lane, m.val); });
  with([](Variant::FragmentMap& m) { m.warp += m.warp.empty() ? "4*m16" : " 2*m64"; });
  with([](Variant::FragmentMap& m) { m.type = m.type == "b16" ? "s4" : "b16"; });
  with([](Variant::FragmentMap& m) { m.type = ""; });
  with([](Variant::FragmentMap& m) { m.block = m.block.empty() ? "16" : ""; });
  with([](Variant::FragmentMap& m) { m.bits = m.bits.empty() ? "8+1" : "4"; });
  return mutants;
}

TEST_CASE("a map with one thing changed is noticed, by the lint or by the manual", "[slow]") {
  std::size_t all = 0, by_lint = 0, by_manual = 0;
  std::set<std::string> seen;
  for (const Mapped& mapped : all_maps()) {
    if (layout(mapped.variant, mapped.operand->name).elements().size() > 1024)
      continue;  // wgmma's D, in part
    if (!seen.insert(mapped.operand->describe() + text_of(mapped.map)).second) continue;
    for (const Variant::FragmentMap& mutant : mutants_of(mapped.map)) {
      ++all;
      if (!spec::fragment_fault(mapped.variant, *mapped.operand, mutant).empty()) {
        ++by_lint;
        continue;
      }
      INFO(mapped.variant.opcode() << " " << mapped.operand->name << ": " << text_of(mutant));
      CHECK(std::ranges::any_of(selections_of(mapped), [&](const Selection& selection) {
        return refused_or_different({mapped.variant, mapped.operand, mutant}, selection);
      }));
      ++by_manual;
    }
  }
  WARN("mutants: " << all << ", noticed by the lint " << by_lint << ", only by the manual " << by_manual);
  CHECK(by_lint > all / 2);
}

TEST_CASE("an overlay with a wrong map is refused, and told why") {
  const auto refused = [](const std::string& map) {
    const TemporaryFolder folder;
    std::ofstream(folder / "mine.json") <<
        R"({"forms": [{"form": "mine", "family": "mine", "doc": "Of mine.", "text": "mine.b32 D, S;",
                   "ops": {"D": "out b32[2]", "S": "imm 0..1"}, "need": "sm_80:7.0", "frags": {"D": )" +
            map + "}}]}";
    const std::filesystem::path folders[] = {folder.path()};
    try {
      const Specs mine(folders);
    } catch (const Error& error) {
      CHECK(error.diagnostics().front().code == "spec-fragment");
      return error.diagnostics().front().message;
    }
    return std::string("taken");
  };
  const auto says = [&](const std::string& map, std::string_view part) {
    const std::string message = refused(map);
    INFO(map << ": " << message);
    CHECK(message.find(part) != std::string::npos);
  };
  CHECK(refused(R"({"type": "f16", "lane": "4*n2 8*m1", "val": "2*n1 2*m8"})") == "taken");
  CHECK(refused(R"({"type": "f16", "lane": "2*=S 2*n2 8*m1", "val": "2*n1 2*m8"})") == "taken");
  CHECK(refused(R"({"type": "e2m1", "lane": "4*n4 8*m1", "val": "4*n1 2*m8", "bits": "8+2"})") == "taken");
  says(R"({"type": "f16", "lane": "4*n2 4*m1", "val": "2*n1 2*m8"})", "32 lanes");
  says(R"({"type": "f16", "lane": "4*n2 8*m1", "val": "2*n1"})", "does not fit");
  says(R"({"type": "f16", "lane": "4*n2 8*m1", "val": "2*n1 2*m4"})", "already held elsewhere");
  says(R"({"type": "f16", "lane": "4*n2 8*m1", "val": "2*n1 2*m16"})", "gaps");
  says(R"({"type": "f16", "warp": "2*n8", "lane": "4*n2 8*m1", "val": "2*n1 2*m8"})", "4 warps");
  says(R"({"type": "f16", "lane": "4*n2 8*m1", "val": "4096*n1 4096*n1 4096*n1"})", "bits");
  says(R"({"type": "f16", "lane": "4*n4096 8*m4096", "val": "2*n4096 2*m4096"})", "gaps");
  says(R"({"type": "f16", "lane": "4*n2 8*m1", "val": "2*n1 2*m8"}, "S": {"type": "b32", "lane": "32*m1"})",
       "not a register");
  says(R"({"type": "f16", "lane": "4*n2 8*m1", "val": "2*n1 2*k1"})", "two of the axes");
  says(R"({"type": "f17", "lane": "4*n2 8*m1", "val": "2*n1 2*m8"})", "type");
  says(R"({"type": "e2m1", "lane": "4*n4 8*m1", "val": "4*n1 2*m8", "bits": "8+5"})", "does not fit");
  says(R"({"type": "e2m1", "lane": "4*n4 8*m1", "val": "4*n1 2*m8", "bits": "16"})", "has 64 bits");
  says(R"({"type": "f16", "lane": "2*=T 2*n2 8*m1", "val": "2*n1 2*m8"})", "not an operand");
  says(R"({"type": "f16", "lane": "4*=S 8*m1", "val": "2*n1 2*m8"})", "no value of S");
  says(R"({"type": "f16", "lane": "2*=S/2 2*n2 8*m1", "val": "2*n1 2*m8"})", "selects nothing");
  says(R"({"type": "f16", "lane": "4*z2 8*m1", "val": "2*n1 2*m8"})", "not a digit");
  says(R"({"type": "f16", "lane": "4*n2 8*m1", "val": "2*n1 2*m8", "bits": "x"})", "not a number");
  says(R"({"type": "f16", "lane": "4*n2 8*m1", "val": "2*n1 2*m8", "bits": "2147483647"})", "not a number");
}

}  // namespace
}  // namespace ptxloom
