// SPDX-License-Identifier: Apache-2.0
// A template of typed parts: what it chooses, what a search sees of it, and what it refuses.
#include "ptxloom/typed_template.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "ptxloom/builder.hpp"
#include "support/errors.hpp"

namespace ptxloom::typed_template_test {
namespace {

using Catch::Matchers::ContainsSubstring;

// n elements in chunks of width * lanes. "cached" has an order of its own, "streamed" that of the model.
constexpr std::string_view kSpace = R"({"template": "copy", "doc": "y = x",
  "problem": [{"name": "n", "kind": "size", "doc": "elements"},
              {"name": "hint", "values": "cached|streamed", "default": "cached", "doc": "how x is read"}],
  "config": [{"name": "strategy", "values": "cached|streamed", "doc": "how x is read"},
             {"name": "width", "values": "1|2|4", "doc": "elements of a vector"},
             {"name": "lanes", "values": "8|16|32", "doc": "of a team"},
             {"name": "along", "values": "rows|columns", "doc": "the order"},
             {"name": "bulk", "values": "no|yes", "doc": "by bulk copies"}]})";

struct Problem {
  explicit Problem(const Settings& settings)
      : n(std::stoi(settings.at("n"))), streamed(settings.at("hint") == "streamed") {}
  int n;
  bool streamed;
};

enum class Order { rows, columns };
constexpr std::string_view kOrders[] = {"rows", "columns"}, kNoYes[] = {"no", "yes"};
struct Copies {
  bool bulk = false;
};
struct Config {
  int width = 1, lanes = 32;
  Order order = Order::rows;
  Copies copies;
};
constexpr ConfigParameter<Config> kParameters[] = {
    parameter::number<&Config::width>("width"),
    parameter::number<&Config::lanes>("lanes"),
    parameter::choice<kOrders, &Config::order>("along"),
    parameter::choice<kNoYes, &Config::copies, &Copies::bulk>("bulk"),
};

using Rule = ConfigRule<Problem, Config>;
using Strategy = TypedStrategy<Problem, Config>;
using Copy = TypedTemplate<Problem, Config>;

std::vector<Rule> rules() {
  return join_rules({std::vector<Rule>{{"chunks must divide n",
                                        {"width", "lanes"},
                                        [](const Target&, const Problem& p, const Config& c) {
                                          return p.n % (c.width * c.lanes) == 0;
                                        }}},
                     std::vector<Rule>{{"bulk copies go along rows",
                                        {"along", "bulk"},
                                        [](const Target&, const Problem&, const Config& c) {
                                          return !c.copies.bulk || c.order == Order::rows;
                                        }}}});
}

tune::Demand demand_of(const Target&, const Problem& p, const Config& c) {
  return {.threads = c.lanes,
          .blocks = static_cast<std::uint64_t>(p.n / c.lanes / c.width),
          .unit = "f32",
          .operations = double(p.n) * (c.copies.bulk ? 1 : 1000)};
}

Emitted emit(std::shared_ptr<const Specs> specs, const Target& target, const Problem&, const Config& c) {
  KernelBuilder k(std::move(specs), "copy", target);
  return {.module = k.finish(),
          .launches = {{.entry = "copy", .block = {static_cast<std::uint32_t>(c.lanes), 1, 1}}}};
}

const Strategy& strategy_for(const Specs&, const Target& target, const Problem& p, const Settings&) {
  static const Strategy cached{
      .name = "cached",
      .rules = rules(),
      .order = [](const tune::CostModel&, const Target&, const Problem&,
                  const Config& c) { return std::vector{double(-c.width), double(c.lanes)}; },
      .demand = demand_of,
      .emit = emit};
  static const Strategy streamed{.name = "streamed", .rules = rules(), .demand = demand_of, .emit = emit};
  if (target.name() == "sm_75")
    throw Error(ErrorKind::refused, "no-configuration", "copy: sm_75", "use another");
  return p.streamed ? streamed : cached;
}

TypedFamily<Problem, Config> family(std::string_view space = kSpace) {
  return {.space = space,
          .parameters = kParameters,
          .tensors =
              [](const Problem& p) {
                const auto n = static_cast<std::uint64_t>(p.n);
                return std::vector<TensorPlan>{{"x", f32, {n}}, {"y", f32, {n}, TensorPlan::Role::out}};
              },
          .operations = [](const Problem& p) { return double(p.n); },
          .strategy = strategy_for,
          .expect = [](const Problem&, std::span<const HostTensor>) { return std::vector<Expectation>(); },
          .candidates = 5};
}

const Copy& copy() {
  static const Copy instance(family());
  return instance;
}

const Target kTarget("sm_90");

Settings config(const Settings& problem, const Settings& given, const Target& target = kTarget) {
  return copy().config(Specs(), target, copy().problem(problem), given);
}

std::string refusal(const Settings& problem, const Settings& given) {
  return error_of([&] { config(problem, given); }).what();
}

std::string without(std::string text, const std::string& part, const std::string& instead = {}) {
  return text.replace(text.find(part), part.size(), instead);
}

}  // namespace

