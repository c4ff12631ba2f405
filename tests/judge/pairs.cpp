// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "judge/pairs.hpp"
#include "support/folders.hpp"

namespace ptxloom::test::judge_test {
namespace {

// What stands before the body of each kernel, on one line, so that the first line of a body is line 2. MODULE
// and ENTRY are what a pair adds to the module and to the directives of the kernel.
constexpr std::string_view kHead =
    ".version 9.0 .target sm_90a .address_size 64 .global .align 128 .b8 data[2048]; .global .align 4 .u32 "
    "flag; .const .align 4 .u32 fixed[4]; MODULE .visible .entry k(.param .u64 out, .param .u64 in, .param "
    ".align 64 .b8 "
    "load_map[128], .param .align 64 .b8 store_map[128]) ENTRY { .shared .align 1024 .b8 s[4096]; .shared "
    ".align 8 .b64 "
    "bar[4]; .reg .u32 %tid, %warp, %lane, %bid, %mine, %peer, %next, %x, %y, %z, %i, %other; .reg .u64 "
    "%out, %in, %og, "
    "%ig, %dg, %dall, %dpeer, %dnext, %d, %da, %db, %base, %load, %store, %state; .reg .b16 %h; .reg .f32 "
    "%f0, %f1, %f2, "
    "%f3; .reg .pred %p, %q, %first, %leader; ld.param.u64 %out, [out]; ld.param.u64 %in, [in]; mov.u64 "
    "%load, load_map; "
    "cvta.param.u64 %load, %load; mov.u64 %store, store_map; cvta.param.u64 %store, %store; "
    "mov.u32 %tid, %tid.x; shr.u32 %warp, %tid, 5; and.b32 %lane, %tid, 31; mov.u32 %bid, %ctaid.x; "
    "mov.u32 %x, s; mad.lo.u32 %mine, %tid, 4, %x; xor.b32 %y, %tid, 32; mad.lo.u32 %peer, %y, 4, %x; "
    "xor.b32 %y, %tid, 1; mad.lo.u32 %next, %y, 4, %x; mov.u32 %y, %ntid.x; mad.lo.u32 %y, %bid, %y, %tid; "
    "mad.wide.u32 %og, %y, 4, %out; mad.wide.u32 %ig, %y, 4, %in; mov.u64 %base, data; mad.wide.u32 %dall, "
    "%y, 4, %base; mad.wide.u32 %dg, %tid, 4, %base; xor.b32 %y, %tid, 32; mad.wide.u32 %dpeer, %y, 4, "
    "%base; xor.b32 %y, %tid, 1; mad.wide.u32 %dnext, %y, 4, %base; setp.eq.u32 %first, %tid, 0; "
    "setp.eq.u32 %leader, %lane, 0; mov.u32 %other, %cluster_ctarank; xor.b32 %other, %other, 1; "
    "cvt.u64.u32 %da, %x; shr.u64 %da, %da, 4; and.b64 %da, %da, 16383; or.b64 %da, %da, 34360262656; "
    "add.u64 %db, %da, 128; mov.u32 %i, 0;\n";

constexpr std::string_view kFill =
    "setp.lt.u32 %p, %tid, 128; @%p st.shared.u32 [%mine], 0; @%p st.shared.u32 [%mine+512], 0; @%p "
    "st.shared.u32 [%mine+1024], 0; @%p st.shared.u32 [%mine+1536], 0; @%p st.shared.u32 [%mine+2048], 0; "
    "fence.proxy.async.shared::cta; bar.sync 0;";

// Puts text in place of a word of the head.
void fill_in(std::string& ptx, std::string_view word, std::string_view text) {
  if (const std::size_t at = ptx.find(word); at != std::string::npos) ptx.replace(at, word.size(), text);
}

void fill_in_both(Pair& pair, std::string_view word, std::string_view text) {
  fill_in(pair.bad, word, text);
  fill_in(pair.fixed, word, text);
}

void set_launch(Pair& pair, const std::string& word) {
  if (word.starts_with("target=")) return fill_in_both(pair, "sm_90a", word.substr(7));
  const std::size_t equal = word.find('=');
  const auto value = static_cast<std::uint32_t>(std::stoul(word.substr(equal + 1)));
  const std::string name = word.substr(0, equal);
  if (name == "grid") pair.grid = value;
  if (name == "block") pair.block = value;
  if (name == "cluster") pair.cluster = pair.grid = value;
  if (name == "smem") pair.dynamic_shared = value;
  if (name == "orders") pair.orders = value;
}

Pair begun(const std::string& file, const std::string& line) {
  std::istringstream words(line.substr(3));
  Pair pair;
  std::string codes;
  words >> pair.name >> codes;
  std::istringstream list(codes);
  for (std::string code; std::getline(list, code, ',');) pair.codes.push_back(code);
  pair.name = file + "/" + pair.name;
  pair.bad = pair.fixed = kHead;
  for (std::string word; words >> word;) set_launch(pair, word);
  return pair;
}

void add_line(Pair& pair, std::string line) {
  const auto number = static_cast<int>(std::ranges::count(pair.bad, '\n')) + 1;
  if (line.ends_with("//!")) pair.lines.insert(number);
  if (line.ends_with("//~")) pair.may.insert(number);
  if (line == "@FILL") line = kFill;
  if (!line.starts_with("//+ ")) pair.bad += line.starts_with("//- ") ? line.substr(4) : line;
  if (!line.starts_with("//- ")) pair.fixed += line.starts_with("//+ ") ? line.substr(4) : line;
  pair.bad += '\n';
  pair.fixed += '\n';
}

void add(Pair& pair, const std::string& line) {
  if (line.starts_with("# ")) {
    pair.about += (pair.about.empty() ? "" : " ") + line.substr(2);
  } else if (line.starts_with("@MODULE ") || line.starts_with("@ENTRY ")) {
    const std::size_t end = line.find(' ');
    fill_in_both(pair, line.substr(1, end - 1), line.substr(end + 1));
  } else {
    add_line(pair, line);
  }
}

void end(Pair& pair) {
  for (const std::string_view word : {"MODULE", "ENTRY"}) fill_in_both(pair, word, "");
  pair.bad += "ret; }\n";
  pair.fixed += "ret; }\n";
}

void read_file(const std::filesystem::path& path, std::vector<Pair>& pairs) {
  std::ifstream in(path);
  Pair* pair = nullptr;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("== ")) {
      pairs.push_back(begun(path.stem().string(), line));
      pair = &pairs.back();
    } else if (pair != nullptr && !line.empty()) {
      add(*pair, line);
    }
  }
}

}  // namespace

std::vector<Pair> read_pairs() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(source_folder() + "/tests/judge/pairs"))
    files.push_back(entry.path());
  std::ranges::sort(files);
  std::vector<Pair> pairs;
  for (const std::filesystem::path& file : files) read_file(file, pairs);
  std::ranges::for_each(pairs, end);
  return pairs;
}

}  // namespace ptxloom::test::judge_test
