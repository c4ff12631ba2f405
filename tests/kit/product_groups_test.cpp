// SPDX-License-Identifier: Apache-2.0
// Tensors and parameters of the products of a launch.
#include "ptxloom/kit/product_groups.hpp"

#include "kit/running.hpp"

using namespace ptxloom;
using kit::ProductGroups;
using Kind = kit::TileGroups::Kind;

TEST_CASE("product groups: the tensor that tells the groups") {
  CHECK_FALSE(ProductGroups{.rows = 300, .batches = 5}.tensor());
  const auto masked = ProductGroups{.kind = Kind::masked, .rows = 300, .batches = 5}.tensor();
  REQUIRE(masked);
  CHECK(masked->name == "group_rows");
  CHECK(masked->elements == 5);
  CHECK(masked->below == 301);
  const auto runs = ProductGroups{.kind = Kind::contiguous, .rows = 300, .batches = 5, .run = 64}.tensor();
  REQUIRE(runs);
  CHECK(runs->name == "group_of_rows");
  CHECK(runs->elements == 5);  // 300 rows are five runs, the last one shorter
  CHECK(runs->below == 5);
}

TEST_CASE("product groups: a run has at least one row") {
  const auto tensor_of = [](int run) {
    return kit_test::verdict(
        [&] { ProductGroups{.kind = Kind::contiguous, .rows = 9, .run = run}.tensor(); });
  };
  CHECK(tensor_of(1) == "accepted");
  for (const int run : {0, -64}) CHECK(tensor_of(run) == "bad-schedule");
}

TEST_CASE("product groups: parameters, and what a scheduler gets of them") {
  struct Given {
    ProductGroups products;
    std::vector<std::string> names;
  };
  for (const Given& given : {Given{{.rows = 9}, {}}, Given{{.rows = 9, .batches = 2}, {"batch"}},
                             Given{{.kind = Kind::masked, .rows = 9}, {"group_rows"}},
                             Given{{.kind = Kind::masked, .rows = 9, .batches = 2}, {"batch", "group_rows"}},
                             Given{{.kind = Kind::contiguous, .rows = 9}, {"batch", "group_of_rows"}}}) {
    kit::Params params;
    given.products.add_batches(params);
    CHECK(given.products.add_tensor(params) == (given.products.kind != Kind::none));
    std::vector<std::string> names;
    for (const ArgumentPlan& argument : params.arguments()) names.push_back(argument.name);
    CHECK(names == given.names);
    KernelBuilder k = kit_test::builder();
    const kit::ParamRegs in = params.declare(k);
    CHECK(given.products.batches_in(in).has_value() == given.products.several());
    const kit::TileGroups groups = given.products.groups_in(in, true);
    CHECK(groups.kind == given.products.kind);
    CHECK(groups.run == 128);
    CHECK(groups.columns);
    k.ret();
    k.finish();
  }
}
