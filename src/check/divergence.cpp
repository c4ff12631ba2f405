// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <string>
#include <unordered_map>

#include "base/dotted.hpp"
#include "check/rules.hpp"
#include "ir/naming.hpp"
#include "spec/database.hpp"

// `.aligned`: all threads of a warp execute the instruction together, which cannot be guaranteed under a
// predicate that diverges within the warp. A register is the same in all lanes, or counts lanes (a multiple
// of 32 plus the lane number, like %tid.x in a thread block of whole warps), or diverges. It diverges if
// anything it is computed from does: a lane's own number, memory at a divergent address or private to the
// thread, or a value written under a divergent predicate. words.json says which special registers and
// instructions do what: `varying`, `counting`, `uniform`, `keeping`, `warpwise`. Only forward branches are
// followed: what they skip runs under their predicate.
namespace ptxloom::check_rules {
namespace {

using Words = std::vector<std::string_view>;

Words words_of(const Specs& specs, std::string_view wanted) {
  for (const spec::WordClass& cls : specs.database().vocabulary().classes())
    if (cls.name == wanted) return {cls.words.begin(), cls.words.end()};
  return {};
}

bool begins_with_any(std::string_view text, const Words& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return begins_with_words(text, word); });
}

/// "setp.lt=0/32": applied to a lane count and a literal 0, 32, 64 ... it gives the same result in all lanes.
struct Warpwise {
  std::string_view opcode;
  std::int64_t first = 0, step = 1;

  explicit Warpwise(std::string_view word) : opcode(word.substr(0, word.find('='))) {
    const std::size_t equals = word.find('='), slash = word.find('/');
    if (slash >= word.size() || equals >= slash) return;
    std::from_chars(word.data() + equals + 1, word.data() + slash, first);
    std::from_chars(word.data() + slash + 1, word.data() + word.size(), step);
  }
  bool holds(std::int64_t literal) const {
    return (literal >= first || first == 0) && (literal - first) % std::max<std::int64_t>(step, 1) == 0;
  }
};

/// How a value varies within a warp; greater means less is known.
enum class Along : std::uint8_t { same, counts, differs };

class Divergence {
 public:
  explicit Divergence(const Scope& scope)
      : kernel_(scope.kernel),
        varying_(words_of(*scope.module.specs, "varying")),
        counting_(words_of(*scope.module.specs, "counting")),
        uniform_(words_of(*scope.module.specs, "uniform")),
        keeping_(words_of(*scope.module.specs, "keeping")),
        along_(kernel_.registers.size()),
        read_(kernel_.registers.size()) {
    for (const std::string_view word : words_of(*scope.module.specs, "warpwise"))
      warpwise_.emplace_back(word);
    for (std::size_t i = 0; i < kernel_.body.size(); ++i)
      if (kernel_.body[i].kind == ir::Statement::Kind::label) place_of_label_[kernel_.body[i].index] = i;
  }

  struct Finding {
    const ir::Instruction* instruction;
    const ir::Guard* under;
  };

  /// The `.aligned` instructions under a divergent predicate: those of the first pass that changes nothing
  /// that was already used.
  std::vector<Finding> run() {
    std::vector<Finding> found;
    do {
      outdated_ = false;
      found.clear();
      walk([&](const ir::Instruction& instruction, const ir::Guard* under) {
        const Kind& kind = kinds_.of(instruction.variant, [&](Variant variant) { return kind_of(variant); });
        follow(instruction, kind, under);
        if (under != nullptr && kind.aligned) found.push_back({&instruction, under});
      });
    } while (outdated_);
    return found;
  }

  static bool is_aligned(Variant variant) {
    return variant.opcode().find(".aligned") != std::string_view::npos;
  }

 private:
  struct Kind {
    bool aligned = false, uniform = false, varying = false, keeping = false;
    std::span<const OperandSpec> places;
    std::vector<std::size_t> results;  // indices of those
  };

  /// Visits the instructions in order, each with the divergent predicate that controls it: its own, or that
  /// of a branch over it.
  template <class Visit>
  void walk(const Visit& visit) {
    const ir::Guard* jumped = nullptr;
    std::size_t until = 0;
    for (std::size_t i = 0; i < kernel_.body.size(); ++i) {
      if (i >= until) jumped = nullptr;
      if (kernel_.body[i].kind == ir::Statement::Kind::call)
        forget_results(kernel_.calls[kernel_.body[i].index]);
      if (kernel_.body[i].kind != ir::Statement::Kind::instruction) continue;
      const ir::Instruction& instruction = kernel_.instructions[kernel_.body[i].index];
      const bool own = instruction.guard && along(instruction.guard->reg.id) != Along::same;
      visit(instruction, own ? &*instruction.guard : jumped);
      const std::size_t target = own ? target_of(instruction) : 0;
      if (target <= i || target <= until) continue;
      jumped = &*instruction.guard;
      until = target;
    }
  }

  /// The target of a branch; 0 if the instruction is not a branch.
  std::size_t target_of(const ir::Instruction& instruction) const {
    for (const ir::Operand& operand : kernel_.operands_of(instruction)) {
      if (operand.kind != ir::Operand::Kind::label) continue;
      const auto place = place_of_label_.find(operand.index);
      if (place != place_of_label_.end()) return place->second;
    }
    return 0;
  }

