// SPDX-License-Identifier: Apache-2.0
#include "spec/reader.hpp"

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/json_depth.hpp"
#include "spec/spec_error.hpp"
#include "target/target_table.hpp"

namespace ptxloom::spec {
namespace {

using Json = nlohmann::ordered_json;

/// The name of a type that an overlay adds. Programs copy a Type and keep it, also when its Specs are gone,
/// so these few names are never freed.
std::string_view permanent(std::string_view name) {
  static std::mutex mutex;
  static auto& names = *new std::set<std::string, std::less<>>;
  const std::lock_guard lock(mutex);
  return *names.emplace(name).first;
}

/// Reads one file; knows its name and the current form, for errors.
class Reader {
 public:
  Reader(std::string_view file, Arena& arena)
      : place_{.file = arena.keep(std::string(file)), .form = {}}, arena_(arena) {}

  void read(const Json& json, ReadSpecs& into);

 private:
  void expect_fields(const Json& object, std::string_view what,
                     std::initializer_list<std::string_view> known) const;
  std::string_view text(const Json& object, const char* field);
  std::string_view text_of(const Json& value, const std::string& what);
  std::span<const Entry> entries(const Json& object, const char* field);
  std::span<const Entry> statements(const Json& object, const char* field);
  std::span<const std::string_view> lines(const Json& value, const std::string& what);
  std::span<const TableData> tables(const Json& form, const char* field);
  std::span<const FragmentData> fragments(const Json& form);
  std::pair<std::string_view, std::string_view> declarations(const Json& object);
  FormData form(const Json& json, const FileData* file);
  void read_forms(const Json& json, ReadSpecs& into);
  void read_types(const Json& json, ReadSpecs& into);
  void read_words(const Json& json, ReadSpecs& into);
  void read_targets(const Json& json, ReadSpecs& into);
  void read_surroundings(const Json& json, ReadSpecs& into);
  void read_directives(const Json& json, ReadSpecs& into);

