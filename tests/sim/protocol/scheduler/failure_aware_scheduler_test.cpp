// Goal: the scheduler starts the nodes, announces who is there, and survives its own crash. Method: messages
// and dates by hand, to an outbox that keeps what the scheduler says.
#include "sim/protocol/scheduler/failure_aware_scheduler.hpp"

#include <memory>
#include <optional>

#include "tests/sim/protocol/placed.hpp"
#include "tests/sim/protocol/scheduler/scheduler_box.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

// Servers 1 and 2 with a shard each, workers 3 and 4; who is silent for 2 s is suspected.
FailureAwareScheduler::Options two_and_two() {
  return {.rules = {.servers = 2, .workers = 2, .detector = {.timeout = 2}, .removes_workers = true},
          .keys = placed_on({0, 1}),
          .jobs = {{.first_worker = 3, .workers = 2, .shards = 2}}};
}

struct Play {
  explicit Play(FailureAwareScheduler::Options options = two_and_two(), double now = 0)
      : scheduler(std::move(options), box, now) {}

  void say(NodeId from, Body body, double now, std::int64_t event = -1) {
    Message message{.from = from, .body = std::move(body)};
    message.because.event = event;
    scheduler.on(message, now);
  }
  void beat(NodeId from, double now, std::int64_t event = -1) {
    say(from, Heartbeat{.view = scheduler.view().number}, now, event);
  }
  // All nodes join at date 0.
  void start() {
    for (const NodeId node : {1U, 2U, 3U, 4U}) say(node, Join{}, 0, 10 + node);
    box.take();
  }

  SchedulerBox box;
  FailureAwareScheduler scheduler;
};

std::shared_ptr<const View> view_of(const FailureAwareScheduler& scheduler) {
  return std::make_shared<const View>(scheduler.view());
}

}  // namespace

TEST_CASE("scheduler: it starts all nodes when the last of them has joined", "[scheduler]") {
  Play play;
  for (const NodeId node : {1U, 2U, 4U}) play.say(node, Join{}, 0);
  play.say(4, Join{}, 0.5);  // it says the same again
  CHECK(play.box.take().empty());
  play.say(3, Join{}, 1);
  CHECK(play.box.take() == Words{"start 1", "start 2", "start 3", "start 4"});
  play.say(3, Join{}, 1.5);  // it has not heard that yet
  CHECK(play.box.take() == Words{"start 3"});
  CHECK(play.scheduler.next_date() == 3.0);
}

TEST_CASE("scheduler: who has not joined in time is suspected, and the others start", "[scheduler]") {
  Play play;
  for (const NodeId node : {1U, 2U, 4U}) play.say(node, Join{}, 0);
  CHECK(play.scheduler.next_date() == 2.0);
  play.scheduler.on_date(2);
  CHECK(play.box.take().front() == "suspects 3 since event -1");
  REQUIRE(play.box.told);
  CHECK(play.box.told->workers == std::vector<bool>{false, true});
  CHECK(play.box.taken_out == std::set<NodeId>{3});
}

TEST_CASE("scheduler: a silent server is suspected, and a new view gives its shard away", "[scheduler]") {
  Play play;
  play.start();
  for (const NodeId node : {1U, 3U, 4U}) play.beat(node, 1);
  play.beat(2, 0.5, 77);
  CHECK(play.scheduler.next_date() == 2.5);
  play.scheduler.on_date(2.5);
  CHECK(play.box.take() ==
        Words{"suspects 2 since event 12", "announces", "view to 1", "view to 3", "view to 4"});
  CHECK(play.box.told->owners[1].primary == 1);
  CHECK(play.box.told->owners[1].epoch == 1);
}

TEST_CASE("scheduler: who reports an older view is told the newest", "[scheduler]") {
  Play play;
  play.start();
  for (const NodeId node : {1U, 3U, 4U}) play.beat(node, 1);
  const std::int64_t before = play.scheduler.view().number;
  play.scheduler.on_date(2);
  play.box.take();
  play.say(4, Heartbeat{.view = before}, 2.1);
  CHECK(play.box.take() == Words{"view to 4"});
  play.beat(4, 2.2);
  CHECK(play.box.take().empty());
}

