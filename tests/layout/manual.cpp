// SPDX-License-Identifier: Apache-2.0
#include "layout/manual.hpp"

#include <algorithm>
#include <set>
#include <sstream>

namespace ptxloom {
namespace {

// What the opcode says, word by word.
struct Opcode {
  std::vector<std::string> words;
  std::string shape;  // the word with an x in it: 16x64b
  int m = 0, n = 0, k = 0;
  std::vector<std::string> types;  // in their order

  explicit Opcode(std::string_view text) {
    std::istringstream in{std::string(text)};
    static const std::set<std::string> known = {"f16",   "bf16",  "tf32", "f32",   "f64",       "s8",
                                                "u8",    "s4",    "u4",   "b1",    "s32",       "e4m3",
                                                "e5m2",  "e3m2",  "e2m3", "e2m1",  "b16",       "b8",
                                                "ue8m0", "ue4m3", "u32",  "b8x16", "b4x16_p64", "b6x16_p32"};
    for (std::string word; std::getline(in, word, '.');) {
      words.push_back(word);
      if (known.contains(word)) types.push_back(word);
      if (std::isdigit(static_cast<unsigned char>(word[0])) && word.find('x') != word.npos) shape = word;
      if (int a = 0, b = 0, c = 0; std::sscanf(word.c_str(), "m%dn%dk%d", &a, &b, &c) >= 2)
        m = a, n = b, k = c;
    }
  }
  bool has(std::string_view word) const { return std::ranges::find(words, word) != words.end(); }
  bool sparse() const { return has("sp") || has("sp::ordered_metadata"); }
  bool in_bytes() const { return has("kind::f8f6f4") || has("kind::mxf8f6f4"); }
};

int bits_of(const std::string& type) {
  static const std::map<std::string, int> bits = {
      {"f16", 16}, {"bf16", 16}, {"tf32", 32}, {"f32", 32},  {"s32", 32}, {"f64", 64}, {"s8", 8}, {"u8", 8},
      {"e4m3", 8}, {"e5m2", 8},  {"e3m2", 6},  {"e2m3", 6},  {"e2m1", 4}, {"s4", 4},   {"u4", 4}, {"b1", 1},
      {"u2", 2},   {"u32", 32},  {"ue8m0", 8}, {"ue4m3", 8}, {"b16", 16}, {"b8", 8},   {"b6", 6}, {"b4", 4}};
  return bits.at(type);
}

// The formulas of 9.7.14.5.2 to 9.7.14.5.13; g = groupID, t = threadID_in_group.
using Formula = Place (*)(int g, int t, int i);
struct Dense {
  int m, k, bits;
  Formula a, b;
};

constexpr Dense kDense[] = {
    {8, 4, 64, [](int g, int t, int) { return Place{g, t}; }, [](int g, int t, int) { return Place{t, g}; }},
    {8, 16, 8, [](int g, int t, int i) { return Place{g, t * 4 + i}; },
     [](int g, int t, int i) { return Place{t * 4 + i, g}; }},
    {8, 32, 4, [](int g, int t, int i) { return Place{g, t * 8 + i}; },
     [](int g, int t, int i) { return Place{t * 8 + i, g}; }},
    {8, 128, 1, [](int g, int t, int i) { return Place{g, t * 32 + i}; },
     [](int g, int t, int i) { return Place{t * 32 + i, g}; }},
    {16, 4, 32, [](int g, int t, int i) { return Place{i == 0 ? g : g + 8, t}; },
     [](int g, int t, int) { return Place{t, g}; }},
    {16, 4, 64, [](int g, int t, int i) { return Place{i == 0 ? g : g + 8, t}; },
     [](int g, int t, int) { return Place{t, g}; }},
    {16, 8, 16, [](int g, int t, int i) { return Place{i < 2 ? g : g + 8, t * 2 + (i & 1)}; },
     [](int g, int t, int i) { return Place{t * 2 + i, g}; }},
    {16, 8, 32, [](int g, int t, int i) { return Place{i == 0 || i == 2 ? g : g + 8, i < 2 ? t : t + 4}; },
     [](int g, int t, int i) { return Place{i == 0 ? t : t + 4, g}; }},
    {16, 8, 64, [](int g, int t, int i) { return Place{i == 0 || i == 2 ? g : g + 8, i < 2 ? t : t + 4}; },
     [](int g, int t, int i) { return Place{i == 0 ? t : t + 4, g}; }},
    {16, 16, 16,
     [](int g, int t, int i) {
       return Place{i < 2 || (4 <= i && i < 6) ? g : g + 8, t * 2 + (i & 1) + (i < 4 ? 0 : 8)};
     },
     [](int g, int t, int i) { return Place{t * 2 + (i & 1) + (i < 2 ? 0 : 8), g}; }},
    {16, 16, 64,
     [](int g, int t, int i) { return i % 2 == 0 ? Place{g, i * 2 + t} : Place{g + 8, i * 2 - 2 + t}; },
     [](int g, int t, int i) { return Place{t + i * 4, g}; }},
    {16, 16, 8, [](int g, int t, int i) { return Place{i < 4 ? g : g + 8, t * 4 + (i & 3)}; },
     [](int g, int t, int i) { return Place{t * 4 + i, g}; }},
    {16, 32, 4, [](int g, int t, int i) { return Place{i < 8 ? g : g + 8, t * 8 + (i & 7)}; },
     [](int g, int t, int i) { return Place{t * 8 + (i & 7), g}; }},
    {16, 32, 8,
     [](int g, int t, int i) {
       return Place{i < 4 || (8 <= i && i < 12) ? g : g + 8, t * 4 + (i & 3) + (i < 8 ? 0 : 16)};
     },
     [](int g, int t, int i) { return Place{t * 4 + (i & 3) + (i < 4 ? 0 : 16), g}; }},
    {16, 64, 4,
     [](int g, int t, int i) {
       return Place{i < 8 || (16 <= i && i < 24) ? g : g + 8, t * 8 + (i & 7) + (i < 16 ? 0 : 32)};
     },
     [](int g, int t, int i) { return Place{t * 8 + (i & 7) + (i < 8 ? 0 : 32), g}; }},
    {16, 128, 1, [](int g, int t, int i) { return Place{i < 32 ? g : g + 8, t * 32 + (i & 0x1f)}; },
     [](int g, int t, int i) { return Place{t * 32 + i, g}; }},
    {16, 256, 1,
     [](int g, int t, int i) {
       return Place{i < 32 || (64 <= i && i < 96) ? g : g + 8, t * 32 + (i & 0x1f) + (i < 64 ? 0 : 128)};
     },
     [](int g, int t, int i) { return Place{t * 32 + (i & 0x1f) + (i < 32 ? 0 : 128), g}; }},
    // B of the sparse shapes that no dense one has, by figures 120, 124, 132 to 135 and 142 to 145.
    {16, 16, 32, nullptr, [](int g, int t, int i) { return Place{i * 4 + t, g}; }},
    {16, 32, 16, nullptr, [](int g, int t, int i) { return Place{i / 2 * 8 + t * 2 + i % 2, g}; }},
    {16, 64, 8, nullptr, [](int g, int t, int i) { return Place{i / 4 * 16 + t * 4 + i % 4, g}; }},
    {16, 128, 4, nullptr, [](int g, int t, int i) { return Place{i / 8 * 32 + t * 8 + i % 8, g}; }},
};

const Dense* dense(int m, int k, int bits) {
  const auto found =
      std::ranges::find_if(kDense, [&](const Dense& d) { return d.m == m && d.k == k && d.bits == bits; });
  return found == std::end(kDense) ? nullptr : found;
}

ManualFragment of_formula(const std::string& type, int bits, Formula formula,
                          const std::string& axes = "mn") {
  ManualFragment fragment{.type = type, .bits = bits, .axes = axes};
  fragment.place = [formula](int lane, int i) { return formula(lane >> 2, lane % 4, i); };
  return fragment;
}

// "The matrix element of type e2m1 resides in the central 4 bits of the 8-bit container, of type e3m2 or e2m3
// in the lower 6 bits" (9.7.14.5.14).
ManualFragment in_containers(ManualFragment fragment, const Opcode& op) {
  if (op.in_bytes() && fragment.type == "e2m1") fragment.shift = 2;
  return fragment;
}

int container(const Opcode& op, const std::string& type) { return op.in_bytes() ? 8 : bits_of(type); }

// A; of a sparse one (9.7.14.6.2) firstcol is twice the dense col of half the k, so that what is stored lies
// as in the dense fragment of half the k.
std::optional<ManualFragment> a_of(const Opcode& op, const std::string& type) {
  const int bits = container(op, type);
  const Dense* const found = dense(op.m == 64 ? 16 : op.m, op.sparse() ? op.k / 2 : op.k, bits);
  if (found == nullptr || found->a == nullptr) return std::nullopt;
  return in_containers(of_formula(type, bits, found->a, "mk"), op);
}

std::optional<ManualFragment> b_of(const Opcode& op, const std::string& type) {
  const int bits = container(op, type);
  const Dense* const found = dense(op.m, op.k, bits);
  if (found == nullptr) return std::nullopt;
  return in_containers(of_formula(type, bits, found->b, "kn"), op);
}

ManualFragment accumulator(const Opcode& op, const std::string& type) {
  if (op.m == 8)
    return of_formula(type, bits_of(type), [](int g, int t, int i) { return Place{g, t * 2 + i}; });
  return of_formula(type, bits_of(type),
                    [](int g, int t, int i) { return Place{i < 2 ? g : g + 8, t * 2 + (i & 1)}; });
}

// 9.7.14.5.1: four computations, each by four lanes below 16 and four above.
ManualFragment m8n8k4(const Opcode& op, const std::string& operand, const std::string& type) {
  ManualFragment fragment{.type = type,
                          .bits = bits_of(type),
                          .axes = operand == "a"   ? "mk"
                                  : operand == "b" ? "kn"
                                                   : "mn"};
  const auto alayout = std::ranges::find_if(op.words, [](auto& w) { return w == "row" || w == "col"; });
  const bool row = operand == "a" ? *alayout == "row" : *(alayout + 1) == "row";
  const bool f32 = type == "f32";
  fragment.place = [=](int lane, int i) {
    const int high = lane < 16 ? 0 : 4, matrix = lane % 16 / 4;
    if (operand == "a")
      return row ? Place{lane % 4 + high, i, matrix} : Place{i % 4 + high, lane % 4, matrix};
    if (operand == "b") return row ? Place{lane % 4, i + high, matrix} : Place{i, lane % 4 + high, matrix};
    if (!f32) return Place{lane % 4 + high, i, matrix};
    return Place{(lane & 1) + (i & 2) + high, (i & 4) + (lane & 2) + (i & 1), matrix};
  };
  return fragment;
}

int chosen(const Selection& selection, const std::string& operand) {
  const auto found = selection.find(operand);
  return found == selection.end() ? 0 : found->second;
}

// Figures 119, 122, 125, 127, 129, 136, 137, 139, 146, 147: the metadata of a quad. 16-bit and tf32: a thread
// has rows g and g + 8 for one part of k; 8-bit and 4-bit: one row, two threads have g, g + 8.
ManualFragment metadata(const Opcode& op, const std::string& type, const Selection& selection) {
  const bool tf32 = type == "tf32";
  const int bits = tf32 ? 4 : 2;
  const int per_row = op.k / 2 / (container(op, type) == 4 ? 2 : 1);  // indices: one for two 4-bit elements
  const int threads = 16 * per_row * bits / 32 / 8;                   // of a quad
  ManualFragment fragment{.type = tf32 ? "u4" : "u2", .bits = bits, .axes = "mk"};
  if (threads < 4) fragment.selectors = {"F"};
  const int first = chosen(selection, "F") * threads;
  const bool wide = container(op, type) >= 16;
  fragment.place = [=](int lane, int i) -> std::optional<Place> {
    const int g = lane >> 2, t = lane % 4 - first, held = 32 / bits;
    if (t < 0 || t >= threads) return std::nullopt;
    if (wide) return Place{i < held / 2 ? g : g + 8, t * held / 2 + i % (held / 2)};
    return Place{t % 2 == 0 ? g : g + 8, t / 2 * held + i};
  };
  return fragment;
}

// 9.7.14.3: thread-id-a chooses a pair of a quad (rows g and g + 8), thread-id-b one thread; byte-id a byte,
// a pair of bytes or all four.
ManualFragment scales(const Opcode& op, bool of_a, const Selection& selection) {
  const std::string letter = of_a ? "A" : "B";
  const int factors = op.has("scale_vec::4X") ? 4 : op.has("kind::mxf8f6f4") ? 1 : 2;
  ManualFragment fragment{.type = op.types.back(),
                          .bits = 8,
                          .block = op.k / factors,
                          .axes = of_a ? "mk" : "nk",
                          .selectors = {"B" + letter, "T" + letter}};
  const int byte = chosen(selection, "B" + letter), thread = chosen(selection, "T" + letter);
  fragment.place = [=](int lane, int i) -> std::optional<Place> {
    if (i < byte || i >= byte + factors) return std::nullopt;
    if (of_a ? lane % 4 / 2 != thread : lane % 4 != thread) return std::nullopt;
    return Place{lane / 4 + (of_a ? lane % 2 * 8 : 0), i - byte};
  };
  return fragment;
}

// A warpgroup: warp w has rows 16 w to 16 w + 15 (figures 148 to 155).
ManualFragment in_warpgroup(ManualFragment fragment) {
  fragment.lanes = 128;
  fragment.place = [of_warp = fragment.place](int lane, int i) {
    auto place = of_warp(lane % 32, i);
    if (place) place->row += lane / 32 * 16;
    return place;
  };
  return fragment;
}

std::optional<ManualFragment> wgmma(const Opcode& op, const std::string& operand,
                                    const Selection& selection) {
  if (operand == "a") {
    auto a = a_of(op, op.types[1]);
    return a ? std::optional(in_warpgroup(*a)) : std::nullopt;
  }
  if (operand == "e") return in_warpgroup(metadata(op, op.types[1], selection));
  if (operand != "d") return std::nullopt;
  return in_warpgroup(of_formula(op.types[0], bits_of(op.types[0]), [](int g, int t, int i) {
    return Place{g + (i % 4 < 2 ? 0 : 8), i / 4 * 8 + t * 2 + i % 2};
  }));
}

std::optional<ManualFragment> mma(const Opcode& op, const std::string& operand, const Selection& selection) {
  const std::string& type = op.types[operand == "d" ? 0 : operand == "b" ? 2 : operand == "c" ? 3 : 1];
  if (operand == "sa" || operand == "sb") return scales(op, operand == "sa", selection);
  if (operand == "e") return metadata(op, type, selection);
  if (op.m == 8 && op.k == 4 && op.types[1] == "f16") return m8n8k4(op, operand, type);
  if (operand == "a") return a_of(op, type);
  if (operand == "b") return b_of(op, type);
  return accumulator(op, type);
}

// Figures 104 to 110. Rows are those of memory: what .trans says is which way a thread's elements run.
std::optional<ManualFragment> matrices(const Opcode& op, const std::string& operand) {
  const bool trans = op.has("trans") && !(op.words[0] == "movmatrix" && operand == "a");
  const std::string& last = op.types.back();
  if (last == "b16") {
    ManualFragment fragment{.type = "b16", .bits = 16};
    fragment.place = [trans](int lane, int i) {
      const int along = lane % 4 * 2 + i % 2, across = lane / 4;
      return trans ? Place{along, across, i / 2} : Place{across, along, i / 2};
    };
    return fragment;
  }
  ManualFragment fragment{.type = last == "b4x16_p64" ? "b4" : last == "b6x16_p32" ? "b6" : "b8", .bits = 8};
  const bool load = op.words[0] == "ldmatrix", sixteen = op.m == 16;
  fragment.place = [=](int lane, int i) {
    if (!load) return Place{lane % 4 * 2 + i % 2, lane / 4 + i % 4 / 2 * 8, i / 4};  // m16n8, transposed
    if (!sixteen) return Place{lane / 4, lane % 4 * 4 + i % 4, i / 4};
    return Place{lane % 4 * 4 + i % 4, lane / 4 + i % 8 / 4 * 8, i / 8};
  };
  return fragment;
}

// tcgen05.ld and .st (9.7.16.2.3.1): rows are lanes of tensor memory, columns its columns; with .pack::16b or
// .unpack::16b a register holds the lower halves of two columns. 16x32bx2 has two pieces.
ManualFragment tensor_memory(const Opcode& op) {
  const int halves = op.has("pack::16b") || op.has("unpack::16b") ? 2 : 1;
  const std::string type = halves == 2 ? "b16" : op.types.empty() ? "b32" : op.types.back();
  ManualFragment fragment{.type = type, .bits = 32 / halves};
  fragment.place = [halves, shape = op.shape](int lane, int i) {
    const int g = lane / 4, t = lane % 4, r = i / halves;
    Place at{lane, r, 0};
    if (shape == "16x32bx2") at = {lane % 16, r, lane / 16};
    if (shape == "16x64b") at = {g + 8 * (t & 1), (t >> 1) + 2 * r, 0};
    if (shape == "16x128b") at = {g + 8 * (r & 1), t + 4 * (r >> 1), 0};
    if (shape == "16x256b") at = {g + 4 * (r & 2), 2 * t + (r & 1) + 8 * (r >> 2), 0};
    at.col = at.col * halves + i % halves;
    return at;
  };
  return fragment;
}

}  // namespace

std::optional<ManualFragment> manual_fragment(const Variant& variant, std::string operand,
                                              const Selection& selection) {
  for (char& c : operand) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const Opcode op(variant.opcode());
  if (op.words[0] == "wgmma") return wgmma(op, operand, selection);
  if (op.words[0] == "mma") return mma(op, operand, selection);
  if (op.words[0].ends_with("matrix")) return matrices(op, operand);
  if (op.words[0] == "tcgen05" && operand == "d") return tensor_memory(op);
  return std::nullopt;
}

std::vector<LayoutElement> manual_elements(const ManualFragment& fragment, const OperandSpec& operand) {
  std::vector<LayoutElement> elements;
  const int values = operand.registers() * operand.type.bits / fragment.bits;
  for (int lane = 0; lane < fragment.lanes; ++lane) {
    for (int i = 0; i < values; ++i) {
      const auto place = fragment.place(lane, i);
      if (!place) continue;
      const int bit = i * fragment.bits;
      elements.push_back({.lane = lane,
                          .reg = bit / operand.type.bits,
                          .bit = bit % operand.type.bits + fragment.shift,
                          .row = place->row,
                          .col = place->col,
                          .matrix = place->matrix});
    }
  }
  return elements;
}

}  // namespace ptxloom
