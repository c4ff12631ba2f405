// SPDX-License-Identifier: Apache-2.0
#include "insn/probe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/dotted.hpp"
#include "generated/probes.hpp"

namespace ptxloom::insn {
namespace {

using nlohmann::json;

std::string value_text(const json& value) {
  return value.is_string() ? value.get<std::string>() : std::to_string(value.get<std::uint64_t>());
}

std::string lines_of(const json& value) {
  if (value.is_string()) return value.get<std::string>() + "\n";
  std::string text;
  for (const json& line : value) text += line.get<std::string>() + "\n";
  return text;
}

/// Replaces each <NAME>.
std::string filled(std::string text, const std::map<std::string, std::string>& values) {
  for (const auto& [name, value] : values) {
    const std::string slot = "<" + name + ">";
    for (std::size_t at = text.find(slot); at != text.npos; at = text.find(slot, at + value.size()))
      text.replace(at, slot.size(), value);
  }
  return text;
}

std::vector<std::string> names_of(const std::string& key) {
  std::vector<std::string> names;
  for (std::size_t from = 0; from <= key.size();) {
    const std::size_t end = std::min(key.find('+', from), key.size());
    names.push_back(key.substr(from, end - from));
    from = end + 1;
  }
  return names;
}

/// All combinations; "warps+half" are parameters that change together.
std::vector<std::map<std::string, std::string>> points(const json& sweep) {
  std::vector<std::map<std::string, std::string>> all = {{}};
  for (const auto& [key, values] : sweep.items()) {
    const std::vector<std::string> names = names_of(key);
    std::vector<std::map<std::string, std::string>> longer;
    for (const auto& point : all) {
      for (const json& value : values) {
        auto& next = longer.emplace_back(point);
        for (std::size_t i = 0; i < names.size(); ++i)
          next[names[i]] = value_text(names.size() == 1 ? value : value.at(i));
      }
    }
    all = std::move(longer);
  }
  return all;
}

void append_points(const json& entry, std::vector<Probe>& into) {
  for (const auto& point : points(entry.at("sweep"))) {
    into.push_back({.name = entry.at("probe").get<std::string>(),
                    .doc = entry.at("doc").get<std::string>(),
                    .parameters = point,
                    .before = filled(lines_of(entry.value("before", json(""))), point),
                    .step = filled(lines_of(entry.at("step")), point),
                    .after = filled(lines_of(entry.value("after", json(""))), point),
                    .lanes = entry.value("lanes", kLanes),
                    .clear = entry.value("clear", false),
                    .cold = entry.value("cold", false),
                    .dependent = entry.value("dependent", false),
                    .ptx = parse_version(entry.value("ptx", "8.0"))});
  }
}

constexpr std::string_view kDeclarations =
    "{\n"
    ".reg .b64 %p, %w, %out, %start, %end, %times, %sm;\n"
    ".reg .b32 %a, %r, %lane, %t0, %t1, %t2, %rounds; .reg .pred %ok, %again;\n"
    ".shared .align 1024 .b8 tile[32768];\n"
    "ld.param.b32 %rounds, [rounds];\nld.param.b64 %p, [slots];\nmov.u64 %w, 0;\nmov.u32 %a, 0;\nmov.u32 %r, "
    "0;\n"
    "mov.u32 %t1, %tid.x;\nand.b32 %lane, %t1, 31;\n"
    "mov.u32 %t0, %ctaid.x;\nmov.u32 %t2, %ntid.x;\nmad.lo.u32 %t0, %t0, %t2, %t1;\n";

constexpr std::string_view kResults =
    "ld.param.b64 %out, [out];\nst.global.b64 [%out], %p;\nst.global.b64 [%out+8], %w;\n"
    "st.global.b32 [%out+16], %a;\nst.global.b32 [%out+20], %r;\n"
    "ld.param.b64 %times, [times];\nshr.u32 %t2, %t0, 5;\n";

std::string head(std::string_view name) {
  return fmt::format(
      ".visible .entry {}(.param .b64 in, .param .b64 out, .param .b64 slots, .param .b64 times, .param .b32 "
      "rounds, "
      ".param .b32 zero)\n",
      name);
}

std::string kernel(const Probe& probe, std::string_view name, int copies) {
  const std::uint64_t cluster = probe.number("cluster", 1);
  std::string text = head(name);
  if (cluster > 1) text += fmt::format(".explicitcluster .reqnctapercluster {}\n", cluster);
  text += std::string(kDeclarations) + probe.before +
          "bar.sync 0;\nmov.u64 %start, %clock64;\nrepeat:\n.pragma \"nounroll\";\n";
  for (int copy = 0; copy < copies; ++copy) text += filled(probe.step, {{"copy", std::to_string(copy)}});
  text +=
      "sub.u32 %rounds, %rounds, 1;\nsetp.ne.u32 %again, %rounds, 0;\n@%again bra repeat;\nmov.u64 %end, "
      "%clock64;\n";
  text += probe.after;
  text += kResults;
  // With less than a warp in each thread block, the number of the thread block is that of the warp.
  if (probe.lanes < kLanes) text += "mov.u32 %t2, %ctaid.x;\n";
  text += fmt::format("mad.wide.u32 %times, %t2, {}, %times;\nmov.u32 %t2, %smid;\ncvt.u64.u32 %sm, %t2;\n",
                      kTimeBytes);
  return text +
         "st.global.b64 [%times], %start;\nst.global.b64 [%times+8], %end;\nst.global.b64 [%times+16], "
         "%sm;\nret;\n}\n";
}

constexpr std::string_view kHold =
    "{\n.reg .b64 %begin, %now, %length;\n.reg .b32 %rounds;\n.reg .pred %ok;\n"
    "ld.param.b32 %rounds, [rounds];\ncvt.u64.u32 %length, %rounds;\nmov.u64 %begin, %globaltimer;\n"
    "hold:\nmov.u64 %now, %globaltimer;\nsub.u64 %now, %now, %begin;\n"
    "setp.lt.u64 %ok, %now, %length;\n@%ok bra hold;\nret;\n}\n";

std::string kernels(const Probe& probe) {
  if (probe.launches())
    return head("step") + "{\n" + probe.step + "ret;\n}\n" + head("hold") + std::string(kHold);
  return kernel(probe, "few", kProbeCopies) + kernel(probe, "many", 2 * kProbeCopies);
}

}  // namespace

std::optional<TensorMap> Probe::map(std::uint64_t address) const {
  if (!parameters.contains("row_bytes")) return std::nullopt;
  const std::uint64_t row = number("row_bytes", 0);
  return TensorMap{.type = u8,
                   .rank = 2,
                   .address = address,
                   .dims = {row, kProbeMemory / row},
                   .strides = {row},
                   .box = {static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(number("rows", 1))}};
}

std::string Probe::label() const {
  std::string text = name;
  for (const auto& [parameter, value] : parameters) text += " " + parameter + "=" + value;
  return text;
}

std::uint64_t Probe::number(const std::string& parameter, std::uint64_t otherwise) const {
  const auto found = parameters.find(parameter);
  return found == parameters.end() ? otherwise : std::stoull(found->second);
}

std::vector<Probe> probes(std::string_view selection, std::string_view text) {
  std::vector<Probe> all;
  try {
    const json file = json::parse(text);
    for (const json& entry : file.at("probes")) {
      if (selection.empty() || begins_with_words(entry.at("probe").get<std::string>(), selection))
        append_points(entry, all);
    }
  } catch (const json::exception& error) {
    throw Error(ErrorKind::usage, "spec-measure", std::string("specs/measure/probes.json: ") + error.what(),
                "specs/README.md describes the file");
  }
  return all;
}

std::vector<Probe> probes(std::string_view selection) { return probes(selection, kProbes); }

std::string probe_text(const Probe& probe, const Target& target) {
  return fmt::format(".version {}\n.target {}\n.address_size 64\n",
                     to_string(std::max(probe.ptx, target.since())), target.name()) +
         kernels(probe);
}

}  // namespace ptxloom::insn
