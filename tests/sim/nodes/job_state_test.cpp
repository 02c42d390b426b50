// How far a job has come: who is through, and what the last owners of shards had, also after cuts.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/nodes/job/job_state.hpp"
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

TEST_CASE("job progress: all are through when each has done its steps or has left", "[roles][job_state]") {
  JobProgress progress(3, 8);
  CHECK_FALSE(progress.some_completed());
  CHECK_FALSE(progress.all_through());
  progress.finish(2, false, 5);
  CHECK_FALSE(progress.some_completed());
  progress.finish(0, true, 7);
  CHECK(progress.some_completed());
  CHECK(progress.completed() == 1);
  CHECK(progress.last_finish() == 7);
  CHECK_FALSE(progress.all_through());
  progress.take_out(1, true);  // it may come back
  CHECK_FALSE(progress.all_through());
  progress.is_absent(1);
  CHECK(progress.all_through());
  CHECK_FALSE(progress.all_left());
  progress.comes(1);
  CHECK_FALSE(progress.all_through());
}

TEST_CASE("job progress: a start that is planned is taken once", "[roles][job_state]") {
  JobProgress progress(3, 8);
  CHECK_FALSE(progress.take_start(4));
  progress.starts(4);
  CHECK(progress.is_starting(4));
  CHECK(progress.some_start());
  CHECK(progress.take_start(4));
  CHECK_FALSE(progress.take_start(4));
  CHECK_FALSE(progress.some_start());
}

TEST_CASE("job state: what was last is what the latest epoch's owner had, and of one epoch the latest",
          "[roles][job_state]") {
  const Planned planned(thirteen);
  const KeySpace& keys = planned.plan().keys;
  JobState state(planned.plan(), 8);
  REQUIRE(keys.shards[1].count == 4);
  state.last_weights.keep(keys, keys.shards[1].part, 2, slice({1, 2, 3, 4}));
  CHECK(numbers_of(state.last_weights.of(1)) == Numbers{1, 2, 3, 4});
  CHECK(state.last_weights.epoch(1) == 2);
  state.last_weights.keep(keys, keys.shards[1].part, 1, slice({9, 9, 9, 9}));
  CHECK(numbers_of(state.last_weights.of(1)) == Numbers{1, 2, 3, 4});
  state.last_weights.keep(keys, keys.shards[1].part, 2, slice({5, 6, 7, 8}));
  CHECK(numbers_of(state.last_weights.of(1)) == Numbers{5, 6, 7, 8});
  CHECK(state.last_weights.of(0).count == 0);
  CHECK(state.last_weights.of(2).count == 0);
}

TEST_CASE("job state: weights of a whole shard are those of its parts, and a part's are not the whole's",
          "[roles][job_state]") {
  const Planned planned(thirteen);
  const KeySpace& whole = planned.plan().keys;
  const View view = cut_view(planned.plan(), {{2, 2}});
  JobState state(planned.plan(), 8);
  state.hear(view);
  state.last_weights.keep(view.layout->keys, whole.shards[2].part, 4, slice({1, 2, 3, 4, 5}));
  CHECK(numbers_of(state.last_weights.of(2)) == Numbers{1, 2});
  CHECK(numbers_of(state.last_weights.of(3)) == Numbers{3, 4, 5});
  state.last_weights.keep(view.layout->keys, view.layout->keys.shards[3].part, 5, slice({7, 8, 9}));
  CHECK(numbers_of(state.last_weights.of(2)) == Numbers{1, 2});
  CHECK(numbers_of(state.last_weights.of(3)) == Numbers{7, 8, 9});
  JobState uncut(planned.plan(), 8);
  uncut.last_weights.keep(whole, view.layout->keys.shards[3].part, 5, slice({7, 8, 9}));
  CHECK(uncut.last_weights.of(2).count == 0);
}

TEST_CASE("job state: a cut divides what was last, and both parts have the snapshot", "[roles][job_state]") {
  const Planned planned(thirteen);
  const JobPlan& plan = planned.plan();
  JobState state(plan, 8);
  state.last_weights.keep(plan.keys, plan.keys.shards[2].part, 3, slice({1, 2, 3, 4, 5}));
  state.disk.shards.keep(2, {.epoch = 6, .state = {.version = 41}});
  const View first = cut_view(plan, {{2, 1}});
  state.hear(first);
  REQUIRE(state.last_weights.shards() == 4);
  CHECK(numbers_of(state.last_weights.of(2)) == Numbers{1});
  CHECK(numbers_of(state.last_weights.of(3)) == Numbers{2, 3, 4, 5});
  CHECK(state.last_weights.epoch(3) == 3);
  REQUIRE(state.disk.shards.find(3) != nullptr);
  CHECK(state.disk.shards.find(3)->epoch == 6);
  CHECK(state.disk.shards.find(3)->state.version == 41);
  CHECK(state.disk.shards.find(2) != nullptr);
  CHECK(state.disk.shards.find(0) == nullptr);
  CHECK(state.layouts.newest() == first.layout.get());
}

TEST_CASE("job state: later cuts are of the parts that there are then, and layouts are kept",
          "[roles][job_state]") {
  const Planned planned(thirteen);
  const JobPlan& plan = planned.plan();
  JobState state(plan, 8);
  state.last_weights.keep(plan.keys, plan.keys.shards[2].part, 3, slice({1, 2, 3, 4, 5}));
  View first = cut_view(plan, {{2, 1}});
  const View second = cut_view(plan, {{2, 1}, {3, 3}, {0, 2}});
  state.hear(first);
  state.hear(first);  // nothing new
  const std::weak_ptr<const Layout> before = std::exchange(first.layout, {});
  CHECK(state.last_weights.shards() == 4);
  state.hear(second);
  REQUIRE(state.last_weights.shards() == 6);
  CHECK(numbers_of(state.last_weights.of(3)) == Numbers{2, 3, 4});
  CHECK(numbers_of(state.last_weights.of(4)) == Numbers{5});
  CHECK(state.last_weights.of(5).count == 0);  // shard 0 was never lost
  CHECK(state.layouts.newest() == second.layout.get());
  CHECK_FALSE(before.expired());
  CHECK_FALSE(state.disk.lose());
}
