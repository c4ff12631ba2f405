// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "insn/chain.hpp"

namespace ptxloom::insn {
namespace {

std::string of_predicate(const std::string& value, const std::string& name, int wanted) {
  if (wanted == 64) return fmt::format("selp.b64 {}, %in, %own_global, {};", name, value);
  if (wanted == 16) return fmt::format("selp.b16 {}, %high16, 0, {};", name, value);
  return fmt::format("selp.b32 {}, %high, %zero, {};", name, value);
}

std::string same_size(const std::string& value, const std::string& name, int bits) {
  return bits == 1 ? fmt::format("and.pred {}, {}, %true;", name, value)
                   : fmt::format("mov.b{} {}, {};", bits, name, value);
}

std::string of_quad(const std::string& value, const std::string& name, int wanted) {
  return fmt::format("mov.b128 {{%base, %word}}, {};\n", value) +
         (wanted == 64 ? fmt::format("mov.b64 {}, %base;", name)
                       : fmt::format("cvt.u{}.u64 {}, %base;", wanted, name));
}

}  // namespace

std::string conversion(const std::string& value, int bits, const std::string& name, int wanted) {
  if (bits == wanted) return same_size(value, name, bits);
  if (bits == 1) return of_predicate(value, wanted == 8 ? "%t3" : name, wanted);
  if (wanted == 1)
    return fmt::format("setp.ne.b{} {}, {}, 0;", bits == 64 || bits == 16 ? bits : 32, name, value);
  if (wanted == 128) return fmt::format("mov.b128 {}, {{{}, %in}};", name, value);
  if (bits == 128) return of_quad(value, name, wanted);
  if (bits == 32 && wanted == 64) return fmt::format("mov.b64 {}, {{{}, %high}};", name, value);
  return fmt::format("cvt.u{}.u{} {}, {};", wanted, bits, name, value);
}

}  // namespace ptxloom::insn
