// SPDX-License-Identifier: Apache-2.0
#include "cli/common/arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "ptxloom/error.hpp"

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
    argument.given = text_;
    // A parameter may be called "out": the word after its name is the keyword.
    if (std::string_view after = rest; !is_keyword(word) || is_keyword(take_word(after))) {
      argument.name = word;
      argument.given = rest;
      const bool has_keyword = rest.find('=') != std::string_view::npos || rest == "null";
      word = take_word(rest);
      if (!is_keyword(word)) {
        throw bad(fmt::format("'{}' is not in, out, inout, null, bytes or a type",
                              has_keyword ? word : std::string_view(argument.name)));
      }
    }
    if (word == "null") {
      if (!rest.empty()) throw bad("null takes no value");
      return argument.kind = Kind::null, argument;
    }
    if (rest.empty()) throw bad(fmt::format("nothing follows '{}='", word));
    if (word == "in") return argument.kind = Kind::in, argument.source = rest, argument;
    if (word == "out") return parse_out(rest, std::move(argument));
    if (word == "inout") return parse_inout(rest, std::move(argument));
    argument.value = rest;
    if (word == "bytes") return argument.kind = Kind::bytes, argument;
    argument.kind = Kind::scalar;
    argument.type = *find_type(word);
    return argument;
  }

 private:
  Error bad(const std::string& why) const {
    return {
        ErrorKind::usage, "bad-arg", fmt::format("--arg {}: {}", text_, why),
        "write in=FILE.npy, out=TYPE[SHAPE]:FILE.npy, inout=IN.npy:OUT.npy, null, TYPE=VALUE or bytes=HEX"};
  }

  static bool is_keyword(std::string_view word) {
    constexpr std::array<std::string_view, 5> words = {"in", "out", "inout", "null", "bytes"};
    return std::ranges::find(words, word) != words.end() || find_type(word).has_value();
  }

  /// The text up to "=", which is consumed too; all of it if there is none, and `rest` is then empty.
  static std::string_view take_word(std::string_view& rest) {
    const std::size_t equals = rest.find('=');
    const std::string_view word = rest.substr(0, equals);
    rest = equals == std::string_view::npos ? std::string_view() : rest.substr(equals + 1);
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
    if (argument.destination.empty()) throw bad("the file name is missing");
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
        throw bad(fmt::format("[{}] is not a shape: each size must be at least 1", text));
      shape.push_back(extent);
      if (stop == end) return shape;
      if (*stop != ',') throw bad(fmt::format("[{}] is not a shape", text));
      at = stop + 1;
    }
  }

  RunArgument parse_inout(std::string_view rest, RunArgument argument) const {
    const std::size_t colon = rest.find(':');
    if (colon == 0 || colon == std::string_view::npos || colon + 1 == rest.size())
      throw bad("inout needs two files, IN.npy:OUT.npy");
    argument.kind = Kind::inout;
    argument.source = rest.substr(0, colon);
    argument.destination = rest.substr(colon + 1);
    return argument;
  }

  std::string_view text_;
};

}  // namespace

RunArgument parse_argument(std::string_view text) { return Parser(text).parse(); }

namespace {

using NpyShape = std::vector<std::size_t>;

/// The shapes of the array in a file, the first one if we write it. numpy has no types of less than 8 bits:
/// their elements are packed bytes, of the whole tensor or, where rows have whole bytes, of each row.
std::vector<NpyShape> npy_shapes(const TensorPlan& plan) {
  NpyShape shape(plan.shape.begin(), plan.shape.end());
  if (plan.type.bits >= 8) return {shape};
  std::vector<NpyShape> shapes{{plan.bytes()}};
  if (shape.empty()) return shapes;
  const std::size_t row_bits = shape.back() * static_cast<std::size_t>(plan.type.bits);
  shape.back() = row_bits / 8;
  if (row_bits % 8 == 0 && shape != shapes.front()) shapes.push_back(shape);
  return shapes;
}

std::string text_of(const NpyShape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

Error wrong_shape(const std::filesystem::path& file, const NpyShape& found, const TensorPlan& plan,
                  const std::vector<NpyShape>& shapes) {
  std::vector<std::string> wanted;
  for (const NpyShape& one : shapes) wanted.push_back(text_of(one));
  return {ErrorKind::usage, "npy-shape",
          fmt::format("{} has the shape {}, but tensor {} is {}", file.string(), text_of(found), plan.name,
                      fmt::join(wanted, " or ")),
          plan.type.bits < 8
              ? fmt::format("elements of {} are packed bytes: in one dimension, or in rows of whole bytes",
                            plan.type.name)
              : "a shape is that of the memory: a layout of 'col' swaps the axes, and a leading dimension is "
                "the last size"};
}

}  // namespace

HostTensor read_tensor(const std::filesystem::path& file, const TensorPlan& plan) {
  NpyArray array = read_npy(file);
  if (const std::string wanted = npy_dtype(plan.type); array.dtype != wanted) {
    throw Error(
        ErrorKind::usage, "npy-dtype",
        fmt::format("{} has elements of type '{}', but tensor {} of type {} needs '{}'", file.string(),
                    array.dtype, plan.name, plan.type.name, wanted),
        fmt::format(
            "convert it: np.save(file, array.astype('{0}')), or array.view('{0}') if the bits are right",
            wanted));
  }
  if (const auto shapes = npy_shapes(plan); std::ranges::find(shapes, array.shape) == shapes.end())
    throw wrong_shape(file, array.shape, plan, shapes);
  return {plan, std::move(array.bytes)};
}

NpyArray to_npy(HostTensor tensor) {
  return {.dtype = npy_dtype(tensor.plan.type),
          .shape = npy_shapes(tensor.plan).front(),
          .bytes = std::move(tensor.bytes)};
}

}  // namespace ptxloom::cli
