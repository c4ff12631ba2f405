// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <limits>
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

/// \file
/// The instruction database. A form of specs/insn/*.json is a text with slots, operands and tables. A Variant
/// is one way to fill the slots, with a distinct printed text. A target has it if every table of its form has
/// a matching row and every need that applies is met. Specs::select finds a variant by its meaning,
/// Specs::match by its opcode. specs/README.md describes forms in full.
///
/// Lifetimes: what Specs return as a value may be used when they are gone: Variant, Target and Diagnostic,
/// and the Layout, ir::Module and KernelBuilder that are made from them. References, spans and string views
/// into these live as long as they do; those that Specs return themselves (forms(), info()) live as long as
/// the Specs.
namespace [[gnu::visibility("default")]] ptxloom {

namespace spec {
class Database;      // src/spec/database.hpp: the forms, compiled lazily, and the variants made so far
struct VariantData;  // src/spec/variant.hpp
}  // namespace spec

/// What may be given as one operand of a variant.
struct OperandSpec {
  /// What it is.
  enum class Kind : std::uint8_t {
    value,    ///< a register, a literal or a vector
    address,  ///< `[...]`
    symbol,   ///< the name of a variable or function
    label,    ///< a label
    literal,  ///< fixed text, such as a special register
  };
  /// Whether the instruction reads or writes it.
  enum class Direction : std::uint8_t {
    in,    ///< it is read
    out,   ///< it is written
    inout  ///< it is read and written
  };

  std::string name;                     ///< as in the form's text: "A"
  Kind kind = Kind::value;              ///< what it is
  Direction direction = Direction::in;  ///< whether it is read or written
  Type type;                            ///< of one element
  int count = 0;                        ///< elements of a vector; 0: a scalar
  bool registers_allowed = true;        ///< false: only a literal is allowed
  bool literal_allowed = false;         ///< an immediate (in its range) is allowed
  bool wider_allowed = false;           ///< a register wider than the type is allowed (ld, st, cvt)
  bool wider_integers = false;          ///< and such a register is one of integers or bits, of 64 at most
  bool exact = false;  ///< only registers of this type, or `.b` ones of its size, are allowed
  /// A register of `.f16x2` is allowed where the type is another: ptxas takes one for any 32 bits, predicates
  /// included, if the type is a modifier of the opcode, and not where it is fixed.
  bool pairs = false;
  /// A variable with an offset is allowed, `v+4`: its address as an integer of the type.
  bool variable_allowed = false;
  static constexpr int kNoChip = std::numeric_limits<int>::max();  ///< no chip at all
  /// The first chip on which such a variable fits: 0 for all, kNoChip for none. For others ptxas expands the
  /// instruction into internal PTX, in which it cannot read one.
  int variable_since = 0;
  int element_since = 0;  ///< the same of an element of a vector register, `v.x`
  int braces = 0;         ///< number of registers in braces that are allowed for a scalar: {r}, {r, s}
  Version braces_until{9999, 0};  ///< the last PTX version in which they are
  /// A predicate or a 0f literal is allowed, since ptxas does not check the class; for an address, any base
  /// is.
  bool any_class = false;
  bool loose = false;      ///< elements of a vector may be integers for floating point, or literals alone
  int index = 0;           ///< for a vector of coordinates: which element indexes an array, from 1
  bool continues = false;  ///< an element of the vector that an earlier operand begins: {BA, TA}
  /// `_` is not allowed, although it is an element or one of a pair; nor is a predicate or a decimal number.
  bool needed = false;
  bool whole_numbers = false;     ///< a literal as an element is not a decimal number
  bool registers_only = false;    ///< a literal as an element is not allowed
  bool sink_allowed = false;      ///< `_` is allowed as a destination
  bool negation_allowed = false;  ///< `!p` is allowed
  /// The values of an immediate, both ends included. If the second is below the first, they are unsigned.
  std::optional<std::pair<std::int64_t, std::int64_t>> range;
  std::int64_t step = 1;              ///< of the range, from its start
  std::vector<std::int64_t> choices;  ///< values of an immediate; empty: any in the range
  std::string space;                  ///< state space of an address: "shared"; empty: generic
  std::string variables;    ///< state space of the variables that an address may name; mostly `space`
  bool long_base = false;   ///< the base of an address is not a register of 16 bits
  bool short_base = false;  ///< ptxas also takes narrower registers as the base of an address of 64 bits
  /// The text of a literal: "%tid.x"; of a symbol its name in the oracle's test; of a value the selectors
  /// that its register may have: "b[0-3]|h[0-1]".
  std::string text;
  /// Number of registers: 1 for a scalar.
  int registers() const { return count == 0 ? 1 : count; }
  /// The operand in words: "4 x b32", "address in shared", "0..3".
  std::string describe() const;
};

/// A piece of the operands in a variant's text.
struct OperandPiece {
  std::string text;  ///< the characters before the operand: ", " or " ["
  int operand = -1;  ///< index into Variant::operands(); -1 for the last piece
};

/// One instruction with all its modifiers: a handle to the database. A variant that Specs return, and its
/// copies, keep the database alive. That of an ir::Instruction does not: ir::Module::specs does it for all
/// instructions.
class Variant {
 public:
  Variant() = default;  ///< none: only `operator bool` may be called
  /// Specs call this. Without `owner` the database must outlive the variant.
  explicit Variant(const spec::VariantData* data, std::shared_ptr<const void> owner = nullptr)
      : data_(data), owner_(std::move(owner)) {}

