// Goal: a worker's time, clocks and samples are right whatever happens to it, each shard is where its latest
// owner is, and a crash is known when it is announced. Method: short sequences of events, written by hand,
// whose times are known. Nodes: 0 scheduler, then the servers, then the workers.
#include <fmt/format.h>

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "sim/record/recorder.hpp"
#include "sim/scenario/spec/faults.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

namespace {

// A message at `node`: sent to `peer`, received from it, or lost on the way to it.
template <class T>
Event move(double at, NodeId node, NodeId peer, MessageKind kind = MessageKind::pull) {
  T message;
  message.kind = kind;
  const bool arrives = std::is_same_v<T, Received>;
  message.from = arrives ? peer : node;
  message.to = arrives ? node : peer;
  return {at, node, message};
}

Event of_worker(double at, ComputePhase phase, NodeId node, std::int64_t clock) {
  return {at, node, Computation{.phase = phase, .clock = clock}};
}

Event fault(double at, NodeId node, FaultKind kind, bool begins = true) {
  return {at, scheduler_node, FaultChange{.kind = kind, .begins = begins, .target = node}};
}

Event computed(double at, NodeId node, std::int64_t clock, std::int64_t samples) {
  return {at, node, Computation{.phase = ComputePhase::ended, .clock = clock, .samples = samples}};
}

Event killed(double at, NodeId node) { return {at, node, Computation{.phase = ComputePhase::killed}}; }

Event finish(double at, NodeId node, std::int64_t clock, bool leaves = false) {
  return {at, node, Finish{clock, leaves}};
}

void check_time(const WorkerStats& worker, const WorkerTime& expected) {
  CHECK(worker.time.compute == expected.compute);
  CHECK(worker.time.network == expected.network);
  CHECK(worker.time.wait == expected.wait);
  CHECK(worker.time.absent == expected.absent);
  CHECK(worker.time.total() == worker.through);
}

}  // namespace

TEST_CASE("a worker that crashes is absent until it asks to join", "[record]") {
  Recorder r(1, 2, {0});
  r.record(of_worker(1, ComputePhase::begun, 2, 0));
  r.record(computed(2, 2, 0, 16));
  r.record(of_worker(2, ComputePhase::begun, 2, 1));
  r.record(move<Sent>(2.5, 1, 2));
  r.record(fault(3, 2, "crash"));  // in the middle of its computation
  r.record(killed(3, 2));
  r.record(move<Lost>(4, 1, 2));   // what was on its way does not make it present
  r.record(fault(5, 2, "crash"));  // it is down already
  r.record(fault(6, 2, "crash", false));
  r.record(move<Sent>(7, 2, 0, MessageKind::join));
  r.record(move<Received>(8, 0, 2, MessageKind::join));
  r.record(of_worker(10, ComputePhase::begun, 2, 9));  // the others have gone on
  r.record(computed(12, 2, 9, 16));
  r.record(finish(13, 2, 10));
  r.close(20);
  const WorkerStats& worker = r.stats().workers[0];
  check_time(worker, {.compute = 1 + 1 + 2, .network = 1, .wait = 1 + 2 + 1, .absent = 4});
  CHECK(worker.through == 13);
  CHECK(worker.samples == 32);
  CHECK(worker.cancelled == 1);
  CHECK(worker.clocks == 2);       // not those that it was away for
  CHECK(worker.mean_step() == 1);  // nor is its absence a step
  CHECK(r.stats().clock_gap_max == 9);
}

TEST_CASE("a crash while nothing is computed stops no computation", "[record]") {
  Recorder r(1, 1, {0});
  r.record(of_worker(0, ComputePhase::begun, 2, 0));
  r.record(computed(1, 2, 0, 4));
  r.record(fault(2, 2, "crash"));
  r.record(killed(2, 2));
  r.close(8);  // down at the end
  check_time(r.stats().workers[0], {.compute = 1, .wait = 1, .absent = 6});
  CHECK(r.stats().workers[0].cancelled == 0);
  CHECK(r.stats().workers[0].clocks == 1);
}

TEST_CASE("a worker that leaves is absent from then on, one that is through is not", "[record]") {
  Recorder r(1, 2, {0});
  for (const NodeId worker : {2U, 3U}) {
    r.record(of_worker(0, ComputePhase::begun, worker, 0));
    r.record(computed(2, worker, 0, 4));
  }
  r.record(finish(2, 2, 0, true));
  r.record(finish(3, 3, 1));
  r.close(10);
  check_time(r.stats().workers[0], {.compute = 2, .absent = 8});
  CHECK(r.stats().workers[0].clocks == 1);
  check_time(r.stats().workers[1], {.compute = 2, .wait = 1});
}

