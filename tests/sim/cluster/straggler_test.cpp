// Goal: stragglers are slow when the scenario says so, and at no other time.
#include <cmath>

#include "sim/cluster/speed_control.hpp"
#include "sim/scenario/spec/scenario.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

namespace {

Slowness with(std::vector<StragglerSpec> stragglers) {
  return {{}, std::move(stragglers), 1, {0.1, 0.1, 0.1}};
}

}  // namespace

TEST_CASE("a straggler without dates is slow for ever", "[slowness]") {
  const Slowness s = with({{.workers = {1, 3}, .slowdown = 4}});
  for (const double now : {0.0, 1.0, 1e9}) {
    CHECK(s.speed_factor(0, now) == 1);
    CHECK(s.speed_factor(1, now) == 0.25);
    CHECK(s.speed_factor(2, now) == 1);
    CHECK(s.speed_factor(3, now) == 0.25);
  }
  CHECK(!s.next_change(0, 0));
  CHECK(!s.next_change(1, 0));
}

TEST_CASE("a window begins with its first instant and ends before its last", "[slowness]") {
  const Slowness s = with({{.workers = {0}, .slowdown = 2, .from = Seconds{10}, .until = Seconds{20}}});
  CHECK(s.speed_factor(0, std::nextafter(10.0, 0.0)) == 1);
  CHECK(s.speed_factor(0, 10) == 0.5);
  CHECK(s.speed_factor(0, std::nextafter(20.0, 0.0)) == 0.5);
  CHECK(s.speed_factor(0, 20) == 1);
  CHECK(s.next_change(0, 0) == 10.0);
  CHECK(s.next_change(0, 10) == 20.0);
  CHECK(s.next_change(0, 15) == 20.0);
  CHECK(!s.next_change(0, 20));
  CHECK(!s.next_change(1, 0));
}

TEST_CASE("half a window is open at the other end", "[slowness]") {
  const Slowness late = with({{.workers = {0}, .slowdown = 2, .from = Seconds{10}}});
  CHECK(late.speed_factor(0, 9) == 1);
  CHECK(late.speed_factor(0, 1e9) == 0.5);
  CHECK(late.next_change(0, 0) == 10.0);
  CHECK(!late.next_change(0, 10));
  const Slowness early = with({{.workers = {0}, .slowdown = 2, .until = Seconds{10}}});
  CHECK(early.speed_factor(0, 0) == 0.5);
  CHECK(early.speed_factor(0, 10) == 1);
  CHECK(early.next_change(0, 0) == 10.0);
  CHECK(!early.next_change(0, 10));
}

TEST_CASE("a period repeats its window for ever, and not before its first", "[slowness]") {
  const Slowness s =
      with({{.workers = {0}, .slowdown = 2, .from = Seconds{10}, .until = Seconds{12}, .every = Seconds{5}}});
  for (const double slow : {10.0, 11.9, 15.0, 16.9, 5010.0}) CHECK(s.speed_factor(0, slow) == 0.5);
  for (const double fast : {0.0, 5.0, 6.0, 9.9, 12.0, 14.9, 17.0, 5012.0})
    CHECK(s.speed_factor(0, fast) == 1);
  CHECK(s.next_change(0, 0) == 10.0);
  CHECK(s.next_change(0, 10) == 12.0);
  CHECK(s.next_change(0, 12) == 15.0);
  CHECK(s.next_change(0, 15) == 17.0);
  CHECK(s.next_change(0, 5013) == 5015.0);
}

TEST_CASE("at every change of a period the speed changes, whatever the rounding of its dates", "[slowness]") {
  struct Case {
    double from, until, every;
  };
  for (const Case& c : {Case{0.1, 0.2, 0.3},
                        {0.7, 0.8, 0.1 + 0.2},
                        {1 / 3.0, 0.5, 0.7},
                        {0, 0.01, 0.07},
                        {1e-3, 2e-3, 1.1e-3}}) {
    const Slowness s = with({{.workers = {0},
                              .slowdown = 2,
                              .from = Seconds{c.from},
                              .until = Seconds{c.until},
                              .every = Seconds{c.every}}});
    CAPTURE(c.from, c.until, c.every);
    double now = c.from > 0 ? 0.0 : c.until;
    double factor = s.speed_factor(0, now);
    CHECK(factor == 1);
    int changes = 0;
    for (; changes < 2000; ++changes) {
      const std::optional<double> next = s.next_change(0, now);
      REQUIRE(next.has_value());
      REQUIRE(*next > now);
      now = *next;
      CAPTURE(changes, now);
      const double after = s.speed_factor(0, now);
      REQUIRE(after != factor);
      factor = after;
    }
    CHECK(now == Approx(c.until + c.every * (c.from > 0 ? 999 : 1000)).epsilon(1e-12));
  }
}

