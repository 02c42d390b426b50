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
