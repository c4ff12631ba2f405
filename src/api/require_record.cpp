// SPDX-License-Identifier: Apache-2.0
#include "api/require_record.hpp"

#include <fmt/format.h>

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

}  // namespace ptxloom::api
