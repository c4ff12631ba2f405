// SPDX-License-Identifier: Apache-2.0
#include "insn/record.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <nlohmann/json.hpp>
#include <system_error>

#include "ptxloom/error.hpp"

namespace ptxloom::insn {
namespace {

using Json = nlohmann::ordered_json;

double rounded(double value) { return std::round(value * 1e4) / 1e4; }

/// To six digits, since a figure may be far below 1.
double with_digits(double value) { return std::stod(fmt::format("{:.6g}", value)); }

Json latency_json(const Latency& latency) {
  Json made = {{"from", latency.from}, {"state", latency.state}, {"sass", latency.sass}};
  if (latency.cycles > 0) {
    made["cycles"] = rounded(latency.cycles);
    made["spread"] = rounded(latency.spread);
  } else if (latency.nanoseconds > 0) {
    made["nanoseconds"] = rounded(latency.nanoseconds);
    made["spread"] = rounded(latency.spread);
  }
  if (!latency.bridge.empty()) made["bridge"] = latency.bridge;
  if (latency.guarded) made["guarded"] = true;
  return made;
}

}  // namespace

std::string to_json(const Measured& measured, const Origin& origin) {
  Json made = {{"schema", 1},
               {"device", origin.device},
               {"target", origin.target},
               {"driver", origin.driver},
               {"linker", origin.linker},
               {"revision", origin.revision},
               {"form", measured.form},
               {"opcode", measured.opcode},
               {"data", measured.data}};
  if (!measured.note.empty()) {
    made["note"] = measured.note;
    return made.dump();
  }
  Json latencies = Json::array(), throughputs = Json::array();
  for (const Latency& latency : measured.latencies) latencies.push_back(latency_json(latency));
  for (const Throughput& one : measured.throughputs)
    throughputs.push_back(
        {{"warps", one.warps}, {"per_cycle", with_digits(one.per_cycle)}, {"spread", rounded(one.spread)}});
  made["latency"] = std::move(latencies);
  made["throughput"] = std::move(throughputs);
  made["stream"] = latency_json(measured.stream);
  made["length"] = rounded(measured.length);
  made["registers"] = measured.registers;
  if (measured.clock_mhz > 0) made["clock_mhz"] = std::round(measured.clock_mhz);
  return made.dump();
}

RecordFile::RecordFile(std::filesystem::path file, Origin origin)
    : file_(std::move(file)), origin_(std::move(origin)) {
  std::ifstream in(file_);
  for (std::string line; std::getline(in, line);) {
    const Json made = Json::parse(line, nullptr, false);
    if (!made.is_object() || !made.contains("opcode")) {
      ++skipped_;
      continue;
    }
    if (made.value("device", "") != origin_.device || made.value("driver", 0) != origin_.driver ||
        made.value("linker", "") != origin_.linker)
      continue;
    known_[key(made.value("opcode", ""), made.value("form", ""), made.value("data", ""),
               made.value("revision", ""))] = line;
  }
  if (!file_.parent_path().empty()) {
    std::error_code ignored;
    std::filesystem::create_directories(file_.parent_path(), ignored);
  }
  out_.open(file_, std::ios::app);
  if (!out_)
    throw Error(ErrorKind::usage, "unwritable-file", fmt::format("cannot write {}", file_.string()),
                "name another file with --records");
}

std::string RecordFile::key(const std::string& opcode, const std::string& form, const std::string& data,
                            const std::string& revision) const {
  return form + " " + opcode + " " + data + " " + revision;
}

bool RecordFile::has(const std::string& opcode, const std::string& form, const std::string& data,
                     const std::string& revision) const {
  return known_.contains(key(opcode, form, data, revision));
}

void RecordFile::append(const Measured& measured, const std::string& revision) {
  Origin origin = origin_;
  origin.revision = revision;
  const std::string line = to_json(measured, origin);
  if (!(out_ << line << std::endl))
    throw Error(ErrorKind::usage, "unwritable-file",
                fmt::format("cannot write {}: {}", file_.string(), std::generic_category().message(errno)),
                "the rows before this one are recorded; free space, or name another file with --records");
  known_[key(measured.opcode, measured.form, measured.data, revision)] = line;
}

std::string RecordFile::line(const Measured& what, const std::string& revision) const {
  const auto found = known_.find(key(what.opcode, what.form, what.data, revision));
  return found == known_.end() ? "" : found->second;
}

}  // namespace ptxloom::insn
