// SPDX-License-Identifier: Apache-2.0
// Loops. The labels for break_ and continue_ are created on first use, so the PTX of a loop without them has
// none.
#include "build/operation.hpp"

namespace ptxloom {

Type ControlBuilder::loop_type(const Operation& here, const Arg& begin, const Arg& end,
                               const Arg& step) const {
  const Type type = end.is_register()     ? end.type()
                    : begin.is_register() ? begin.type()
                    : step.is_register()  ? step.type()
                                          : s32;
  here.require(type, {{"begin", begin}, {"end", end}, {"step", step}});
  if (step.operand().kind == ir::Operand::Kind::integer && step.operand().value <= 0 && !type.is_float())
    here.refuse("operand-range", "operand step is " + std::to_string(step.operand().value),
                "use a step of 1 or more: a loop counts up");
  return type;
}

// Runs what emits the loop, and leaves the loop even if that throws.
void ControlBuilder::in_loop(bool continues, const Body& body) {
  const std::size_t depth = scope_.loops.size();
  scope_.loops.push_back({.continues = continues});
  try {
    body();
  } catch (...) {
    scope_.loops.resize(depth);
    throw;
  }
  scope_.loops.resize(depth);
}

/// The target of continue_: the end of an iteration's body.
void ControlBuilder::end_turn(Caller at) {
  std::optional<Label>& next = scope_.loops.back().next;
  if (next) place(*next, at);
  next.reset();
}

void ControlBuilder::end_loop(Caller at) {
  if (scope_.loops.back().end) place(*scope_.loops.back().end, at);
}

void ControlBuilder::for_(Arg begin, Arg end, Arg step, const LoopBody& body, Caller at) {
  const Operation here = operation("for_", at);
  here.require_body(body);
  const Type type = loop_type(here, begin, end, step);
  const Reg i = mov(type, begin, at);
  const Label head = label("for", at), done = label("endfor", at);
  branch_if(ge(i, end, at), done, at);
  place(head, at);
  in_loop(true, [&] {
    body(i);
    end_turn(at);
    emit({word({"add.", type.name}), at}, {i, i, step});
    branch_if(lt(i, end, at), head, at);
    place(done, at);
    end_loop(at);
  });
}

void ControlBuilder::while_(const std::function<Reg()>& condition, const Body& body, Caller at) {
  const Operation here = operation("while_", at);
  here.require_body(condition);
  here.require_body(body);
  const Label head = label("while", at), done = label("endwhile", at);
  place(head, at);
  with_guard(condition(), true, [&] { branch(done, at); }, here);
  in_loop(true, [&] {
    body();
    end_turn(at);
    branch(head, at);
    place(done, at);
    end_loop(at);
  });
}

// The predicate is the last thing that `body` computes, so continue_ has no point to go to.
void ControlBuilder::do_while(const std::function<Reg()>& body, Caller at) {
  const Operation here = operation("do_while", at);
  here.require_body(body);
  const Label head = label("loop", at);
  place(head, at);
  in_loop(false, [&] {
    with_guard(body(), false, [&] { branch(head, at); }, here);
    end_loop(at);
  });
}

void ControlBuilder::unroll(int count, const std::function<void(int i)>& body, Caller at) {
  const Operation here = operation("unroll", at);
  if (count < 0) here.refuse("operand-range", std::to_string(count) + " turns", "use 0 or more");
  here.require_body(body);
  kernel(at);
  in_loop(true, [&] {
    for (int i = 0; i < count; ++i) {
      body(i);
      end_turn(at);
    }
    end_loop(at);
  });
}

// While more than (factor - 1) * step are left, `factor` iterations need no test in between. The remainder,
// end - begin, is exact as an unsigned number if begin < end.
void ControlBuilder::unroll(int factor, Arg begin, Arg end, Arg step, const LoopBody& body, Caller at) {
  const Operation here = operation("unroll", at);
  here.require_body(body);
  const Type type = loop_type(here, begin, end, step);
  if (factor < 1)
    here.refuse("operand-range", "operand factor is " + std::to_string(factor), "use a factor of 1 or more");
  if (!type.is_integer() || type.bits < 32 || step.operand().kind != ir::Operand::Kind::integer)
    here.refuse("operand-kind", "unroll needs an integer literal as its step", "use for_");
  const std::int64_t stride = step.operand().value;
  const Arg reach((factor - 1) * stride);
  const Type distance = type.bits == 64 ? u64 : u32;
  here.require(type, {{"step", Arg(factor * stride)}});
  const Reg i = mov(type, begin, at);
  in_loop(true, [&] {
    const Label head = label("unrolled", at), rest = label("rest", at), turn = label("for", at),
                done = label("endfor", at);
    branch_if(ge(i, end, at), done, at);
    place(head, at);
    branch_if(le(as(distance, sub(end, i, at)), reach, at), rest, at);
    for (int n = 0; n < factor; ++n) {
      body(n == 0 ? i : add(i, n * stride, at));
      end_turn(at);
    }
    emit({word({"add.", type.name}), at}, {i, i, factor * stride});
    branch_if(lt(i, end, at), head, at);
    branch(done, at);
    place(rest, at);
    place(turn, at);
    body(i);
    end_turn(at);
    emit({word({"add.", type.name}), at}, {i, i, step});
    branch_if(lt(i, end, at), turn, at);
    place(done, at);
    end_loop(at);
  });
}

Label ControlBuilder::loop_label(std::string_view name, bool leaves, Caller at) {
  const Operation here = operation(name, at);
  kernel(at);
  if (scope_.loops.empty())
    here.refuse("no-loop", "it is not in the body of a loop",
                "call it in the body of for_, while_, do_while or unroll");
  Loop& loop = scope_.loops.back();
  if (!leaves && !loop.continues)
    here.refuse("no-loop",
                "it would skip the predicate of do_while, which is computed at the end of the body",
                "use while_");
  std::optional<Label>& made = leaves ? loop.end : loop.next;
  if (!made) made = label(leaves ? "break" : "continue", at);
  return *made;
}

void ControlBuilder::break_(Caller at) { branch(loop_label("break_", true, at), at); }
void ControlBuilder::continue_(Caller at) { branch(loop_label("continue_", false, at), at); }

void ControlBuilder::break_if(Reg predicate, Caller at) {
  const Label end = loop_label("break_if", true, at);
  with_guard(predicate, false, [&] { branch(end, at); }, operation("break_if", at));
}

void ControlBuilder::continue_if(Reg predicate, Caller at) {
  const Label next = loop_label("continue_if", false, at);
  with_guard(predicate, false, [&] { branch(next, at); }, operation("continue_if", at));
}

}  // namespace ptxloom
