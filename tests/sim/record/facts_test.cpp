// Goal: what the simulator makes of a scenario is what readers of a run get. Method: scenarios by hand; what
// a field comes to, and facts that are written as rows and read again.
#include "sim/record/facts.hpp"

#include <algorithm>

#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/spec/scenario.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

namespace {

Scenario with(std::string_view model) {
  Scenario scenario;
  const auto& rows = all_rows<ConsistencyRow>();
  const auto row = std::ranges::find(rows, model, &ConsistencyRow::name);
  scenario.consistency.model = ConsistencyModel::at(static_cast<std::size_t>(row - rows.begin()));
  scenario.cluster.workers = 6;
  return scenario;
}

}  // namespace

TEST_CASE("a rule is called by what it does", "[record]") {
  Scenario scenario = with("ssp");
  scenario.consistency.staleness = 2;
  CHECK(facts_of(scenario).rule.model == "ssp");
  scenario.consistency.staleness = 0;  // nobody is a clock ahead
  CHECK(facts_of(scenario).rule.model == "bsp");
  CHECK(facts_of(scenario).rule.group == 6);
  scenario.consistency.max_staleness = 1;  // too stale pushes are no bsp's
  CHECK(facts_of(scenario).rule.model == "ssp");
  scenario = with("bsp");
  scenario.consistency.window = Seconds{2};  // any pushes that are there make an update
  CHECK(facts_of(scenario).rule.model == "k-sync");
  scenario = with("k-sync");
  scenario.consistency.backup = 2;
  CHECK(facts_of(scenario).rule.group == 4);
  scenario.consistency.late = Late::next;  // what comes late is for the next update
  CHECK(facts_of(scenario).rule.model == "k-async");
  scenario.architecture.kind = Architecture::all_reduce;
  CHECK(facts_of(scenario).rule.model.empty());
}

TEST_CASE("facts say whether the first shard decides, as the servers do", "[record]") {
  Scenario scenario = with("custom");
  scenario.consistency.custom = {.start = "clock - min_clock <= 3", .update = "pushes >= 2"};
  CHECK(facts_of(scenario).rule.first_shard_decides);
  scenario.consistency.custom.start = "true";
  CHECK(!facts_of(scenario).rule.first_shard_decides);
  scenario = with("asp");
  CHECK(!facts_of(scenario).rule.first_shard_decides);
  scenario.consistency.age = AgeOf::gradient;
  CHECK(facts_of(scenario).rule.first_shard_decides);
}

TEST_CASE("facts are read as they were written, whatever is in them", "[record]") {
  Scenario scenario = with("ssp");
  scenario.consistency.staleness_schedule = {{0, 1}, {10, 4}};
  scenario.training.duration = Seconds{1.0 / 3};
  scenario.stragglers.push_back({.workers = {1, 3}, .slowdown = 2.5, .every = Seconds{0.1}});
  scenario.stragglers.push_back({.workers = {}, .probability = 0.25});
  scenario.consistency.promises = {"a \"quoted\" one"};
  RunFacts facts = facts_of(scenario);
  facts.tasks = {{.does = "pull", .units = 3},
                 {.does = "push", .after = {{.task = 0, .clocks_back = 1, .all = true}}}};
  const auto rows = rows_of(facts);
  const RunFacts read = facts_in(rows);
  CHECK(rows_of(read) == rows);
  CHECK(read.rule.bound.schedule == facts.rule.bound.schedule);
  CHECK(read.rule.gate == Gate::staleness);
  CHECK(read.duration == facts.duration);
  CHECK(read.stragglers[0].workers == std::vector<std::uint32_t>{1, 3});
  CHECK(read.stragglers[0].every == 0.1);
  CHECK(!read.stragglers[0].probability);
  CHECK(read.stragglers[1].probability == 0.25);
  CHECK(read.tasks[1].after.at(0).clocks_back == 1);
  CHECK(read.promises == facts.promises);
}

TEST_CASE("facts that lack a name, or a value that is none, are refused", "[record]") {
  auto rows = rows_of(facts_of(Scenario{}));
  auto fewer = rows;
  fewer.erase(fewer.begin());
  CHECK_THROWS_WITH(facts_in(fewer), "run.db has no fact `servers`");
  rows.front().second = "{";
  CHECK_THROWS(facts_in(rows));
  rows.front().second = "\"three\"";
  CHECK_THROWS(facts_in(rows));
}
