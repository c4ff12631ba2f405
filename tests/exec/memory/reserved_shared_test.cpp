// SPDX-License-Identifier: Apache-2.0
// The part of a thread block's shared memory that is reserved for the system.
#include "exec/harness.hpp"

namespace ptxloom::exec::test::reserved_shared_test {
namespace {

const std::string kHead =
    ".shared .align 4 .b32 s[40]; .reg .u32 %begin, %end, %x, %y; .reg .u64 %out; ld.param.u64 %out, [out]; "
    "mov.u32 %begin, %reserved_smem_offset_begin; mov.u32 %end, %reserved_smem_offset_end;\n";

std::string store(int word) { return "st.global.u32 [%out+" + std::to_string(4 * word) + "], %x;\n"; }

/// What `statements` leave in the first words of out, with as much shared memory as the target has.
std::vector<std::uint32_t> words(const std::string& statements) {
  constexpr std::uint32_t all = 227 * 1024;
  return run<std::uint32_t>(program_of(kOutIn, kHead + statements), 1, 8, std::vector<std::uint32_t>(1),
                            {.shared_bytes = all - 160});
}

std::string code(const std::string& statements) {
  return fault_of([&] { words(statements); }).code;
}

}  // namespace

TEST_CASE("the reserved part of shared memory is 1 KB, behind the kernel's own and not counted") {
  const auto got =
      words("mov.u32 %x, %begin;" + store(0) + "sub.u32 %x, %end, %begin;" + store(1) +
            "mov.u32 %x, %reserved_smem_offset_cap;" + store(2) + "mov.u32 %x, %total_smem_size;" + store(3) +
            "mov.u32 %x, %aggr_smem_size;" + store(4) +
            "mov.u32 %x, %reserved_smem_offset_0; sub.u32 %x, %x, %begin;" + store(5));
  CHECK(got[0] > 227 * 1024);
  CHECK(got[1] == 1024);
  CHECK(got[2] == 1024);
  CHECK(got[3] == 227 * 1024);
  CHECK(got[4] == 228 * 1024);
  CHECK(got[5] == 0);
}

TEST_CASE("the reserved part of shared memory is zero at the start: cooperative groups have barriers there") {
  const auto got = words("mov.u32 %y, %reserved_smem_offset_1; atom.shared.or.b32 %x, [%y], 5;" + store(0) +
                         "ld.shared.u32 %x, [%y];" + store(1) + "ld.shared.u32 %x, [%end+-4];" + store(2));
  CHECK(got[0] == 0);
  CHECK(got[1] == 5);
  CHECK(got[2] == 0);
}

TEST_CASE("an access between the kernel's shared memory and the reserved part is out of bounds") {
  CHECK(code("st.shared.u32 [%end], 1;") == "out-of-bounds");
  CHECK(code("st.shared.u32 [%begin+-4], 1;") == "out-of-bounds");
  CHECK(code("st.shared.u32 [s+232448], 1;") == "out-of-bounds");
  CHECK_NOTHROW(words("st.shared.u32 [s+232444], 1; st.shared.u32 [%begin], 1;"));
}

}  // namespace ptxloom::exec::test::reserved_shared_test
