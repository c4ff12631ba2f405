// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "ptxloom/record.hpp"

namespace ptxloom {
namespace {

constexpr int kSchema = 1;

nlohmann::ordered_json resources_to_json(const Resources& resources) {
  return {{"registers", resources.registers},
          {"shared", resources.shared},
          {"stack", resources.stack},
          {"spill_stores", resources.spill_stores},
          {"spill_loads", resources.spill_loads}};
}

Resources resources_from_json(const nlohmann::json& json) {
  return {.registers = json.at("registers"),
          .stack = json.at("stack"),
          .spill_stores = json.at("spill_stores"),
          .spill_loads = json.at("spill_loads"),
          .shared = json.at("shared")};
}

Record read(const nlohmann::json& json) {
  if (const int schema = json.at("schema"); schema != kSchema) {
    throw Error(ErrorKind::usage, "bad-record",
                fmt::format("a record of schema {}; this version reads {}", schema, kSchema),
                "read it with the version that wrote it");
  }
  const nlohmann::json& device = json.at("device");
  Record record{.device = {.name = device.at("name"),
                           .sm = device.at("sm"),
                           .sms = device.at("sms"),
                           .memory_mhz = device.at("memory_mhz")},
                .kernel_template = json.at("template"),
                .problem = json.at("problem").get<Settings>(),
                .config = json.at("config").get<Settings>(),
                .time_us = json.at("time_us"),
                .spread = json.at("spread"),
                .library = json.at("library"),
                .linker = json.at("linker"),
                .flags = json.at("flags"),
                .evaluations = json.at("evaluations")};
  if (!json.at("resources").is_null()) record.resources = resources_from_json(json.at("resources"));
  return record;
}

}  // namespace

std::string_view library_version() { return PTXLOOM_VERSION; }

DeviceKey device_key(const DeviceInfo& info) {
  return {.name = info.name,
          .sm = std::string(info.target().name()),
          .sms = info.sms,
          .memory_mhz = info.memory_clock_mhz};
}

std::string to_json(const Record& record) {
  nlohmann::ordered_json json;
  json["schema"] = kSchema;
  json["device"] = {{"name", record.device.name},
                    {"sm", record.device.sm},
                    {"sms", record.device.sms},
                    {"memory_mhz", record.device.memory_mhz}};
  json["template"] = record.kernel_template;
  json["problem"] = record.problem;
  json["config"] = record.config;
  json["time_us"] = record.time_us;
  json["spread"] = record.spread;
  json["library"] = record.library;
  json["linker"] = record.linker;
  json["flags"] = record.flags;
  json["resources"] = record.resources ? resources_to_json(*record.resources) : nullptr;
  json["evaluations"] = record.evaluations;
  return json.dump();
}

Record record_from_json(std::string_view line) {
  try {
    return read(nlohmann::json::parse(line));
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorKind::usage, "bad-record", fmt::format("this is no tuning record: {}", error.what()),
                "a record is one JSON object a line, as ptxloom tune writes it");
  }
}

}  // namespace ptxloom
