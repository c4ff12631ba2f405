// SPDX-License-Identifier: Apache-2.0
#include "insn/kernel.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "conform/around.hpp"
#include "insn/chain.hpp"

namespace ptxloom::insn {
namespace {

using Kind = OperandSpec::Kind;
using Direction = OperandSpec::Direction;

std::string register_type(int bits) { return bits == 1 ? "pred" : fmt::format("b{}", bits); }

/// Writes the lines of one kernel and remembers which are which.
class Writer {
 public:
  Writer(const Row& row, const KernelShape& shape, const std::string& name)
      : row_(row),
        shape_(shape),
        frame_(frame_of(row)),
        operands_(row.variant.operands()),
        result_(result_of(row)) {
    head(name);
    addresses();
    operands();
    before();
    loop();
    results();
  }

  KernelText finish() { return std::move(made_); }

 private:
  void line(std::string_view text) {
    made_.text += text;
    made_.text += '\n';
    ++lines_;
  }
  void lines(std::string_view text) {
    while (!text.empty()) {
      const std::string_view one = text.substr(0, text.find('\n'));
      if (!one.empty()) line(one);
      text.remove_prefix(std::min(text.size(), one.size() + 1));
    }
  }

  const OperandSpec& operand(int index) const { return operands_[static_cast<std::size_t>(index)]; }
  bool is_chained(int index) const { return shape_.chain.operand == index; }
  /// Whether each stream has registers of its own for it; the others are only read.
  bool is_own(int index) const { return is_chained(index) || operand(index).direction != Direction::in; }

  std::string name_of(int index, int element, int stream) const {
    return fmt::format("%s{}_o{}_{}", is_own(index) ? stream : 0, index, element);
  }

  void head(const std::string& name) {
    line(fmt::format(
        ".visible .entry {}(.param .b64 in, .param .b64 out, .param .b64 slots, .param .b64 times, "
        ".param .b32 rounds, .param .b32 zero)",
        name));
    if (frame_.cluster > 1) line(fmt::format(".explicitcluster .reqnctapercluster {}", frame_.cluster));
    line("{");
    line(".reg .b64 %in, %out, %base, %word, %start, %end, %times;");
    line(".reg .b32 %t<4>, %rounds, %zero, %high; .reg .b16 %high16; .reg .pred %ok, %again, %true;");
    line(".reg .b64 %own_global, %warp_global, %own_shared, %warp_shared, %own_generic, %warp_generic;");
    line(".reg .b64 %own_peer, %warp_peer;");
    line(fmt::format(".shared .align 1024 .b8 tile[{}];", kSharedBytes + kSharedMargin));
    for (int i = 0; i < static_cast<int>(operands_.size()); ++i) declare(i);
  }

  void declare(int index) {
    const OperandSpec& what = operand(index);
    for (int stream = 0; stream < (is_own(index) ? shape_.streams : 1); ++stream) {
      if (is_register(what)) {
        for (int e = 0; e < what.registers(); ++e)
          line(fmt::format(".reg .{} {};", register_type(register_bits(what)), name_of(index, e, stream)));
      } else if (is_chained(index)) {
        line(fmt::format(".reg .b{} {};", address_bits(row_, what), name_of(index, 0, stream)));
      }
    }
  }

  // The addresses by their names in specs/README.md, "conform".
  void addresses() {
    line("ld.param.b32 %rounds, [rounds];");
    line("ld.param.b32 %zero, [zero];");
    line("setp.eq.u32 %true, %zero, 0;");
    line("mov.u32 %t1, %tid.x;");
    line("mov.u32 %t0, %ctaid.x;");
    line("mov.u32 %t2, %ntid.x;");
    line("mad.lo.u32 %t0, %t0, %t2, %t1;");
    const auto slots = [&](const char* space, const char* thread, int room) {
      line(fmt::format("and.b32 %t2, {}, {};", thread, room / frame_.slot_bytes - 1));
      line(fmt::format("mad.wide.u32 %own_{}, %t2, {}, %base;", space, frame_.slot_bytes));
      line("and.b32 %t2, %t2, 0xffffffe0;");
      line(fmt::format("mad.wide.u32 %warp_{}, %t2, {}, %base;", space, frame_.slot_bytes));
    };
    line("ld.param.b64 %base, [slots];");
    slots("global", "%t0", kOutBytes);
    line("mov.b64 %base, tile;");
    slots("shared", "%t1", kSharedBytes);
    for (const char* thread : {"own", "warp"})
      line(fmt::format("cvta.shared.u64 %{0}_generic, %{0}_shared;", thread));
    if (frame_.cluster > 1) {
      line("mov.u32 %t2, %cluster_ctarank;");
      line("xor.b32 %t2, %t2, 1;");
      for (const char* thread : {"own", "warp"})
        line(fmt::format("mapa.shared::cluster.u64 %{0}_peer, %{0}_shared, %t2;", thread));
    }
    fill_shared();
  }

