#include "sim/record/serving.hpp"

#include "tests/support/catch.hpp"

using namespace psim;

TEST_CASE("answers are counted in the window in which their request came", "[record]") {
  const InferenceStats stats{.requests = 4,
                             .answers = {{.arrival = 0.5, .latency = 2, .age = 3, .staleness = 4},
                                         {.arrival = 0.9, .latency = 4, .age = 1, .staleness = 6},
                                         {.arrival = 1.0, .latency = 0.1, .age = 0.5, .staleness = 1}},
                             .unanswered = {2.5}};
  const std::vector<ServingWindow> windows = served_over_time(stats, 1.0, 2.8);
  REQUIRE(windows.size() == 3);
  CHECK(windows[0].requests == 2);
  CHECK(windows[0].answered == 2);
  CHECK(windows[0].mean(windows[0].latency_sum) == 3.0);
  CHECK(windows[0].latency_max == 4.0);
  CHECK(windows[0].mean(windows[0].age_sum) == 2.0);
  CHECK(windows[0].age_max == 3.0);
  CHECK(windows[0].mean(windows[0].staleness_sum) == 5.0);
  CHECK(windows[0].staleness_max == 6);
  CHECK(windows[1].answered == 1);
  CHECK(windows[2].requests == 1);
  CHECK(windows[2].answered == 0);
  CHECK_FALSE(windows[2].mean(windows[2].latency_sum));
  CHECK(windows[2].end == 2.8);
  const ServingWindow all = served_in_all(stats, 2.8);
  CHECK(all.requests == 4);
  CHECK(all.answered == 3);
  CHECK(all.staleness_max == 6);
}

TEST_CASE("windows are neither too many nor too few", "[record]") {
  const auto length = [](std::optional<double> given, double end) {
    const std::vector<ServingWindow> windows = served_over_time({}, given, end);
    return windows.front().end - windows.front().begin;
  };
  CHECK(length({}, 5) == Approx(0.1));
  CHECK(length({}, 5.1) == Approx(0.2));
  CHECK(length({}, 12) == Approx(0.5));
  CHECK(length({}, 30) == Approx(1));
  CHECK(length(0.25, 30) == 0.25);
  CHECK(length(0.25, 0.1) == Approx(0.1));
  CHECK(length(1e-6, 1) <= 2e-4);  // doubled until there are at most 10000
  CHECK(served_over_time({}, 1e-6, 1).size() <= 10'000);
  CHECK(served_over_time({}, {}, 0).empty());
}
