// Goal: every copy comes to have the log, in order and once, and nobody is told that something is safe which
// is not. Method: one owner's log, confirmations by hand, and what it wants to be sent.
#include "sim/protocol/server/replication.hpp"

#include <string>

#include "tests/support/catch.hpp"

using namespace psim;

namespace {

constexpr NodeId first_worker = 10, a = 1, b = 2, c = 3;

// "a state", "b #4", "0 ready c"; again: with a question mark.
std::vector<std::string> told(const ReplicatedLog::Deliveries& deliveries) {
  const auto name = [](NodeId node) {
    return node == scheduler_node ? '0' : static_cast<char>('a' + node - 1);
  };
  std::vector<std::string> lines;
  for (const ReplicatedLog::Delivery& delivery : deliveries) {
    const Overloaded words{
        [](ReplicatedLog::WholeState) { return std::string("state"); },
        [](const Replicate& message) { return "#" + std::to_string(message.entry->number); },
        [&](const Ready& ready) { return std::string("ready ") + name(ready.next_owner); }};
    lines.push_back(std::string(1, name(delivery.to)) + ' ' + std::visit(words, delivery.what) +
                    (delivery.again ? "?" : ""));
  }
  return lines;
}
using Lines = std::vector<std::string>;

ReplicatedLog log_with(ReplicationSpec replication) {
  return ReplicatedLog({.replication = replication,
                        .resend = {.timeout = 1, .backoff = 2, .longest = 3},
                        .first_worker = first_worker,
                        .workers = 2});
}

// An owner whose replicas have the state.
ReplicatedLog owner(const std::vector<NodeId>& replicas, ReplicationSpec replication = {}) {
  ReplicatedLog log = log_with(replication);
  log.begin(1, {0, 0});
  log.set_copies({.epoch = 1, .replicas = replicas}, 0);
  for (const NodeId replica : replicas) log.confirm(replica, 0, 0);
  return log;
}

Lines append(ReplicatedLog& log, std::uint32_t worker, std::int64_t number) {
  log.next().pushes = {{first_worker + worker, number}};
  return told(log.append());
}

SharedEntry entry(std::int64_t number) {
  LogEntry entry;
  entry.number = number;
  return std::make_shared<const LogEntry>(entry);
}

}  // namespace

TEST_CASE("a new copy gets the state, and the log after it has confirmed that", "[log]") {
  ReplicatedLog log = log_with({});
  log.begin(1, {0, 0});
  CHECK(told(log.set_copies({.epoch = 1, .replicas = {a}}, 0)) == Lines{"a state"});
  CHECK(append(log, 0, 0).empty());
  const ReplicatedLog::Confirmed confirmed = log.confirm(a, 0, 0);
  CHECK(confirmed.is_new_replica);
  CHECK(told(confirmed.deliveries) == Lines{"a #0"});
  CHECK(append(log, 0, 1) == Lines{"a #1"});
  CHECK(told(log.set_copies({.epoch = 1, .replicas = {a, b}}, 0)) == Lines{"b state"});
}

TEST_CASE("in a chain the owner sends to the first replica only", "[log]") {
  ReplicatedLog chain = owner({a, b}, {.copies = 2, .layout = ReplicationLayout::chain});
  CHECK(append(chain, 0, 0) == Lines{"a #0"});
  ReplicatedLog star = owner({a, b}, {.copies = 2});
  CHECK(append(star, 0, 0) == Lines{"a #0", "b #0"});
}

TEST_CASE("a push is committed when every replica has its entry", "[log]") {
  ReplicatedLog log = owner({a, b});
  append(log, 0, 0);
  append(log, 1, 0);
  log.confirm(a, 2, 0);
  CHECK(log.committed(0) == 0);
  log.confirm(b, 1, 0);
  CHECK(log.committed(0) == 1);
  CHECK(log.committed(1) == 0);
  log.confirm(b, 2, 0);
  CHECK(log.committed(1) == 1);
}

TEST_CASE("a push that is dropped as it makes an update is in the log", "[log]") {
  ReplicatedLog log = owner({a}, {.copies = 1, .when = ReplicateWhen::every_push});
  const Push chosen{.worker = first_worker}, late{.worker = first_worker + 1};
  log.next().push = late;
  log.next().drops_push = true;
  const ReplicatedLog::Deliveries sent = log.append_update({chosen}, {}, {});
  const SharedEntry logged = std::get<Replicate>(sent.at(0).what).entry;
  CHECK(logged->updates);
  CHECK(logged->drops_push);
  CHECK((logged->push && logged->push->id() == late.id()));
  log.confirm(a, 1, 0);
  CHECK(log.committed(1) == 1);
}

TEST_CASE("a worker's answer waits for its own last entry, or the last update, less the window", "[log]") {
  for (const bool shows_updates : {false, true}) {
    for (const std::int64_t window : {0, 1}) {
      ReplicatedLog log({.replication = {.copies = 1, .window = window},
                         .first_worker = first_worker,
                         .workers = 2,
                         .shows_updates = shows_updates});
      log.begin(1, {0, 0});
      log.set_copies({.epoch = 1, .replicas = {a}}, 0);
      log.confirm(a, 0, 0);
      log.append_update({{.worker = first_worker}}, {}, [] { return LogEntry::Sum{}; });
      CHECK(log.is_safe(0) == (window == 1));
      CHECK(log.is_safe(1) == (!shows_updates || window == 1));
      log.confirm(a, 1, 0);
      CHECK(log.is_safe(0));
    }
  }
}

