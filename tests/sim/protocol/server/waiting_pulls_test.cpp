// Goal: a pull is answered when its worker may start, and what is known of a worker from its pull is right.
// Method: one shard's state by hand, two workers, pulls by hand.
#include "sim/protocol/server/waiting_pulls.hpp"

#include <cstdint>
#include <vector>

#include "tests/sim/protocol/shared_rule.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

namespace {

constexpr NodeId first_worker = 2;
const ConsistencySpec bsp{.model = "bsp"};
const ConsistencySpec asp{.model = "asp"};
const ConsistencySpec ssp{.model = "ssp", .staleness = 1};

ShardState shard(const ConsistencySpec& spec, std::int64_t version = 0) {
  ShardState state({.first_worker = first_worker, .rule = test::shared_rule(spec, 2), .steps = 10},
                   std::nullopt, 4);
  state.version = version;
  return state;
}

// Only dssp tells a pull that is due from one that is overdue.
bool is_due(ShardState& state, std::uint32_t worker, const Pull& pull) {
  const bool due = WaitingPulls::is_due(worker, pull, state, 0);
  CHECK(WaitingPulls::is_overdue(worker, pull, state) == due);
  return due;
}

}  // namespace

TEST_CASE("a newer pull takes the place of an older one, never the other way round", "[pulls]") {
  WaitingPulls pulls;
  const ShardState state = shard(asp);
  CHECK(pulls.put(1, {.clock = 4, .number = 5}, state));
  CHECK_FALSE(pulls.put(1, {.clock = 3, .number = 4}, state));
  REQUIRE(pulls.find(1) != nullptr);
  CHECK(pulls.find(1)->clock == 4);
  CHECK(pulls.put(1, {.clock = 4, .number = 5}, state));  // again
  // A worker that has come back from a crash counts from the beginning.
  CHECK(pulls.put(1, {.clock = 0, .number = 1, .pushes_sent = std::nullopt}, state));
  CHECK(pulls.find(1)->clock == 0);
  CHECK(pulls.find(0) == nullptr);
  pulls.erase(1);
  CHECK(pulls.find(1) == nullptr);
}

TEST_CASE("an update concerns the pulls whose workers' own pushes have all arrived", "[pulls]") {
  ShardState state = shard(asp);
  WaitingPulls pulls;
  const auto waiting = [&] {
    std::vector<std::uint32_t> workers;
    pulls.for_each_waiting(state, [&](std::uint32_t w) { workers.push_back(w); });
    return workers;
  };
  pulls.put(0, {.number = 1, .pushes_sent = 1}, state);
  pulls.put(1, {.number = 1, .pushes_sent = 0}, state);
  CHECK(waiting() == std::vector{1U});
  state.workers[0].arrived = 1;
  pulls.note_arrivals(0, state);
  CHECK(waiting() == std::vector{0U, 1U});
  pulls.put(1, {.number = 2, .pushes_sent = 1}, state);
  CHECK(waiting() == std::vector{0U});
  pulls.for_each_waiting(state, [&](std::uint32_t w) { pulls.erase(w); });
  CHECK(waiting().empty());
  ConsistencyRule fresh_only = *state.options.rule;
  fresh_only.drops_stale = true;
  state.options.rule = test::shared_rule(fresh_only);  // then a push that is to come is too late in any case
  CHECK(waiting() == std::vector{1U});
}

TEST_CASE("an update concerns no pull for a clock that the slowest worker holds back", "[pulls]") {
  ShardState state = shard(ssp);  // a bound of 1, 10 steps
  WaitingPulls pulls;
  const auto waiting = [&] {
    std::vector<std::uint32_t> workers;
    pulls.for_each_waiting(state, [&](std::uint32_t w) { workers.push_back(w); });
    return workers;
  };
  pulls.put(0, {.clock = 2, .number = 1, .pushes_sent = 0}, state);
  pulls.put(1, {.clock = 1, .number = 1, .pushes_sent = 0}, state);
  CHECK(waiting() == std::vector{1U});
  state.workers.count_applied(0);
  state.workers.count_applied(1);  // the slowest clock is 1
  CHECK(waiting() == std::vector{0U, 1U});
  pulls.put(0, {.clock = 3, .number = 2, .pushes_sent = 0}, state);
  CHECK(waiting() == std::vector{1U});
  pulls.put(0, {.clock = 10, .number = 3, .pushes_sent = 0}, state);  // no clock is left
  CHECK(waiting() == std::vector{0U, 1U});
}

