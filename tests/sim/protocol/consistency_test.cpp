// Goal: the numbers of a scenario end up in the rule that a server follows.
#include "sim/protocol/consistency.hpp"

#include "sim/protocol/message.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

TEST_CASE("a rule is its row with the scenario's numbers put in", "[protocol]") {
  struct Case {
    ConsistencyModel model;
    Gate gate;
    std::int64_t group;
    bool drops_stale, cancel, dynamic;
    double updates_per_clock;
  };
  const std::vector<Case> cases{
      {"bsp", Gate::version, 12, true, false, false, 1},
      {"ssp", Gate::staleness, 1, false, false, false, 12},
      {"asp", Gate::none, 1, false, false, false, 12},
      {"k-sync", Gate::version, 5, true, true, false, 1},
      {"k-batch-sync", Gate::none, 5, true, true, false, 1},
      {"k-async", Gate::own, 5, false, false, false, 2.4},
      {"k-batch-async", Gate::none, 5, false, false, false, 2.4},
      {"dssp", Gate::staleness, 1, false, false, true, 12},
  };
  for (const Case& c : cases) {
    const ConsistencyRule rule =
        make_rule({.model = c.model, .staleness = 3, .staleness_max = 9, .k = 5}, 12);
    CAPTURE(c.model->name);
    CHECK(rule.model == c.model->name);
    CHECK(rule.gate == c.gate);
    CHECK(rule.group == c.group);
    CHECK(rule.drops_stale == c.drops_stale);
    CHECK(rule.cancel == c.cancel);
    CHECK(rule.dynamic == c.dynamic);
    CHECK(rule.updates_per_clock() == Approx(c.updates_per_clock));
    CHECK(rule.workers == 12);
    CHECK(rule.bound.staleness == (c.gate == Gate::staleness ? 3 : 0));
    CHECK(rule.bound.most == (c.dynamic ? 9 : 0));
  }
}

TEST_CASE("k is all workers unless it is given, and backup workers are those left out", "[protocol]") {
  CHECK(make_rule({.model = "k-sync"}, 8).group == 8);
  CHECK(make_rule({.model = "k-async"}, 8).group == 8);
  CHECK(make_rule({.model = "k-sync", .backup = 2}, 8).group == 6);
  CHECK(make_rule({.model = "k-sync", .k = 3, .late = Late::drop}, 8).cancel == false);
}

TEST_CASE("an added model with the gate of ssp is bsp where no worker may be ahead", "[protocol]") {
  const Addition<ConsistencyRow> row{
      {.name = "lead-of-a-test", .gate = Gate::staleness, .group = Group::one}};
  const ConsistencyRule ahead = make_rule({.model = "lead-of-a-test", .staleness = 2}, 4);
  CHECK(ahead.model == "lead-of-a-test");
  CHECK(ahead.waits_for(Gate::staleness));
  const ConsistencyRule in_step = make_rule({.model = "lead-of-a-test", .staleness = 0}, 4);
  CHECK(in_step.model == "bsp");
  CHECK(in_step.waits_for_all());
}

TEST_CASE("an update's scale: mean or sum, of what an update holds and of what a clock holds", "[protocol]") {
  ConsistencySpec spec{.model = "k-sync", .k = 2};
  CHECK(make_rule(spec, 8).push_weight(2) == 0.5);
  CHECK(make_rule(spec, 8).rate_factor(2) == 1);  // the others are dropped: this update is the clock
  spec.model = "k-async";
  CHECK(make_rule(spec, 8).push_weight(2) == 0.5);
  CHECK(make_rule(spec, 8).rate_factor(2) == 0.25);  // one of four updates of this clock
  spec.aggregation = {"sum"};
  CHECK(make_rule(spec, 8).push_weight(2) == 1);
  CHECK(make_rule(spec, 8).rate_factor(2) == 1);
}

TEST_CASE("a schedule moves the bound of ssp from the given clocks on", "[protocol]") {
  const ConsistencyRule rule =
      make_rule({.model = "ssp", .staleness = 2, .staleness_schedule = {{3, 5}, {7, 0}}}, 4);
  const std::vector<std::int64_t> expected{2, 2, 2, 5, 5, 5, 5, 0, 0};
  for (std::size_t clock = 0; clock < expected.size(); ++clock)
    CHECK(rule.bound.at(static_cast<std::int64_t>(clock)) == expected[clock]);
  // A bound that starts at zero but moves is not bsp.
  const ConsistencyRule moving =
      make_rule({.model = "ssp", .staleness = 0, .staleness_schedule = {{3, 5}}}, 4);
  CHECK(moving.gate == Gate::staleness);
  CHECK(moving.group == 1);
}

TEST_CASE("even ranges begin at floor(i N / S)", "[protocol]") {
  CHECK(even_range(10, 4, 1).begin == 2);
  CHECK(even_range(10, 4, 2).begin == 5);
  CHECK(even_range(10, 4, 3).begin == 7);
  CHECK(even_range(2, 3, 1).begin == 0);
  CHECK(even_range(2, 3, 2).begin == 1);
}

TEST_CASE("even ranges cover everything once, with sizes that differ by at most one", "[protocol]") {
  for (std::size_t total = 0; total < 60; ++total) {
    for (std::size_t parts = 1; parts < 13; ++parts) {
      std::size_t end = 0;
      for (std::size_t i = 0; i < parts; ++i) {
        const Range range = even_range(total, parts, i);
        REQUIRE(range.begin == end);
        REQUIRE(range.count >= total / parts);
        REQUIRE(range.count <= (total + parts - 1) / parts);
        end += range.count;
      }
      REQUIRE(end == total);
    }
  }
}

TEST_CASE("a message is as large as its values and the pushes that it names", "[protocol]") {
  CHECK(wire_size(Pull{}) == 0);
  CHECK(wire_size(Push{.gradient = {.values = {nullptr, 0, 1000}, .bytes = 4000}}) == 4000);
  CHECK(wire_size(UpdateGroup{.pushes = {{4, 1}, {5, 1}}}) == 2 * 12);
}
