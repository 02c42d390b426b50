// Goal: totals and times that add up, and a digest of every event. Method: short sequences of events, written
// by hand, whose times are known. Nodes: 0 scheduler, then the servers, then the workers.
#include "sim/record/recorder.hpp"

#include <type_traits>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"

using namespace psim;

namespace {

// A message at `node`: sent to `peer`, received from it, or lost on the way to it.
template <class T>
Event move(double at, NodeId node, NodeId peer, std::uint64_t bytes = 0,
           MessageKind kind = MessageKind::pull) {
  T message;
  message.kind = kind;
  const bool arrives = std::is_same_v<T, Received>;
  message.from = arrives ? peer : node;
  message.to = arrives ? node : peer;
  message.bytes = bytes;
  return {at, node, message};
}

Event of_worker(double at, ComputePhase phase, NodeId node, std::int64_t clock) {
  return {at, node, Computation{.phase = phase, .clock = clock}};
}

Event finish(double at, NodeId node, std::int64_t clock) { return {at, node, Finish{.clock = clock}}; }

// Of server 1, shard 0.
Event update(double at, std::int64_t version, std::uint32_t shard = 0) {
  return {at, 1, ModelUpdate{.shard = shard, .version = version}};
}

// Push `number` of a worker.
Event apply(double at, NodeId worker, std::int64_t number, std::int64_t staleness = 0) {
  return {at, 1, PushOutcome{.worker = worker, .push = number, .staleness = staleness}};
}

Event drop(NodeId worker, Outcome outcome) {
  return {1, 1, PushOutcome{.outcome = outcome, .worker = worker}};
}

}  // namespace

TEST_CASE("a worker's time is computing, else the network's, else waiting", "[record]") {
  Recorder r(1, 2, {0});              // server 1, workers 2 and 3
  r.record(move<Sent>(1, 2, 1));      // waited 0..1
  r.record(move<Received>(2, 1, 2));  // network 1..2
  r.record(move<Sent>(4, 1, 2));      // waited 2..4
  r.record(move<Received>(5, 2, 1));  // network 4..5
  r.record(of_worker(5, ComputePhase::begun, 2, 0));
  r.record(move<Sent>(5.5, 2, 1));                    // while it computes
  r.record(of_worker(8, ComputePhase::ended, 2, 0));  // computed 5..8
  r.record(move<Sent>(8, 2, 1));                      // two on their way
  r.record(move<Received>(9, 1, 2));
  r.record(move<Lost>(10, 2, 1));  // network 8..10
  r.record(finish(13, 2, 1));      // waited 10..13
  r.record(move<Sent>(13, 2, 0));
  r.record(move<Received>(14, 0, 2));
  r.close(20);
  const WorkerTime& first = r.stats().workers[0].time;
  CHECK(first.compute == 3);
  CHECK(first.network == 4);
  CHECK(first.wait == 6);
  CHECK(first.total() == 13);  // nothing counts after its end
  const WorkerTime& second = r.stats().workers[1].time;
  CHECK(second.compute == 0);
  CHECK(second.network == 0);
  CHECK(second.wait == 20);
}

TEST_CASE("a computation that is stopped was computing until then", "[record]") {
  Recorder r(1, 1, {0});
  r.record(of_worker(2, ComputePhase::begun, 2, 0));
  r.record(of_worker(5, ComputePhase::cancelled, 2, 0));
  r.record(of_worker(6, ComputePhase::begun, 2, 1));
  r.close(10);  // in the middle of the next one
  const WorkerStats& worker = r.stats().workers[0];
  CHECK(worker.time.compute == 7);
  CHECK(worker.time.wait == 3);
  CHECK(worker.cancelled == 1);
  CHECK(worker.starts == 2);
  CHECK(worker.clocks == 1);
}

TEST_CASE("a step's mean time is from start to start", "[record]") {
  Recorder r(1, 1, {0});
  for (const double at : {3.0, 5.0, 10.0}) r.record(of_worker(at, ComputePhase::begun, 2, 0));
  r.close(100);
  CHECK(r.stats().workers[0].mean_step() == 3.5);
  Recorder one(1, 1, {0});
  one.record(of_worker(3, ComputePhase::begun, 2, 0));
  one.close(8);
  CHECK(one.stats().workers[0].mean_step() == 8);
}

TEST_CASE("every message is delivered or lost, with its bytes", "[record]") {
  Recorder r(1, 2, {0});
  r.record(move<Sent>(0, 2, 1, 100, MessageKind::push));
  r.record(move<Sent>(0, 3, 1, 20));
  r.record(move<Sent>(0, 0, 1, 3, MessageKind::start));
  r.record(move<Received>(1, 1, 2, 100, MessageKind::push));
  r.record(move<Received>(1, 1, 0, 3, MessageKind::start));
  r.record(move<Lost>(2, 3, 1, 20));
  const RunStats& s = r.stats();
  CHECK(s.messages == 3);
  CHECK(s.delivered == 2);
  CHECK(s.lost == 1);
  CHECK(s.bytes_sent == 123);
  CHECK(s.bytes_received == 103);
  CHECK(s.bytes_lost == 20);
  CHECK(s.pushes_arrived == 1);
  CHECK(s.events == 6);
}

