// SPDX-License-Identifier: Apache-2.0
#include "build/operation.hpp"

#include <utility>
#include "ir/naming.hpp"

namespace ptxloom {

Label KernelBuilder::label(std::string_view name, Caller at) {
  ir::Kernel& k = kernel(at);
  std::string made = "$" + std::string(name) + "_" + std::to_string(k.labels.size());
  if (!ir::is_identifier(made))
    Operation{"label", name_, number_, at}.refuse(
        "bad-name", "'" + std::string(name) + "' is no PTX identifier", "use letters, digits, _ and $");
  k.labels.push_back(std::move(made));
  labels_.emplace_back();
  return {static_cast<std::uint32_t>(k.labels.size() - 1), number_};
}

void KernelBuilder::place(Label label, Caller at) {
  ir::Kernel& k = kernel(at);
  const Operation operation{"place", name_, number_, at};
  operation.require_own("label", label.builder);
  if (std::exchange(labels_[label.index].placed, true))
    operation.refuse("duplicate-name", "the label " + k.labels[label.index] + " is placed twice",
                     "make a label for each place");
  k.body.push_back({ir::Statement::Kind::label, label.index});
}

void KernelBuilder::check_labels(Caller at) const {
  for (std::size_t i = 0; i < labels_.size(); ++i) {
    if (labels_[i].placed || !labels_[i].branch) continue;
    Operation{"finish", name_, number_, at}.refuse(
        "undefined-label",
        "nothing places the label " + module_.functions.front().labels[i] + ", to which a branch goes" +
            called_at(*labels_[i].branch),
        "place(label) where the branch leads");
  }
}

void KernelBuilder::branch(Label label, Caller at) { emit({"bra", at}, {label}); }

void KernelBuilder::branch_if(Reg predicate, Label label, Caller at) {
  with_guard(predicate, false, [&] { branch(label, at); }, {"branch_if", name_, number_, at});
}

void KernelBuilder::branch_unless(Reg predicate, Label label, Caller at) {
  with_guard(predicate, true, [&] { branch(label, at); }, {"branch_unless", name_, number_, at});
}

void KernelBuilder::ret(Caller at) { emit({"ret", at}, {}); }

void KernelBuilder::with_guard(Reg predicate, bool negated, const Body& body, const Operation& operation) {
  kernel(operation.at);
  operation.require_predicate(predicate);
  if (guard_)
    operation.refuse("nested-guard", "an instruction has one guard, and this is inside guarded()",
                     "combine the predicates with and_, or use if_");
  guard_ = ir::Guard{predicate.id, negated};
  try {
    body();
  } catch (...) {
    guard_.reset();
    throw;
  }
  guard_.reset();
}

void KernelBuilder::guarded(Reg predicate, const Body& body, Caller at) {
  with_guard(predicate, false, body, {"guarded", name_, number_, at});
}
void KernelBuilder::guarded_not(Reg predicate, const Body& body, Caller at) {
  with_guard(predicate, true, body, {"guarded_not", name_, number_, at});
}

void KernelBuilder::if_(Reg predicate, const Body& then, Caller at) {
  const Label end = label("endif", at);
  with_guard(predicate, true, [&] { branch(end, at); }, {"if_", name_, number_, at});
  then();
  place(end, at);
}

void KernelBuilder::if_(Reg predicate, const Body& then, const Body& otherwise, Caller at) {
  const Label else_ = label("else", at), end = label("endif", at);
  with_guard(predicate, true, [&] { branch(else_, at); }, {"if_", name_, number_, at});
  then();
  branch(end, at);
  place(else_, at);
  otherwise();
  place(end, at);
}

void KernelBuilder::for_(Arg begin, Arg end, Arg step, const std::function<void(Reg i)>& body, Caller at) {
  const Operation operation{"for_", name_, number_, at};
  const Type type = end.is_register()     ? end.type()
                    : begin.is_register() ? begin.type()
                    : step.is_register()  ? step.type()
                                          : s32;
  operation.require(type, {{"begin", begin}, {"end", end}, {"step", step}});
  if (step.operand().kind == ir::Operand::Kind::integer && step.operand().value <= 0 && !type.is_float())
    operation.refuse("operand-range", "operand step is " + std::to_string(step.operand().value),
                     "a loop counts up: the step is 1 or more");
  const Reg i = mov(type, begin, at);
  const Label head = label("for", at), done = label("endfor", at);
  branch_if(ge(i, end, at), done, at);
  place(head, at);
  body(i);
  emit({word({"add.", type.name}), at}, {i, i, step});
  branch_if(lt(i, end, at), head, at);
  place(done, at);
}

void KernelBuilder::do_while(const std::function<Reg()>& body, Caller at) {
  const Label head = label("loop", at);
  place(head, at);
  with_guard(body(), false, [&] { branch(head, at); }, {"do_while", name_, number_, at});
}

}  // namespace ptxloom
