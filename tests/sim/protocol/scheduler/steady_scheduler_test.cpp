// Goal: where no node fails, the scheduler starts all nodes together and ends each job with its last worker.
#include "sim/protocol/scheduler/failure_aware_scheduler.hpp"

#include "tests/sim/protocol/scheduler/scheduler_box.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

TEST_CASE("steady scheduler: it starts all nodes when the last of them has joined", "[scheduler]") {
  SchedulerBox box;
  SteadyScheduler scheduler(1, {{.first_worker = 2, .workers = 2}}, box);
  for (const NodeId node : {3U, 1U}) scheduler.on({.from = node, .body = Join{}}, 0);
  CHECK(box.take().empty());
  CHECK_FALSE(scheduler.has_started());
  scheduler.on({.from = 2, .body = Join{}}, 1);
  CHECK(box.take() == Words{"start 1", "start 2", "start 3"});
  CHECK(scheduler.has_started());
}

TEST_CASE("steady scheduler: each job ends with its last worker, or by itself", "[scheduler]") {
  SchedulerBox box;
  SteadyScheduler scheduler(1,
                            {{.first_worker = 2, .workers = 2},
                             {.first_worker = 4, .workers = 1},
                             {.first_worker = 5, .workers = 1}},
                            box);
  const auto leave = [&](NodeId worker) { scheduler.on({.from = worker, .body = Leave{}}, 5); };
  leave(3);
  leave(4);
  CHECK(box.take() == Words{"job 1 ends"});
  CHECK_FALSE(scheduler.is_over());
  leave(2);
  CHECK(box.take() == Words{"job 0 ends"});
  CHECK_FALSE(scheduler.is_over());
  box.over = {2};  // at its date
  CHECK(scheduler.is_over());
  leave(5);
  CHECK(box.take().empty());
}

TEST_CASE("steady scheduler: reports go to the job of their worker", "[scheduler]") {
  SchedulerBox box;
  const auto job_of = [](NodeId first) {
    return ScheduledJob{.first_worker = first,
                        .workers = 1,
                        .sharing = {.dynamic = true, .first_worker = first, .balancer = {.first = {first}}}};
  };
  SteadyScheduler scheduler(1, {job_of(2), job_of(3)}, box);
  scheduler.on({.from = 3, .body = Report{.clock = 2, .seconds_per_sample = 1}}, 5);
  CHECK(box.take() == Words{"3: 3 after 0"});
}
