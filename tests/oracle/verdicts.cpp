// SPDX-License-Identifier: Apache-2.0
#include "oracle/verdicts.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "base/file.hpp"
#include "base/hash.hpp"

namespace ptxloom::oracle {
namespace {

constexpr std::string_view kTitle = "ptxloom: verdicts of ptxas, 2\n";
constexpr std::size_t kHash = 32;  // digits, and a newline behind them
constexpr int kKeyBytes =
    5;  // of a line's hash: among the lines of a mnemonic one in 100 million is met by chance
// Answers, those that say more of the line itself first; a refusal is kRefused and its reason.
constexpr std::uint8_t kAccepted = 0, kRefused = 1, kUnjudged = 7;
constexpr unsigned kAnswers = 8;

std::uint8_t packed(const Verdict& verdict) {
  if (!verdict.judged) return kUnjudged;
  return verdict.accepted ? kAccepted
                          : static_cast<std::uint8_t>(kRefused + static_cast<unsigned>(verdict.reason));
}

Verdict unpacked(std::uint8_t answer) {
  Verdict verdict{
      .accepted = answer == kAccepted || answer == kUnjudged, .judged = answer != kUnjudged, .stored = true};
  if (!verdict.accepted) verdict.reason = static_cast<Reason>(answer - kRefused);
  return verdict;
}

std::string_view section_of(std::string_view line) { return line.substr(0, line.find_first_of(". ;")); }

std::uint64_t key_of(const std::string& line, std::uint64_t context) {
  return hash128(std::to_string(context) + ' ' + line).low >> (64 - 8 * kKeyBytes);
}

// Numbers in as few bytes as they need, seven bits each, the lowest first; texts after their length.
void put(std::string& out, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) out += static_cast<char>(0x80 | (number & 0x7F));
  out += static_cast<char>(number);
}

void put(std::string& out, const std::string& text) {
  put(out, text.size());
  out += text;
}

using Answers = std::map<std::uint16_t, std::uint8_t>;  // by place

/// Places in ascending order, each less the one before it.
std::string list_of(const Answers& answers, const std::vector<std::uint64_t>& ranks) {
  std::map<std::uint64_t, std::uint8_t> sorted;
  for (const auto& [place, answer] : answers) sorted[ranks[place]] = answer;
  std::string list;
  put(list, sorted.size());
  std::uint64_t before = 0;
  for (const auto& [place, answer] : sorted) {
    put(list, (place - before) * kAnswers + answer);
    before = place;
  }
  return list;
}

/// The lists, each once; then each line's key, less the one before it, and the number of its list.
void put_section(std::string& out, const std::map<std::uint64_t, Answers>& lines,
                 const std::vector<std::uint64_t>& ranks) {
  std::map<std::string, std::uint64_t> numbers;
  std::string lists, keys;
  std::uint64_t last = 0;
  for (const auto& [key, answers] : lines) {
    const std::string list = list_of(answers, ranks);
    const auto [entry, added] = numbers.emplace(list, numbers.size());
    if (added) lists += list;
    put(keys, key - last);
    put(keys, entry->second);
    last = key;
  }
  put(out, numbers.size());
  out += lists;
  put(out, lines.size());
  out += keys;
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<std::uint8_t>(take(1).front());
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    throw std::runtime_error("a number without an end");
  }

  std::string text() { return std::string(take(number())); }
  bool done() const { return rest_.empty(); }

 private:
  std::string_view take(std::size_t count) {
    if (count > rest_.size()) throw std::runtime_error("it ends too soon");
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  std::string_view rest_;
};

std::vector<std::pair<std::uint16_t, std::uint8_t>> read_list(Reader& in) {
  std::vector<std::pair<std::uint16_t, std::uint8_t>> answers;
  std::uint64_t place = 0;
  for (std::uint64_t left = in.number(); left > 0; --left) {
    const std::uint64_t entry = in.number();
    place += entry / kAnswers;
    answers.emplace_back(static_cast<std::uint16_t>(place), static_cast<std::uint8_t>(entry % kAnswers));
  }
  return answers;
}

}  // namespace

std::string name_of(const Place& place, Depth depth) {
  return std::string(place.target.name()) + ' ' + to_string(place.version) +
         (depth == Depth::code ? " code" : " check");
}

std::uint64_t context_of(const Surroundings& around) {
  const Target target(targets().front());
  return hash128(Source({}, {}, {target, default_ptx_version(), around}).text()).low;
}

std::string name_of_assembler(const std::string& version) {
  const std::size_t at = version.find(", V");
  if (at == version.npos) return version;
  return version.substr(at + 2, version.find_first_of(" \n", at + 2) - (at + 2));
}