  Place place_;
  Arena& arena_;
};

void Reader::expect_fields(const Json& object, std::string_view what,
                           std::initializer_list<std::string_view> known) const {
  if (!object.is_object()) fail("spec-field", place_, std::string(what) + " must be an object");
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    std::string list;
    for (std::string_view name : known) list += (list.empty() ? "" : " ") + std::string(name);
    fail("spec-field", place_, "unknown field " + quote(key) + " in " + std::string(what),
         "known fields: " + list);
  }
}

std::string_view Reader::text_of(const Json& value, const std::string& what) {
  if (!value.is_string()) fail("spec-field", place_, what + " must be a string, not " + value.dump());
  return arena_.keep(value.get<std::string>());
}

std::string_view Reader::text(const Json& object, const char* field) {
  return object.contains(field) ? text_of(object[field], quote(field)) : std::string_view{};
}

std::span<const Entry> Reader::entries(const Json& object, const char* field) {
  if (!object.contains(field)) return {};
  if (!object[field].is_object()) fail("spec-field", place_, quote(field) + " must be an object of strings");
  std::vector<Entry> result;
  for (const auto& [key, value] : object[field].items()) {
    result.push_back({arena_.keep(key), text_of(value, quote(field) + " " + quote(key))});
  }
  return arena_.keep(std::move(result));
}

// Like entries, except that a text may be a list of lines.
std::span<const Entry> Reader::statements(const Json& object, const char* field) {
  if (!object.contains(field)) return {};
  Json joined = object[field];
  for (auto& [key, value] : joined.items()) {
    if (!value.is_array()) continue;
    std::string text;
    for (const std::string_view line : lines(value, quote(field) + " " + quote(key)))
      text += (text.empty() ? "" : "\n") + std::string(line);
    value = std::move(text);
  }
  return entries({{field, std::move(joined)}}, field);
}

std::span<const std::string_view> Reader::lines(const Json& value, const std::string& what) {
  if (!value.is_array()) fail("spec-field", place_, what + " must be a list of strings");
  std::vector<std::string_view> result;
  for (const Json& line : value) result.push_back(text_of(line, "a line of " + what));
  return arena_.keep(std::move(result));
}

std::span<const TableData> Reader::tables(const Json& form, const char* field) {
  if (!form.contains(field)) return {};
  if (!form[field].is_array()) fail("spec-field", place_, quote(field) + " must be a list of tables");
  std::vector<TableData> result;
  for (const Json& table : form[field]) {
    const auto rows = lines(table, "a table in " + quote(field));
    if (rows.size() < 2)
      fail("spec-table", place_, "a table in " + quote(field) + " needs a header and a row");
    result.push_back({rows});
  }
  return arena_.keep(std::move(result));
}

std::span<const FragmentData> Reader::fragments(const Json& form) {
  if (!form.contains("frags")) return {};
  if (!form["frags"].is_object()) fail("spec-field", place_, "'frags' must be an object");
  std::vector<FragmentData> result;
  for (const auto& [operands, map] : form["frags"].items()) {
    expect_fields(map, "frags " + quote(operands), {"type", "warp", "lane", "val", "bits", "block"});
    result.push_back({.operands = arena_.keep(operands),
                      .type = text(map, "type"),
                      .warp = text(map, "warp"),
                      .lane = text(map, "lane"),
                      .val = text(map, "val"),
                      .bits = text(map, "bits"),
                      .block = text(map, "block")});
  }
  return arena_.keep(std::move(result));
}

std::pair<std::string_view, std::string_view> Reader::declarations(const Json& object) {
  if (!object.contains("test")) return {};
  const auto both = lines(object["test"], "'test'");
  if (both.size() != 2) fail("spec-field", place_, "'test' must be [module declarations, body declarations]");
  return {both[0], both[1]};
}

FormData Reader::form(const Json& json, const FileData* file) {
  place_.form = json.is_object() && json.contains("form") ? text(json, "form") : std::string_view{};
  expect_fields(json, "a form",
                {"form", "family", "doc", "text", "ops", "alias", "need", "needs", "mods", "tables", "lax",
                 "lax_ops", "sets", "select", "frags", "conform", "mode", "test", "undocumented"});
  if (place_.form.empty()) fail("spec-field", place_, "a form lacks its name, the field 'form'");
  FormData form{.file = file, .name = place_.form};
  form.family = text(json, "family");
  form.doc = text(json, "doc");
  form.text = text(json, "text");
  if (form.text.empty()) fail("spec-field", place_, "the field 'text' is missing");
  form.need = text(json, "need");
  form.mode = text(json, "mode");
  form.undocumented = text(json, "undocumented");
  if (json.contains("undocumented") && form.undocumented.empty())
    fail("spec-field", place_, "the field 'undocumented' is empty", "say how the form was found");
  form.ops = entries(json, "ops");
  form.alias = entries(json, "alias");
  form.mods = entries(json, "mods");
  form.sets = entries(json, "sets");
  form.needs = entries(json, "needs");
  form.select = entries(json, "select");
  form.tables = tables(json, "tables");
  form.lax = tables(json, "lax");
  form.lax_ops = entries(json, "lax_ops");
  form.frags = fragments(json);
  form.conform = statements(json, "conform");
  std::tie(form.module_decls, form.body_decls) = declarations(json);
  place_.form = {};
  return form;
}

void Reader::read_forms(const Json& json, ReadSpecs& into) {
  const bool one = !json.contains("forms");
  FileData file{.name = place_.file};
  if (!one) {
    expect_fields(json, "the file", {"doc", "sets", "needs", "need", "test", "forms"});
    if (!json["forms"].is_array()) fail("spec-field", place_, "'forms' must be a list");
    file.sets = entries(json, "sets");
    file.needs = entries(json, "needs");
    file.need = text(json, "need");
    std::tie(file.module_decls, file.body_decls) = declarations(json);
  }
  const FileData* const kept = arena_.keep_one(file);
  if (one) {
    into.forms.push_back(form(json, kept));
    return;
  }
  for (const Json& item : json["forms"]) {
    FormData read = form(item, kept);
    for (const FormData& other : into.forms) {
      if (other.file == kept && other.name == read.name) {
        fail("spec-duplicate-form", place_, "the form " + quote(read.name) + " is given twice");
      }
    }
    into.forms.push_back(read);
  }
}

std::vector<std::string_view> cells(std::string_view line) {
  std::vector<std::string_view> result;
  for (std::size_t at = line.find_first_not_of(' '); at != line.npos; at = line.find_first_not_of(' ', at)) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    result.push_back(line.substr(at, end - at));
    at = end;
  }
  return result;
}

void Reader::read_types(const Json& json, ReadSpecs& into) {
  expect_fields(json, "the file", {"doc", "types"});
  static const std::map<std::string_view, TypeKind> kinds = {{"bits", TypeKind::bits},
                                                             {"signed", TypeKind::signed_integer},
                                                             {"unsigned", TypeKind::unsigned_integer},
                                                             {"float", TypeKind::floating},
                                                             {"predicate", TypeKind::predicate}};
  const auto rows = lines(json["types"], "'types'");
  for (std::string_view line : rows.subspan(std::min<std::size_t>(1, rows.size()))) {
    const auto cell = cells(line);
    const auto kind = cell.size() == 5 || cell.size() == 6 ? kinds.find(cell[2]) : kinds.end();
    const auto number = [](std::string_view digits) { return std::atoi(std::string(digits).c_str()); };
    if (kind == kinds.end() || number(cell[1]) <= 0 || number(cell[3]) <= 0) {
      fail("spec-type", place_,
           "row " + quote(line) + " is not a row of: name bits kind lanes literals braces",
           "kinds: bits signed unsigned float predicate; literals: yes no; braces may be left out");
    }
    // "2/13.0-13.0": that many, in these releases.
    const std::string_view braces = cell.size() == 6 ? cell[5] : std::string_view{};
    const std::size_t slash = std::min(braces.find('/'), braces.size());
    into.types.push_back({.type = {.name = permanent(cell[0]),
                                   .bits = static_cast<std::uint16_t>(number(cell[1])),
                                   .kind = kind->second,
                                   .lanes = static_cast<std::uint8_t>(number(cell[3]))},
                          .literals = cell[4] == "yes",
                          .braces = number(braces.substr(0, slash)),
                          .braces_of = slash < braces.size()
                                           ? target::parse_releases(braces.substr(slash + 1))
                                           : target::Releases{}});
  }
}