  void follow(const ir::Instruction& instruction, const Kind& kind, const ir::Guard* under) {
    const auto operands = kernel_.operands_of(instruction);
    const auto each_result = [&](const auto& visit) {
      for (const std::size_t i : kind.results)
        if (i < operands.size()) each_register(operands[i], visit);
    };
    bool open = false;  // otherwise there is nothing to learn
    each_result([&](std::uint32_t id) { open = open || along_[id] != Along::differs; });
    if (!open) return;
    const Along result = under != nullptr ? Along::differs : result_of(instruction, kind, operands);
    each_result([&](std::uint32_t id) { raise(id, result); });
  }

  /// How an instruction's result varies, apart from its inputs.
  Kind kind_of(Variant variant) const {
    const std::string_view opcode = variant.opcode();
    Kind kind{.aligned = is_aligned(variant),
              .uniform = begins_with_any(opcode, uniform_),
              .varying = begins_with_any(opcode, varying_),
              .keeping = begins_with_any(opcode, keeping_),
              .places = variant.operands(),
              .results = {}};
    for (std::size_t i = 0; i < kind.places.size(); ++i)
      if (kind.places[i].kind == OperandSpec::Kind::value &&
          kind.places[i].direction != OperandSpec::Direction::in)
        kind.results.push_back(i);
    return kind;
  }

  Along result_of(const ir::Instruction& instruction, const Kind& kind,
                  std::span<const ir::Operand> operands) {
    if (kind.uniform) return Along::same;
    if (kind.varying) return Along::differs;
    Along inputs = Along::same;
    const std::size_t count = std::min(kind.places.size(), operands.size());
    for (std::size_t i = 0; i < count && inputs != Along::differs; ++i)
      inputs = std::max(inputs, input(kind.places[i], operands[i]));
    if (inputs != Along::counts || kind.keeping) return inputs;
    const std::string_view opcode = instruction.variant.opcode();
    for (const Warpwise& rule : warpwise_) {
      const auto is_literal = [&](const ir::Operand& o) {
        return o.kind == ir::Operand::Kind::integer && rule.holds(o.value);
      };
      if (begins_with_words(opcode, rule.opcode) && std::any_of(operands.begin(), operands.end(), is_literal))
        return Along::same;
    }
    return Along::differs;
  }

  Along input(const OperandSpec& place, const ir::Operand& operand) {
    if (place.kind == OperandSpec::Kind::literal)
      return begins_with_any(place.text, counting_)  ? Along::counts
             : begins_with_any(place.text, varying_) ? Along::differs
                                                     : Along::same;
    if (place.kind == OperandSpec::Kind::address && place.space == "local") return Along::differs;
    if (operand.kind == ir::Operand::Kind::address_symbol || operand.kind == ir::Operand::Kind::symbol) {
      const bool own =
          operand.index < kernel_.symbols.size() && kernel_.symbols[operand.index].space == ir::Space::local;
      return own ? Along::differs : Along::same;
    }
    if (place.kind == OperandSpec::Kind::value && place.direction == OperandSpec::Direction::out)
      return Along::same;
    Along worst = Along::same;
    each_register(operand, [&](std::uint32_t id) { worst = std::max(worst, along(id)); });
    // Memory at addresses that count lanes can hold anything.
    return place.kind == OperandSpec::Kind::address && worst != Along::same ? Along::differs : worst;
  }

  template <class Visit>
  void each_register(const ir::Operand& operand, const Visit& visit) const {
    const auto one = [&](const ir::Operand& o) {
      const bool names = o.kind == ir::Operand::Kind::reg || o.kind == ir::Operand::Kind::address;
      if (names && o.index < along_.size()) visit(o.index);
    };
    if (operand.kind != ir::Operand::Kind::vector) return one(operand);
    if (operand.index > kernel_.operands.size() || operand.count > kernel_.operands.size() - operand.index)
      return;
    for (const ir::Operand& element : kernel_.elements_of(operand)) one(element);
  }

  void forget_results(const ir::Call& call) {
    for (const ir::Operand& result : kernel_.results_of(call))
      each_register(result, [&](std::uint32_t id) { raise(id, Along::differs); });
  }

  Along along(std::uint32_t id) {
    read_[id] = 1;
    return along_[id];
  }

  // Conclusions from a register that is raised later, at the end of a loop, must be drawn again.
  void raise(std::uint32_t id, Along to) {
    if (along_[id] >= to) return;
    along_[id] = to;
    outdated_ = outdated_ || read_[id] != 0;
  }

  const ir::Kernel& kernel_;
  const Words varying_, counting_, uniform_, keeping_;
  std::vector<Warpwise> warpwise_;
  ByVariant<Kind> kinds_;
  std::vector<Along> along_;        // by register
  std::vector<std::uint8_t> read_;  // by register: whether a conclusion was drawn from it
  std::unordered_map<std::uint32_t, std::size_t> place_of_label_;
  bool outdated_ = false;
};

}  // namespace

void check_divergence(const Scope& scope, Diagnostics& out) {
  const auto& instructions = scope.kernel.instructions;
  const bool concerned = std::any_of(
      instructions.begin(), instructions.end(),
      [](const ir::Instruction& instruction) { return Divergence::is_aligned(instruction.variant); });
  if (!concerned || !scope.module.specs) return;
  for (const auto& [instruction, under] : Divergence(scope).run()) {
    const std::string predicate = ir::name_of(scope.kernel.registers[under->reg.id]);
    out.push_back(located(*instruction, {.severity = Severity::warning,
                                         .code = "divergent-aligned",
                                         .message = "all threads of the warp must execute it together, but " +
                                                    predicate + ", which guards it, may differ between them",
                                         .hint = "move it out of the control of " + predicate +
                                                 ", or compute the predicate from values that are uniform in "
                                                 "the warp (vote.sync, or shfl.sync.idx of lane 0)"}));
  }
}

}  // namespace ptxloom::check_rules