  explicit operator bool() const { return data_ != nullptr; }  ///< whether there is a variant
  friend bool operator==(const Variant& a, const Variant& b) { return a.data_ == b.data_; }

  std::string_view form() const;  ///< name of its form
  /// The option that .target must name for it, such as "texmode_independent"; with "!" one that it must not
  /// name; else empty.
  std::string_view mode() const;
  std::string_view opcode() const;                ///< "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
  std::span<const OperandSpec> operands() const;  ///< its operands in order
  /// An operand by its name in the text ("A") or the form's alias for it. Throws Error(usage,
  /// "unknown-operand"), with the names.
  const OperandSpec& operand(std::string_view name) const;
  int operand_index(std::string_view name) const;  ///< index into operands(); -1 if there is none
  std::span<const OperandPiece> pieces() const;    ///< the text around the operands
  /// The value of a slot, also of a hidden one; nullopt if it is absent ("-") or unknown.
  std::optional<std::string_view> slot(std::string_view name) const;
  /// The same as an integer. Throws Error(usage, "not-a-number").
  int slot_int(std::string_view name) const;
  /// The lowest PTX version that has it on this target; nullopt if the target does not have it.
  std::optional<Version> since(const Target& target) const;
  /// Whether ptxas accepts it although the PTX ISA does not promise it. It is accepted when read, and never
  /// emitted.
  bool undocumented() const;
  /// Whether the target has it in this PTX version. (since() is not enough, as later versions removed a few
  /// forms.)
  bool allowed(const Target& target, Version version) const;
  /// The fragment map of an operand, as "frags" in specs/README.md describes it, with all slots filled in.
  struct FragmentMap {
    std::string type;   ///< of an element
    std::string warp;   ///< digits of the warp in a warpgroup
    std::string lane;   ///< digits of the lane: "4*k2 8*m1"
    std::string val;    ///< digits of the values in a lane
    std::string bits;   ///< padding of elements
    std::string block;  ///< for scale factors: elements along k for each
    bool empty() const { return lane.empty() && val.empty(); }  ///< whether the form gives none
  };
  FragmentMap fragment(std::string_view operand) const;  ///< throws as operand()
  /// How the variant is tried on hardware, as "conform" in specs/README.md describes it: what an operand must
  /// hold, or what stands "before" and "after"; empty if the form does not say.
  std::string conform(std::string_view what) const;

