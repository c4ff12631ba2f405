// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "exec/harness.hpp"
#include "support/mma_model.hpp"

// One matrix instruction on operands that the test lays out itself: where elements lie is written as the PTX
// manual has it, and not taken from our maps.
namespace ptxloom::exec::test {

struct At {
  int row, col;
};
/// Element i of a fragment in a lane.
using Place = std::function<At(int lane, int i)>;

inline int group(int lane) { return lane / 4; }
inline int member(int lane) { return lane % 4; }
/// C and D of m16n8: two columns side by side, rows eight apart.
inline At result(int lane, int i) { return {group(lane) + i / 2 * 8, member(lane) * 2 + i % 2}; }

/// Elements of a type as bits.
struct Matrix {
  Type type;
  int rows, cols;
  std::vector<std::uint64_t> bits = std::vector<std::uint64_t>(static_cast<std::size_t>(rows * cols));

  std::uint64_t& operator()(int row, int col) { return bits[static_cast<std::size_t>(row * cols + col)]; }
  std::uint64_t operator()(int row, int col) const {
    return bits[static_cast<std::size_t>(row * cols + col)];
  }
  double value(int row, int col) const { return narrow::decode(type, (*this)(row, col)); }
};

/// Numbers whose products and sums are exact in every accumulator there is; integers of the whole range.
inline Matrix exact_matrix(Random& random, Type type, int rows, int cols) {
  static constexpr double kValues[] = {0, 0.5, -0.5, 1, -1, 2, -2, 1.5, -1.5, 3};
  Matrix matrix{type, rows, cols};
  for (std::uint64_t& bits : matrix.bits) {
    bits = type.is_float() ? narrow::encode(type, kValues[random.below(10)])
                           : random.bits() & (~std::uint64_t{0} >> (64 - type.bits));
  }
  return matrix;
}
inline Matrix random_matrix(Random& random, Type type, int rows, int cols) {
  Matrix matrix{type, rows, cols};
  for (std::uint64_t& bits : matrix.bits) bits = random.bits() & (~std::uint64_t{0} >> (64 - type.bits));
  return matrix;
}

/// Numbers about the least ones that f16 has, and their products: powers of two and zeros, now and then with
/// more bits.
inline Matrix tiny_matrix(Random& random, Type type, int rows, int cols) {
  Matrix matrix{type, rows, cols};
  for (std::uint64_t& bits : matrix.bits) {
    const double magnitude =
        std::ldexp(random.below(4) == 0 ? 1.5 : 1.0, -8 - static_cast<int>(random.below(9)));
    if (random.below(3) != 0) bits = narrow::encode(type, random.below(2) == 0 ? magnitude : -magnitude);
  }
  return matrix;
}

/// How many elements of D are not those of the model.
inline int differing(const ptxloom::test::MmaModelRow& model, const Matrix& a, const Matrix& b,
                     const Matrix& c, const Matrix& d) {
  int count = 0;
  for (int row = 0; row < d.rows; ++row) {
    for (int col = 0; col < d.cols; ++col) {
      std::vector<std::uint32_t> left, right;
      for (int k = 0; k < a.cols; ++k) {
        left.push_back(static_cast<std::uint32_t>(a(row, k)));
        right.push_back(static_cast<std::uint32_t>(b(k, col)));
      }
      count += model(left, right, static_cast<std::uint32_t>(c(row, col))) != d(row, col);
    }
  }
  return count;
}

/// An operand: `count` registers in each lane, by lane, then register.
struct Registers {
  int count = 0;
  std::vector<std::uint64_t> values = {};
  int bits = 32;           ///< of a register
  bool braces = true;      ///< {%r0, ...}
  std::string after = {};  ///< text that follows it
};

/// How elements lie in a register: `stride` bits apart, each `shift` above the first of them.
struct Packing {
  int stride, shift = 0;
};
inline Packing packing(Type type, bool bytes = false) {
  if (!bytes || type.bits == 8) return {type.bits};
  return {8, type == e2m1 ? 2 : 0};
}

/// `count` elements of each lane, in the order of their bits.
inline Registers spread(const Matrix& matrix, const Place& place, int count, Packing packing,
                        int lanes = 32) {
  const int width = packing.stride == 64 ? 64 : 32, per = width / packing.stride;
  Registers registers{.count = (count + per - 1) / per, .bits = width};
  registers.values.resize(static_cast<std::size_t>(lanes * registers.count));
  for (int lane = 0; lane < lanes; ++lane) {
    for (int i = 0; i < count; ++i) {
      const At at = place(lane, i);
      registers.values[static_cast<std::size_t>(lane * registers.count + i / per)] |=
          matrix(at.row, at.col) << (i % per * packing.stride + packing.shift);
    }
  }
  return registers;
}

inline Matrix collect(const Registers& registers, Type type, int rows, int cols, const Place& place,
                      int count, int lanes = 32) {
  Matrix matrix{type, rows, cols};
  const int per = registers.bits / type.bits;
  for (int lane = 0; lane < lanes; ++lane) {
    for (int i = 0; i < count; ++i) {
      const At at = place(lane, i);
      matrix(at.row, at.col) = registers.values[static_cast<std::size_t>(lane * registers.count + i / per)] >>
                                   (i % per * type.bits) &
                               (~std::uint64_t{0} >> (64 - type.bits));
    }
  }
  return matrix;
}

inline std::string names(char letter, const Registers& registers) {
  std::string text = "%" + std::string(1, letter) + "0";
  for (int i = 1; i < registers.count; ++i) text += ", %" + std::string(1, letter) + std::to_string(i);
  return registers.braces ? "{" + text + "}" : text;
}

/// Loads the operands, executes `opcode d, in...;` in `threads` threads and gives d.
inline Registers execute(const std::string& target, const std::string& opcode, Registers d,
                         const std::vector<Registers>& in, std::uint32_t threads = 32) {
  std::string body = ".reg .u64 %p; .reg .u32 %t; mov.u32 %t, %tid.x;\n", parameters = ".param .u64 p_d";
  const auto declare = [&](char letter, const Registers& r) {
    body += ".reg ." + std::string(r.bits == 64 ? "f64" : "b32") + " %" + std::string(1, letter) + "<" +
            std::to_string(r.count) + ">; ld.param.u64 %p, [p_" + letter + "]; mad.wide.u32 %p, %t, " +
            std::to_string(8 * r.count) + ", %p;\n";
  };
  const auto access = [&](const char* what, char letter, const Registers& r) {
    const std::string type = r.bits == 64 ? ".f64 " : ".b32 ";
    for (int i = 0; i < r.count; ++i) {
      const std::string at = "[%p+" + std::to_string(8 * i) + "]",
                        name = "%" + std::string(1, letter) + std::to_string(i);
      body += what + type + (what[0] == 'l' ? name + ", " + at : at + ", " + name) + ";\n";
    }
  };
  std::string text = opcode + " " + names('d', d);
  Memory memory;
  d.values.assign(threads * static_cast<std::size_t>(d.count), 0);
  std::vector<std::uint64_t> addresses{memory.map(d.values.data(), d.values.size() * 8)};
  for (std::size_t i = 0; i < in.size(); ++i) {
    const char letter = static_cast<char>('e' + i);
    parameters += ", .param .u64 p_" + std::string(1, letter);
    declare(letter, in[i]);
    access("ld.global", letter, in[i]);
    text += ", " + names(letter, in[i]) + in[i].after;
    addresses.push_back(memory.map(const_cast<std::uint64_t*>(in[i].values.data()), in[i].values.size() * 8));
  }
  declare('d', d);
  body += text + ";\n";
  access("st.global", 'd', d);
  const Program program = program_of(parameters, body, {}, target);
  std::vector<std::byte> buffer(addresses.size() * 8);
  std::memcpy(buffer.data(), addresses.data(), buffer.size());
  program.run(memory, {.block = {threads, 1, 1}, .parameters = buffer});
  return d;
}

}  // namespace ptxloom::exec::test