TEST_CASE("a pull waits for its worker's own pushes", "[pulls]") {
  ShardState state = shard(asp);
  state.workers[0].arrived = 3;
  CHECK(is_due(state, 0, {.clock = 3, .pushes_sent = 3}));
  CHECK_FALSE(is_due(state, 0, {.clock = 4, .pushes_sent = 4}));
  CHECK(is_due(state, 0, {.clock = 4, .pushes_sent = std::nullopt}));  // it has come back, and knows of none
}

TEST_CASE("under ssp a pull waits for the slowest worker", "[pulls]") {
  ShardState state = shard(ssp);
  state.workers[0].arrived = 2;
  state.workers.count_applied(0);
  state.workers.count_applied(0);
  CHECK_FALSE(is_due(state, 0, {.clock = 2, .pushes_sent = 2}));
  state.workers.count_applied(1);
  CHECK(is_due(state, 0, {.clock = 2, .pushes_sent = 2}));
}

// Worker 0 pushes every 1.5 seconds, worker 1 every 2.5 seconds.
TEST_CASE("a pull for a clock that dssp could grant is overdue only after the grant", "[pulls]") {
  ShardState state = shard({.model = "dssp", .staleness = 1, .staleness_max = 4});
  state.workers[0].arrived = 3;
  state.workers[0].applied = 3;
  state.workers[1].applied = 1;
  state.workers.find_slowest();
  const auto note = [&](std::uint32_t w, double date) {
    state.policy().note_push(state.view(date), {.worker = state.node_of(w)}, state.estimates());
  };
  for (const double date : {2.0, 3.5}) note(0, date);
  note(1, 2.5);
  const Pull pull{.clock = 3, .pushes_sent = 3};
  CHECK_FALSE(WaitingPulls::is_overdue(0, pull, state));
  CHECK(WaitingPulls::is_due(0, pull, state, 3.5));
  CHECK(WaitingPulls::is_overdue(0, pull, state));
}

TEST_CASE("under bsp a pull waits for a version above its own", "[pulls]") {
  ShardState state = shard(bsp, 4);
  state.workers[0].arrived = 5;
  CHECK(is_due(state, 0, {.clock = 4, .above = 3, .pushes_sent = 5}));
  CHECK_FALSE(is_due(state, 0, {.clock = 5, .above = 4, .pushes_sent = 5, .computes = true}));
}

// The shard was set back to before what the worker computed on, or forgot its push: it would wait for ever.
TEST_CASE("a worker whose push is lost is sent any version", "[pulls]") {
  ShardState state = shard(bsp, 4);
  state.workers[0].arrived = 5;
  CHECK(is_due(state, 0, {.clock = 7, .above = 6, .pushes_sent = 5}));
  CHECK(is_due(state, 0, {.clock = 5, .above = 4, .pushes_sent = 5}));
  state.updates.add({.worker = first_worker, .number = 4, .version = 4}, 0);
  CHECK_FALSE(is_due(state, 0, {.clock = 5, .above = 4, .pushes_sent = 5}));
}

TEST_CASE("after its last clock a worker waits for its pushes, not for others", "[pulls]") {
  ShardState state = shard(ssp);
  const Pull last{.clock = 10, .pushes_sent = 10};
  CHECK(WaitingPulls::is_over(last, state));
  CHECK_FALSE(is_due(state, 0, last));
  state.workers[0].arrived = 10;
  CHECK(is_due(state, 0, last));
  CHECK_FALSE(WaitingPulls::is_over({.clock = 9}, state));
}

