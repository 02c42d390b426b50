// Goal: dssp moves its bound between staleness and staleness_max so that the fastest worker waits least.
// Method: a fast and a slow worker whose next pushes can be predicted by hand.

#include <utility>

#include "tests/sim/protocol/server_driver.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

bool may_start(const Lines& lines) { return !lines.empty() && lines.back().starts_with("weights w0"); }

// Worker 0 pushes at a date and asks for its next clock.
bool fast(Driver& d, double date) {
  d.now = date;
  return may_start(d.turn(0));
}

}  // namespace

TEST_CASE("dssp lets the fastest worker run on when it would end near the slowest worker's next push",
          "[protocol]") {
  Driver d({.model = "dssp", .staleness = 1, .staleness_max = 4}, 2);
  d.pull_all();
  CHECK(fast(d, 1.0));   // clock 1: one ahead
  CHECK(!fast(d, 2.0));  // clock 2: two ahead, and nothing is known of the slow worker yet
  d.now = 2.5;
  CHECK(may_start(d.push(1)));  // clock 2: one ahead again
  d.pull(1);
  // A push of the fast worker takes 1.5, of the slow one 2.5; it ended at 2.5, so it should at 5.
  // Waiting now would take 1.5; one more clock ends at 5, exactly then.
  CHECK(fast(d, 3.5));   // clock 3: granted
  CHECK(!fast(d, 5.0));  // clock 4: not granted, the slow push must be here any moment
  d.now = 5.0;
  // The next slow push should be at 7.5 and 10. Ends of fast clocks: 5, 6.5, 8, 9.5; the last waits least.
  CHECK(may_start(d.push(1)));  // clock 4, and 5 and 6 are granted with it
  d.pull(1);
  CHECK(fast(d, 6.5));   // clock 5: three ahead
  CHECK(fast(d, 8.0));   // clock 6: four ahead
  CHECK(!fast(d, 9.5));  // clock 7: five ahead is more than staleness_max
}

TEST_CASE("dssp grants nothing when waiting at once is best", "[protocol]") {
  Driver d({.model = "dssp", .staleness = 1, .staleness_max = 4}, 2);
  d.pull_all();
  CHECK(fast(d, 2.0));
  d.now = 2.25;
  d.turn(1);            // a push every 2.25: the next at 4.5
  CHECK(fast(d, 4.0));  // clock 2: one ahead
  // Ends at 6, 8, 10, 12; slow pushes at 4.5 (missed), 6.75, 9, 11.25, 13.5: waits of 0.75, 1, 1.25, 1.5.
  CHECK(!fast(d, 6.0));
}

TEST_CASE("dssp never stops a worker that is no more than staleness ahead", "[protocol]") {
  Driver d({.model = "dssp", .staleness = 3, .staleness_max = 3}, 2);
  d.pull_all();
  for (const double date : {1.0, 2.0, 3.0}) CHECK(fast(d, date));
  CHECK(!fast(d, 4.0));
}

TEST_CASE("dssp extends the bound for the fastest worker only", "[protocol]") {
  Driver d({.model = "dssp", .staleness = 1, .staleness_max = 8}, 3);
  d.pull_all();
  d.now = 2.5;
  d.turn(2);  // the slowest: a push every 2.5
  for (const double date : {2.6, 2.7}) {
    d.now = date;
    d.turn(0);
    d.now = date + 0.01;
    d.turn(1);
  }
  // Workers 0 and 1 are one ahead. Worker 0 pushes again: it is the fastest and runs on, ...
  d.now = 2.8;
  CHECK(may_start(d.turn(0)));
  d.now = 2.9;
  CHECK(may_start(d.turn(0)));
  // ... worker 1 is as far from the slowest as worker 0 was, but not the fastest.
  d.now = 2.95;
  const Lines lines = d.turn(1);
  CHECK(lines.back().starts_with("version"));
}

// Workers 1 and 2 are the pair of the first test. Worker 0 has gone: as the one that is furthest ahead, or
// with as many pushes as the slowest one, of which the next would seem to come at 3.52.
TEST_CASE("dssp does not look at a worker that is gone", "[protocol]") {
  for (const auto& [pushes, gap] : {std::pair(6, 0.1), std::pair(1, 0.88)}) {
    INFO("worker 0 had made " << pushes << " pushes");
    Driver d({.model = "dssp", .staleness = 1, .staleness_max = 4}, 3);
    d.pull_all();
    for (int i = 0; i < pushes; ++i) {
      d.now += gap;
      d.push(0);
    }
    d.server.set_members({false, true, true}, d.now, d.log);
    for (const double date : {1.0, 2.0}) {
      d.now = date;
      d.turn(1);
    }
    d.now = 2.5;
    d.turn(2);
    d.now = 3.5;
    const Lines lines = d.turn(1);
    CHECK(lines.back().starts_with("weights w1"));
  }
}
