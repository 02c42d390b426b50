// Key caching where messages may get lost: what both ends remember, and what a server does with lists that it
// does not know.
#include <utility>

#include "tests/sim/protocol/filter_driver.hpp"
#include "tests/sim/protocol/server_driver.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::filter_test;

TEST_CASE("both ends remember the last lists of keys, as many as there are blocks", "[filter]") {
  KeyMemory two(2);
  for (const std::uint64_t list : {1U, 2U}) CHECK(two.reads({.signature = list}));
  CHECK(two.reads({.signature = 1, .bytes_listed = 9}));
  CHECK(two.reads({.signature = 3}));
  CHECK_FALSE(two.reads({.signature = 2, .bytes_listed = 9}));  // the oldest one made room
  CHECK(two.reads({.signature = 1, .bytes_listed = 9}));
  two.forget();
  CHECK_FALSE(two.reads({.signature = 1, .bytes_listed = 9}));
}

TEST_CASE("a message without its keys knows what it would be with them", "[filter]") {
  FilterChain chain({.filters = {{.kind = "key-caching"}, {.kind = "snappy"}},
                     .count = 50,
                     .key_bytes = {8},
                     .push = true,
                     .repeats = true});
  const auto send = [&] { return chain.encode(slice_of(normal_numbers(50, 7)), {}); };
  const Encoded first = send(), second = send();
  CHECK(first.list.is_listed());
  CHECK_FALSE(second.list.is_listed());
  CHECK(second.list.signature == first.list.signature);
  CHECK(second.list.bytes_listed == first.bytes);
  CHECK(second.bytes < first.bytes);
  chain.forget_keys();
  CHECK(send().bytes == first.bytes);
}

TEST_CASE("a push whose list of keys a server does not know counts as lost", "[filter][protocol]") {
  psim::test::Driver d({.model = "asp"}, 2);
  const auto push = [&](std::int64_t number, KeyList list) {
    Push body{.worker = psim::test::first_worker, .number = number, .gradient = {.values = {nullptr, 0, 4}}};
    body.gradient.list = list;
    return d.deliver(psim::test::from_worker(0, body));
  };
  CHECK(push(0, {.signature = 5, .bytes_listed = 48}).empty());
  CHECK(d.server.state().workers[0].arrived == 0);
  CHECK(push(0, {.signature = 5}) == psim::test::Lines{"apply w0 s0", "version 1"});
  CHECK(push(1, {.signature = 5, .bytes_listed = 48}) == psim::test::Lines{"apply w0 s1", "version 2"});
  CHECK(push(2, {.signature = 6, .bytes_listed = 48}).empty());
}
