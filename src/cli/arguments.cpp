// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "ptxloom/error.hpp"
#include "ptxloom/numeric.hpp"

namespace ptxloom::cli {
namespace {

using Kind = RunArgument::Kind;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  RunArgument parse() {
    RunArgument argument;
    std::string_view rest = text_;
    std::string_view word = take_word(rest);
    if (!is_keyword(word)) {
      argument.name = word;
      word = take_word(rest);
      if (!is_keyword(word)) throw bad(fmt::format("'{}' is neither in, out, inout, bytes nor a type", word));
    }
    if (rest.empty()) throw bad(fmt::format("nothing follows '{}='", word));
    if (word == "in") return argument.kind = Kind::in, argument.source = rest, argument;
    if (word == "out") return parse_out(rest, std::move(argument));
    if (word == "inout") return parse_inout(rest, std::move(argument));
    if (word == "bytes") return parse_bytes(rest, std::move(argument));
    argument.kind = Kind::scalar;
    argument.type = *find_type(word);
    argument.bits = scalar_bits(argument.type, rest);
    return argument;
  }

 private:
  Error bad(const std::string& why) const {
    return {ErrorKind::usage, "bad-arg", fmt::format("--arg {}: {}", text_, why),
            "write in=FILE.npy, out=TYPE[SHAPE]:FILE.npy, inout=IN.npy:OUT.npy, TYPE=VALUE or bytes=HEX"};
  }

  static bool is_keyword(std::string_view word) {
    return word == "in" || word == "out" || word == "inout" || word == "bytes" || find_type(word).has_value();
  }

  std::string_view take_word(std::string_view& rest) const {
    const std::size_t equals = rest.find('=');
    if (equals == std::string_view::npos) throw bad("there is no '='");
    const std::string_view word = rest.substr(0, equals);
    rest.remove_prefix(equals + 1);
    return word;
  }

  RunArgument parse_out(std::string_view rest, RunArgument argument) const {
    argument.kind = Kind::out;
    const std::size_t open = rest.find('[');
    const std::size_t close = rest.find("]:");
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
      argument.destination = rest;  // a template's tensor: its type and shape are known
      return argument;
    }
    const auto type = find_type(rest.substr(0, open));
    if (!type) throw bad(fmt::format("there is no type '{}'", rest.substr(0, open)));
    argument.type = *type;
    argument.shape = parse_shape(rest.substr(open + 1, close - open - 1));
    argument.destination = rest.substr(close + 2);
    if (argument.destination.empty()) throw bad("no file is named");
    return argument;
  }

  std::vector<std::uint64_t> parse_shape(std::string_view text) const {
    std::vector<std::uint64_t> shape;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (true) {
      std::uint64_t extent = 0;
      const auto [stop, error] = std::from_chars(at, end, extent);
      if (error != std::errc() || extent == 0)
        throw bad(fmt::format("[{}] is no shape; each size is 1 or more", text));
      shape.push_back(extent);
      if (stop == end) return shape;
      if (*stop != ',') throw bad(fmt::format("[{}] is no shape", text));
      at = stop + 1;
    }
  }

  RunArgument parse_inout(std::string_view rest, RunArgument argument) const {
    const std::size_t colon = rest.find(':');
    if (colon == 0 || colon == std::string_view::npos || colon + 1 == rest.size())
      throw bad("two files are needed, IN.npy:OUT.npy");
    argument.kind = Kind::inout;
    argument.source = rest.substr(0, colon);
    argument.destination = rest.substr(colon + 1);
    return argument;
  }

  RunArgument parse_bytes(std::string_view rest, RunArgument argument) const {
    argument.kind = Kind::bytes;
    if (rest.size() % 2 != 0)
      throw bad("two hexadecimal digits make a byte, and the number of digits is odd");
    for (std::size_t i = 0; i < rest.size(); i += 2) {
      unsigned value = 0;
      const auto [stop, error] = std::from_chars(rest.data() + i, rest.data() + i + 2, value, 16);
      if (error != std::errc() || stop != rest.data() + i + 2)
        throw bad(fmt::format("'{}' is no hexadecimal byte", rest.substr(i, 2)));
      argument.bytes.push_back(static_cast<std::byte>(value));
    }
    return argument;
  }

  std::uint64_t scalar_bits(Type type, std::string_view text) const {
    if (type.lanes > 1 || type.kind == TypeKind::predicate || type.bits > 64)
      throw bad(fmt::format("{} cannot be given as a number; use bytes=HEX", type.name));
    if (type.is_float() && !text.starts_with("0x")) {
      double value = 0;
      const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error != std::errc() || stop != text.data() + text.size())
        throw bad(fmt::format("'{}' is no number", text));
      return encode(type, value);
    }
    return integer_bits(type, text);
  }

  std::uint64_t integer_bits(Type type, std::string_view text) const {
    const bool negative = text.starts_with('-');
    std::string_view digits = negative ? text.substr(1) : text;
    const bool hex = digits.starts_with("0x");
    if (hex) digits.remove_prefix(2);
    std::uint64_t value = 0;
    const auto [stop, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, hex ? 16 : 10);
    if (error != std::errc() || stop != digits.data() + digits.size())
      throw bad(fmt::format("'{}' is no integer", text));
    const std::uint64_t top = std::uint64_t{1} << (type.bits - 1);
    const std::uint64_t all = (top - 1) * 2 + 1;
    const std::uint64_t most =
        negative ? (type.is_signed() ? top : 0) : (type.is_signed() && !hex ? top - 1 : all);
    if (value > most) throw bad(fmt::format("{} does not fit {}", text, type.name));
    return (negative ? ~value + 1 : value) & all;
  }

  std::string_view text_;
};

}  // namespace

RunArgument parse_argument(std::string_view text) { return Parser(text).parse(); }

HostTensor read_tensor(const std::filesystem::path& file, const TensorPlan& plan) {
  NpyArray array = read_npy(file);
  if (const std::string wanted = npy_dtype(plan.type); array.dtype != wanted) {
    throw Error(
        ErrorKind::usage, "npy-dtype",
        fmt::format("{} holds '{}', and tensor {} of type {} takes '{}'", file.string(), array.dtype,
                    plan.name, plan.type.name, wanted),
        fmt::format("convert it: np.save(file, array.astype('{0}')), or array.view('{0}') for bits", wanted));
  }
  if (!std::ranges::equal(array.shape, plan.shape)) {
    throw Error(
        ErrorKind::usage, "npy-shape",
        fmt::format("{} has the shape [{}], and tensor {} is [{}]", file.string(),
                    fmt::join(array.shape, ", "), plan.name, fmt::join(plan.shape, ", ")),
        "shapes are those in memory: a layout of 'col' swaps the axes, a leading dimension is the last one");
  }
  return {plan, std::move(array.bytes)};
}

NpyArray to_npy(HostTensor tensor) {
  return {.dtype = npy_dtype(tensor.plan.type),
          .shape = {tensor.plan.shape.begin(), tensor.plan.shape.end()},
          .bytes = std::move(tensor.bytes)};
}

}  // namespace ptxloom::cli
