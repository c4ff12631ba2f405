// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ptxloom/error.hpp"
#include "ptxloom/target.hpp"
#include "ptxloom/type.hpp"

// The instruction database. A form is one row set of specs/insn/*.json: a text with slots, operands, tables.
// A Variant is one legal way to fill the slots: a distinct printed text. It is legal on a target if every
// table of its form has a matching row and every need that applies holds; `select` finds it by meaning,
// `match` by its opcode.
namespace [[gnu::visibility("default")]] ptxloom {

namespace spec {
class Database;      // src/spec/database.hpp: the forms, compiled lazily, and the variants made so far
struct VariantData;  // src/spec/variant.hpp
}  // namespace spec

/// What may stand at one operand place of a variant, all slots filled in.
struct OperandSpec {
  enum class Kind : std::uint8_t { value, address, symbol, label, literal };
  enum class Direction : std::uint8_t { in, out, inout };

  std::string name;  ///< as in the form's text: "A"
  Kind kind = Kind::value;
  Direction direction = Direction::in;
  Type type;                      ///< of one element
  int count = 0;                  ///< elements of a vector; 0 = a scalar
  bool registers_allowed = true;  ///< false: a literal only
  bool literal_allowed = false;   ///< an immediate (in its range) may stand here
  bool wider_allowed = false;     ///< a register wider than the type will do (ld, st, cvt)
  bool exact = false;             ///< of registers only `.b` ones of just this size
  int braces = 0;                 ///< registers in braces that may stand for a scalar: {r}, {r, s}
  bool any_class = false;         ///< a predicate or a 0f literal fits too: ptxas does not look at the class;
                                  ///< of an address: any base
  bool loose = false;             ///< of vector elements: integers for floating point, literals alone
  int index = 0;                  ///< of a vector of coordinates: which element indexes an array, from 1
  bool continues = false;         ///< an element of the vector that an operand before it begins: {BA, TA}
  bool needed = false;  ///< no `_`, though it is one of a pair or an element; no predicate or decimal there
  bool whole_numbers = false;                                  ///< a literal as an element is no decimal
  bool registers_only = false;                                 ///< no literal as an element either
  bool sink_allowed = false;                                   ///< `_` may stand for a destination
  bool negation_allowed = false;                               ///< `!p`
  std::optional<std::pair<std::int64_t, std::int64_t>> range;  ///< of an immediate
  std::int64_t step = 1;                                       ///< of the range, from its start
  std::vector<std::int64_t> choices;                           ///< of an immediate; empty = any in range
  std::string space;                                           ///< of an address: "shared", "" = generic
  std::string variables;  ///< of an address: where variables lie that it names; mostly as `space`
  std::string text;  ///< of a literal: "%tid.x"; of a symbol: its name in the oracle's test; of a value: the
                     ///< selectors its register may have, "b[0-3]|h[0-1]"
  /// Registers that the operand takes: 1 for a scalar.
  int registers() const { return count == 0 ? 1 : count; }
  /// "4 x b32", "address in shared", "0..3".
  std::string describe() const;
};

/// A piece of the operand part of a variant's text: literal characters, then an operand (or none at the end).
struct OperandPiece {
  std::string text;  ///< what stands before the operand: ", " or " ["
  int operand = -1;  ///< index into operands(), -1 for the last piece
};

/// A cheap handle. What Specs return keeps the database alive, also when the Specs are gone, and so do copies of
/// it. The variant of an ir::Instruction does not: Module::specs does that for all instructions at once.
class Variant {
 public:
  Variant() = default;  ///< none: only `operator bool` may be called
  explicit Variant(const spec::VariantData* data, std::shared_ptr<const void> owner = nullptr)
      : data_(data), owner_(std::move(owner)) {}

  explicit operator bool() const { return data_ != nullptr; }
  friend bool operator==(const Variant& a, const Variant& b) { return a.data_ == b.data_; }