  const spec::VariantData* data() const { return data_; }  ///< for the library's own use

 private:
  const spec::VariantData* data_ = nullptr;
  std::shared_ptr<const void> owner_;
};

/// A condition by which Specs::select chooses.
struct Choice {
  std::string_view name;   ///< a slot of the form, or a name of its "select" field: "shape"
  std::string_view value;  ///< "m16n8k16"
};

/// All instruction forms: those compiled in and, over them, overlays. A form of an overlay replaces the form
/// of the same name, or is added. Const members are thread-safe.
class Specs {
 public:
  /// Reads every *.json of the folders, in order, over the forms that are compiled in. Throws Error(usage),
  /// with file and form, for a malformed one; the codes begin with "spec-". Assemblers differ in what they
  /// take beyond the manual, and in what they wrongly refuse: what any known one takes is accepted. With
  /// `assembler`, a release of CUDA such as 13.0, only what that one takes is, in PTX versions that it reads.
  explicit Specs(std::span<const std::filesystem::path> overlays = {},
                 std::optional<Version> assembler = std::nullopt);
  ~Specs();
  Specs(const Specs&) = delete;
  Specs& operator=(const Specs&) = delete;

  /// The absolute paths of the overlays' folders, in order, for another process to read the same.
  std::span<const std::filesystem::path> overlays() const { return overlays_; }

  /// A target by its name, overlays included. Throws Error(usage, "unknown-target").
  Target target(std::string_view name) const;
  /// All targets: those compiled in, then those of overlays.
  std::vector<Target> targets() const;

  /// The variant of a family ("mma.sync", "ldmatrix", or a form's name) that meets the conditions and that
  /// the target has. Slots without a condition are absent or have their default. Throws Error(illegal_ptx) if
  /// there is not exactly one: "no-variant", with the nearest, "ambiguous-variant", "not-on-target", with the
  /// targets that have it, "unknown-form".
  ///@{
  Variant select(std::string_view family, std::span<const Choice> choices, const Target& target) const;
  Variant select(std::string_view family, std::initializer_list<Choice> choices, const Target& target) const;
  ///@}
  /// The same without an error: nullopt if there is not exactly one.
  std::optional<Variant> find(std::string_view family, std::initializer_list<Choice> choices,
                              const Target& target) const;

  /// All variants with this opcode, on any target: "mov.b32" gives moves of registers, vectors, symbols and
  /// so on. Modifiers may be in any order that the form allows. Undocumented variants come last.
  std::vector<Variant> match(std::string_view opcode) const;
  /// The variants of only the `nth` form, from 0, that has the opcode; empty after the last form. It saves
  /// the time of compiling the forms after the one that fits. An opcode that is read leniently, such as one
  /// with a repeated modifier, only match() knows.
  std::vector<Variant> match_form(std::string_view opcode, std::size_t nth) const;
  /// Why match() finds nothing for an opcode, or nothing on the target, with the nearest legal opcodes. The
  /// column is that of the wrong modifier in the opcode, from 1.
  Diagnostic explain(std::string_view opcode, const Target& target) const;

  /// Names of all forms, in order.
  std::vector<std::string_view> forms() const;
  /// All variants of a form. Throws Error(usage, "unknown-form").
  std::vector<Variant> variants(std::string_view form) const;
  /// What a form says of itself.
  struct FormInfo {
    std::string_view name;          ///< its name
    std::string_view family;        ///< its family: "mma.sync"
    std::string_view text;          ///< its text with slots
    std::string_view doc;           ///< a sentence about it
    std::string_view undocumented;  ///< how it was found, if no manual describes any of it; else empty
  };
  FormInfo info(std::string_view form) const;  ///< throws as variants()

  const spec::Database& database() const { return *database_; }  ///< for the library's own use

 private:
  std::shared_ptr<const spec::Database> database_;
  std::vector<std::filesystem::path> overlays_;
};

}  // namespace ptxloom
