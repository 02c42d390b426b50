// How far a job has come: who is through, and what the last owners of shards had, also after cuts.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/nodes/job_state.hpp"
#include "sim/protocol/membership.hpp"
#include "tests/sim/nodes/stage.hpp"
#include "tests/sim/protocol/server_driver.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

// Three servers with 4, 4 and 5 values of 13.
const std::string thirteen =
    "[model]\nkind = \"phantom\"\nparameters = 13\n[training]\nsteps = 1\n[compute]\ntime = \"1s\"\n"
    "[cluster]\nworkers = 3\nservers = 3\n";

View cut_view(const JobPlan& plan, const std::vector<Cut>& cuts) {
  KeySpace keys = plan.keys;
  for (const Cut& cut : cuts) keys.cut(cut);
  View view{.owners = std::vector<Owner>(keys.shards.size()), .workers = {}, .cuts = cuts};
  view.layout = std::make_shared<const Layout>(std::move(keys));
  return view;
}

Slice slice(const Numbers& numbers) { return {values_of(numbers), 0, numbers.size()}; }

}  // namespace

TEST_CASE("job state: all are through when each has done its steps or has left", "[roles][job_state]") {
  const Planned planned(thirteen);
  JobState state(planned.plan(), 8);
  CHECK_FALSE(state.some_completed());
  CHECK_FALSE(state.all_through());
  state.left_early[2] = true;
  CHECK_FALSE(state.some_completed());
  state.completed[0] = true;
  CHECK(state.some_completed());
  CHECK_FALSE(state.all_through());
  state.taken_out[1] = true;  // it may come back
  CHECK_FALSE(state.all_through());
  state.left_early[1] = true;
  CHECK(state.all_through());
}

TEST_CASE("job state: what was last is what the latest epoch's owner had, and of one epoch the latest",
          "[roles][job_state]") {
  const Planned planned(thirteen);
  const KeySpace& keys = planned.plan().keys;
  JobState state(planned.plan(), 8);
  REQUIRE(keys.shards[1].count == 4);
  state.was_last(keys, keys.shards[1].part, 2, slice({1, 2, 3, 4}));
  CHECK(numbers_of(state.last_weights[1].weights) == Numbers{1, 2, 3, 4});
  CHECK(state.last_weights[1].epoch == 2);
  state.was_last(keys, keys.shards[1].part, 1, slice({9, 9, 9, 9}));
  CHECK(numbers_of(state.last_weights[1].weights) == Numbers{1, 2, 3, 4});
  state.was_last(keys, keys.shards[1].part, 2, slice({5, 6, 7, 8}));
  CHECK(numbers_of(state.last_weights[1].weights) == Numbers{5, 6, 7, 8});
  CHECK(state.last_weights[0].weights.count == 0);
  CHECK(state.last_weights[2].weights.count == 0);
}

TEST_CASE("job state: weights of a whole shard are those of its parts, and a part's are not the whole's",
          "[roles][job_state]") {
  const Planned planned(thirteen);
  const KeySpace& whole = planned.plan().keys;
  const View view = cut_view(planned.plan(), {{2, 2}});
  JobState state(planned.plan(), 8);
  state.hear(view);
  state.was_last(view.layout->keys, whole.shards[2].part, 4, slice({1, 2, 3, 4, 5}));
  CHECK(numbers_of(state.last_weights[2].weights) == Numbers{1, 2});
  CHECK(numbers_of(state.last_weights[3].weights) == Numbers{3, 4, 5});
  state.was_last(view.layout->keys, view.layout->keys.shards[3].part, 5, slice({7, 8, 9}));
  CHECK(numbers_of(state.last_weights[2].weights) == Numbers{1, 2});
  CHECK(numbers_of(state.last_weights[3].weights) == Numbers{7, 8, 9});
  JobState uncut(planned.plan(), 8);
  uncut.was_last(whole, view.layout->keys.shards[3].part, 5, slice({7, 8, 9}));
  CHECK(uncut.last_weights[2].weights.count == 0);
}

TEST_CASE("job state: a cut divides what was last, and both parts have the snapshot", "[roles][job_state]") {
  const Planned planned(thirteen);
  const JobPlan& plan = planned.plan();
  JobState state(plan, 8);
  state.was_last(plan.keys, plan.keys.shards[2].part, 3, slice({1, 2, 3, 4, 5}));
  state.snapshots[2] = {.epoch = 6, .state = {.version = 41}};
  const View first = cut_view(plan, {{2, 1}});
  state.hear(first);
  REQUIRE(state.last_weights.size() == 4);
  CHECK(numbers_of(state.last_weights[2].weights) == Numbers{1});
  CHECK(numbers_of(state.last_weights[3].weights) == Numbers{2, 3, 4, 5});
  CHECK(state.last_weights[3].epoch == 3);
  CHECK(state.snapshots.at(3).epoch == 6);
  CHECK(state.snapshots.at(3).state.version == 41);
  CHECK(state.snapshots.contains(2));
  CHECK_FALSE(state.snapshots.contains(0));
  CHECK(state.layout == first.layout);
  CHECK(state.layouts_before.empty());
}

TEST_CASE("job state: later cuts are of the parts that there are then, and layouts are kept",
          "[roles][job_state]") {
  const Planned planned(thirteen);
  const JobPlan& plan = planned.plan();
  JobState state(plan, 8);
  state.was_last(plan.keys, plan.keys.shards[2].part, 3, slice({1, 2, 3, 4, 5}));
  const View first = cut_view(plan, {{2, 1}});
  const View second = cut_view(plan, {{2, 1}, {3, 3}, {0, 2}});
  state.hear(first);
  state.hear(first);  // nothing new
  CHECK(state.last_weights.size() == 4);
  CHECK(state.layouts_before.empty());
  state.hear(second);
  REQUIRE(state.last_weights.size() == 6);
  CHECK(numbers_of(state.last_weights[3].weights) == Numbers{2, 3, 4});
  CHECK(numbers_of(state.last_weights[4].weights) == Numbers{5});
  CHECK(state.last_weights[5].weights.count == 0);  // shard 0 was never lost
  CHECK(state.layouts_before == std::vector<std::shared_ptr<const Layout>>{first.layout});
  CHECK(state.layout == second.layout);
  CHECK(state.snapshots.empty());
}
