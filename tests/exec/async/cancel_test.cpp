// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "exec/harness.hpp"

namespace ptxloom::exec::test::cancel_test {

TEST_CASE("thread blocks take over the work of those that have not started, each once") {
  // Each block writes its number for its own work, and for what it takes over.
  const Program program = program_of(
      kOutIn,
      ".shared .align 16 .b8 answer[16]; .shared .align 8 .b64 bar; .reg .u64 %out, %in, %at; .reg .u32 %i, "
      "%j, %w, "
      "%me, %one, %phase; .reg .b32 %v<4>; .reg .b128 %a; .reg .pred %p; ld.param.u64 %out, [out]; "
      "ld.param.u64 %in, "
      "[in]; mov.u32 %i, %ctaid.x; mov.u32 %w, %ctaid.y; mad.lo.u32 %i, %w, 8, %i; add.u32 %me, %i, 1; "
      "mov.u32 "
      "%phase, 0; mbarrier.init.shared.b64 [bar], 1;\n"
      "work: mad.wide.u32 %at, %i, 4, %out; atom.global.exch.b32 %w, [%at], %me; mad.wide.u32 %at, %i, 4, "
      "%in; "
      "red.global.add.u32 [%at], 1;\n"
      "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16; "
      "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::"
      "complete_tx::bytes.b128 [answer], [bar];\n"
      "l: mbarrier.try_wait.parity.shared.b64 %p, [bar], %phase; @!%p bra l; xor.b32 %phase, %phase, 1; "
      "ld.shared.b128 %a, [answer]; clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p, %a; @!%p bra "
      "done;\n"
      "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%i, %w, _, _}, %a; "
      "clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 %j, %a; mad.lo.u32 %i, %j, 8, %i; bra "
      "work; "
      "done:\n",
      {}, "sm_100a");
  Memory memory;
  std::vector<std::uint32_t> by(40), times(40);
  const auto parameters = pack({memory.map(by.data(), 160), memory.map(times.data(), 160)});
  program.run(memory, {.grid = {8, 5, 1}, .parameters = parameters});
  CHECK(times == std::vector<std::uint32_t>(40, 1));
  std::size_t own = 0;
  for (std::uint32_t i = 0; i < 40; ++i) own += by[i] == i + 1;
  CHECK(own >= 1);
  CHECK(own < 40);  // some were taken over
}

}  // namespace ptxloom::exec::test::cancel_test