TEST_CASE("applied pushes have a mean and a largest staleness, dropped ones have none", "[record]") {
  Recorder r(1, 2, {0});
  CHECK(r.stats().staleness_mean() == 0);
  for (const std::int64_t staleness : {0, 5, 1}) r.record(apply(1, 2, 0, staleness));
  for (const Outcome outcome : {Outcome::late, Outcome::unused, Outcome::duplicate, Outcome::refused})
    r.record(drop(2, outcome));
  CHECK(r.stats().pushes_applied == 3);
  CHECK(r.stats().pushes_dropped == 4);
  CHECK(r.stats().pushes_unused == 1);
  CHECK(r.stats().pushes_duplicate == 1);
  CHECK(r.stats().pushes_refused == 1);
  CHECK(r.stats().staleness_mean() == 2);
  CHECK(r.stats().staleness_max == 5);
}

TEST_CASE("a push that is applied again is no progress, whatever version it makes", "[record]") {
  Recorder r(1, 2, {0});
  const auto progress_after = [&](double at, std::int64_t version) {
    r.record(update(at, version));
    return r.stats().last_progress;
  };
  r.record(apply(1, 2, 0));
  CHECK(progress_after(1, 1) == 1);
  r.record(apply(2, 2, 0));
  CHECK(progress_after(2, 2) == 1);
  r.record(apply(3, 2, 0));
  r.record(apply(3, 3, 0));
  CHECK(progress_after(3, 3) == 3);
  r.record(apply(4, 3, 1));
  CHECK(progress_after(4, 2) == 3);  // the shard was set back
  r.record(apply(5, 3, 2));
  CHECK(progress_after(5, 4) == 5);
}

TEST_CASE("an update is done when every shard has done it", "[record]") {
  Recorder r(2, 1, {0, 0, 1});
  r.record(update(1, 4, 0));
  r.record(update(1, 2, 2));
  CHECK(r.stats().updates() == 0);
  r.record(update(1, 3, 1));
  CHECK(r.stats().updates() == 2);
  CHECK(r.stats().server_updates(0) == 3);
  CHECK(r.stats().server_updates(1) == 2);
}

TEST_CASE("what each server sends and receives is counted", "[record]") {
  Recorder r(2, 1, {0, 1});
  r.record(move<Sent>(1, 3, 2, 40, MessageKind::push));
  r.record(move<Received>(1, 2, 3, 40, MessageKind::push));
  r.record(move<Sent>(1, 2, 3, 7, MessageKind::push));
  CHECK(r.stats().servers[1].bytes_received == 40);
  CHECK(r.stats().servers[1].bytes_sent == 7);
  CHECK(r.stats().servers[0].bytes_received + r.stats().servers[0].bytes_sent == 0);
}

TEST_CASE("the clock gap is how far a starting worker is ahead of the slowest", "[record]") {
  Recorder r(1, 3, {0});
  for (const NodeId worker : {2U, 3U, 4U}) r.record(of_worker(0, ComputePhase::begun, worker, 0));
  r.record(of_worker(1, ComputePhase::ended, 2, 0));
  CHECK(r.stats().clock_gap_max == 0);  // done is not yet ahead
  r.record(of_worker(1, ComputePhase::begun, 2, 1));
  CHECK(r.stats().clock_gap_max == 1);
  r.record(of_worker(2, ComputePhase::ended, 3, 0));
  r.record(of_worker(2, ComputePhase::ended, 2, 1));
  r.record(of_worker(2, ComputePhase::begun, 2, 2));
  CHECK(r.stats().clock_gap_max == 2);  // ahead of worker 4, not of worker 3
  r.record(of_worker(3, ComputePhase::ended, 4, 0));
  r.record(of_worker(4, ComputePhase::begun, 4, 1));
  CHECK(r.stats().clock_gap_max == 2);
  CHECK(r.stats().clocks() == 2 + 1 + 1);
  r.record(finish(5, 3, 9));
  CHECK(r.stats().clocks() == 2 + 9 + 1);
}

TEST_CASE("workers are the nodes behind the servers", "[record]") {
  const Recorder r(3, 2, {0, 1, 2});
  CHECK(!r.is_worker(0));
  CHECK(!r.is_worker(3));
  CHECK(r.is_worker(4));
  CHECK(r.worker_index(4) == 0);
  CHECK(r.worker_index(5) == 1);
}

namespace {

struct Counter final : EventSink {
  std::vector<std::uint64_t> hashes;
  void on(const Event& event, std::uint64_t hash) override {
    REQUIRE(hash == hash_of(event));
    hashes.push_back(hash);
  }
};

// The digest of `n` updates, the one with number `odd` different from the others.
std::string digest(std::int64_t n, std::int64_t odd = -1, EventSink* sink = nullptr) {
  Recorder r(1, 1, {0});
  if (sink != nullptr) r.add_sink(sink);
  for (std::int64_t i = 0; i < n; ++i) r.record(update(1, i == odd ? -1 : i));
  return r.digest();
}

}  // namespace