TEST_CASE("a worker that joins late was absent before, and nobody is ahead of it then", "[record]") {
  Recorder r(1, 2, {0});
  r.absent_at_first(3);
  CHECK(!r.stats().workers[1].here_at_first);
  r.record(of_worker(0, ComputePhase::begun, 2, 0));
  r.record(computed(2, 2, 0, 4));
  r.record(of_worker(3, ComputePhase::begun, 2, 5));
  CHECK(r.stats().clock_gap_max == 0);
  r.record(move<Sent>(4, 3, 0, MessageKind::join));
  r.record(move<Received>(5, 0, 3, MessageKind::join));
  r.record(of_worker(6, ComputePhase::begun, 3, 3));
  r.record(of_worker(7, ComputePhase::begun, 2, 6));
  CHECK(r.stats().clock_gap_max == 3);
  r.close(8);
  check_time(r.stats().workers[1], {.compute = 2, .network = 1, .wait = 1, .absent = 4});
}

TEST_CASE("a worker that never joins is absent all the time", "[record]") {
  Recorder r(1, 2, {0});
  r.absent_at_first(3);
  r.close(8);
  check_time(r.stats().workers[1], {.absent = 8});
}

TEST_CASE("a worker that was through and comes back has waited, been absent, and gone on", "[record]") {
  Recorder r(1, 1, {0});
  r.record(of_worker(0, ComputePhase::begun, 2, 0));
  r.record(computed(1, 2, 0, 4));
  r.record(finish(1, 2, 1));
  r.record(fault(3, 2, "crash"));
  r.record(killed(3, 2));
  r.record(move<Sent>(6, 2, 0, MessageKind::join));
  r.record(move<Received>(7, 0, 2, MessageKind::join));
  r.record(finish(9, 2, 1));
  r.close(20);
  check_time(r.stats().workers[0], {.compute = 1, .network = 1, .wait = 2 + 2, .absent = 3});
  CHECK(r.stats().workers[0].through == 9);
}

TEST_CASE("what happens after the run's end is nobody's time", "[record]") {
  Recorder r(1, 2, {0});
  r.record(move<Sent>(2, 1, 2));
  r.record(finish(5, 3, 1));
  r.record(move<Received>(7, 2, 1));  // farewells of worker 3 are still on their way
  r.record(move<Sent>(8, 2, 0));
  r.close(5);
  check_time(r.stats().workers[0], {.network = 3, .wait = 2});
}

TEST_CASE("a worker that was through and starts again after the run's end stays through", "[record]") {
  Recorder r(1, 2, {0});
  r.record(of_worker(0, ComputePhase::begun, 2, 0));
  r.record(computed(1, 2, 0, 4));
  r.record(finish(2, 2, 1));
  r.record(fault(3, 2, "crash"));
  r.record(finish(5, 3, 1));
  r.record(move<Sent>(6, 2, 0, MessageKind::join));
  r.close(5);
  check_time(r.stats().workers[0], {.compute = 1, .wait = 1});
  CHECK(r.stats().workers[0].through == 2);
}

TEST_CASE("a frozen worker is not absent: it computes for as long as it is frozen", "[record]") {
  Recorder r(1, 1, {0});
  r.record(of_worker(1, ComputePhase::begun, 2, 0));
  r.record(fault(2, 2, "slow"));
  r.record(fault(5, 2, "slow", false));
  r.record(computed(6, 2, 0, 4));
  r.close(8);
  check_time(r.stats().workers[0], {.compute = 5, .wait = 3});
}

TEST_CASE("clocks that a worker passes over count where it was there, and not where it was taken off",
          "[record]") {
  Recorder late(1, 1, {0}), off(1, 1, {0});
  for (Recorder* r : {&late, &off}) {
    r->record(of_worker(0, ComputePhase::begun, 2, 0));
    r->record(computed(1, 2, 0, 4));
  }
  off.record({2, 1, Recount{.worker = 2, .takes_part = false, .is_awaited = false}});
  off.record({2, 1, Recount{.worker = 2}});
  for (Recorder* r : {&late, &off}) r->record(of_worker(3, ComputePhase::begun, 2, 4));
  CHECK(late.stats().workers[0].clocks == 4);
  CHECK(off.stats().workers[0].clocks == 1);
}

