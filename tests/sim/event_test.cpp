// Goal: a run's digest misses nothing. Method: one field of an event is changed at a time.
#include "sim/record/event.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <set>

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
  };
  std::set<std::uint64_t> hashes;
  for (const Event& event : events) hashes.insert(hash_of(event));
  CHECK(hashes.size() == events.size());
  const Event copy = base;
  CHECK(hash_of(copy) == hash_of(base));
}

TEST_CASE("kind and message do not run into each other in the hash", "[record]") {
  std::set<std::uint64_t> hashes;
  for (int kind = 0; kind <= static_cast<int>(EventKind::finish); ++kind) {
    for (int message = 0; message <= static_cast<int>(MessageKind::leave); ++message) {
      hashes.insert(hash_of(changed([&](Event& e) {
        e.kind = static_cast<EventKind>(kind);
        e.message = static_cast<MessageKind>(message);
      })));
    }
  }
  CHECK(hashes.size() == 80);
}

TEST_CASE("an event is told in one line", "[record]") {
  CHECK(to_string(base) == "t=1.5s deliver push: node 1 <- node 4, clock 7, version 3, 400 bytes");
  CHECK(to_string(changed([](Event& e) { e.kind = EventKind::send; })) ==
        "t=1.5s send push: node 1 -> node 4, clock 7, version 3, 400 bytes");
  CHECK(to_string(changed([](Event& e) { e.kind = EventKind::lose; })) ==
        "t=1.5s lose push: node 1 -> node 4, clock 7, version 3, 400 bytes");
  CHECK(to_string(changed([](Event& e) { e.kind = EventKind::apply; })) ==
        "t=1.5s apply: server 1 takes clock 7 of node 4, staleness 2");
  CHECK(to_string(changed([](Event& e) {
          e.kind = EventKind::compute_cancel;
        })).starts_with("t=1.5s compute_cancel: node 1"));
}

TEST_CASE("every kind of event and message has its own name", "[record]") {
  std::set<std::string_view> events, messages;
  for (int i = 0; i <= static_cast<int>(EventKind::finish); ++i)
    events.insert(name_of(static_cast<EventKind>(i)));
  for (int i = 0; i <= static_cast<int>(MessageKind::leave); ++i)
    messages.insert(name_of(static_cast<MessageKind>(i)));
  CHECK(events.size() == 10);
  CHECK(messages.size() == 8);
  CHECK(name_of(EventKind::compute_cancel) == "compute_cancel");
  CHECK(name_of(EventKind::finish) == "finish");
  CHECK(name_of(MessageKind::leave) == "leave");
}
