// SPDX-License-Identifier: Apache-2.0
// specgen reads specs/*.json and writes the constexpr tables that are compiled in. It compiles, joins and
// lints every form, so a malformed spec fails the build with file, form and row.
#include <fstream>
#include <iostream>
#include <map>
#include <string>

#include "spec/database.hpp"
#include "spec/directives.hpp"
#include "spec/lint.hpp"
#include "spec/reader.hpp"

namespace ptxloom::spec {

/// specgen generates the tables, so it has none itself.
const SpecData& compiled_specs() {
  static constexpr SpecData none;
  return none;
}

namespace {

/// A raw string literal: spec texts do not contain `)~`.
std::string literal(std::string_view text) { return "R\"~(" + std::string(text) + ")~\""; }

class Generator {
 public:
  explicit Generator(std::ostream& out) : out_(out) {}

  void generate(const ReadSpecs& specs) {
    out_ << "// Generated from specs/ by specgen.\n#include \"spec/form_data.hpp\"\n\nnamespace "
            "ptxloom::spec {\n"
         << "namespace {\n\n";
    for (const FormData& form : specs.forms) file(*form.file);
    std::string forms;
    for (const FormData& form : specs.forms) forms += form_text(form);
    const std::string words = word_classes(specs.words);
    const std::string directives = "{.directives = " + entries(specs.directives.directives) +
                                   ", .features = " + entries(specs.directives.features) +
                                   ", .pragmas = " + entries(specs.directives.pragmas) +
                                   ", .languages = " + texts(specs.directives.languages) + "}";
    types(specs.types);
    out_ << "constexpr FormData kForms[] = {\n"
         << forms << "};\n"
         << "constexpr WordClass kWords[] = {\n"
         << words << "};\n"
         << "constexpr Surrounding kSurroundings[] = {\n"
         << surroundings(specs.surroundings) << "};\n"
         << "constexpr SpecData kSpecs{.forms = kForms, .types = kTypes, .words = kWords, .surroundings = "
            "kSurroundings,\n    .directives = "
         << directives << "};\n\n}  // namespace\n\n"
         << "const SpecData& compiled_specs() { return kSpecs; }\n\n}  // namespace ptxloom::spec\n";
  }

 private:
  /// Declares an array and returns its name; "{}" for an empty one.
  std::string array(std::string_view type, const std::vector<std::string>& items) {
    if (items.empty()) return "{}";
    const std::string name = "k" + std::to_string(++arrays_);
    out_ << "constexpr " << type << ' ' << name << "[] = {";
    for (const std::string& item : items) out_ << "\n    " << item << ',';
    out_ << "};\n";
    return name;
  }

  std::string entries(std::span<const Entry> entries) {
    std::vector<std::string> items;
    for (const Entry& entry : entries)
      items.push_back("{" + literal(entry.key) + ", " + literal(entry.value) + "}");
    return array("Entry", items);
  }

  std::string texts(std::span<const std::string_view> texts) {
    std::vector<std::string> items;
    for (std::string_view text : texts) items.push_back(literal(text));
    return array("std::string_view", items);
  }

  std::string tables(std::span<const TableData> tables) {
    std::vector<std::string> items;
    for (const TableData& table : tables) items.push_back("{" + texts(table.lines) + "}");
    return array("TableData", items);
  }

  std::string fragments(std::span<const FragmentData> maps) {
    std::vector<std::string> items;
    for (const FragmentData& map : maps) {
      items.push_back("{" + literal(map.operands) + ", " + literal(map.type) + ", " + literal(map.warp) +
                      ", " + literal(map.lane) + ", " + literal(map.val) + ", " + literal(map.bits) + ", " +
                      literal(map.block) + "}");
    }
    return array("FragmentData", items);
  }

  void file(const FileData& data) {
    if (files_.contains(&data)) return;
    const std::string sets = entries(data.sets), needs = entries(data.needs);
    const std::string name = "kFile" + std::to_string(files_.size());
    files_[&data] = name;
    out_ << "constexpr FileData " << name << "{.name = " << literal(data.name) << ", .sets = " << sets
         << ", .needs = " << needs << ", .need = " << literal(data.need)
         << ", .module_decls = " << literal(data.module_decls)
         << ", .body_decls = " << literal(data.body_decls) << "};\n";
  }

