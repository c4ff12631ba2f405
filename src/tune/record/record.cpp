// SPDX-License-Identifier: Apache-2.0
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json_depth.hpp"
#include "ptxloom/record.hpp"
#include "ptxloom/version.hpp"

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

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorKind::usage, "bad-record", "this is not a tuning record: " + why,
              "use records that ptxloom tune wrote: one JSON object a line");
}

/// A member that must exist and be of this kind.
const nlohmann::json& member(const nlohmann::json& object, const char* name,
                             bool (nlohmann::json::*is_kind)() const noexcept, const char* kind) {
  const auto found = object.find(name);
  if (found == object.end()) refuse(fmt::format("it lacks \"{}\"", name));
  if (!((*found).*is_kind)()) refuse(fmt::format("\"{}\" is not {}", name, kind));
  return *found;
}

std::string text(const nlohmann::json& object, const char* name) {
  return member(object, name, &nlohmann::json::is_string, "a string").get<std::string>();
}

template <typename T>
T count(const nlohmann::json& object, const char* name) {
  const auto& value = member(object, name, &nlohmann::json::is_number_unsigned, "an integer from 0 up");
  const auto number = value.get<std::uint64_t>();
  if (!std::in_range<T>(number)) refuse(fmt::format("\"{}\" is too large: {}", name, number));
  return static_cast<T>(number);
}

double number(const nlohmann::json& object, const char* name) {
  return member(object, name, &nlohmann::json::is_number, "a number").get<double>();
}

Settings settings(const nlohmann::json& object, const char* name) {
  Settings settings;
  for (const auto& [word, value] : member(object, name, &nlohmann::json::is_object, "an object").items()) {
    if (!value.is_string()) refuse(fmt::format("\"{}\" of \"{}\" is not a string", word, name));
    settings[word] = value.get<std::string>();
  }
  return settings;
}

Resources resources_from_json(const nlohmann::json& json) {
  return {.registers = count<int>(json, "registers"),
          .stack = count<int>(json, "stack"),
          .spill_stores = count<int>(json, "spill_stores"),
          .spill_loads = count<int>(json, "spill_loads"),
          .shared = count<int>(json, "shared")};
}

Record read(const nlohmann::json& json) {
  if (!json.is_object()) refuse("it is not a JSON object");
  if (const int schema = count<int>(json, "schema"); schema != kSchema) {
    throw Error(ErrorKind::usage, "bad-record",
                fmt::format("the record has schema {}, but this version reads schema {}", schema, kSchema),
                "read it with the version that wrote it");
  }
  const nlohmann::json& device = member(json, "device", &nlohmann::json::is_object, "an object");
  Record record{.device = {.name = text(device, "name"),
                           .sm = text(device, "sm"),
                           .sms = count<int>(device, "sms"),
                           .memory_mhz = count<int>(device, "memory_mhz")},
                .kernel_template = text(json, "template"),
                .problem = settings(json, "problem"),
                .config = settings(json, "config"),
                .time_us = number(json, "time_us"),
                .spread = number(json, "spread"),
                .library = text(json, "library"),
                .linker = text(json, "linker"),
                .flags = text(json, "flags"),
                .evaluations = count<std::uint64_t>(json, "evaluations")};
  // A time of zero would rank first forever.
  if (!(record.time_us > 0)) refuse(fmt::format("a kernel cannot take {} us", record.time_us));
  if (!(record.spread >= 0)) refuse(fmt::format("a spread cannot be {}", record.spread));
  if (const auto resources = json.find("resources"); resources != json.end() && resources->is_object())
    record.resources = resources_from_json(*resources);
  if (json.contains("made")) record.made = text(json, "made");
  if (json.contains("provisional"))
    record.provisional = member(json, "provisional", &nlohmann::json::is_boolean, "a boolean").get<bool>();
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
  if (record.provisional) json["provisional"] = true;
  if (!record.made.empty()) json["made"] = record.made;
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string record_time() {
  const auto now = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const auto second = std::chrono::floor<std::chrono::seconds>(now);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(second)),
                     (now - second).count());
}

Record record_from_json(std::string_view line) {
  if (is_nested_too_deeply(line)) refuse("it is nested too deeply");
  const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
  if (json.is_discarded()) refuse("it is not JSON");
  return read(json);
}

}  // namespace ptxloom