TEST_CASE("a typed template chooses by its order: the first number that differs decides") {
  const Settings chosen = config({{"n", "96"}}, {});
  CHECK(chosen ==
        Settings{{"strategy", "cached"}, {"width", "4"}, {"lanes", "8"}, {"along", "rows"}, {"bulk", "no"}});
  CHECK(config({{"n", "48"}}, {{"lanes", "16"}}).at("width") == "1");  // 48 is no multiple of 32
  CHECK(config({{"n", "96"}}, {{"bulk", "yes"}}).at("along") == "rows");
}

TEST_CASE("a typed template without an order chooses by the model") {
  CHECK(config({{"n", "1048576"}, {"hint", "streamed"}}, {}).at("bulk") == "yes");
  CHECK(config({{"n", "1048576"}, {"hint", "streamed"}}, {}).at("strategy") == "streamed");
}

TEST_CASE("the candidates of a typed template begin with its choice, and are no more than it offers") {
  const Settings problem = copy().problem({{"n", "960"}});
  const std::vector<Settings> all = copy().candidates(Specs(), kTarget, problem, {{"along", "columns"}});
  CHECK(all.size() == 5);
  CHECK(all.front() == config({{"n", "960"}}, {{"along", "columns"}}));
  for (const Settings& one : all) CHECK((one.at("along") == "columns" && one.at("bulk") == "no"));
}

TEST_CASE("the tuner's space of a typed template is what its rules admit") {
  const Settings problem = copy().problem({{"n", "96"}, {"hint", "streamed"}});
  const tune::Space space = copy().tuning_space(Specs(), kTarget, problem);
  CHECK(space.parameters.front().values == std::vector<std::string>{"streamed"});
  const tune::Admissible admitted = tune::admit(space, kTarget);
  // Of 9 pairs of width and lanes all but 4 * 16 = 64 and 4 * 32 = 128 and 2 * 32 = 64 divide 96; of along
  // and bulk three pairs go together.
  CHECK(admitted.configurations() == 9 * 4);
  CHECK(admitted.size() == 6 * 3);
  for (std::size_t i = 0; i < admitted.size(); ++i)
    CHECK(admitted.demand(i).threads == std::stoi(admitted.settings(i).at("lanes")));
}

TEST_CASE("a typed template says which rule the given parameters break") {
  CHECK_THAT(refusal({{"n", "96"}}, {{"along", "columns"}, {"bulk", "yes"}}),
             ContainsSubstring("no-configuration") && ContainsSubstring("bulk copies go along rows") &&
                 ContainsSubstring("along=columns bulk=yes on sm_90"));
  // 100 is a multiple of 4, but no parameter alone is to blame.
  CHECK_THAT(refusal({{"n", "100"}}, {{"width", "4"}}), ContainsSubstring("leave parameters out"));
  CHECK_THAT(error_of([] { config({{"n", "96"}}, {}, Target("sm_75")); }).what(),
             ContainsSubstring("copy: sm_75"));
  CHECK(error_of([] { config({{"n", "96"}}, {{"width", "3"}}); }).code() == "bad-value");
}

TEST_CASE("a typed template emits what is admissible, and nothing else") {
  const auto specs = std::make_shared<const Specs>();
  const Settings problem = copy().problem({{"n", "96"}});
  Settings chosen = config({{"n", "96"}}, {{"lanes", "16"}});
  CHECK(copy().emit(specs, kTarget, problem, chosen).launches.front().block[0] == 16);
  chosen["along"] = "columns", chosen["bulk"] = "yes";
  const Error refused = error_of([&] { copy().emit(specs, kTarget, problem, chosen); });
  CHECK(refused.code() == "bad-configuration");
  CHECK_THAT(refused.what(),
             ContainsSubstring("copy: this configuration is not admissible: bulk copies go along rows"));
}

TEST_CASE("a table of parameters that does not fit the space is refused") {
  const auto refused = [](const std::string& space) {
    const Error error = error_of([&] { Copy(family(space)); });
    CHECK(error.code() == "bad-space");
    return std::string(error.what());
  };
  CHECK_THAT(
      refused(without(std::string(kSpace), R"({"name": "lanes", "values": "8|16|32", "doc": "of a team"},)")),
      ContainsSubstring("the space of copy lacks the parameter 'lanes'"));
  CHECK_THAT(refused(without(std::string(kSpace), "\"lanes\"", "\"threads\"")), ContainsSubstring("'lanes'"));
  CHECK_THAT(refused(without(std::string(kSpace), "\"config\": [",
                             R"("config": [{"name": "depth", "values": "1|2", "doc": "of k"},)")),
             ContainsSubstring("has no field for the parameter 'depth'") &&
                 ContainsSubstring("add a row to the table of parameters"));
}

TEST_CASE("a row of the table reads what it prints, in fields of parts, too") {
  Config config;
  for (const ConfigParameter<Config>& row : kParameters) CHECK(row.has_default(config));
  read_parameters<Config>(kParameters,
                          {{"bulk", "yes"}, {"along", "columns"}, {"width", "4"}, {"other", "1"}}, config);
  CHECK((config.copies.bulk && config.order == Order::columns && config.width == 4 && config.lanes == 32));
  CHECK(print_parameters<Config>(kParameters, config) ==
        Settings{{"bulk", "yes"}, {"along", "columns"}, {"width", "4"}, {"lanes", "32"}});
  CHECK((!kParameters[0].has_default(config) && kParameters[1].has_default(config)));
}

}  // namespace ptxloom::typed_template_test