TEST_CASE("as many entries as the window has may be on their way, and not one more", "[log]") {
  for (const std::int64_t window : {0, 1, 3}) {
    ReplicatedLog log = owner({a}, {.copies = 1, .window = window});
    for (std::int64_t entries = 1; entries <= 5; ++entries) {
      append(log, 0, entries - 1);
      CHECK(log.is_safe(0) == (entries <= window));
      CHECK(log.is_safe(1));  // it has no push in the log
    }
    log.confirm(a, 2, 0);
    CHECK(log.is_safe(0) == (window >= 3));
  }
}

TEST_CASE("what is not confirmed is sent again, less and less often", "[log]") {
  ReplicatedLog log = owner({a});
  append(log, 0, 0);
  append(log, 0, 1);
  for (const double date : {1.0, 3.0, 6.0, 9.0}) {
    CHECK(log.next_resend() == date);
    CHECK(log.resend(date - 0.01).empty());
    CHECK(told(log.resend(date)) == Lines{"a #0?", "a #1?"});
  }
  log.confirm(a, 1, 20);  // perhaps of its first sending: the way takes longer than the first wait
  CHECK(log.next_resend() == 23.0);
  CHECK(told(log.resend(23)) == Lines{"a #1?"});
  log.confirm(a, 2, 24);
  CHECK(!log.next_resend());
  append(log, 0, 2);
  append(log, 0, 3);
  log.confirm(a, 3, 30);  // of an entry that was sent once: the first wait again
  CHECK(log.next_resend() == 31.0);
}

TEST_CASE("a replica that has lost everything gets the state again, and is no copy until then", "[log]") {
  ReplicatedLog log = owner({a});
  append(log, 0, 0);
  CHECK(told(log.confirm(a, std::nullopt, 0).deliveries) == Lines{"a state?"});
  CHECK(append(log, 0, 1).empty());
  log.commit();
  CHECK(log.committed(0) == 0);
  CHECK(!log.confirm(a, 0, 0).is_known);  // from before
  CHECK(told(log.confirm(a, 1, 0).deliveries) == Lines{"a #1"});
}

TEST_CASE(
    "the next owner is ready when it has all that was there when its state was, and no answer waits for it",
    "[log]") {
  ReplicatedLog log = owner({a});
  append(log, 0, 0);
  CHECK(told(log.set_copies({.epoch = 1, .replicas = {a}, .next = c}, 0)) == Lines{"c state"});
  append(log, 0, 1);
  CHECK(told(log.confirm(c, 1, 0).deliveries) == Lines{"c #1"});
  CHECK(told(log.confirm(c, 2, 5).deliveries) == Lines{"0 ready c?"});
  CHECK(!log.is_safe(0));
  log.confirm(a, 2, 5);
  CHECK(log.is_safe(0));
}

TEST_CASE("a next owner that becomes a replica is a full one when it has what was safe without it", "[log]") {
  for (const bool has_state : {false, true}) {
    ReplicatedLog log = owner({a});
    append(log, 0, 0);
    log.set_copies({.epoch = 1, .replicas = {a}, .next = c}, 0);
    append(log, 0, 1);
    if (has_state) CHECK(!log.confirm(c, 1, 0).is_new_replica);
    log.confirm(a, 2, 0);
    CHECK(log.safe_entries() == 2);
    log.set_copies({.epoch = 1, .replicas = {c}, .next = c}, 0);
    log.commit();
    CHECK(!log.confirm(c, 1, 0).is_new_replica);
    CHECK(log.safe_entries() == 2);
    CHECK(log.committed(0) == 2);
    CHECK(log.confirm(c, 2, 0).is_new_replica);
    append(log, 0, 2);
    CHECK(log.safe_entries() == 2);
    CHECK(!log.confirm(c, 3, 0).is_new_replica);
    CHECK(log.safe_entries() == 3);
    CHECK(log.committed(0) == 3);
  }
}

TEST_CASE("a copy takes entries in their order, each once", "[log]") {
  ReplicatedLog log = log_with({});
  log.follow(true, false, a, b);
  CHECK(log.take(entry(1)).empty());
  CHECK(log.take(entry(2)).empty());
  CHECK(log.take(entry(0)).size() == 3);
  CHECK(log.take(entry(1)).empty());
  CHECK(log.extent().entries == 3);
  CHECK(log.passes_on(*entry(3)) == b);
  CHECK(!log.passes_on(*entry(2)));
}

TEST_CASE("a former owner gives what its log adds, to whoever has the log's beginning", "[log]") {
  ReplicatedLog log = owner({a});
  for (const std::int64_t number : {0, 1, 2}) append(log, 0, number);
  log.confirm(a, 1, 0);
  log.follow(false, true, a, {});
  const auto rest = log.log_suffix_after({.epoch = 1, .entries = 1});
  REQUIRE(rest);
  CHECK(rest->size() == 2);
  CHECK(rest->front()->number == 1);
  CHECK(!log.log_suffix_after({.epoch = 0, .entries = 1}));
  CHECK(!log.log_suffix_after({.epoch = 1, .entries = 0}));  // it is not kept any more
  CHECK(!log.log_suffix_after({.epoch = 1, .entries = -1}));
}

TEST_CASE("what an owner decided alone no replica seems to have", "[log]") {
  ReplicatedLog log = owner({a});
  log.set_copies({.epoch = 1}, 0);
  log.set_copies({.epoch = 1, .replicas = {a}}, 0);
  CHECK(log.extent().entries == 1);
  CHECK(!log.confirm(a, 0, 0).is_known);
}
