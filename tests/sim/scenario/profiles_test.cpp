// Profiles of dates and values: as they are, repeated, and in blocks that the seed draws.
#include "sim/scenario/spec/step_trace.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "tests/support/catch.hpp"

using namespace psim;

namespace {

// The values of 50 s in steps of 1 ms, and the dates when psim looks again.
void check_changes(const ProfileSpec& profile, std::uint64_t seed, std::uint64_t who) {
  double held = value_at(profile, 0, 1, seed, who);
  std::optional<double> next = next_row(profile, 0, seed, who);
  for (int ms = 0; ms < 50'000; ++ms) {
    const double now = ms / 1e3;
    while (next && *next <= now) {
      held = value_at(profile, *next, 1, seed, who);
      const std::optional<double> after = next_row(profile, *next, seed, who);
      REQUIRE((!after || *after > *next));
      next = after;
    }
    REQUIRE(value_at(profile, now, 1, seed, who) == held);
  }
}

}  // namespace

TEST_CASE("a profile has the value of its last row, and nothing else changes it", "[profiles]") {
  const ProfileSpec once{.rows = {{0.5, 0.25}, {3, 2}}};
  CHECK(value_at(once, 0.4, 7, 1, 0) == 7);
  CHECK(value_at(once, 0.5, 7, 1, 0) == 0.25);
  CHECK(value_at(once, 2.9, 7, 1, 0) == 0.25);
  CHECK(value_at(once, 1e6, 7, 1, 0) == 2);
  CHECK(next_row(once, 0, 1, 0) == 0.5);
  CHECK(next_row(once, 0.5, 1, 0) == 3.0);
  CHECK(!next_row(once, 3, 1, 0));
  check_changes(once, 1, 0);
}

TEST_CASE("a profile with a period begins again, and its last value holds until its first row",
          "[profiles]") {
  const ProfileSpec often{.every = Seconds{0.7}, .rows = {{0.1, 0.25}, {0.3, 2}}};
  CHECK(value_at(often, 0.05, 7, 1, 0) == 7);
  CHECK(value_at(often, 0.75, 7, 1, 0) == 2);
  CHECK(value_at(often, 0.85, 7, 1, 0) == 0.25);
  CHECK(next_row(often, 0.3, 1, 0) == 0.7 + 0.1);
  check_changes(often, 1, 0);
}

TEST_CASE("blocks of a profile are spans of the file from places that seed and node draw", "[profiles]") {
  ProfileSpec blocks{.resampling = {.kind = ResamplingKind::blocks, .block = 5}};
  for (int i = 0; i < 60; ++i) blocks.rows.emplace_back(i, 100 + i);
  CHECK(blocks.length() == 60);
  std::set<double> starts;
  for (int block = 0; block < 400; ++block) {
    const double begin = value_at(blocks, 5 * block, 1, 3, 2);
    starts.insert(begin);
    REQUIRE(begin >= 100);
    REQUIRE(begin <= 155);
    for (int s = 1; s < 5; ++s) REQUIRE(value_at(blocks, 5 * block + s, 1, 3, 2) == begin + s);
  }
  CHECK(starts.size() > 50);
  int equal = 0;
  for (int block = 0; block < 100; ++block) {
    equal += value_at(blocks, 5 * block, 1, 3, 2) == value_at(blocks, 5 * block, 1, 3, 1) ? 1 : 0;
    equal += value_at(blocks, 5 * block, 1, 3, 2) == value_at(blocks, 5 * block, 1, 4, 2) ? 1 : 0;
  }
  CHECK(equal < 20);
  for (const std::uint64_t seed : {1, 2, 3}) check_changes(blocks, seed, 4);
  blocks.resampling.block = 0.3;  // its multiples are rounded
  check_changes(blocks, 1, 0);
}

TEST_CASE("texts of resampling are understood or refused", "[profiles]") {
  CHECK(step_resampling("blocks of 60 steps")->block == 60);
  CHECK(step_resampling("blocks of 1 step")->block == 1);
  CHECK(step_resampling("iid")->kind == ResamplingKind::iid);
  CHECK(step_resampling("as it is")->kind == ResamplingKind::as_it_is);
  CHECK(time_resampling("blocks of 1.5min")->block == 90);
  for (const char* wrong :
       {"", "blocks", "blocks of", "blocks of 0 steps", "blocks of -3 steps", "blocks of 2.5 steps",
        "blocks of 10s", "blocks of 10 rows", "blocks of 10  steps", "IID"})
    CHECK(!step_resampling(wrong));
  for (const char* wrong :
       {"", "iid", "blocks of 10 steps", "blocks of 0s", "blocks of -1s", "blocks of nan s"})
    CHECK(!time_resampling(wrong));
}