TEST_CASE("a window as long as its period is never interrupted", "[slowness]") {
  for (const double period : {0.1, 0.3, 1.0, 2.5}) {
    const Slowness s =
        with({{.workers = {0}, .slowdown = 2, .until = Seconds{period}, .every = Seconds{period}}});
    for (int turn = 1; turn < 400; ++turn) {
      const double border = turn * period;
      if (border != period + (turn - 1) * period)
        continue;  // the dates themselves leave a gap of one rounding
      CAPTURE(period, turn);
      REQUIRE(s.speed_factor(0, border) == 0.5);
      REQUIRE(s.speed_factor(0, std::nextafter(border, 0.0)) == 0.5);
    }
  }
}

TEST_CASE("stragglers that meet multiply, and the earliest change counts", "[slowness]") {
  const Slowness s = with({{.workers = {0, 1}, .slowdown = 2, .from = Seconds{10}, .until = Seconds{30}},
                           {.workers = {0}, .slowdown = 5, .from = Seconds{20}, .until = Seconds{40}}});
  CHECK(s.speed_factor(0, 15) == 0.5);
  CHECK(s.speed_factor(0, 25) == Approx(0.1));
  CHECK(s.speed_factor(0, 35) == Approx(0.2));
  CHECK(s.speed_factor(1, 25) == 0.5);
  CHECK(s.next_change(0, 0) == 10.0);
  CHECK(s.next_change(0, 10) == 20.0);
  CHECK(s.next_change(0, 20) == 30.0);
  CHECK(s.next_change(0, 30) == 40.0);
  CHECK(s.next_change(1, 10) == 30.0);
}

TEST_CASE("a straggler with a probability slows steps, not the worker", "[slowness]") {
  Slowness s = with({{.workers = {0, 1}, .slowdown = 3, .probability = 0.1},
                     {.workers = {1}, .slowdown = 7, .probability = 0.1}});
  CHECK(s.speed_factor(0, 0) == 1);
  CHECK(!s.next_change(0, 0));
  constexpr std::int64_t steps = 50'000;
  double slow = 0, by_three = 0, by_seven = 0, by_both = 0;
  for (std::int64_t step = 0; step < steps; ++step) {
    const double first = s.of_step(0, step), second = s.of_step(1, step);
    REQUIRE((first == 1 || first == 3));
    slow += first == 3;
    by_three += second == 3;
    by_seven += second == 7;
    by_both += second == 21;
    REQUIRE(s.of_step(2, step) == 1);
  }
  const auto near = [](double count, double p) {
    return std::abs(count / steps - p) < 4 * std::sqrt(p * (1 - p) / steps);
  };
  CHECK(near(slow, 0.1));
  CHECK(near(by_three, 0.09));
  CHECK(near(by_seven, 0.09));
  CHECK(near(by_both, 0.01));  // drawn independently
}

TEST_CASE("a random straggler's steps do not depend on the compute distribution, nor the reverse",
          "[slowness]") {
  const std::vector<StragglerSpec> stragglers{{.workers = {0}, .slowdown = 3, .probability = 0.3}};
  Slowness constant({}, stragglers, 1, {0.1}), spread({{.distribution = "lognormal"}}, stragglers, 1, {0.1}),
      spread_alone({{.distribution = "lognormal"}}, {}, 1, {0.1});
  for (std::int64_t step = 0; step < 500; ++step) {
    REQUIRE(spread.of_step(0, step) == Approx(constant.of_step(0, step) * spread_alone.of_step(0, step)));
  }
}
