// Goal: a run's digest misses nothing. Method: one field of an event is changed at a time.
#include "sim/record/event.hpp"

#include <cmath>
#include <set>

#include "tests/support/catch.hpp"

using namespace psim;

namespace {

const Event base{.at = 1.5,
                 .kind = EventKind::deliver,
                 .message = MessageKind::push,
                 .node = 1,
                 .peer = 4,
                 .clock = 7,
                 .version = 3,
                 .bytes = 400,
                 .value = 2};

template <class F>
Event changed(F&& change) {
  Event event = base;
  change(event);
  return event;
}

}  // namespace

TEST_CASE("an event's hash depends on every field", "[record]") {
  const std::vector<Event> events{
      base,
      changed([](Event& e) { e.at = std::nextafter(1.5, 2.0); }),
      changed([](Event& e) { e.at = -1.5; }),
      changed([](Event& e) { e.kind = EventKind::send; }),
      changed([](Event& e) { e.message = MessageKind::pull; }),
      changed([](Event& e) { e.node = 2; }),
      changed([](Event& e) { e.peer = 5; }),
      changed([](Event& e) { std::swap(e.node, e.peer); }),
      changed([](Event& e) { e.clock = 8; }),
      changed([](Event& e) { e.version = 4; }),
      changed([](Event& e) { std::swap(e.clock, e.version); }),
      changed([](Event& e) { e.bytes = 401; }),
      changed([](Event& e) { e.bytes += std::uint64_t{1} << 40U; }),
      changed([](Event& e) { e.value = -2; }),
      changed([](Event& e) { e.value = 3; }),
      changed([](Event& e) { e.shard = 1; }),
  };
  std::set<std::uint64_t> hashes;
  for (const Event& event : events) hashes.insert(hash_of(event));
  CHECK(hashes.size() == events.size());
  const Event copy = base;
  CHECK(hash_of(copy) == hash_of(base));
}

TEST_CASE("kind and message do not run into each other in the hash", "[record]") {
  std::set<std::uint64_t> hashes;
  for (std::size_t kind = 0; kind < event_names.size(); ++kind) {
    for (std::size_t message = 0; message < message_names.size(); ++message) {
      hashes.insert(hash_of(changed([&](Event& e) {
        e.kind = static_cast<EventKind>(kind);
        e.message = static_cast<MessageKind>(message);
      })));
    }
  }
  CHECK(hashes.size() == event_names.size() * message_names.size());
}

TEST_CASE("an event is told in one line", "[record]") {
  CHECK(to_string(base) == "t=1.5s deliver push: node 1 <- node 4, shard 0, clock 7, version 3, 400 bytes");
  CHECK(to_string(changed([](Event& e) { e.kind = EventKind::send; })) ==
        "t=1.5s send push: node 1 -> node 4, shard 0, clock 7, version 3, 400 bytes");
  CHECK(to_string(changed([](Event& e) { e.kind = EventKind::lose; })) ==
        "t=1.5s lose push: node 1 -> node 4, shard 0, clock 7, version 3, 400 bytes");
  CHECK(to_string(changed([](Event& e) { e.kind = EventKind::apply; })) ==
        "t=1.5s apply: server 1 takes clock 7 of node 4, staleness 2");
  CHECK(to_string(changed([](Event& e) {
          e.kind = EventKind::compute_cancel;
        })).starts_with("t=1.5s compute_cancel: node 1"));
}

TEST_CASE("every kind of event and message has its own name", "[record]") {
  CHECK(std::set(event_names.begin(), event_names.end()).size() == event_names.size());
  CHECK(std::set(message_names.begin(), message_names.end()).size() == message_names.size());
  CHECK(name_of(EventKind::compute_cancel) == "compute_cancel");
  CHECK(name_of(EventKind::compute_resume) == "compute_resume");
  CHECK(name_of(MessageKind::ack) == "ack");
}
