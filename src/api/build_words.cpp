// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/build_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "ptxloom/error.hpp"

namespace ptxloom {
namespace {

struct Word {
  std::string_view name, fallback;
};
constexpr Word kWords[] = {{"maxnreg", "0"}, {"minnctapersm", "0"}, {"optimise", "3"}, {"link", "-"}};

const Word* find(std::string_view name) {
  const auto found = std::ranges::find(kWords, name, &Word::name);
  return found == std::end(kWords) ? nullptr : found;
}

std::uint32_t number(const Settings& build, std::string_view name, std::uint32_t fallback,
                     std::uint32_t most) {
  const auto word = build.find(name);
  if (word == build.end()) return fallback;
  std::uint32_t value = 0;
  const char* end = word->second.data() + word->second.size();
  const auto [stop, error] = std::from_chars(word->second.data(), end, value);
  if (error == std::errc() && stop == end && value <= most) return value;
  throw Error(ErrorKind::usage, "bad-value",
              fmt::format("{}={} is not a number from 0 to {}", name, word->second, most),
              "see include/ptxloom/build_words.hpp");
}

}  // namespace

std::vector<std::string_view> build_word_names() {
  std::vector<std::string_view> names;
  for (const Word& word : kWords) names.push_back(word.name);
  return names;
}

bool is_build_word(std::string_view name) { return find(name) != nullptr; }

BuildWords split_build_words(const Settings& words) {
  BuildWords result;
  for (const auto& [name, value] : words) {
    const Word* word = find(name);
    if (word == nullptr)
      result.config[name] = value;
    else if (value != word->fallback)
      result.build[name] = value;
  }
  return result;
}

void apply_build_words(const Settings& build, ir::Module& module) {
  const std::uint32_t registers = number(build, "maxnreg", 0, 255);
  const std::uint32_t blocks = number(build, "minnctapersm", 0, 32);
  for (ir::Function& function : module.functions) {
    if (!function.entry || !function.defined) continue;
    if (registers > 0) function.maxnreg = registers;
    if (blocks > 0) function.minnctapersm = blocks;
  }
}

LinkOptions link_options(const Settings& build) {
  LinkOptions options{.optimisation = static_cast<int>(number(build, "optimise", 3, 3))};
  if (const auto link = build.find("link"); link != build.end()) options.extra.push_back(link->second);
  return options;
}

std::string link_flags(const Settings& build) {
  const LinkOptions options = link_options(build);
  std::string flags = fmt::format("-O{}", options.optimisation);
  for (const std::string& extra : options.extra) flags += ' ' + extra;
  return flags;
}

}  // namespace ptxloom
