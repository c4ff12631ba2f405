// SPDX-License-Identifier: Apache-2.0
#include "text/parse_kernel.hpp"

namespace ptxloom::text {
namespace {

void skip_line(TokenStream& in) {
  const int line = in.peek().line;
  while (!in.at_end() && in.peek().line == line) in.next();
}

}  // namespace

bool skip_debug(TokenStream& in) {
  const Token& token = in.peek();
  if (token.is(".loc") || token.is(".file")) {  // these end with their line
    skip_line(in);
  } else if (token.is(".section") || token.is(".pragma")) {
    recover(in, in.position());
  } else {
    return false;
  }
  return true;
}

void recover(TokenStream& in, std::size_t start) {
  in.seek(start);
  int depth = 0;
  bool block = false;  // what is in braces has statements, so it is no vector
  while (!in.at_end()) {
    const Token& token = in.peek();
    if (token.is("}") && depth == 0) return;
    in.next();
    if (token.is("{")) ++depth;
    if (token.is(";") && depth == 0) return;
    if (token.is(";")) block = true;
    if (token.is("}") && --depth == 0 && block) return;
  }
}

}  // namespace ptxloom::text
