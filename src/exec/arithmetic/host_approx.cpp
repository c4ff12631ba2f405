// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "base/numeric_format.hpp"
#include "exec/arithmetic/approximate.hpp"
#include "exec/arithmetic/elementwise.hpp"
#include "exec/arithmetic/half.hpp"
#include "exec/arithmetic/host_float.hpp"
#include "exec/arithmetic/narrow.hpp"

// sin, cos, ex2 and similar. The manual only bounds their error; here they are the nearest values, as far as
// the host's library provides them. A polynomial finds the same value: rounding is monotone, so if both ends
// of its error interval round to the same float, so does the library's result between them. Otherwise the
// library is called.
namespace ptxloom::exec {
namespace {

using Word = std::uint32_t;
using Short = std::uint16_t;
using Bits = std::uint64_t;

struct Single {
  static constexpr Word kInfinity = kInfinity32, kSign = kSign32, kNan = kNan32;
  static double widen(Word bits) { return std::bit_cast<float>(bits); }
  static Word narrow(double value) { return std::bit_cast<Word>(static_cast<float>(value)); }
};
struct HalfFloat {
  static constexpr Word kInfinity = Half::kInfinity, kSign = 0x8000, kNan = Half::kNan;
  static double widen(Word bits) { return Half::widen(bits); }
  static Word narrow(double value) { return Half::round(float_to_odd(value)); }
};
struct BrainFloat {
  static constexpr Word kInfinity = Brain::kInfinity, kSign = 0x8000, kNan = Brain::kNan;
  static double widen(Word bits) { return Brain::widen(bits); }
  static Word narrow(double value) { return Brain::round(float_to_odd(value)); }
};

template <class Format, bool flush>
Word flushed(Word bits) {
  if constexpr (!flush) return bits;
  return cleared((bits & Format::kInfinity) == 0, ~Format::kSign, bits);
}

template <class Function, class Format, bool flush>
Word approximate(Word bits, bool& doubtful) {
  const double x = Format::widen(flushed<Format, flush>(bits)), value = Function::of(x);
  const Word low = Format::narrow(value * (1 - kApproximationError)),
             high = Format::narrow(value * (1 + kApproximationError));
  const bool is_nan = value != value;
  doubtful |= Function::is_far(x) | ((low != high) & !is_nan);
  return select(is_nan, Word{Format::kNan}, flushed<Format, flush>(low));
}
template <class Function, class Format, bool flush>
Word exact(Word bits) {
  const double value = Function::exact(Format::widen(flushed<Format, flush>(bits)));
  return value != value ? Format::kNan : flushed<Format, flush>(Format::narrow(value));
}

template <class Function, class Format, bool flush>
Semantic of_halves(bool pair) {
  if (!pair) {
    return lanewise_or_exact<Short>(
        [](Short a, bool& doubtful) {
          return static_cast<Short>(approximate<Function, Format, flush>(a, doubtful));
        },
        [](Short a) { return static_cast<Short>(exact<Function, Format, flush>(a)); });
  }
  return lanewise_or_exact<Word>(
      [](Word a, bool& doubtful) {
        return approximate<Function, Format, flush>(a & 0xffff, doubtful) |
               approximate<Function, Format, flush>(a >> 16, doubtful) << 16;
      },
      [](Word a) {
        return exact<Function, Format, flush>(a & 0xffff) | exact<Function, Format, flush>(a >> 16) << 16;
      });
}

template <class Function, bool flush>
Semantic of_type(std::string_view type) {
  const bool pair = type.ends_with("x2");
  if (type.starts_with("f16")) return of_halves<Function, HalfFloat, flush>(pair);
  if (type.starts_with("bf16")) return of_halves<Function, BrainFloat, flush>(pair);
  if (type != "f32") return nullptr;
  return lanewise_or_exact<Word>(
      [](Word a, bool& doubtful) { return approximate<Function, Single, flush>(a, doubtful); },
      [](Word a) { return exact<Function, Single, flush>(a); });
}

template <class Function>
Semantic function(std::string_view type, bool ftz) {
  return ftz ? of_type<Function, true>(type) : of_type<Function, false>(type);
}

template <bool flush>
Word inverse_root(Word bits) {
  const double value = 1 / std::sqrt(Single::widen(flushed<Single, flush>(bits)));
  return select(value != value, Word{kNan32}, Single::narrow(value));  // never subnormal
}

Bits inverse_root_of_double(Bits bits) {
  const double value = 1 / std::sqrt(std::bit_cast<double>(bits));
  const Bits own = select(value != value, base::kF64.nan, std::bit_cast<Bits>(value));
  return select((bits & ~kSign64) > kInfinity64, base::kF64.quiet(bits), own);
}

Semantic inverse_root(std::string_view type, bool ftz) {
  if (type == "f64") return lanewise<Bits>([](Bits a) { return inverse_root_of_double(a); });
  if (type != "f32") return nullptr;
  return ftz ? lanewise<Word>([](Word a) { return inverse_root<true>(a); })
             : lanewise<Word>([](Word a) { return inverse_root<false>(a); });
}

// rcp.approx.ftz.f64, rsqrt.approx.ftz.f64: they read and write only the upper word of an f64 (PTX ISA
// 9.7.3.14).
constexpr Bits kUpperWord = 0xffff'ffff'0000'0000;
Bits flushed_double(Bits bits) { return cleared((bits & kInfinity64) == 0, ~kSign64, bits); }
Bits upper_word(double value) {
  const Bits number = flushed_double(std::bit_cast<Bits>(value));
  return select(value != value, ~kSign64, number) & kUpperWord;
}

}  // namespace

Semantic host_upper_word(std::string_view op) {
  if (op == "rcp")
    return lanewise<Bits>(
        [](Bits a) { return upper_word(1 / std::bit_cast<double>(flushed_double(a & kUpperWord))); });
  return lanewise<Bits>([](Bits a) {
    return upper_word(1 / std::sqrt(std::bit_cast<double>(flushed_double(a & kUpperWord))));
  });
}

Semantic host_approximation(std::string_view op, std::string_view type, bool ftz) {
  if (op == "ex2") return function<PowerOfTwo>(type, ftz);
  if (op == "tanh") return function<HyperbolicTangent>(type, ftz);
  if (op == "lg2") return function<BinaryLogarithm>(type, ftz);
  if (op == "sin") return function<Sine>(type, ftz);
  if (op == "cos") return function<Cosine>(type, ftz);
  return op == "rsqrt" ? inverse_root(type, ftz) : nullptr;
}

}  // namespace ptxloom::exec