void Reader::read_words(const Json& json, ReadSpecs& into) {
  expect_fields(json, "the file", {"doc", "classes", "ordered"});
  const auto ordered =
      json.contains("ordered") ? cells(text(json, "ordered")) : std::vector<std::string_view>{};
  for (const Entry& entry : entries(json, "classes")) {
    const bool keeps = std::find(ordered.begin(), ordered.end(), entry.key) != ordered.end();
    into.words.push_back({.name = entry.key, .ordered = keeps, .words = arena_.keep(cells(entry.value))});
  }
}

void Reader::read_targets(const Json& json, ReadSpecs& into) {
  expect_fields(json, "the file",
                {"doc", "ptx", "default_ptx", "toolkits", "chips", "launch", "rates", "products", "devices",
                 "model", "mma", "targets"});
  const auto list = [&](const char* field) {
    const auto rows =
        json.contains(field) ? lines(json[field], quote(field)) : std::span<const std::string_view>{};
    return std::vector<std::string_view>(rows.begin(), rows.end());
  };
  for (const TargetInfo& info : target::read_targets({.chips = list("chips"), .targets = list("targets")})) {
    into.targets.push_back(info);
  }
  // The built-in ones are used; this only validates them.
  target::read_rates(list("rates"));
  const std::vector<std::string_view> products = list("products");
  target::read_devices(list("devices"), target::read_products(products));
  target::read_model(list("model"));
  target::read_mma(list("mma"));
  target::read_toolkits(list("toolkits"));
  if (json.contains("launch")) target::read_launch_limits(list("launch"));
  for (const std::string_view version : list("ptx")) into.versions.push_back(parse_version(version));
}

void Reader::read_surroundings(const Json& json, ReadSpecs& into) {
  expect_fields(json, "the file", {"doc", "around"});
  for (const Entry& entry : statements(json, "around")) into.surroundings.push_back({entry.key, entry.value});
}

void Reader::read_directives(const Json& json, ReadSpecs& into) {
  expect_fields(json, "the file", {"doc", "directives", "features", "pragmas", "languages"});
  into.directives.directives = entries(json, "directives");
  into.directives.features = entries(json, "features");
  into.directives.pragmas = entries(json, "pragmas");
  if (json.contains("languages")) into.directives.languages = lines(json["languages"], "'languages'");
}

void Reader::read(const Json& json, ReadSpecs& into) {
  if (!json.is_object()) fail("spec-json", place_, "must be a JSON object");
  if (json.contains("types")) return read_types(json, into);
  if (json.contains("classes")) return read_words(json, into);
  if (json.contains("around")) return read_surroundings(json, into);
  if (json.contains("directives")) return read_directives(json, into);
  if (json.contains("targets") || json.contains("ptx")) return read_targets(json, into);
  read_forms(json, into);
}

/// What is wrong with a text that is not JSON, and where.
std::string not_json(std::string_view text) {
  std::size_t at = text.size();
  try {
    [[maybe_unused]] const Json json = Json::parse(text);
  } catch (const Json::parse_error& error) {
    at = std::min(error.byte, text.size());
  } catch (const Json::exception&) {  // a number out of range, or an invalid character
  }
  const std::string_view before = text.substr(0, at);
  return "is not JSON: error in line " + std::to_string(1 + std::ranges::count(before, '\n'));
}

}  // namespace

void read_text(std::string_view text, std::string_view name, Arena& arena, ReadSpecs& into) {
  if (is_nested_too_deeply(text)) fail("spec-json", {.file = name, .form = {}}, "is nested too deeply");
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) fail("spec-json", {.file = name, .form = {}}, not_json(text));
  Reader(name, arena).read(json, into);
}

void read_file(const std::filesystem::path& path, Arena& arena, ReadSpecs& into) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) fail("spec-unreadable", {.file = path.native(), .form = {}}, "cannot be read");
  read_text(text.str(), path.native(), arena, into);
}

void read_folder(const std::filesystem::path& folder, Arena& arena, ReadSpecs& into) {
  std::vector<std::filesystem::path> files;
  for (const auto& place : {folder, folder / "insn"}) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(place, error)) {
      if (entry.path().extension() == ".json") files.push_back(entry.path());
    }
    if (error && place == folder) {
      fail("spec-unreadable", {.file = folder.native(), .form = {}},
           "is not a folder that can be read: " + error.message(),
           "--specs and PTXLOOM_SPECS take folders of *.json files");
    }
  }
  std::sort(files.begin(), files.end());
  for (const auto& file : files) read_file(file, arena, into);
}

}  // namespace ptxloom::spec