// Where versions are counted, what is over is the shard; a push still on its way comes too late.
TEST_CASE("a shard with all its updates answers at once", "[pulls]") {
  ShardState state = shard(bsp, 10);
  const Pull pull{.clock = 9, .above = 9, .pushes_sent = 3};
  CHECK(WaitingPulls::is_over(pull, state));
  CHECK(is_due(state, 0, pull));
}

TEST_CASE("a worker is through when it asks for no more, and all it sent is here", "[pulls]") {
  ShardState state = shard(ssp);
  WaitingPulls pulls;
  CHECK_FALSE(pulls.has_finished(0, state));
  pulls.put(0, {.clock = 10, .pushes_sent = 10}, state);
  CHECK_FALSE(pulls.has_finished(0, state));
  state.workers[0].arrived = 10;
  CHECK(pulls.has_finished(0, state));
  CHECK_FALSE(pulls.has_finished(1, state));
}

// k-sync with one push of two: worker 1 was cancelled and waits for worker 0, whose push is lost.
TEST_CASE("steps begin again when nobody is left that will push", "[pulls]") {
  ShardState state = shard({.model = "k-sync", .k = 1}, 4);
  WaitingPulls pulls;
  CHECK_FALSE(pulls.restart_steps(state, 0));  // nobody waits
  pulls.put(1, {.clock = 5, .above = 4}, state);
  CHECK(pulls.waits_for_others(1, state));
  CHECK_FALSE(pulls.waits_for_others(0, state));
  CHECK_FALSE(pulls.restart_steps(state, 0));  // worker 0 may push
  state.workers.set_members({false, true});
  CHECK(pulls.restart_steps(state, 0));
  CHECK(pulls.find(1)->above == -1);
}

TEST_CASE("steps do not begin again for a worker that computes", "[pulls]") {
  ShardState state = shard({.model = "k-sync", .k = 1}, 4);
  WaitingPulls pulls;
  pulls.put(0, {.clock = 5, .above = 4}, state);
  pulls.put(1, {.clock = 5, .above = 4, .computes = true}, state);
  CHECK_FALSE(pulls.restart_steps(state, 0));
  pulls.find(1)->computes = false;
  CHECK(pulls.restart_steps(state, 0));
}

// Worker 0 computes on the answer to its second pull. Worker 1 was cancelled, and waits.
TEST_CASE("a late copy of a pull does not make its worker one that waits", "[pulls]") {
  ShardState state = shard({.model = "k-sync", .k = 1}, 4);
  WaitingPulls pulls;
  pulls.put(0, {.clock = 5, .number = 2}, state);
  pulls.erase(0);
  pulls.put(1, {.clock = 5, .above = 4, .number = 1}, state);
  CHECK_FALSE(pulls.put(0, {.clock = 5, .above = 4, .number = 1}, state));
  CHECK_FALSE(pulls.waits_for_others(0, state));
  CHECK_FALSE(pulls.restart_steps(state, 0));
  CHECK(pulls.put(0, {.clock = 5, .number = 2}, state));  // its answer may be lost
  pulls.clear();                                          // the next owner knows of no pull
  CHECK(pulls.put(0, {.clock = 5, .above = 4, .number = 1}, state));
}

TEST_CASE("the last answer of another shard waits until the first shard's decisions are applied", "[pulls]") {
  ShardState other({.shard = 1,
                    .shards = 2,
                    .first_worker = first_worker,
                    .rule = test::shared_rule(ConsistencySpec{.model = "k-async", .k = 2}, 3),
                    .steps = 1},
                   std::nullopt, 4);
  other.workers[0].arrived = 1;
  const Pull last{.clock = 1, .number = 2, .pushes_sent = 1};
  CHECK_FALSE(is_due(other, 0, last));
  other.workers[0].applied = 1;
  CHECK(is_due(other, 0, last));
}