TEST_CASE("the digest is of every event, in order", "[record]") {
  CHECK(digest(5000).size() == 32);
  CHECK(digest(5000) == digest(5000));
  for (const std::int64_t odd : {0, 1023, 1024, 4999}) CHECK(digest(5000, odd) != digest(5000));
  CHECK(digest(1) != digest(0));
  CHECK(digest(1025) != digest(1024));
  Recorder forwards(1, 1, {0}), backwards(1, 1, {0});
  for (const std::int64_t version : {1, 2}) forwards.record(update(1, version));
  for (const std::int64_t version : {2, 1}) backwards.record(update(1, version));
  CHECK(forwards.digest() != backwards.digest());
}

TEST_CASE("asking for the digest does not change it", "[record]") {
  Recorder r(1, 1, {0});
  r.record(update(1, 0));
  CHECK(r.digest() == r.digest());
  r.record(update(1, 1));
  CHECK(r.digest() == digest(2));
}

TEST_CASE("what is added at the end belongs to the digest, after the events", "[record]") {
  const double weights[]{1, 2}, others[]{1, 3};
  const auto with = [](const double* data, bool events_first) {
    Recorder r(1, 1, {0});
    if (!events_first) r.add_to_digest(data, 2 * sizeof(double));
    r.record(update(1, 1));
    if (events_first) r.add_to_digest(data, 2 * sizeof(double));
    return r.digest();
  };
  CHECK(with(weights, true) == with(weights, true));
  CHECK(with(weights, true) != with(others, true));
  CHECK(with(weights, true) != with(weights, false));
}

TEST_CASE("sinks see every event and do not change the digest", "[record]") {
  Counter counter;
  CHECK(digest(3000, -1, &counter) == digest(3000));
  CHECK(counter.hashes.size() == 3000);
}

// Server 1; workers 2 and 3 in one namespace with shard 0, worker 4 in another with shards 1 and 2.
TEST_CASE("groups and namespaces have books of their own", "[record]") {
  Recorder r(1, 3, {0, 0, 0});
  r.split({{.first_worker = 0, .workers = 2, .first_shard = 0, .shards = 1},
           {.first_worker = 2, .workers = 1, .first_shard = 1, .shards = 2}},
          {{.first_worker = 0, .workers = 1},
           {.first_worker = 1, .workers = 1},
           {.first_worker = 2, .workers = 1}});
  r.record(of_worker(0, ComputePhase::begun, 2, 0));
  r.record(of_worker(0, ComputePhase::begun, 3, 0));
  r.record(of_worker(0, ComputePhase::begun, 4, 7));  // nobody of its namespace is behind
  r.record(of_worker(1, ComputePhase::begun, 3, 2));
  CHECK(r.stats().clock_gap_max == 2);
  CHECK(r.stats().clocks(r.stats().spaces[0]) == 2);
  CHECK(r.stats().clocks(r.stats().spaces[1]) == 7);

  r.record(move<Sent>(1, 3, 1, 100));
  r.record(move<Sent>(1, 1, 4, 30));
  r.record(move<Sent>(1, 1, 0, 5));  // no worker's
  const std::vector<GroupStats>& groups = r.stats().groups;
  CHECK(groups[0].messages == 0);
  CHECK(groups[1].bytes_sent == 100);
  CHECK(groups[2].bytes_sent == 30);
  CHECK(r.stats().bytes_of(r.stats().spaces[0]) == 100);
  CHECK(r.stats().bytes_sent == 135);

  r.record(apply(2, 3, 0, 4));
  r.record(apply(2, 3, 1, 1));
  r.record(drop(4, Outcome::late));
  CHECK(groups[1].staleness_mean() == 2.5);
  CHECK(groups[1].staleness_max == 4);
  CHECK(groups[2].pushes_dropped == 1);

  for (const auto& [shard, version] : {std::pair{0U, 9}, {1U, 4}, {2U, 3}})
    r.record(update(3, version, shard));
  CHECK(r.stats().updates() == 9);
  CHECK(r.stats().updates(1) == 3);

  r.record(finish(5, 2, 3));
  r.stop(4, 6);
  r.close(8);
  CHECK(groups[0].finished == 5);
  CHECK(groups[1].finished == 8);
  CHECK(groups[2].finished == 6);
  CHECK(r.stats().workers[2].time.total() == 6);
}

TEST_CASE("a worker that counts again at an old clock widens the gap of the next step", "[record]") {
  Recorder r(1, 3, {0});
  const auto begin = [&r](NodeId node, std::int64_t clock) {
    r.record(of_worker(1, ComputePhase::begun, node, clock));
    return r.stats().clock_gap_max;
  };
  const auto counts = [&r](NodeId node, bool does) {
    r.record({1, 1, Recount{.worker = node, .takes_part = does, .is_awaited = does}});
  };
  CHECK(begin(2, 2) == 2);
  counts(4, false);
  begin(3, 1);
  CHECK(begin(2, 3) == 2);
  counts(4, true);
  CHECK(begin(3, 2) == 2);
  CHECK(begin(3, 3) == 3);
}
