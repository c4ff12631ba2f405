// SPDX-License-Identifier: Apache-2.0
#include "target/launch_limits.hpp"

#include <catch2/catch_test_macros.hpp>
#include <string>

namespace ptxloom::target {
namespace {

const LaunchRoom kRoom{.threads = 1024, .shared = 232448, .cluster_blocks = 16};

std::string said_of(const LaunchShape& shape, const LaunchRoom& room = kRoom) {
  const auto problem = find_problem(shape, room);
  if (!problem) return "";
  CHECK_FALSE(problem->hint.empty());
  return problem->message;
}

}  // namespace

TEST_CASE("the limits of launches are those of NVIDIA's table") {
  const LaunchLimits& limits = launch_limits();
  CHECK(limits.grid == Size3{2147483647, 65535, 65535});
  CHECK(limits.block == Size3{1024, 1024, 64});
  CHECK(limits.threads == 1024);
  CHECK(limits.cluster_portable == 8);
  CHECK(limits.local == 512 * 1024);
}

TEST_CASE("a launch is legal up to each limit, and refused one beyond it with both numbers") {
  for (const LaunchShape& legal :
       {LaunchShape{}, LaunchShape{.grid = {2147483647, 65535, 65535}}, LaunchShape{.block = {1024, 1, 1}},
        LaunchShape{.block = {1, 1024, 1}}, LaunchShape{.block = {4, 4, 64}},
        LaunchShape{.cluster = Size3{1, 1, 1}}, LaunchShape{.grid = {8, 4, 2}, .cluster = Size3{4, 2, 2}},
        LaunchShape{.dynamic_shared = 232448}, LaunchShape{.static_shared = 232440, .dynamic_shared = 8}})
    CHECK(said_of(legal).empty());
  CHECK(said_of({.grid = {2147483648, 1, 1}}) == "grid.x is 2147483648, but the most is 2147483647");
  CHECK(said_of({.grid = {1, 65536, 1}}) == "grid.y is 65536, but the most is 65535");
  CHECK(said_of({.grid = {1, 1, 65536}}) == "grid.z is 65536, but the most is 65535");
  CHECK(said_of({.grid = {1, 0, 1}}) == "grid.y is 0");
  CHECK(said_of({.block = {1025, 1, 1}}) == "block.x is 1025, but the most is 1024");
  CHECK(said_of({.block = {1, 1025, 1}}) == "block.y is 1025, but the most is 1024");
  CHECK(said_of({.block = {1, 1, 65}}) == "block.z is 65, but the most is 64");
  CHECK(said_of({.block = {0, 1, 1}}) == "block.x is 0");
  CHECK(said_of({.block = {33, 32, 1}}) ==
        "a thread block of 33 x 32 x 1 has 1056 threads, but the most is 1024");
  CHECK(said_of({.block = {257, 1, 1}}, {.threads = 256}) ==
        "a thread block of 257 x 1 x 1 has 257 threads, but the most is 256");
  CHECK(said_of({.block = {256, 1, 1}}, {.threads = 256}).empty());
  CHECK(said_of({.grid = {17, 1, 1}, .cluster = Size3{17, 1, 1}}) ==
        "a cluster of 17 x 1 x 1 has 17 thread blocks, but the most is 16");
  CHECK(said_of({.cluster = Size3{4294967295, 4294967295, 4294967295}}).find("but the most is 16") !=
        std::string::npos);
  CHECK(said_of({.grid = {2, 1, 1}, .cluster = Size3{2, 0, 1}}) == "cluster.y is 0");
  CHECK(said_of({.grid = {6, 1, 1}, .cluster = Size3{4, 1, 1}}) ==
        "grid.x is 6, which is not a multiple of cluster.x, 4");
  CHECK(find_problem({.grid = {6, 1, 1}, .cluster = Size3{4, 1, 1}}, kRoom)->hint ==
        "the next multiple is 8");
  CHECK(said_of({.grid = {2, 1, 3}, .cluster = Size3{1, 1, 2}}) ==
        "grid.z is 3, which is not a multiple of cluster.z, 2");
  CHECK(said_of({.grid = {2, 1, 1}, .cluster = Size3{2, 1, 1}}, {}) ==
        "a cluster of 2 x 1 x 1 is requested, but the chip does not have clusters");
  const LaunchRoom pairs{.cluster_blocks = 16, .required_cluster = Size3{2, 1, 1}};
  CHECK(said_of({.grid = {4, 1, 1}, .cluster = Size3{2, 1, 1}}, pairs).empty());
  CHECK(said_of({.grid = {4, 1, 1}}, pairs).empty());
  CHECK(said_of({.grid = {3, 1, 1}}, pairs) == "grid.x is 3, which is not a multiple of cluster.x, 2");
  CHECK(said_of({.grid = {4, 1, 1}, .cluster = Size3{4, 1, 1}}, pairs) == "the cluster is 4 x 1 x 1");
  CHECK(find_problem({.cluster = Size3{1, 1, 1}}, pairs)->hint ==
        "use the one that the kernel requires, 2 x 1 x 1 (.reqnctapercluster)");
  CHECK(said_of({.static_shared = 232440, .dynamic_shared = 9}) ==
        "a thread block needs 232449 bytes of shared memory, 232440 static and 9 dynamic, but the most is "
        "232448");
  CHECK(find_problem({.static_shared = 232440, .dynamic_shared = 9}, kRoom)->hint ==
        "use at most 8 dynamic bytes");
  CHECK(said_of({.dynamic_shared = 1000000}, {.shared = 0}).empty());
  CHECK(find_problem({.grid = {0, 1, 1}}, kRoom)->code == std::string("launch-size"));
  CHECK(find_problem({.cluster = Size3{0, 1, 1}}, kRoom)->code == std::string("launch-cluster"));
  CHECK(find_problem({.dynamic_shared = 232449}, kRoom)->code == std::string("launch-shared"));
  CHECK(message_of("k", *find_problem({.grid = {1, 0, 1}}, kRoom)) == "cannot launch `k`: grid.y is 0");
}

}  // namespace ptxloom::target