  std::string form_text(const FormData& form) {
    const std::string mnemonics = texts(form.mnemonics), ops = entries(form.ops), alias = entries(form.alias),
                      mods = entries(form.mods), sets = entries(form.sets), needs = entries(form.needs),
                      chosen = entries(form.select), rows = tables(form.tables), lax = tables(form.lax),
                      lax_ops = entries(form.lax_ops), frags = fragments(form.frags),
                      conform = entries(form.conform);
    return "    {.file = &" + files_.at(form.file) + ", .name = " + literal(form.name) +
           ", .family = " + literal(form.family) + ", .doc = " + literal(form.doc) +
           ",\n     .text = " + literal(form.text) + ", .need = " + literal(form.need) +
           ", .mode = " + literal(form.mode) + ", .undocumented = " + literal(form.undocumented) +
           ",\n     .mnemonics = " + mnemonics + ", .words = " + literal(form.words) + ", .ops = " + ops +
           ", .alias = " + alias + ", .mods = " + mods + ", .sets = " + sets + ", .needs = " + needs +
           ", .select = " + chosen + ",\n     .tables = " + rows + ", .lax = " + lax +
           ", .lax_ops = " + lax_ops + ", .frags = " + frags + ", .conform = " + conform +
           ", .module_decls = " + literal(form.module_decls) + ", .body_decls = " + literal(form.body_decls) +
           "},\n";
  }

  std::string word_classes(std::span<const WordClass> classes) {
    std::string items;
    for (const WordClass& group : classes) {
      items += "    {.name = " + literal(group.name) + ", .ordered = " + (group.ordered ? "true" : "false") +
               ", .words = " + texts(group.words) + "},\n";
    }
    return items;
  }

  static std::string surroundings(std::span<const Surrounding> surroundings) {
    std::string items;
    for (const Surrounding& each : surroundings)
      items += "    {.name = " + literal(each.name) + ", .text = " + literal(each.text) + "},\n";
    return items;
  }

  static std::string version(Version version) {
    return "{" + std::to_string(version.major) + ", " + std::to_string(version.minor) + "}";
  }

  void types(std::span<const TypeData> types) {
    static constexpr const char* kinds[] = {"bits", "signed_integer", "unsigned_integer", "floating",
                                            "predicate"};
    out_ << "constexpr TypeData kTypes[] = {\n";
    for (const TypeData& data : types) {
      out_ << "    {{" << literal(data.type.name) << ", " << data.type.bits
           << ", TypeKind::" << kinds[static_cast<int>(data.type.kind)] << ", " << int{data.type.lanes}
           << "}, " << (data.literals ? "true" : "false") << ", " << data.braces << ", {"
           << version(data.braces_of.from) << ", " << version(data.braces_of.until) << "}},\n";
    }
    out_ << "};\n";
  }

  std::ostream& out_;
  std::map<const FileData*, std::string> files_;
  int arrays_ = 0;
};

/// Compiles and lints every form, and sets the forms' mnemonics.
void lint_all(ReadSpecs& specs, const Vocabulary& vocabulary, Arena& arena) {
  std::map<std::string_view, const FormData*> names;
  for (FormData& form : specs.forms) {
    FormVariants variants(form, vocabulary);
    lint(variants);
    std::vector<std::string_view> kept;
    for (std::string_view mnemonic : mnemonics(variants.form()))
      kept.push_back(arena.keep(std::string(mnemonic)));
    form.mnemonics = arena.keep(std::move(kept));
    form.words = arena.keep(words(variants.form()));
    if (!names.emplace(form.name, &form).second) {
      fail("spec-duplicate-form", variants.form().place(), "another file has a form of this name");
    }
  }
}

int run(const std::filesystem::path& folder, const std::filesystem::path& output) {
  Arena arena;
  ReadSpecs specs;
  read_folder(folder, arena, specs);
  Vocabulary vocabulary;
  vocabulary.add(targets());
  vocabulary.add(specs.types);
  vocabulary.add(specs.words);
  vocabulary.add(specs.surroundings);
  Directives().add(specs.directives, vocabulary);
  lint_all(specs, vocabulary, arena);
  std::ofstream out(output);
  Generator(out).generate(specs);
  out.close();
  if (out) return 0;
  std::cerr << "cannot write " << output << '\n';
  return 1;
}

}  // namespace
}  // namespace ptxloom::spec

int main(int argc, char** argv) try {
  if (argc == 3) return ptxloom::spec::run(argv[1], argv[2]);
  std::cerr << "usage: specgen SPECS_FOLDER OUT.cpp\n";
  return 2;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