TEST_CASE("a second batch of a clock leaves the first, whose push is on its way", "[record]") {
  Recorder r(1, 2, {0});
  const auto applied = [](double at) {
    return Event{at, 1, PushOutcome{.worker = 2, .clock = 0, .staleness = 0}};
  };
  const std::int64_t& used = r.stats().workers[0].samples_used;
  r.record(of_worker(1, ComputePhase::begun, 2, 0));
  r.record(computed(2, 2, 0, 16));
  r.record(of_worker(2, ComputePhase::begun, 2, 0));
  r.record(applied(3));
  CHECK(used == 16);
  r.record(computed(4, 2, 0, 16));
  r.record(applied(5));
  CHECK(used == 32);
}

TEST_CASE("a batch that is computed again after a crash counts once", "[record]") {
  Recorder r(1, 2, {0});
  r.record(of_worker(1, ComputePhase::begun, 2, 0));
  r.record(computed(2, 2, 0, 16));
  r.record(fault(3, 2, "crash"));
  r.record(move<Sent>(4, 2, 0, MessageKind::join));
  r.record(of_worker(5, ComputePhase::begun, 2, 0));
  r.record(computed(6, 2, 0, 16));
  r.record({7, 1, PushOutcome{.worker = 2, .clock = 0, .staleness = 0}});
  CHECK(r.stats().workers[0].samples_used == 16);
}

TEST_CASE("a shard is where its latest owner is, and nowhere when that is down", "[record]") {
  Recorder r(2, 1, {0, 1});
  const auto promote = [&](NodeId server, std::int64_t epoch) {
    r.record({1, server, Promotion{.shard = 1, .epoch = epoch}});
  };
  CHECK(r.stats().shard_owner[1] == 1U);
  r.record(fault(1, 2, "crash"));
  CHECK(!r.stats().shard_owner[1]);
  CHECK(r.stats().shard_owner[0] == 0U);
  promote(1, 2);
  CHECK(r.stats().shard_owner[1] == 0U);
  promote(2, 1);  // it does not know yet that it was replaced
  CHECK(r.stats().shard_owner[1] == 0U);
}

namespace {

struct Failures {
  Recorder r{2, 1, {0, 1}};
  Failures() { r.watch_failures(); }
  void crash(double at) { r.record(fault(at, 2, "crash")); }
  void suspect(double at, NodeId node) { r.record({at, 0, Suspicion{.suspect = node}}); }
  void view(double at) { r.record({at, 0, ViewChange{}}); }
  void hears(double at, NodeId node, MessageKind what) { r.record(move<Received>(at, 0, node, what)); }
  std::optional<double> detected() const { return r.failures()->recoveries.back().detected; }
};

}  // namespace

TEST_CASE("a crash is detected by the view that announces it, not by any other", "[record]") {
  Failures f;
  f.hears(0, 2, MessageKind::join);
  f.crash(1);
  f.view(1.1);  // a worker has joined
  CHECK(!f.detected());
  f.suspect(1.2, 3);
  f.view(1.2);
  CHECK(!f.detected());
  f.suspect(2.5, 2);
  f.view(2.5);
  CHECK(f.detected() == 2.5);
  f.view(3);
  CHECK(f.detected() == 2.5);
}

TEST_CASE("a server that is back before anybody has noticed tells of its crash itself", "[record]") {
  Failures f;
  f.crash(1);
  f.hears(1.5, 2, MessageKind::join);
  f.view(1.5);
  CHECK(f.detected() == 1.5);
  f.r.record({2, 2, Promotion{.shard = 1, .epoch = 1}});
  f.crash(3);  // it is not known to have failed
  CHECK(!f.detected());
}

TEST_CASE("the crash of a server that was suspected already is known at once", "[record]") {
  Failures f;
  f.suspect(1, 2);
  f.view(1);
  f.crash(1.25);
  CHECK(f.detected() == 1.25);
  Failures heard;
  heard.suspect(1, 2);
  heard.view(1);
  heard.hears(1.1, 2, MessageKind::heartbeat);  // it is taken back
  heard.crash(1.25);
  CHECK(!heard.detected());
}

namespace {

// One server (node 1) and two workers (nodes 2 and 3); what is said of each span.
class Spans final : public EventSink {
 public:
  Spans() { r.add_sink(this); }
  void on(const Event&, std::uint64_t) override {}
  bool wants_spans() const override { return true; }
  void on_span(NodeId node, const Span& span) override {
    const std::string why = span.message < 0 ? "" : fmt::format(" for {} by {}", span.for_node, span.message);
    texts.push_back(fmt::format("{} {} {}-{}{}", node, name_of(span.use), span.begin, span.end, why));
  }

