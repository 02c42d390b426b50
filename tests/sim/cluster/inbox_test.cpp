// Goal: an inbox hands out its messages in order, whatever comes between. Method: random pushes and pops
// beside a count.
#include "sim/cluster/network.hpp"

#include "model/base/random.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

TEST_CASE("an inbox hands out its messages in order", "[network]") {
  Inbox inbox;
  std::uint32_t pushed = 0, popped = 0;
  Stream stream(1, "inbox");
  for (int round = 0; round < 2000; ++round) {
    if (popped == pushed || stream.uniform() < (round % 500 < 250 ? 0.7 : 0.3))
      inbox.push({.shard = pushed++});
    else REQUIRE(inbox.pop().shard == popped++);
    REQUIRE(inbox.empty() == (popped == pushed));
  }
  for (int more = 0; more < 3; ++more) inbox.push({.shard = pushed++});
  for (const Message& message : inbox.take_all()) CHECK(message.shard == popped++);
  CHECK(popped == pushed);
  CHECK(inbox.empty());
}

TEST_CASE("a message is the same after it has waited in a crowd", "[network]") {
  Inbox inbox;
  for (int i = 0; i < 20; ++i) {
    Message message{.from = 3, .to = 4, .shard = 5, .epoch = 6, .body = Pull{.clock = i, .number = 7}};
    if (i % 3 == 1) message.body = Push{.worker = 8, .number = i};
    if (i % 3 == 2) message.body = Heartbeat{};
    message.sent = 100 + i;
    message.because = {.event = i, .spent = Spent::network};
    message.there_at = 0.5 * i;
    inbox.push(std::move(message));
  }
  for (int i = 0; i < 20; ++i) {
    const Message m = inbox.pop();
    CAPTURE(i);
    CHECK(std::tuple(m.from, m.to, m.shard, m.epoch, m.sent) == std::tuple(3U, 4U, 5U, 6U, 100U + i));
    CHECK(std::tuple(m.because.event, m.because.spent, m.there_at) ==
          std::tuple(std::int64_t{i}, Spent::network, 0.5 * i));
    if (i % 3 == 0) CHECK((m.as<Pull>()->clock == i && m.as<Pull>()->number == 7));
    if (i % 3 == 1) CHECK((m.as<Push>()->worker == 8 && m.as<Push>()->number == i));
    if (i % 3 == 2) CHECK(m.is<Heartbeat>());
  }
}