  // Shared memory holds addresses of itself where loads are chained, else what the slots hold.
  void fill_shared() {
    if (frame_.addresses) {
      line(frame_.cluster > 1 ? "mov.b64 %word, %own_peer;" : "mov.b64 %word, %own_generic;");
      line("cvt.u32.u64 %t2, %own_shared;");
      if (!frame_.generic) line("mov.b64 %word, {%t2, %t2};");
      for (int at = 0; at + 8 <= frame_.slot_bytes; at += 8)
        line(fmt::format("st.shared.b64 [%own_shared+{}], %word;", at));
      if (frame_.slot_bytes == 4) line("st.shared.b32 [%own_shared], %t2;");
    } else {
      copy_slots();
    }
    meet();
  }

  void copy_slots() {
    line("ld.param.b64 %start, [slots];");
    line("mov.b64 %base, tile;");
    line("mad.wide.u32 %start, %t1, 8, %start;");
    line("mad.wide.u32 %base, %t1, 8, %base;");
    line("shl.b32 %t3, %t1, 3;");
    line("mov.u32 %t2, %ntid.x;");
    line("shl.b32 %t2, %t2, 3;");
    line("cvt.u64.u32 %end, %t2;");
    line("fill:");
    line("ld.global.b64 %word, [%start];");
    line("st.shared.b64 [%base], %word;");
    line("add.u64 %start, %start, %end;");
    line("add.u64 %base, %base, %end;");
    line("add.u32 %t3, %t3, %t2;");
    line(fmt::format("setp.lt.u32 %again, %t3, {};", kSharedBytes));
    line("@%again bra fill;");
  }

  void meet() {
    if (frame_.cluster > 1) {
      line("barrier.cluster.arrive.aligned;");
      line("barrier.cluster.wait.aligned;");
    } else {
      line("bar.sync 0;");
    }
  }

  void operands() {
    line("ld.param.b64 %in, [in];");
    line("and.b32 %t2, %t1, 31;");
    line(fmt::format("mad.wide.u32 %in, %t2, {}, %in;", frame_.lane_bytes));
    line("ld.global.b32 %high, [%in];");
    line("cvt.u16.u32 %high16, %high;");
    for (const LoadedField& field : frame_.fields) {
      const int streams = is_own(field.operand) ? shape_.streams : 1;
      for (int stream = 0; stream < streams; ++stream) load(field, stream);
    }
    for (int i = 0; i < static_cast<int>(operands_.size()); ++i) {
      if (!is_register(operand(i)) && is_chained(i)) start_address(i);
    }
    if (!shape_.guarded) return;
    // A guarded instruction may leave its result as it was.
    for (int i = 0; i < static_cast<int>(operands_.size()); ++i) {
      if (is_register(operand(i)) && operand(i).direction == Direction::out) clear(i);
    }
  }

  void load(const LoadedField& field, int stream) {
    const std::string name = name_of(field.operand, field.element, stream);
    const int bits = register_bits(operand(field.operand));
    const std::string address =
        fmt::format("[%in+{}]", 16 + stream * kLanes * frame_.lane_bytes + field.offset);
    if (bits == 1) {
      line(fmt::format("ld.global.b32 %t3, {};", address));
      line(fmt::format("setp.ne.u32 {}, %t3, 0;", name));
    } else {
      line(fmt::format("ld.global.b{} {}, {};", bits, name, address));
    }
    if (row_.variant.conform(operand(field.operand).name) != "descriptor") return;
    line("mov.b64 %base, tile;");
    line("shr.u64 %base, %base, 4;");
    line(fmt::format("or.b64 {0}, {0}, %base;", name));
  }