  // A pull of worker 2 that worker 3's push releases at 4 s, and the answer, which arrives at 5 s.
  std::uint64_t wait_for_a_push() {
    r.record(move<Sent>(1, 2, 1));
    r.record(move<Received>(2, 1, 2));
    const std::uint64_t push = r.record(move<Sent>(3, 3, 1, MessageKind::push));
    r.record(move<Received>(4, 1, 3, MessageKind::push));
    r.record({4, 1, Release{.worker = 2, .pull = 1, .message = push, .sender = 3}});
    Event answer = move<Sent>(4, 1, 2, MessageKind::weights);
    std::get<Sent>(answer.what).shard = 0;
    std::get<Sent>(answer.what).pull = 1;
    const std::uint64_t number = r.record(answer);
    r.record(move<Received>(5, 2, 1, MessageKind::weights));
    r.record({5, 2, Wait{.since = 1, .clock = 1, .sender = 1, .message = number}});
    return number;
  }

  Recorder r{1, 2, {0}};
  std::vector<std::string> texts;
};

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("each span of a wait names the worker whose push released the answer", "[record]") {
  Spans spans;
  Recorder& r = spans.r;
  r.record(of_worker(0, ComputePhase::begun, 2, 0));
  r.record(computed(1, 2, 0, 16));
  const std::uint64_t answer = spans.wait_for_a_push();
  r.record(of_worker(5, ComputePhase::begun, 2, 1));
  r.close(6);
  const std::string why = fmt::format(" for 3 by {}", answer);
  CHECK(spans.texts == Texts{"2 compute 0-1", "2 network 1-2" + why, "2 wait 2-4" + why,
                             "2 network 4-5" + why, "2 compute 5-6", "3 wait 0-3", "3 network 3-4",
                             "3 wait 4-6"});
}

TEST_CASE("a span ends where the run ends, and before its worker is through", "[record]") {
  Spans spans;
  Recorder& r = spans.r;
  r.record(of_worker(0, ComputePhase::begun, 3, 0));
  r.record(computed(2, 3, 0, 16));  // the last work
  const std::uint64_t answer = spans.wait_for_a_push();
  r.close(2);
  CHECK(spans.texts ==
        Texts{"2 wait 0-1", fmt::format("2 network 1-2 for 3 by {}", answer), "3 compute 0-2"});

  Spans again;
  again.r.record(finish(1, 2, 1));
  again.r.record(finish(1, 3, 1));
  again.r.record(move<Sent>(2, 2, 0, MessageKind::join));  // it is needed again
  again.r.close(3);
  CHECK(again.texts == Texts{"2 wait 0-1", "2 wait 1-2", "2 network 2-3", "3 wait 0-1"});

  Spans before;  // the run ends before that
  before.r.record(finish(1, 2, 1));
  before.r.record(of_worker(1.5, ComputePhase::begun, 3, 0));  // the last work
  before.r.record(move<Sent>(2, 2, 0, MessageKind::join));
  before.r.close(1.5);
  CHECK(before.texts == Texts{"2 wait 0-1", "3 wait 0-1.5"});
}

TEST_CASE("a server's span is the time when it is down, and an answer for it names it", "[record]") {
  Spans spans;
  Recorder& r = spans.r;
  Event pull = move<Sent>(0, 2, 1);
  std::get<Sent>(pull.what).pull = 1;
  r.record(pull);
  r.record(fault(1, 1, "crash"));
  Event answer = move<Sent>(3, 3, 2, MessageKind::weights);  // whoever it is
  std::get<Sent>(answer.what).pull = 1;
  const std::uint64_t number = r.record(answer);
  r.record({4, 2, Wait{.since = 2, .sender = 3, .message = number}});
  r.record(fault(5, 1, "crash", false));
  r.record(fault(6, 1, "crash"));
  r.close(7);
  CHECK(spans.texts == Texts{"1 down 1-5", "2 network 0-2", fmt::format("2 network 2-4 for 1 by {}", number),
                             "2 network 4-7", "3 wait 0-3", "3 network 3-7", "1 down 6-7"});
}

TEST_CASE("the time before a wait's end is in one span, though the last work was then", "[record]") {
  Spans spans;
  Recorder& r = spans.r;
  r.record(move<Sent>(0, 2, 1));
  r.record(of_worker(1, ComputePhase::begun, 3, 0));  // the last work
  r.record({2, 2, Wait{.since = 0, .sender = 1, .message = 0}});
  r.record(move<Received>(3, 2, 1));
  r.close(3);
  CHECK(spans.texts == Texts{"2 network 0-2 for 1 by 0", "2 network 2-3", "3 wait 0-1", "3 compute 1-3"});
}
