// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/npy.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "base/file.hpp"
#include "ptxloom/error.hpp"

namespace ptxloom {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxHeader =
    65535;                              // the limit of version 1.0; numpy itself writes a few hundred bytes
constexpr std::size_t kAlignment = 64;  // of the data in the file

struct DtypeInfo {
  std::string_view code;
  std::size_t size;
};
constexpr std::array<DtypeInfo, 12> kDtypes{{{"f2", 2},
                                             {"f4", 4},
                                             {"f8", 8},
                                             {"i1", 1},
                                             {"i2", 2},
                                             {"i4", 4},
                                             {"i8", 8},
                                             {"u1", 1},
                                             {"u2", 2},
                                             {"u4", 4},
                                             {"u8", 8},
                                             {"b1", 1}}};

// Throws the errors of one array.
class Complaint {
 public:
  explicit Complaint(std::string_view name) : name_(name) {}

  [[noreturn]] void operator()(const char* code, const std::string& what, std::string hint) const {
    throw Error(ErrorKind::usage, code, std::string(name_) + ": " + what, std::move(hint));
  }

 private:
  std::string_view name_;
};

struct Header {
  std::optional<std::string> descr;  // the value's text if it is not a string
  std::optional<bool> fortran_order;
  std::optional<std::vector<std::size_t>> shape;
};

// Reads the header, which is a Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const Complaint& complain) : text_(text), complain_(complain) {}

  Header parse() {
    Header header;
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr") {
        header.descr = descr();
      } else if (key == "fortran_order") {
        header.fortran_order = boolean();
      } else if (key == "shape") {
        header.shape = shape();
      } else {
        fail("the key '" + key + "' is unknown");
      }
      if (!accept(',') && peek() != '}') fail("',' or '}' is missing at column " + std::to_string(at_ + 1));
    }
    if (peek() != '\0') fail("text follows the dictionary");
    return header;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    complain_("npy-header", "cannot read its header: " + why, "save the array again with numpy.save");
  }

  // The next character after white space; '\0' at the end.
  char peek() {
    at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool accept(char wanted) {
    if (peek() != wanted || at_ == text_.size()) return false;
    ++at_;
    return true;
  }

  void expect(char wanted) {
    if (!accept(wanted))
      fail(std::string("'") + wanted + "' is missing at column " + std::to_string(at_ + 1));
  }

  std::string string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail("a string is missing at column " + std::to_string(at_ + 1));
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("a string is not closed");
    const std::string_view value = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return std::string(value);
  }

  std::string descr() {
    const char first = peek();
    if (first != '[' && first != '(') return string();
    complain_("npy-dtype", "its elements are structures", "save one field at a time, such as a['x']");
  }

  bool boolean() {
    peek();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return value;
    }
    fail("fortran_order is neither True nor False");
  }

  std::vector<std::size_t> shape() {
    std::vector<std::size_t> sizes;
    expect('(');
    while (!accept(')')) {
      sizes.push_back(integer());
      if (!accept(',') && peek() != ')') fail("the shape is not closed");
    }
    return sizes;
  }

  std::size_t integer() {
    peek();
    std::size_t value = 0;
    const char* const begin = text_.data() + at_;
    const auto [end, problem] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (problem == std::errc::result_out_of_range) {
      complain_("npy-shape-overflow", "a size in its shape is larger than any memory",
                "save the array again");
    }
    if (problem != std::errc()) fail("the shape has something other than sizes");
    at_ += static_cast<std::size_t>(end - begin);
    accept('L');  // Python 2 wrote long integers like this
    return value;
  }

  std::string_view text_;
  const Complaint& complain_;
  std::size_t at_ = 0;
};

const DtypeInfo* find_dtype(std::string_view code) {
  const auto found = std::ranges::find(kDtypes, code, &DtypeInfo::code);
  return found == kDtypes.end() ? nullptr : found;
}

std::string spelled(const DtypeInfo& dtype) {
  return (dtype.size == 1 ? '|' : '<') + std::string(dtype.code);
}

const DtypeInfo& dtype_of(std::string_view descr, const Complaint& complain) {
  const bool ordered =
      !descr.empty() && std::string_view("<>=|").find(descr.front()) != std::string_view::npos;
  const DtypeInfo* const dtype = find_dtype(ordered ? descr.substr(1) : descr);
  if (dtype == nullptr) {
    complain("npy-dtype", "elements of dtype '" + std::string(descr) + "' are not supported",
             "convert it with a.astype to one of f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1; save types that numpy "
             "lacks as u1 or u2, with a.view");
  }
  if (descr.front() == '>' && dtype->size > 1) {
    complain("npy-byte-order", "its elements ('" + std::string(descr) + "') are big-endian",
             "convert it: numpy.save(file, a.astype('" + spelled(*dtype) + "'))");
  }
  return *dtype;
}

std::size_t size_in_bytes(const NpyArray& array, const DtypeInfo& dtype, const Complaint& complain) {
  std::size_t size = dtype.size;
  if (std::ranges::find(array.shape, 0u) != array.shape.end()) return 0;
  for (const std::size_t extent : array.shape) {
    if (!__builtin_mul_overflow(size, extent, &size)) continue;
    complain("npy-shape-overflow", "its shape has more elements than any memory", "check the shape");
  }
  return size;
}

