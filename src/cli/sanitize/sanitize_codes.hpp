// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

// What `sanitize` can find: the codes that --allow, --fail-on and suppression files take, the rules of its
// SARIF output, the explanations of its HTML output. docs/findings.md is the one source; the tool carries its
// text.
namespace ptxloom::cli {

struct SanitizeCode {
  std::string code;
  bool warning = false;  ///< else an error
  std::string rule;      ///< a sentence or two
  std::string section;   ///< "PTX ISA 8.7, 8.8"
  std::string text;      ///< the whole entry: Markdown, without its heading
};

/// In the order of docs/findings.md.
std::vector<SanitizeCode> sanitize_codes();

}  // namespace ptxloom::cli
