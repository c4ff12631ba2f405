// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/builder.hpp"

namespace ptxloom {

Label KernelBuilder::label(std::string_view name) {
  ir::Kernel& k = kernel();
  k.labels.push_back("$" + std::string(name) + "_" + std::to_string(label_count_++));
  return {static_cast<std::uint32_t>(k.labels.size() - 1)};
}

void KernelBuilder::place(Label label) { kernel().body.push_back({ir::Statement::Kind::label, label.index}); }

void KernelBuilder::branch(Label label) { emit("bra", label); }

void KernelBuilder::branch_if(Reg predicate, Label label) {
  with_guard({predicate.id, false}, [&] { branch(label); });
}

void KernelBuilder::branch_unless(Reg predicate, Label label) {
  with_guard({predicate.id, true}, [&] { branch(label); });
}

void KernelBuilder::ret() { emit("ret"); }

void KernelBuilder::with_guard(ir::Guard guard, const Body& body) {
  if (guard_)
    throw Error(ErrorKind::usage, "nested-guard", "an instruction has one guard: guarded() inside guarded()",
                "combine the predicates with and_, or use if_");
  guard_ = guard;
  try {
    body();
  } catch (...) {
    guard_.reset();
    throw;
  }
  guard_.reset();
}

void KernelBuilder::guarded(Reg predicate, const Body& body) { with_guard({predicate.id, false}, body); }
void KernelBuilder::guarded_not(Reg predicate, const Body& body) { with_guard({predicate.id, true}, body); }

void KernelBuilder::if_(Reg predicate, const Body& then) {
  const Label end = label("endif");
  branch_unless(predicate, end);
  then();
  place(end);
}

void KernelBuilder::if_(Reg predicate, const Body& then, const Body& otherwise) {
  const Label else_ = label("else"), end = label("endif");
  branch_unless(predicate, else_);
  then();
  branch(end);
  place(else_);
  otherwise();
  place(end);
}

void KernelBuilder::for_(Arg begin, Arg end, Arg step, const std::function<void(Reg i)>& body) {
  const Type type = end.is_register() ? end.type() : begin.is_register() ? begin.type() : s32;
  const Reg i = mov(type, begin);
  const Label head = label("for"), done = label("endfor");
  branch_if(ge(i, end), done);
  place(head);
  body(i);
  emit(word({"add.", type.name}), i, i, step);
  branch_if(lt(i, end), head);
  place(done);
}

void KernelBuilder::do_while(const std::function<Reg()>& body) {
  const Label head = label("loop");
  place(head);
  branch_if(body(), head);
}

}  // namespace ptxloom
