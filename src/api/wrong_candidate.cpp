// SPDX-License-Identifier: Apache-2.0
#include "api/wrong_candidate.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "base/hash.hpp"

namespace ptxloom::api {

std::filesystem::path save_wrong(const Context& context, const Tunable& what, std::uint64_t seed,
                                 const tune::Measurement& wrong, const tune::Candidate& candidate) {
  nlohmann::ordered_json json = {{"template", what.name},
                                 {"problem", what.problem},
                                 {"config", wrong.config},
                                 {"seed", seed},
                                 {"device", context.device().name},
                                 {"library", library_version()},
                                 {"message", wrong.problem->message}};
  const std::filesystem::path folder =
      context.records().folder() / "wrong" / to_hex(hash128(json.dump())).substr(0, 12);
  try {
    std::error_code failed;  // reported with the first file
    std::filesystem::create_directories(folder, failed);
    write_file(folder / "kernel.ptx", candidate.ptx);
    write_file(folder / "reproduce.json", json.dump(1) + "\n");
  } catch (const Error& error) {
    context.log()(LogLevel::warning, fmt::format("cannot save a wrong candidate: {}", error.what()));
    return {};
  }
  context.log()(LogLevel::warning,
                fmt::format("a candidate of {} is wrong, which is a bug: {}; {} has what reproduces it",
                            what.name, wrong.problem->message, folder.string()));
  return folder;
}

}  // namespace ptxloom::api
