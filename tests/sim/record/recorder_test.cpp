// Goal: totals and times that add up, and a digest of every event. Method: short sequences of events, written
// by hand, whose times are known. Nodes: 0 scheduler, then the servers, then the workers.
#include "sim/record/recorder.hpp"

#include <utility>
#include <vector>

#include "tests/support/catch.hpp"

using namespace psim;

namespace {

Event move(double at, EventKind kind, NodeId node, NodeId peer, std::uint64_t bytes = 0,
           MessageKind message = MessageKind::pull) {
  return {.at = at, .kind = kind, .message = message, .node = node, .peer = peer, .bytes = bytes};
}

Event of_worker(double at, EventKind kind, NodeId node, std::int64_t clock) {
  return {.at = at, .kind = kind, .node = node, .clock = clock};
}

Event of_server(EventKind kind, NodeId node, std::int64_t version, std::int64_t value = 0) {
  return {.at = 1, .kind = kind, .node = node, .version = version, .value = value};
}

// Push `number` of a worker.
Event apply(double at, NodeId worker, std::uint64_t number, std::int64_t staleness = 0) {
  return {.at = at, .kind = EventKind::apply, .node = 1, .peer = worker, .bytes = number, .value = staleness};
}

}  // namespace

TEST_CASE("a worker's time is computing, else the network's, else waiting", "[record]") {
  Recorder r(1, 2, {0});                        // server 1, workers 2 and 3
  r.record(move(1, EventKind::send, 2, 1));     // waited 0..1
  r.record(move(2, EventKind::deliver, 1, 2));  // network 1..2
  r.record(move(4, EventKind::send, 1, 2));     // waited 2..4
  r.record(move(5, EventKind::deliver, 2, 1));  // network 4..5
  r.record(of_worker(5, EventKind::compute_begin, 2, 0));
  r.record(move(5.5, EventKind::send, 2, 1));            // while it computes
  r.record(of_worker(8, EventKind::compute_end, 2, 0));  // computed 5..8
  r.record(move(8, EventKind::send, 2, 1));              // two on their way
  r.record(move(9, EventKind::deliver, 1, 2));
  r.record(move(10, EventKind::lose, 2, 1));         // network 8..10
  r.record(of_worker(13, EventKind::finish, 2, 1));  // waited 10..13
  r.record(move(13, EventKind::send, 2, 0));
  r.record(move(14, EventKind::deliver, 0, 2));
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
  r.record(of_worker(2, EventKind::compute_begin, 2, 0));
  r.record(of_worker(5, EventKind::compute_cancel, 2, 0));
  r.record(of_worker(6, EventKind::compute_begin, 2, 1));
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
  for (const double at : {3.0, 5.0, 10.0}) r.record(of_worker(at, EventKind::compute_begin, 2, 0));
  r.close(100);
  CHECK(r.stats().workers[0].mean_step() == 3.5);
  Recorder one(1, 1, {0});
  one.record(of_worker(3, EventKind::compute_begin, 2, 0));
  one.close(8);
  CHECK(one.stats().workers[0].mean_step() == 8);
}

TEST_CASE("every message is delivered or lost, with its bytes", "[record]") {
  Recorder r(1, 2, {0});
  r.record(move(0, EventKind::send, 2, 1, 100, MessageKind::push));
  r.record(move(0, EventKind::send, 3, 1, 20));
  r.record(move(0, EventKind::send, 0, 1, 3, MessageKind::start));
  r.record(move(1, EventKind::deliver, 1, 2, 100, MessageKind::push));
  r.record(move(1, EventKind::deliver, 1, 0, 3, MessageKind::start));
  r.record(move(2, EventKind::lose, 3, 1, 20));
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
  r.record(of_server(EventKind::drop, 1, 0));
  r.record(of_server(EventKind::drop, 1, 0, 1));
  CHECK(r.stats().pushes_applied == 3);
  CHECK(r.stats().pushes_dropped == 2);
  CHECK(r.stats().pushes_unused == 1);
  CHECK(r.stats().staleness_mean() == 2);
  CHECK(r.stats().staleness_max == 5);
}

TEST_CASE("a push that is applied again is no progress, whatever version it makes", "[record]") {
  Recorder r(1, 2, {0});
  const auto update = [&](double at, std::int64_t version) {
    r.record({.at = at, .kind = EventKind::update, .node = 1, .version = version});
    return r.stats().last_progress;
  };
  r.record(apply(1, 2, 0));
  CHECK(update(1, 1) == 1);
  r.record(apply(2, 2, 0));
  CHECK(update(2, 2) == 1);
  r.record(apply(3, 2, 0));
  r.record(apply(3, 3, 0));
  CHECK(update(3, 3) == 3);
  r.record(apply(4, 3, 1));
  CHECK(update(4, 2) == 3);  // the shard was set back
  r.record(apply(5, 3, 2));
  CHECK(update(5, 4) == 5);
}

TEST_CASE("an update is done when every shard has done it", "[record]") {
  Recorder r(2, 1, {0, 0, 1});
  const auto update = [&](std::uint32_t shard, std::int64_t version) {
    Event event = of_server(EventKind::update, static_cast<NodeId>(shard < 2 ? 1 : 2), version);
    event.shard = shard;
    r.record(event);
  };
  update(0, 4);
  update(2, 2);
  CHECK(r.stats().updates() == 0);
  update(1, 3);
  CHECK(r.stats().updates() == 2);
  CHECK(r.stats().server_updates(0) == 3);
  CHECK(r.stats().server_updates(1) == 2);
}