TEST_CASE("scheduler: a server that comes back is told that the others go on", "[scheduler]") {
  Play play;
  play.start();
  for (const NodeId node : {1U, 3U, 4U}) play.beat(node, 1);
  play.scheduler.on_date(2);
  play.box.take();
  play.say(2, Join{.life = 1}, 2.5);
  CHECK(play.box.take() ==
        Words{"start 2, goes on", "announces", "view to 1", "view to 2", "view to 3", "view to 4"});
  CHECK(play.box.told->owners[1].primary == 1);
  CHECK(play.box.told->owners[1].next == 2);
  play.say(2, Join{.life = 0}, 2.6);  // overtaken
  CHECK(play.box.take().empty());
  Message ready{.from = 1, .shard = 1, .epoch = 1, .body = Ready{.next_owner = 2}};
  play.scheduler.on(ready, 3);
  CHECK(play.box.told->owners[1].primary == 2);
}

TEST_CASE("scheduler: a leave is acknowledged as often as it is said, and changes the view once",
          "[scheduler]") {
  Play play;
  play.start();
  play.box.awaited = {3};
  play.say(4, Leave{}, 1);
  CHECK(play.box.take() == Words{"4 may go", "announces", "view to 1", "view to 2", "view to 3"});
  CHECK(play.box.told->workers == std::vector<bool>{true, false});
  play.say(4, Leave{}, 1.5);
  CHECK(play.box.take() == Words{"4 may go"});
  CHECK_FALSE(play.scheduler.is_over());
  play.box.awaited.clear();
  play.say(3, Leave{}, 2);
  CHECK(play.scheduler.is_over());
}

TEST_CASE("scheduler: a job ends when the last worker that is awaited is gone for good", "[scheduler]") {
  Play play;
  play.start();
  play.box.completed = {4};
  play.say(4, Leave{}, 1);
  play.box.awaited = {3};
  for (const NodeId node : {1U, 2U}) play.beat(node, 1);
  play.scheduler.on_date(2);  // 3 is silent, and starts again
  CHECK_FALSE(play.scheduler.is_over());
  play.box.take();
  play.box.awaited.clear();
  play.scheduler.on_date(3);
  CHECK(play.scheduler.is_over());
  const Words words = play.box.take();
  REQUIRE(words.size() >= 2);
  CHECK(words[words.size() - 2] == "nobody waits for job 0");
  CHECK(words.back() == "job 0 ends");
}

TEST_CASE("scheduler: a job that ends leaves its shards, and the others go on", "[scheduler]") {
  FailureAwareScheduler::Options options = two_and_two();
  options.jobs = {{.first_worker = 3, .workers = 1, .first_shard = 0, .shards = 1},
                  {.first_worker = 4, .workers = 1, .first_shard = 1, .shards = 1}};
  options.jobs[0].served = GENERATE(false, true);
  const bool served = options.jobs[0].served;
  Play play(std::move(options));
  play.start();
  play.box.over = {0};  // at its date
  play.beat(4, 1);
  CHECK(play.box.take() == Words{"announces", "view to 1", "view to 2", "view to 4"});
  CHECK(play.box.told->owners[0].primary == (served ? 1 : 0));
  CHECK(play.box.told->owners[1].primary == 2);
  CHECK(play.box.told->workers == std::vector<bool>{false, true});
  play.say(3, Join{.life = 1}, 1.5);  // its job is over
  CHECK(play.box.take().empty());
  CHECK_FALSE(play.scheduler.is_over());
  play.say(4, Leave{}, 2);
  CHECK(play.scheduler.is_over());
}

