// Goal: an answer needs its pull, its worker's last push before that, and the first version that is new
// enough. Method: arrivals and outcomes by hand; events are told by their numbers.
#include "sim/nodes/server/server_shards.hpp"

#include <vector>

#include "tests/support/catch.hpp"

using namespace psim;

namespace {

constexpr NodeId worker = 3, other = 4;

Message arrival(std::int64_t event, NodeId from, Body body, std::uint32_t shard = 0) {
  Message message{.from = from, .to = 1, .shard = shard, .body = std::move(body)};
  message.because = {event};
  return message;
}

Message pull(std::int64_t event, std::int64_t above, std::int64_t pushes) {
  return arrival(event, worker, Pull{.above = above, .number = 1, .pushes_sent = pushes});
}

std::vector<std::int64_t> events(const Dependencies& needs) {
  std::vector<std::int64_t> all;
  for (const Dependency& one : needs) all.push_back(one.event.value_or(-1));
  return all;
}

}  // namespace

TEST_CASE("a push has the arrival of its own, once", "[why]") {
  ShardCauses causes;
  causes.arrives(arrival(10, worker, Push{.worker = worker, .number = 0}));
  causes.arrives(arrival(11, other, Push{.worker = other, .number = 0}));
  causes.arrives(arrival(12, worker, Push{.worker = worker, .number = 0}, 1));
  CHECK(causes.take(0, {other, 0}) == 11);
  CHECK(causes.take(0, {other, 0}) == -1);
  CHECK(causes.take(1, {worker, 0}) == 12);
  CHECK(causes.take(0, {worker, 0}) == 10);
  CHECK(causes.take(0, {worker, 7}) == -1);  // it came with the shard
}

TEST_CASE("an answer needs the worker's own last push, and the first version that will do", "[why]") {
  ShardCauses causes;
  CHECK(causes.of_answer(0, worker).empty());
  for (std::int64_t n = 0; n < 3; ++n) {
    causes.has_outcome(0, {worker, n}, 20 + n);
    causes.has_outcome(0, {other, n}, 30 + n);
    causes.makes(0, n + 1, 40 + n);
  }
  causes.arrives(pull(50, 1, 2));
  CHECK(events(causes.of_answer(0, worker)) == std::vector<std::int64_t>{50, 21, 41});
  causes.arrives(pull(51, -1, 0));  // any version will do, and it has not pushed
  CHECK(events(causes.of_answer(0, worker)) == std::vector<std::int64_t>{51});
  causes.arrives(pull(52, 3, 9));
  CHECK(events(causes.of_answer(0, worker)) == std::vector<std::int64_t>{52, 22});
  CHECK(causes.of_answer(1, worker).empty());
}

TEST_CASE("what is made again after a loss takes the place of what was lost", "[why]") {
  ShardCauses causes;
  causes.makes(0, 1, 40);
  causes.makes(0, 2, 41);
  causes.makes(0, 1, 42);
  causes.arrives(pull(50, 0, 0));
  CHECK(events(causes.of_answer(0, worker)) == std::vector<std::int64_t>{50, 42});
  CHECK(causes.closing(0, false) == 42);
}

TEST_CASE("an update whose window is over comes of its first push", "[why]") {
  ShardCauses causes;
  CHECK(causes.closing(0, true) == -1);
  CHECK(causes.closing(0, false) == -1);
  causes.arrives(arrival(12, worker, Push{.worker = worker, .number = 0}));
  causes.arrives(arrival(10, other, Push{.worker = other, .number = 0}));
  causes.arrives(arrival(9, other, Push{.worker = other, .number = 0}, 1));
  CHECK(causes.closing(0, true) == 10);
  causes.take(0, {other, 0});
  CHECK(causes.closing(0, true) == 12);
}

TEST_CASE("a push that comes twice before its outcome has its second arrival", "[why]") {
  ShardCauses causes;
  causes.arrives(arrival(10, worker, Push{.worker = worker, .number = 0}));
  causes.arrives(arrival(11, other, Push{.worker = other, .number = 0}));
  causes.arrives(arrival(12, worker, Push{.worker = worker, .number = 0}));
  CHECK(causes.closing(0, true) == 11);
  CHECK(causes.take(0, {worker, 0}) == 12);
  CHECK(causes.take(0, {other, 0}) == 11);
  CHECK(causes.closing(0, true) == -1);
}