  void start_address(int index) {
    const std::string text = address_of(index, 0, true);
    for (int stream = 0; stream < shape_.streams; ++stream) {
      const std::string name = name_of(index, 0, stream);
      if (address_bits(row_, operand(index)) == 32)
        line(fmt::format("cvt.u32.u64 {}, {};", name, text));
      else
        line(fmt::format("mov.b64 {}, {};", name, text));
    }
    line(fmt::format("mov.b64 {{%t3, %high}}, {};", text));
  }

  void clear(int index) {
    for (int stream = 0; stream < shape_.streams; ++stream) {
      for (int e = 0; e < operand(index).registers(); ++e) {
        const int bits = register_bits(operand(index));
        const std::string name = name_of(index, e, stream);
        if (bits == 1)
          line(fmt::format("setp.ne.u32 {}, %zero, 0;", name));
        else if (bits == 8)
          line(fmt::format("cvt.u8.u32 {}, %zero;", name));
        else if (bits == 128)
          line(fmt::format("mov.b128 {}, {{%word, %word}};", name));
        else
          line(fmt::format("cvt.u{}.u32 {}, %zero;", bits, name));
      }
    }
  }

  std::string address_of(int index, int stream, bool base = false) const {
    const OperandSpec& what = operand(index);
    if (is_chained(index) && !base) return name_of(index, 0, stream);
    if (std::string given = given_text(row_, what); !given.empty()) return given;
    return conform_kernels::address_text(row_.variant, what);
  }

  std::string operand_text(int index, int stream) const {
    const OperandSpec& what = operand(index);
    if (what.kind == Kind::literal) return what.text;
    if (what.kind != Kind::value) return address_of(index, stream);
    if (std::string given = given_text(row_, what); !given.empty() && is_register(what)) return given;
    if (!what.registers_allowed)
      return what.literal_allowed ? std::to_string(row_.literals[static_cast<std::size_t>(index)]) : "_";
    if (what.count == 0) return name_of(index, 0, stream);
    std::string vector;
    for (int e = 0; e < what.count; ++e) vector += (e == 0 ? "{" : ", ") + name_of(index, e, stream);
    return vector + "}";
  }

  std::string instruction(int stream) const {
    std::string text(row_.variant.opcode());
    if (!row_.variant.pieces().empty()) text += ' ';
    for (const OperandPiece& piece : row_.variant.pieces()) {
      text += piece.text;
      if (piece.operand >= 0) text += operand_text(piece.operand, stream);
    }
    return text + ";";
  }

  /// Statements of the specs, with $NAME replaced by operands.
  std::string filled(std::string_view rest, int stream) const {
    std::string text;
    for (std::size_t at = rest.find('$'); at != rest.npos; at = rest.find('$')) {
      const std::size_t end = std::min(rest.find_first_of(", ;]}+\n", at), rest.size());
      text += rest.substr(0, at);
      text += operand_text(row_.variant.operand_index(rest.substr(at + 1, end - at - 1)), stream);
      rest.remove_prefix(end);
    }
    return text + std::string(rest);
  }

  void before() {
    const int streams = row_.rule->before.find('$') != std::string::npos ? shape_.streams : 1;
    for (int stream = 0; stream < streams; ++stream) lines(filled(row_.rule->before, stream));
    meet();
  }

  void loop() {
    made_.first_clock_line = lines_;
    line("mov.u64 %start, %clock64;");
    line("repeat:");
    line(".pragma \"nounroll\";");
    lines(filled(row_.rule->round, 0));
    for (int copy = 0; copy < shape_.copies; ++copy) {
      for (int stream = 0; stream < shape_.streams; ++stream) step(stream);
    }
    lines(filled(row_.rule->end, 0));
    line("sub.u32 %rounds, %rounds, 1;");
    line("setp.ne.u32 %again, %rounds, 0;");
    line("@%again bra repeat;");
    made_.last_clock_line = lines_;
    line("mov.u64 %end, %clock64;");
  }

