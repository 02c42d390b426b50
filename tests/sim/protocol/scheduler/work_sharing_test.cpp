// Goal: the scheduler takes the reports of workers whose work is dynamic, and tells everybody its share.
// Method: reports by hand, to an outbox that keeps what is said.
#include "sim/protocol/scheduler/failure_aware_scheduler.hpp"

#include "tests/sim/protocol/scheduler/scheduler_box.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

// Two servers and three workers, 3 to 5, with 10 samples each.
WorkSharing::Options dynamic(bool in_step = true) {
  return {.dynamic = true,
          .first_worker = 3,
          .workers = 3,
          .balancer = {.first = {10, 10, 10}, .smoothing = 1, .in_step = in_step}};
}

Report report(std::int64_t clock, std::optional<double> seconds, std::optional<std::int64_t> known = {}) {
  return {.clock = clock, .seconds_per_sample = seconds, .decision = known};
}

}  // namespace

TEST_CASE("work sharing: when all have reported each is told its share and what comes before it",
          "[scheduler][work]") {
  SchedulerBox box;
  WorkSharing sharing(dynamic(), box);
  sharing.on(3, report(2, 1.0), 0);
  sharing.on(5, report(2, 2.0), 0);
  CHECK(box.take().empty());
  sharing.on(4, report(2, 3.0), 0);
  // 30 samples in proportion to 6 : 2 : 3.
  CHECK(box.take() == Words{"3: 16 after 0", "4: 6 after 16", "5: 8 after 22"});
}

TEST_CASE("work sharing: as long as one has not reported nobody is told anything", "[scheduler][work]") {
  SchedulerBox box;
  WorkSharing sharing(dynamic(), box);
  sharing.on(3, report(2, 1.0), 0);
  sharing.on(4, report(2, 1.0), 0);
  sharing.on(4, report(2, 1.0), 0);
  CHECK(box.take().empty());
}

TEST_CASE("work sharing: where work is not dynamic, and of nodes that are no workers, no report counts",
          "[scheduler][work]") {
  SchedulerBox box;
  WorkSharing::Options fixed = dynamic();
  fixed.dynamic = false;
  WorkSharing of_fixed(fixed, box);
  for (const NodeId worker : {3U, 4U, 5U}) of_fixed.on(worker, report(2, worker), 0);
  of_fixed.set_members({true, false, true}, 0);
  WorkSharing of_one(
      {.dynamic = true, .first_worker = 3, .workers = 1, .balancer = {.first = {10}, .smoothing = 1}}, box);
  of_one.on(2, report(2, 1.0), 0);  // a server
  of_one.on(4, report(2, 1.0), 0);  // behind the workers
  CHECK(box.take().empty());
}

TEST_CASE("work sharing: who takes no part any more is not waited for, and has no share",
          "[scheduler][work]") {
  SchedulerBox box;
  WorkSharing sharing(dynamic(), box);
  sharing.on(3, report(2, 1.0), 0);
  sharing.on(5, report(2, 2.0), 0);
  sharing.set_members({true, false, true}, 0);
  CHECK(box.take() == Words{"3: 20 after 0", "5: 10 after 20"});
}

TEST_CASE("work sharing: where workers do not wait for each other decisions go to all, by number",
          "[scheduler][work]") {
  SchedulerBox box;
  WorkSharing sharing(dynamic(false), box);
  sharing.on(3, report(2, 1.0, 0), 0);
  sharing.on(3, report(4, 1.0, 0), 0);
  CHECK(box.take().empty());
  sharing.on(5, report(2, 2.0, 0), 0);  // as many reports as workers
  const Words first = box.take();
  REQUIRE(first.size() == 3);
  for (const Message& message : box.sent) CHECK(message.as<Assign>()->decision == 1);
  sharing.on(4, report(2, {}, 0), 0);  // it has not heard of that
  sharing.on(4, report(4, {}, 1), 0);
  CHECK(box.take() == Words{first[1]});
}

TEST_CASE("work sharing: who has done its clocks keeps its share, unless all are in one clock",
          "[scheduler][work]") {
  for (const bool completed : {false, true}) {
    SchedulerBox box;
    if (completed) box.completed = {4};
    WorkSharing sharing(dynamic(false), box);
    sharing.set_members({true, false, true}, 0);
    CHECK(box.take() == (completed ? Words{} : Words{"3: 15 after 0", "5: 15 after 15"}));
  }
  SchedulerBox box;
  box.completed = {4};
  WorkSharing sharing(dynamic(true), box);
  sharing.on(3, report(2, 1.0), 0);
  sharing.on(5, report(2, 1.0), 0);
  sharing.set_members({true, false, true}, 0);
  CHECK(box.take() == Words{"3: 15 after 0", "5: 15 after 15"});
}

TEST_CASE("work sharing: where nodes may fail it decides without those who are late", "[scheduler][work]") {
  // 4 s, and ten times as long as the first report took, which came at once.
  SchedulerBox box;
  WorkSharing::Options options = dynamic();
  options.tells_sizes = true;
  options.balancer.patience = 4;
  options.balancer.longest = 100;
  WorkSharing sharing(options, box);
  CHECK_FALSE(sharing.next());
  sharing.on(5, report(2, 1.0), 0);
  CHECK(sharing.next() == 4.0);
  sharing.decide_overdue(3.9);
  CHECK(box.take().empty());
  sharing.decide_overdue(4);
  CHECK(box.take() == Words{"5: 10 after 20"});
  CHECK(*box.sent.back().as<Assign>()->sizes == Sizes{10, 10, 10});
  CHECK_FALSE(sharing.next());
  sharing.on(3, report(2, 1.0), 5);  // too late: it is told what was decided
  CHECK(box.take() == Words{"3: 10 after 0"});
}

TEST_CASE("work sharing: of several jobs each has its own workers and members", "[scheduler][work]") {
  SchedulerBox box;
  WorkSharing sharing(
      {.dynamic = true, .first_worker = 3, .workers = 2, .balancer = {.first = {10, 10}, .smoothing = 1}},
      box);
  sharing.on(5, report(2, 1.0), 0);  // the other job's first worker
  sharing.on(4, report(2, 1.0), 0);
  sharing.set_members({false, true, true, true, true}, 0);
  CHECK(box.take() == Words{"4: 20 after 0"});
}
