// Goal: a request is sent again when it is due, neither sooner nor more often, and for as long as it may be
// needed. Method: one queue, one request, and dates.
#include "sim/protocol/retry.hpp"

#include "tests/support/catch.hpp"

using namespace psim;

namespace {

Due needed(const Message&) { return Due::repeated; }
Due under_way(const Message&) { return Due::under_way; }

}  // namespace

TEST_CASE("each wait is `backoff` times as long as the one before, up to the longest", "[retry]") {
  RetryQueue queue({.timeout = 1, .backoff = 2, .longest = 3});
  queue.sent({.body = Pull{}}, 10);
  for (const double date : {11.0, 13.0, 16.0, 19.0}) {
    CHECK(queue.next() == date);
    CHECK(queue.due(date, needed).size() == 1);
  }
}

TEST_CASE("a client gives up when it would repeat a request once more than the limit allows", "[retry]") {
  RetryQueue queue({.timeout = 1, .backoff = 1, .longest = 1, .limit = 2});
  queue.sent({.body = Pull{}}, 0);
  queue.due(1, needed);
  queue.due(2, needed);
  CHECK(!queue.gave_up());
  queue.due(3, needed);
  CHECK(queue.gave_up());
}

TEST_CASE("a request that is still on its way is not repeated, and does not count as repeated", "[retry]") {
  RetryQueue queue({.timeout = 1, .backoff = 1, .longest = 1, .limit = 1});
  queue.sent({.body = Pull{}}, 0);
  for (const double date : {1.0, 2.0, 3.0}) {
    CHECK(queue.due(date, under_way).empty());
    CHECK(queue.next() == date + 1);
  }
  CHECK(queue.due(4, needed).size() == 1);
  CHECK(!queue.gave_up());
  queue.due(5, needed);
  CHECK(queue.gave_up());
}

TEST_CASE("waits do not grow while a request is under way, but where it is skipped", "[retry]") {
  RetryQueue queue({.timeout = 1, .backoff = 2, .longest = 30});
  queue.sent({.body = Pull{}}, 0);
  for (const double date : {1.0, 2.0, 3.0}) CHECK(queue.due(date, under_way).empty());
  CHECK(queue.due(4, needed).size() == 1);
  CHECK(queue.next() == 6);
  CHECK(queue.due(6, [](const Message&) { return Due::skipped; }).empty());
  CHECK(queue.next() == 10);
}

TEST_CASE("looks at a request that is under way become rarer in the end", "[retry]") {
  RetryQueue queue({.timeout = 1e-3});
  queue.sent({.body = Pull{}}, 0);
  int looks = 0;
  for (; *queue.next() < 3600; ++looks) queue.due(*queue.next(), under_way);
  CHECK(looks < 2000);
  CHECK(*queue.next() < 3600 * 1.011);
}

TEST_CASE("a push is kept until it is safe, and no push that comes after it goes with it", "[retry]") {
  RetryQueue queue({});
  for (const std::int64_t number : {0, 1, 2}) queue.sent({.body = Push{.number = number}}, 0);
  queue.committed(0, 2);
  CHECK(queue.oldest(0) == 2);
  queue.committed(0, 3);
  CHECK(!queue.oldest(0));
}

TEST_CASE("a request for a new owner begins with the first wait again", "[protocol]") {
  RetryQueue queue({.timeout = 1, .backoff = 2, .longest = 30});
  queue.sent({.shard = 3, .body = Pull{}}, 0);
  CHECK(queue.next() == 1.0);
  CHECK(queue.due(1, needed).size() == 1);
  CHECK(queue.next() == 3.0);
  const std::vector<Message> again = queue.again(3, 7, 2, 2);
  REQUIRE(again.size() == 1);
  CHECK(again[0].to == 7);
  CHECK(again[0].epoch == 2);
  CHECK(queue.next() == 3.0);
  CHECK(queue.due(3, needed).size() == 1);
  CHECK(queue.next() == 5.0);
}
