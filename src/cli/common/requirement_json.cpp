// SPDX-License-Identifier: Apache-2.0
#include "cli/common/requirement_json.hpp"

#include <nlohmann/json.hpp>

namespace ptxloom::cli {
namespace {

using Json = nlohmann::ordered_json;

Json with_version(const char* name, const Requirement& needs) {
  return {{name, to_string(needs.ptx)},
          {"cuda", needs.cuda ? Json(to_string(*needs.cuda)) : Json()},
          {"driver", needs.driver > 0 ? Json(needs.driver) : Json()}};
}

}  // namespace

Json requirement_json(const Target& target, Version since) {
  return with_version("since", requirement_of(target, since));
}

Json requirement_json(const Requirement& requirement) { return with_version("ptx", requirement); }

}  // namespace ptxloom::cli