TEST_CASE("scheduler: a slow worker is asked to leave again and again, and a spare starts", "[scheduler]") {
  FailureAwareScheduler::Options options = two_and_two();
  options.rules.workers = options.jobs[0].workers = 3;
  options.rules.absent = {5};
  options.slow = {.first_worker = 3, .workers = 3, .window = 1, .action = SlowAction::replace, .spares = {5}};
  Play play(std::move(options));
  play.start();
  const auto report = [&](NodeId node, double seconds) {
    play.say(node, Report{.purpose = Report::To::find_slow, .seconds_per_sample = seconds}, 1);
  };
  report(4, 1);
  report(3, 1.5);
  CHECK(play.box.take().empty());
  report(3, 5);
  CHECK(play.box.take() == Words{"3 is slow: 5 s, median 1 s", "spare 5 starts", "3 is to leave"});
  report(3, 5);
  CHECK(play.box.take() == Words{"3 is to leave"});
  play.say(5, Join{}, 2);
  CHECK(play.box.take().front() == "start 5, goes on");
  play.say(3, Leave{}, 2);
  CHECK(play.box.take().front() == "3 may go");
  report(3, 5);
  CHECK(play.box.take().empty());
}

TEST_CASE("scheduler: inference nodes are told views, and nobody waits for them", "[scheduler]") {
  FailureAwareScheduler::Options options = two_and_two();
  options.first_reader = 6;
  options.past_readers = 8;
  Play play(std::move(options));
  for (const NodeId node : {1U, 2U, 3U, 4U}) play.say(node, Join{}, 0);
  CHECK(play.box.take() == Words{"start 1", "start 2", "start 3", "start 4", "view to 6", "view to 7"});
  play.say(6, Heartbeat{.view = -1}, 1);
  CHECK(play.box.take() == Words{"view to 6"});
  play.beat(6, 1.1);
  CHECK(play.box.take().empty());
}

TEST_CASE("scheduler: after its own crash it asks for the newest view, and takes up from there",
          "[scheduler]") {
  Play before;
  before.start();
  for (const NodeId node : {1U, 3U, 4U}) before.beat(node, 1);
  before.scheduler.on_date(2);  // server 2 is down
  const SharedView view = view_of(before.scheduler);
  FailureAwareScheduler::Options options = two_and_two();
  options.lives = 1;
  Play after(std::move(options), 10);
  CHECK(after.scheduler.next_date() == 12.0);
  for (const NodeId node : {1U, 4U}) after.say(node, Heartbeat{.view = view->number}, 10.5);
  CHECK(after.box.take() == Words{"asks 1", "asks 4"});
  after.say(1, NewView{view}, 10.7);
  after.say(4, Heartbeat{.view = view->number}, 10.9);  // it is known now
  CHECK(after.box.take().empty());
  after.scheduler.on_date(12);
  CHECK(after.box.take() == Words{"finds 2 gone", "finds 3 gone", "announces", "view to 1", "view to 4"});
  CHECK(after.box.told->number > view->number);
  CHECK(after.box.told->owners[1].primary == 1);
  CHECK(after.box.told->workers == std::vector<bool>{false, true});
}

TEST_CASE("scheduler: it looks around again as long as a view is not here that somebody knew",
          "[scheduler]") {
  FailureAwareScheduler::Options options = two_and_two();
  options.lives = 1;
  Play play(std::move(options), 10);
  play.say(1, Heartbeat{.view = 5}, 11);
  CHECK(play.box.take() == Words{"asks 1"});
  play.scheduler.on_date(12);
  CHECK(play.box.take().empty());
  CHECK(play.scheduler.next_date() == 14.0);
  // Nobody knows it any more: everything starts again, when all are there or suspected.
  for (const NodeId node : {1U, 2U, 3U, 4U}) play.say(node, Join{.life = 1}, 13);
  play.scheduler.on_date(14);
  const Words words = play.box.take();
  REQUIRE(words.size() >= 4);
  for (std::size_t n = 0; n < 4; ++n) CHECK(words[n].starts_with("start "));
}
