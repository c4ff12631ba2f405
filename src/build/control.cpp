// SPDX-License-Identifier: Apache-2.0
// Labels, branches, guards and if_.
#include <utility>

#include "build/operation.hpp"
#include "ir/naming.hpp"

namespace ptxloom {

Label ControlBuilder::label(std::string_view name, Caller at) {
  ir::Kernel& k = kernel(at);
  std::string made = "$" + std::string(name) + "_" + std::to_string(k.labels.size());
  if (!ir::is_identifier(made))
    operation("label", at)
        .refuse("bad-name", "'" + std::string(name) + "' is not a PTX identifier",
                "use letters, digits, _ and $");
  k.labels.push_back(std::move(made));
  scope_.labels.emplace_back();
  return {static_cast<std::uint32_t>(k.labels.size() - 1), scope_.number};
}

void ControlBuilder::place(Label label, Caller at) {
  ir::Kernel& k = kernel(at);
  const Operation here = operation("place", at);
  here.require_own("label", label.builder);
  if (std::exchange(scope_.labels[label.index].placed, true))
    here.refuse("duplicate-name", "the label " + k.labels[label.index] + " is placed twice",
                "make another label for the other place");
  k.body.push_back({ir::Statement::Kind::label, label.index});
}

void ControlBuilder::check_labels(Caller at) const {
  for (std::size_t i = 0; i < scope_.labels.size(); ++i) {
    if (scope_.labels[i].placed || !scope_.labels[i].branch) continue;
    operation("finish", at)
        .refuse("undefined-label",
                "no call of place() places the label " + module_.functions[scope_.function].labels[i] +
                    ", which is the target of the branch at " + place_of(*scope_.labels[i].branch),
                "call place(label) where the branch leads");
  }
}

void ControlBuilder::branch(Label label, Caller at) { emit({"bra", at}, {label}); }

void ControlBuilder::branch_if(Reg predicate, Label label, Caller at) {
  with_guard(predicate, false, [&] { branch(label, at); }, operation("branch_if", at));
}

void ControlBuilder::branch_unless(Reg predicate, Label label, Caller at) {
  with_guard(predicate, true, [&] { branch(label, at); }, operation("branch_unless", at));
}

void ControlBuilder::ret(Caller at) {
  if (!kernel(at).results.empty())
    operation("ret", at).refuse("missing-result", "the function returns values",
                                "return from the end of its body, which returns their registers");
  emit({"ret", at}, {});
}

void ControlBuilder::with_guard(Reg predicate, bool negated, const Body& body, const Operation& here) {
  kernel(here.at);
  here.require_body(body);
  here.require_predicate(predicate);
  if (scope_.guard)
    here.refuse("nested-guard", "it is called inside guarded(), and an instruction has only one guard",
                "combine the predicates with and_, or use if_");
  scope_.guard = ir::Guard{predicate.id, negated};
  try {
    body();
  } catch (...) {
    scope_.guard.reset();
    throw;
  }
  scope_.guard.reset();
}

void ControlBuilder::guarded(Reg predicate, const Body& body, Caller at) {
  with_guard(predicate, false, body, operation("guarded", at));
}
void ControlBuilder::guarded_not(Reg predicate, const Body& body, Caller at) {
  with_guard(predicate, true, body, operation("guarded_not", at));
}

void ControlBuilder::without_barriers(const Body& body, Caller at) {
  kernel(at);
  const bool before = std::exchange(scope_.refuses_barriers, true);
  try {
    body();
  } catch (...) {
    scope_.refuses_barriers = before;
    throw;
  }
  scope_.refuses_barriers = before;
}

void ControlBuilder::if_(Reg predicate, const Body& then, Caller at) {
  operation("if_", at).require_body(then);
  const Label end = label("endif", at);
  with_guard(predicate, true, [&] { branch(end, at); }, operation("if_", at));
  then();
  place(end, at);
}

void ControlBuilder::if_(Reg predicate, const Body& then, const Body& otherwise, Caller at) {
  operation("if_", at).require_body(then);
  operation("if_", at).require_body(otherwise);
  const Label else_ = label("else", at), end = label("endif", at);
  with_guard(predicate, true, [&] { branch(else_, at); }, operation("if_", at));
  then();
  branch(end, at);
  place(else_, at);
  otherwise();
  place(end, at);
}

}  // namespace ptxloom