  void step(int stream) {
    made_.instruction_lines.push_back(lines_);
    line((shape_.guarded ? "@%true " : "") + instruction(stream));
    const int first = lines_;
    lines(filled(row_.rule->then, stream));
    if (shape_.chain.operand >= 0 && shape_.chain.operand != result_) pass_on(stream);
    for (int at = first; at < lines_; ++at) made_.bridge_lines.push_back(at);
  }

  // Makes the result of an instruction an operand of the next.
  void pass_on(int stream) {
    const int to = shape_.chain.operand;
    const OperandSpec &from = operand(result_), &into = operand(to);
    if (is_register(into)) {
      for (int e = 0; e < into.registers(); ++e)
        convert(name_of(result_, e % from.registers(), stream), register_bits(from), name_of(to, e, stream),
                register_bits(into));
    } else {
      pass_address(stream, to);
    }
  }

  void pass_address(int stream, int to) {
    const std::string value = name_of(result_, 0, stream), name = name_of(to, 0, stream);
    const int bits = register_bits(operand(result_)), wanted = address_bits(row_, operand(to));
    if (loads_only(row_) && operand(result_).type.bits >= 32) {
      convert(value, bits, name, wanted);
      return;
    }
    convert(value, bits, "%t3", 32);
    line("and.b32 %t3, %t3, %zero;");
    if (wanted == 32) {
      line(fmt::format("or.b32 {0}, {0}, %t3;", name));
    } else {
      line("cvt.u64.u32 %word, %t3;");
      line(fmt::format("or.b64 {0}, {0}, %word;", name));
    }
  }

  void convert(const std::string& value, int bits, const std::string& name, int wanted) {
    lines(conversion(value, bits, name, wanted));
  }

  void results() {
    line("ld.param.b64 %out, [out];");
    line("mad.wide.u32 %out, %t1, 16, %out;");
    for (int i = 0; i < static_cast<int>(operands_.size()); ++i) {
      if (!is_register(operand(i)) || operand(i).direction == Direction::in) continue;
      for (int stream = 0; stream < shape_.streams; ++stream) {
        for (int e = 0; e < operand(i).registers(); ++e)
          store(name_of(i, e, stream), register_bits(operand(i)));
      }
    }
    times();
    if (frame_.cluster > 1) meet();
    line("ret;");
    line("}");
  }

  void store(const std::string& name, int bits) {
    if (bits == 1) {
      line(fmt::format("selp.b32 %t3, 1, 0, {};", name));
      line("st.global.b32 [%out], %t3;");
    } else {
      line(fmt::format("st.global.b{} [%out], {};", bits, name));
    }
    line("add.u64 %out, %out, 16384;");
  }

  // Start, end and SM of each warp.
  void times() {
    line("ld.param.b64 %times, [times];");
    line("shr.u32 %t2, %t0, 5;");
    line(fmt::format("mad.wide.u32 %times, %t2, {}, %times;", kTimeBytes));
    line("mov.u32 %t3, %smid;");
    line("cvt.u64.u32 %word, %t3;");
    line("st.global.b64 [%times], %start;");
    line("st.global.b64 [%times+8], %end;");
    line("st.global.b64 [%times+16], %word;");
  }

  const Row& row_;
  const KernelShape& shape_;
  const Frame frame_;
  std::span<const OperandSpec> operands_;
  int result_ = -1;
  KernelText made_;
  int lines_ = 0;
};

}  // namespace

KernelText kernel_text(const Row& row, const KernelShape& shape, const std::string& name) {
  return Writer(row, shape, name).finish();
}

std::string module_head(const Row& row, const Target& target) {
  constexpr Version kLeast{.major = 7, .minor = 8};  // of what stands around the instruction
  const Version version = std::max(kLeast, *row.variant.since(target));
  return fmt::format(".version {}\n.target {}\n.address_size 64\n", to_string(version), target.name());
}

}  // namespace ptxloom::insn
