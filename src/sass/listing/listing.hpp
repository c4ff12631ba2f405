// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sass/cubin/cubin_view.hpp"
#include "sass/instruction/decode.hpp"
#include "sass/instruction/nvdisasm.hpp"

// All that is known of a cubin's instructions, beside the lines of PTX that they were made of.
namespace ptxloom::sass {

struct ListedInstruction {
  std::uint64_t offset = 0;  ///< in its function
  Word word;
  ControlCode control;  ///< without reuse bits where they mean something else
  Decoded decoded;
  std::string text;    ///< of nvdisasm, else what the data of specs/sass says
  std::string label;   ///< a branch leads here; else empty
  int ptx_line = 0;    ///< from 1; 0: none
  std::string source;  ///< file of a .loc directive; empty: none
  int source_line = 0;
};

struct ListedFunction {
  CubinFunction facts;
  std::vector<ListedInstruction> instructions;  ///< without those that pad the end
};

struct Listing {
  std::string file;  ///< for the title
  std::string target;
  std::string nvdisasm;  ///< its version: "13.2"; empty: the text is our own
  bool relocatable = false;
  std::vector<ListedFunction> functions;
  std::vector<std::string> ptx;  ///< lines, from line 1 on; empty: not known

  /// The line of PTX; empty if there is none.
  std::string_view ptx_line(int line) const;
};

struct ListingSource {
  const CubinView& cubin;
  std::string_view name;                     ///< of the file
  std::optional<std::string_view> ptx = {};  ///< the text that was linked; else the cubin's own
  const Disassembly* disassembly = nullptr;  ///< null: text of our own
};

/// The view's bytes must outlive the listing.
Listing list(const ListingSource& source);

/// PTX on the left, machine code on the right.
std::string listing_text(const Listing& listing);
/// One JSON object, docs/json/sass.json.
std::string listing_json(const Listing& listing);
/// One page that needs nothing else. It marks what belongs to the line of PTX under the pointer.
std::string listing_html(const Listing& listing);

/// "k: kernel, 32 registers, ..." for people.
std::string summary(const CubinFunction& function);

}  // namespace ptxloom::sass