  std::string_view form() const;
  /// The option that .target must name for it, "texmode_independent"; "!..." must not; "" where none matters.
  std::string_view mode() const;
  std::string_view opcode() const;  ///< "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
  std::span<const OperandSpec> operands() const;
  /// By the name in the text ("A") or the form's alias for it; throws Error(usage) that lists the names.
  const OperandSpec& operand(std::string_view name) const;
  int operand_index(std::string_view name) const;  ///< -1 if there is none
  std::span<const OperandPiece> pieces() const;
  /// The value of a slot (also the hidden ones); nullopt where it is absent ("-") or unknown.
  std::optional<std::string_view> slot(std::string_view name) const;
  /// The same as an integer; throws where it is none.
  int slot_int(std::string_view name) const;
  /// The lowest PTX version that has it on this target; nullopt if the target lacks it.
  std::optional<Version> since(const Target& target) const;
  /// What ptxas takes and the manual does not promise: accepted when read, never emitted.
  bool undocumented() const;
  /// Whether target and PTX version have it. (A few forms end with a version: since() alone does not say.)
  bool allowed(const Target& target, Version version) const;
  /// The fragment map of an operand as specs/README.md ("frags") has it, slots filled in: the element type,
  /// digits such as "4*k2 8*m1" of warp, lane and val, and how elements are padded or scaled. Empty where the
  /// form gives none.
  struct FragmentMap {
    std::string type, warp, lane, val, bits, block;
    bool empty() const { return lane.empty() && val.empty(); }
  };
  FragmentMap fragment(std::string_view operand) const;
  /// How the variant is tried on hardware, as specs/README.md ("conform") has it: what an operand must hold,
  /// or what stands `before` and `after`; "" where nothing is said.
  std::string conform(std::string_view what) const;

  const spec::VariantData* data() const { return data_; }
  const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  const spec::VariantData* data_ = nullptr;
  std::shared_ptr<const void> owner_;
};

/// One word by which `select` chooses: a slot of the form or a name its `select` field maps ("shape").
struct Choice {
  std::string_view name;
  std::string_view value;
};

/// The forms compiled in, with overlays laid over them: a form of the same name replaces, others append. All
/// const members are thread-safe.
class Specs {
 public:
  /// The forms compiled in, and over them every *.json of these folders, in order. Throws Error(usage,
  /// "spec-...") with file and form for a malformed one.
  explicit Specs(std::span<const std::filesystem::path> overlays = {});
  ~Specs();
  Specs(const Specs&) = delete;
  Specs& operator=(const Specs&) = delete;

  /// The folders of the overlays, absolute, in order: another process reads the same from them.
  std::span<const std::filesystem::path> overlays() const { return overlays_; }

  /// A target by name, overlays included.
  Target target(std::string_view name) const;
  /// All of them: those compiled in, then those of overlays.
  std::vector<Target> targets() const;

  /// The one variant of a family ("mma.sync", "ldmatrix", or a form's name) that has these words and is legal
  /// on the target. Slots not named take "-" or their default. None, or more than one left: Error(refused)
  /// that lists the nearest legal variants and which targets have them.
  Variant select(std::string_view family, std::span<const Choice> choices, const Target& target) const;
  Variant select(std::string_view family, std::initializer_list<Choice> choices, const Target& target) const;
  /// The same as a question: nullopt if there is none (or more than one).
  std::optional<Variant> find(std::string_view family, std::initializer_list<Choice> choices,
                              const Target& target) const;

  /// Every variant, of any target, whose opcode reads as this word ("mov.b32" gives moves of registers,
  /// vectors, symbols ...). Modifiers may stand in any order the form allows. The span stays valid as long as
  /// the Specs.
  std::vector<Variant> match(std::string_view opcode) const;
  /// The same form by form, for who takes the first that fits and need not wait until the forms behind it are
  /// compiled: those of the `nth` form, from 0, that has the opcode; empty behind the last. What is read
  /// leniently (a modifier that stands twice) only `match` knows.
  std::vector<Variant> match_form(std::string_view opcode, std::size_t nth) const;
  /// Why an opcode that matches nothing is wrong, and the nearest legal ones: a diagnostic that names them.
  /// Its column is that of the wrong word in the opcode, from 1.
  Diagnostic explain(std::string_view opcode, const Target& target) const;

  /// Names of all forms in order, and the variants of one (every text, canonical operands), for list and
  /// tests.
  std::vector<std::string_view> forms() const;
  std::vector<Variant> variants(std::string_view form) const;
  /// The form's `doc` sentence, its `text` and its family word, for list and show.
  struct FormInfo {
    std::string_view name, family, text, doc;
  };
  FormInfo info(std::string_view form) const;

  const spec::Database& database() const { return *database_; }

 private:
  std::shared_ptr<const spec::Database> database_;
  std::vector<std::filesystem::path> overlays_;
};

}  // namespace ptxloom