TEST_CASE("what each server sends and receives is counted", "[record]") {
  Recorder r(2, 1, {0, 1});
  Event push{
      .at = 1, .kind = EventKind::send, .message = MessageKind::push, .node = 3, .peer = 2, .bytes = 40};
  r.record(push);
  std::swap(push.node, push.peer);
  push.kind = EventKind::deliver;
  r.record(push);
  push.kind = EventKind::send;
  push.bytes = 7;
  r.record(push);
  CHECK(r.stats().servers[1].bytes_received == 40);
  CHECK(r.stats().servers[1].bytes_sent == 7);
  CHECK(r.stats().servers[0].bytes_received + r.stats().servers[0].bytes_sent == 0);
}

TEST_CASE("the clock gap is how far a starting worker is ahead of the slowest", "[record]") {
  Recorder r(1, 3, {0});
  for (const NodeId worker : {2U, 3U, 4U}) r.record(of_worker(0, EventKind::compute_begin, worker, 0));
  r.record(of_worker(1, EventKind::compute_end, 2, 0));
  CHECK(r.stats().clock_gap_max == 0);  // done is not yet ahead
  r.record(of_worker(1, EventKind::compute_begin, 2, 1));
  CHECK(r.stats().clock_gap_max == 1);
  r.record(of_worker(2, EventKind::compute_end, 3, 0));
  r.record(of_worker(2, EventKind::compute_end, 2, 1));
  r.record(of_worker(2, EventKind::compute_begin, 2, 2));
  CHECK(r.stats().clock_gap_max == 2);  // ahead of worker 4, not of worker 3
  r.record(of_worker(3, EventKind::compute_end, 4, 0));
  r.record(of_worker(4, EventKind::compute_begin, 4, 1));
  CHECK(r.stats().clock_gap_max == 2);
  CHECK(r.stats().clocks() == 2 + 1 + 1);
  r.record(of_worker(5, EventKind::finish, 3, 9));
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
  for (std::int64_t i = 0; i < n; ++i) r.record(of_server(EventKind::update, 1, i == odd ? -1 : i));
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
  for (const std::int64_t version : {1, 2}) forwards.record(of_server(EventKind::update, 1, version));
  for (const std::int64_t version : {2, 1}) backwards.record(of_server(EventKind::update, 1, version));
  CHECK(forwards.digest() != backwards.digest());
}

TEST_CASE("asking for the digest does not change it", "[record]") {
  Recorder r(1, 1, {0});
  r.record(of_server(EventKind::update, 1, 0));
  CHECK(r.digest() == r.digest());
  r.record(of_server(EventKind::update, 1, 1));
  CHECK(r.digest() == digest(2));
}

TEST_CASE("what is added at the end belongs to the digest, after the events", "[record]") {
  const double weights[]{1, 2}, others[]{1, 3};
  const auto with = [](const double* data, bool events_first) {
    Recorder r(1, 1, {0});
    if (!events_first) r.add_to_digest(data, 2 * sizeof(double));
    r.record(of_server(EventKind::update, 1, 1));
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
  r.record(of_worker(0, EventKind::compute_begin, 2, 0));
  r.record(of_worker(0, EventKind::compute_begin, 3, 0));
  r.record(of_worker(0, EventKind::compute_begin, 4, 7));  // nobody of its namespace is behind
  r.record(of_worker(1, EventKind::compute_begin, 3, 2));
  CHECK(r.stats().clock_gap_max == 2);
  CHECK(r.stats().clocks(r.stats().spaces[0]) == 2);
  CHECK(r.stats().clocks(r.stats().spaces[1]) == 7);

  r.record(move(1, EventKind::send, 3, 1, 100));
  r.record(move(1, EventKind::send, 1, 4, 30));
  r.record(move(1, EventKind::send, 1, 0, 5));  // no worker's
  const std::vector<GroupStats>& groups = r.stats().groups;
  CHECK(groups[0].messages == 0);
  CHECK(groups[1].bytes_sent == 100);
  CHECK(groups[2].bytes_sent == 30);
  CHECK(r.stats().bytes_of(r.stats().spaces[0]) == 100);
  CHECK(r.stats().bytes_sent == 135);

  r.record({.at = 2, .kind = EventKind::apply, .node = 1, .peer = 3, .value = 4});
  r.record({.at = 2, .kind = EventKind::apply, .node = 1, .peer = 3, .value = 1});
  r.record({.at = 2, .kind = EventKind::drop, .node = 1, .peer = 4});
  CHECK(groups[1].staleness_mean() == 2.5);
  CHECK(groups[1].staleness_max == 4);
  CHECK(groups[2].pushes_dropped == 1);

  for (const auto& [shard, version] : {std::pair{0U, 9}, {1U, 4}, {2U, 3}})
    r.record({.at = 3, .kind = EventKind::update, .node = 1, .version = version, .shard = shard});
  CHECK(r.stats().updates() == 9);
  CHECK(r.stats().updates(1) == 3);

  r.record(of_worker(5, EventKind::finish, 2, 3));
  r.stop(4, 6);
  r.close(8);
  CHECK(groups[0].finished == 5);
  CHECK(groups[1].finished == 8);
  CHECK(groups[2].finished == 6);
  CHECK(r.stats().workers[2].time.total() == 6);
}
