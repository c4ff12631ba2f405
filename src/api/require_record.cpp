// SPDX-License-Identifier: Apache-2.0
#include "api/require_record.hpp"

#include <fmt/format.h>

#include <optional>

#include "ptxloom/space.hpp"
#include "ptxloom/tuner.hpp"

namespace ptxloom::api {

std::string words_of(const Settings& settings) {
  std::string words;
  for (const auto& [name, value] : settings)
    words += fmt::format("{}{}={}", words.empty() ? "" : " ", name, value);
  return words;
}

Record require_record(const Context& context, std::string_view name, const Settings& problem) {
  const DeviceKey device = device_key(context);
  if (auto record = context.records().find(device, name, problem)) return std::move(*record);
  const auto near = context.records().nearest(device, name, problem);
  throw Error(ErrorKind::refused, "no-record",
              fmt::format("there is no record of {} for this device, problem and version in {}", name,
                          context.records().folder().string()),
              fmt::format("{}tune this problem, or clear must_hit (TuneOptions, SpecialiseOptions)",
                          near ? fmt::format("the nearest record is of {}; ", words_of(near->problem)) : ""));
}

void know_parameters(const Context& context, const Template& kernel_template) {
  if (context.records().knows(kernel_template.name())) return;
  // The records may outlive the template, and read its space.json only if they need it.
  context.records().know(kernel_template.name(),
                         [json = std::string(kernel_template.space())]() -> std::optional<RecordParameters> {
                           try {
                             return ParameterSpace(json).record_parameters();
                           } catch (const Error&) {
                             return std::nullopt;  // a template need not have one that can be read
                           }
                         });
}

}  // namespace ptxloom::api
