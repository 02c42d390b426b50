#include "analysis/calibrate/step_times.hpp"

#include <cmath>

#include "tests/support/catch.hpp"

using namespace psim::calibrate;

TEST_CASE("a server's work is the mean of the logged times, with an interval from parts of the log",
          "[calibrate]") {
  StepLog log;
  CHECK(!server_work(log));
  // Two levels, each for 50 steps: the 20 parts are 10 of each, so they tell less than 100 separate steps
  // would.
  for (int step = 0; step < 100; ++step)
    log.add(0, step, {.compute = 0.1, .server = step < 50 ? 0.010 : 0.030});
  log.add(1, 0, {.compute = 0.1});  // without a time of the server
  const auto work = server_work(log);
  REQUIRE(work);
  CHECK(work->pushes == 100);
  CHECK(work->seconds == Approx(0.020));
  const double sd = 0.010 * std::sqrt(20.0 / 19), t = 2.093024;  // of 19 degrees
  CHECK(work->interval.low == Approx(0.020 - t * sd / std::sqrt(20.0)));
  CHECK(work->interval.high == Approx(0.020 + t * sd / std::sqrt(20.0)));
}