Verdicts::Verdicts(const std::filesystem::path& file, const std::string& assembler) : assembler_(assembler) {
  if (!std::filesystem::exists(file)) return;
  const std::string content = read_file(file);
  const auto damaged = [&](const std::string& why) {
    return std::runtime_error(file.string() + " is damaged (" + why +
                              "); ./dev oracle --learn writes it anew");
  };
  const std::size_t begin = kTitle.size() + kHash + 1;
  if (!content.starts_with(kTitle) || content.size() < begin || content[begin - 1] != '\n')
    throw damaged("another kind of file");
  const std::string_view body = std::string_view(content).substr(begin);
  if (content.substr(kTitle.size(), kHash) != to_hex(hash128(body))) throw damaged("its hash is another");
  try {
    Reader in(body);
    assemblers_.resize(in.number());
    for (std::string& each : assemblers_) each = in.text();
    places_.resize(in.number());
    for (std::string& place : places_) place = in.text();
    while (!in.done()) {
      Section& section = sections_[in.text()];
      for (std::uint64_t left = in.number(); left > 0; --left) section.lists.push_back(read_list(in));
      std::uint64_t key = 0;
      for (std::uint64_t left = in.number(); left > 0; --left) {
        key += in.number();
        const std::uint64_t list = in.number();
        if (list >= section.lists.size()) throw std::runtime_error("a list that is not there");
        section.lines[key] = static_cast<std::uint32_t>(list);
      }
    }
  } catch (const std::runtime_error& error) {
    throw damaged(error.what());
  }
}

bool Verdicts::has_assembler() const {
  return std::ranges::find(assemblers_, assembler_) != assemblers_.end();
}

std::size_t Verdicts::lines() const {
  const std::string prefix = name_of_assembler(assembler_) + ' ';
  const auto ours = [&](const auto& answer) { return places_[answer.first].starts_with(prefix); };
  std::size_t count = 0;
  for (const auto& [name, section] : sections_) {
    std::vector<bool> known;
    for (const Answers& answers : section.lists) known.push_back(std::ranges::any_of(answers, ours));
    for (const auto& [key, list] : section.lines) count += known[list] ? 1 : 0;
  }
  return count;
}

std::optional<std::uint16_t> Verdicts::place(const std::string& name) const {
  if (!has_assembler()) return std::nullopt;
  const std::string whole = name_of_assembler(assembler_) + ' ' + name;
  const auto found = std::lower_bound(places_.begin(), places_.end(), whole);
  if (found == places_.end() || *found != whole) return std::nullopt;
  return static_cast<std::uint16_t>(found - places_.begin());
}

std::optional<Verdict> Verdicts::find(const std::string& line, std::uint64_t context,
                                      std::uint16_t place) const {
  const auto section = sections_.find(section_of(line));
  if (section == sections_.end()) return std::nullopt;
  const auto known = section->second.lines.find(key_of(line, context));
  if (known == section->second.lines.end()) return std::nullopt;
  const Answers& answers = section->second.lists[known->second];
  const auto answer = std::lower_bound(answers.begin(), answers.end(), std::pair(place, std::uint8_t{0}));
  if (answer == answers.end() || answer->first != place) return std::nullopt;
  return unpacked(answer->second);
}

std::uint16_t VerdictsWriter::number_of(const std::string& place) {
  return places_.emplace(place, static_cast<std::uint16_t>(places_.size())).first->second;
}

void VerdictsWriter::keep_others(const Verdicts& file) {
  const std::string mine = name_of_assembler(assembler_);
  for (const std::string& each : file.assemblers_) {
    if (name_of_assembler(each) != mine) others_.push_back(each);
  }
  std::vector<std::optional<std::uint16_t>> numbers;  // by the file's
  for (const std::string& place : file.places_)
    numbers.push_back(place.starts_with(mine + ' ') ? std::nullopt : std::optional(number_of(place)));
  for (const auto& [name, section] : file.sections_) {
    for (const auto& [key, list] : section.lines) {
      for (const auto& [place, answer] : section.lists[list])
        if (numbers[place]) sections_[name][key][*numbers[place]] = answer;
    }
  }
}

void VerdictsWriter::add(std::span<const std::string> lines, std::span<const Verdict> verdicts,
                         const Place& place, Depth depth) {
  const std::uint64_t context = context_of(place.around);
  const std::lock_guard lock(mutex_);
  const std::uint16_t number = number_of(name_of_assembler(assembler_) + ' ' + name_of(place, depth));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::uint64_t key = key_of(lines[i], context);
    Answers& answers = sections_[std::string(section_of(lines[i]))][key];
    const auto [entry, added] = answers.emplace(number, packed(verdicts[i]));
    if (!added && !settled_.contains({key, number}))
      entry->second = std::min(entry->second, packed(verdicts[i]));
  }
}

void VerdictsWriter::settle(const std::string& line, const Verdict& verdict, const Place& place,
                            Depth depth) {
  const std::uint64_t key = key_of(line, context_of(place.around));
  const std::lock_guard lock(mutex_);
  const std::uint16_t number = number_of(name_of_assembler(assembler_) + ' ' + name_of(place, depth));
  sections_[std::string(section_of(line))][key][number] = packed(verdict);
  settled_.emplace(key, number);
}

void VerdictsWriter::write(const std::filesystem::path& file) const {
  std::string body;
  std::set<std::string> assemblers(others_.begin(), others_.end());
  assemblers.insert(assembler_);
  put(body, assemblers.size());
  for (const std::string& each : assemblers) put(body, each);
  put(body, places_.size());
  std::vector<std::uint64_t> ranks(places_.size());  // of the places in the order of arrival, by their names
  std::uint64_t rank = 0;
  for (const auto& [name, arrival] : places_) {
    ranks[arrival] = rank++;
    put(body, name);
  }
  for (const auto& [name, lines] : sections_) {
    put(body, name);
    put_section(body, lines, ranks);
  }
  write_file(file, std::string(kTitle) + to_hex(hash128(body)) + '\n' + body);
}

}  // namespace ptxloom::oracle
