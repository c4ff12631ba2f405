// SPDX-License-Identifier: Apache-2.0
// cp.async and mbarrier, in the shared memory of the thread's own thread block.
#include "build/operation.hpp"

namespace ptxloom {
namespace {

// Only 16-byte copies can bypass L1.
std::string_view copy_opcode(int bytes) {
  return bytes == 16 ? "cp.async.cg.shared.global" : "cp.async.ca.shared.global";
}

}  // namespace

void AsyncBuilder::cp_async(Address to, Address from, int bytes, Caller at) {
  emit({copy_opcode(bytes), at}, {to, from, bytes});
}

void AsyncBuilder::cp_async(Address to, Address from, int bytes, Reg valid, Caller at) {
  operation("cp_async", at).require(u32, {{"valid", valid}}, Operation::Signs::alike);
  emit({copy_opcode(bytes), at}, {to, from, bytes, valid});
}

void AsyncBuilder::cp_async_commit(Caller at) { emit({"cp.async.commit_group", at}, {}); }
void AsyncBuilder::cp_async_wait(int pending, Caller at) { emit({"cp.async.wait_group", at}, {pending}); }

Shared AsyncBuilder::mbarriers(int count, std::string name, Caller at) {
  if (count < 1)
    operation("mbarriers", at).refuse("bad-size", std::to_string(count) + " barriers", "use at least 1");
  return shared(b64, static_cast<std::uint64_t>(count), std::move(name), 8, at);
}

void AsyncBuilder::mbarrier_init(Address barrier, Arg count, Caller at) {
  emit({"mbarrier.init.shared.b64", at}, {barrier, count});
}
void AsyncBuilder::mbarrier_invalidate(Address barrier, Caller at) {
  emit({"mbarrier.inval.shared.b64", at}, {barrier});
}
void AsyncBuilder::mbarrier_arrive(Address barrier, Caller at) {
  op({"mbarrier.arrive.shared.b64", at}, {barrier});
}
void AsyncBuilder::mbarrier_expect_tx(Address barrier, Arg bytes, Caller at) {
  emit({"mbarrier.expect_tx.relaxed.cta.shared::cta.b64", at}, {barrier, bytes});
}
void AsyncBuilder::mbarrier_arrive_expect_tx(Address barrier, Arg bytes, Caller at) {
  op({"mbarrier.arrive.expect_tx.shared.b64", at}, {barrier, bytes});
}

Reg AsyncBuilder::mbarrier_test_wait(Address barrier, Arg parity, Caller at) {
  return op({"mbarrier.test_wait.parity.shared.b64", at}, {barrier, parity});
}
Reg AsyncBuilder::mbarrier_try_wait(Address barrier, Arg parity, Caller at) {
  return op({"mbarrier.try_wait.parity.shared.b64", at}, {barrier, parity});
}

void AsyncBuilder::mbarrier_wait(Address barrier, Arg parity, Caller at) {
  const Address once = resolve(operation("mbarrier_wait", at), barrier);
  const bool sleeps = has("mbarrier.try_wait.parity.shared.b64");
  const Label again = label("wait", at);
  place(again, at);
  const Reg done = sleeps ? mbarrier_try_wait(once, parity, at) : mbarrier_test_wait(once, parity, at);
  branch_unless(done, again, at);
}

void AsyncBuilder::mbarrier_arrive_copies(Address barrier, Caller at) {
  emit({"cp.async.mbarrier.arrive.shared.b64", at}, {barrier});
}

}  // namespace ptxloom