std::size_t little_endian(std::string_view bytes) {
  std::size_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    value |= static_cast<std::size_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return value;
}

// The header's text, and what follows it.
std::pair<std::string_view, std::string_view> split(std::string_view file, const Complaint& complain) {
  if (!file.starts_with(kMagic)) {
    complain("npy-not-npy", "not an .npy file",
             "write it with numpy.save (an .npz holds .npy files: unzip it)");
  }
  const auto truncated = [&] {
    complain("npy-truncated", "the file ends within its header", "copy or save it again");
  };
  file.remove_prefix(kMagic.size());
  if (file.size() < 2) truncated();
  const int major = file[0];
  if (major < 1 || major > 3 || file[1] != 0) {
    complain("npy-version", "its format has a version after 3.0",
             "save it with numpy.lib.format.write_array");
  }
  file.remove_prefix(2);
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  if (file.size() < length_bytes) truncated();
  const std::size_t length = little_endian(file.substr(0, length_bytes));
  if (length > kMaxHeader) {
    complain("npy-header-too-large", "its header claims " + std::to_string(length) + " bytes",
             "headers up to " + std::to_string(kMaxHeader) + " bytes are read; save the array again");
  }
  file.remove_prefix(length_bytes);
  if (file.size() < length) truncated();
  return {file.substr(0, length), file.substr(length)};
}

NpyArray parse(std::string_view file, const Complaint& complain) {
  const auto [text, data] = split(file, complain);
  const Header header = HeaderParser(text, complain).parse();
  if (!header.descr || !header.fortran_order || !header.shape) {
    complain("npy-header", "its header lacks descr, fortran_order or shape",
             "save the array again with numpy.save");
  }
  const DtypeInfo& dtype = dtype_of(*header.descr, complain);
  if (*header.fortran_order && header.shape->size() > 1) {
    complain("npy-fortran-order", "the array is in Fortran (column-major) order",
             "convert it: numpy.save(file, numpy.ascontiguousarray(a))");
  }
  NpyArray array{.dtype = spelled(dtype), .shape = *header.shape, .bytes = {}};
  const std::size_t size = size_in_bytes(array, dtype, complain);
  if (data.size() != size) {
    const bool shorter = data.size() < size;
    complain(
        shorter ? "npy-truncated" : "npy-trailing-data",
        "its shape takes " + std::to_string(size) + " bytes, but the file has " + std::to_string(data.size()),
        shorter ? "copy or save it again" : "save one array in each file");
  }
  const auto bytes = std::as_bytes(std::span(data));
  array.bytes.assign(bytes.begin(), bytes.end());
  return array;
}

}  // namespace

NpyArray parse_npy(std::span<const std::byte> content, std::string_view name) {
  return parse({reinterpret_cast<const char*>(content.data()), content.size()}, Complaint(name));
}

NpyArray read_npy(const std::filesystem::path& path) {
  return parse(read_data(path), Complaint(path.string()));
}

std::vector<std::byte> format_npy(const NpyArray& array) {
  const Complaint complain("array to be written");
  const DtypeInfo& dtype = dtype_of(array.dtype, complain);
  if (const std::size_t size = size_in_bytes(array, dtype, complain); size != array.bytes.size()) {
    complain("npy-size-mismatch",
             "its shape takes " + std::to_string(size) + " bytes, " + std::to_string(array.bytes.size()) +
                 " are given",
             "pass as many bytes as the shape has");
  }
  std::string shape;
  for (const std::size_t extent : array.shape)
    shape += (shape.empty() ? "" : " ") + std::to_string(extent) + ",";
  if (array.shape.size() > 1) shape.pop_back();  // only (3,) keeps its comma
  std::string text =
      "{'descr': '" + spelled(dtype) + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  const std::size_t before = kMagic.size() + 4;
  text.append(kAlignment - 1 - (before + text.size()) % kAlignment, ' ');
  text += '\n';
  if (text.size() > kMaxHeader) complain("npy-header-too-large", "its shape has too many axes", "reshape it");

  std::string head(kMagic);
  head += {'\1', '\0', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  head += text;
  const auto bytes = std::as_bytes(std::span(head));
  std::vector<std::byte> file(bytes.begin(), bytes.end());
  file.insert(file.end(), array.bytes.begin(), array.bytes.end());
  return file;
}

void write_npy(const std::filesystem::path& path, const NpyArray& array) {
  write_file(path, format_npy(array));
}

std::string npy_dtype(Type type) {
  if (type.bits > 64) {
    throw Error(ErrorKind::usage, "npy-dtype", "there is no dtype for the type " + std::string(type.name),
                "use another type");
  }
  const bool is_float = type.is_float() && type.lanes == 1 && type != bf16 && type.bits >= 16;
  const std::string code = (is_float ? "f" : type.is_signed() && type.bits >= 8 ? "i" : "u");
  return spelled(*find_dtype(code + std::to_string(type.whole_bytes())));
}

}  // namespace ptxloom
