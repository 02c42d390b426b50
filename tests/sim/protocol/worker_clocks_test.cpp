// Goal: the least clock and who counts are right after whatever happens to workers. Method: small sets of
// workers, one event each, and the least clock counted by hand.
#include "sim/protocol/worker_clocks.hpp"

#include "tests/support/catch.hpp"

using namespace psim;

namespace {

WorkerClocks with(const std::vector<std::int64_t>& applied) {
  WorkerClocks clocks(applied.size());
  for (std::size_t w = 0; w < applied.size(); ++w) {
    for (std::int64_t i = 0; i < applied[w]; ++i) clocks.count_applied(w);
  }
  return clocks;
}

}  // namespace

TEST_CASE("the least clock moves when the last worker that has it goes on", "[clocks]") {
  WorkerClocks clocks = with({1, 2, 1});
  CHECK(clocks.slowest() == 1);
  clocks.count_applied(0);
  CHECK(clocks.slowest() == 1);
  clocks.count_applied(2);
  CHECK(clocks.slowest() == 2);
}

TEST_CASE("nobody waits for a worker that is gone, or behind since it came back", "[clocks]") {
  WorkerClocks clocks = with({1, 4, 3});
  clocks.set_members({false, true, true});
  CHECK(clocks.slowest() == 3);
  CHECK(clocks.members() == 2);
  CHECK(clocks.will_push() == 2);
  clocks[0].rejoining = true;
  clocks.set_members({true, true, true});
  CHECK(clocks.slowest() == 3);
  CHECK(clocks.members() == 3);
  clocks[0].rejoining = false;
  clocks[0].skipped_clocks = 1;  // it skipped one
  clocks.find_slowest();
  CHECK(clocks.slowest() == 2);
}

TEST_CASE("when nobody is left the least clock stays", "[clocks]") {
  WorkerClocks clocks = with({2, 3});
  clocks.set_members({false, false});
  CHECK(clocks.slowest() == 2);
  CHECK(clocks.members() == 0);
}

TEST_CASE("a worker that has finished is counted out once, also when it goes", "[clocks]") {
  WorkerClocks clocks(3);
  clocks.finish(1);
  CHECK(clocks.will_push() == 2);
  clocks.set_members({true, false, true});
  CHECK(clocks.will_push() == 2);
  CHECK(clocks.members() == 2);
}

TEST_CASE("a worker that finishes while it is taken for lost is counted out once", "[clocks]") {
  WorkerClocks clocks(3);
  clocks.set_members({true, false, true});
  clocks.finish(1);
  CHECK(clocks.will_push() == 2);
  clocks.set_members({true, true, true});
  CHECK(clocks.will_push() == 2);
}

TEST_CASE("pushes that will not come count as applied, those that wait do not", "[clocks]") {
  WorkerClocks clocks(1);
  clocks[0].arrived = 3;
  clocks[0].applied = 1;  // two wait
  CHECK(!clocks.skip_to(0, 3));
  CHECK(clocks.skip_to(0, 5));
  CHECK(clocks[0].arrived == 5);
  CHECK(clocks[0].applied == 3);
  clocks.forget_from(0, 2);
  clocks.forget_arrived();
  CHECK(clocks[0].applied == 2);
  CHECK(clocks[0].arrived == 2);
}

TEST_CASE("who has finished pushes no more, whether it goes or comes back", "[clocks]") {
  WorkerClocks clocks = with({3, 1, 1});
  clocks.finish(0);
  CHECK(clocks.will_push() == 2);
  clocks.set_members({false, true, false});
  CHECK(clocks.will_push() == 1);
  clocks.finish(2);  // it is gone
  CHECK(clocks.will_push() == 1);
  clocks.set_members({true, true, true});
  CHECK(clocks.will_push() == 1);
}
