// SPDX-License-Identifier: Apache-2.0
#include "text/token_stream.hpp"

namespace ptxloom::text {

void recover(TokenStream& in, std::size_t start) {
  in.seek(start);
  int depth = 0;
  bool block = false;  // the braces contain statements, so it is not a vector
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
