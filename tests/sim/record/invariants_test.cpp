// Goal: a result that cannot be is found, each kind of contradiction by its own words. Method: a good result,
// spoiled in one place at a time.
#include "sim/record/invariants.hpp"

#include <cmath>
#include <functional>

#include "tests/support/catch.hpp"

using namespace psim;

namespace {

RunResult good() {
  RunResult r;
  r.sim_time = 10;
  r.stats.last_work = 9.5;
  r.stats.workers.resize(2);
  r.stats.workers[0] = {.time = {.compute = 5, .network = 1, .wait = 2, .absent = 2}, .through = 10};
  r.stats.workers[1] = {.time = {.compute = 9}, .through = 9};
  r.stats.workers[0].samples = 64;
  r.samples_told = {64, 0};
  r.stats.bytes_of_kind[0] = 3;
  r.stats.bytes_of_kind[4] = 40;
  r.stats.bytes_sent = 43;
  return r;
}

std::string broken(const std::function<void(RunResult&)>& spoil) {
  RunResult r = good();
  spoil(r);
  const std::vector<std::string> all = broken_invariants(r);
  return all.size() == 1 ? all.front() : std::to_string(all.size()) + " findings";
}

}  // namespace

TEST_CASE("a result that can be breaks nothing", "[record]") {
  CHECK(broken_invariants(good()).empty());
  CHECK_NOTHROW(check_invariants(good(), "scenario"));
}

TEST_CASE("each invariant that is broken is named", "[record]") {
  constexpr auto none = std::string::npos;
  CHECK(broken([](RunResult& r) { r.stats.workers[1].time.compute = 18; }).find("worker 1 computes 18 s") !=
        none);
  CHECK(broken([](RunResult& r) {
          r.stats.workers[0].time.wait = -1;
          r.stats.workers[0].time.compute = 8;
        }).find("worker 0 computes 8 s, waits -1 s") != none);
  CHECK(broken([](RunResult& r) {
          r.stats.workers[1].time.wait = std::nan("");
        }).find("worker 1 computes 9 s, waits nan s") != none);
  CHECK(broken([](RunResult& r) {
          r.stats.workers[1] = {.time = {.compute = 11}, .through = 11};
        }).find("worker 1 finishes at 11 s") != none);
  CHECK(broken([](RunResult& r) { r.ended_early = true; }).find("the run ends at 10 s, but a worker") !=
        none);
  CHECK(broken([](RunResult& r) { r.stats.last_work = 10.1; }).find("applies at 10.1 s") != none);
  CHECK(broken([](RunResult& r) {
          r.samples_told[0] = 80;
        }).find("worker 0 has computed 80 samples, but the record has 64") != none);
  CHECK(broken([](RunResult& r) {
          r.stats.bytes_sent = 44;
        }).find("44 bytes are sent, but the kinds of messages add up to 43") != none);
}

TEST_CASE("a broken invariant comes with the scenario to report", "[record]") {
  RunResult r = good();
  r.stats.last_work = 11;
  std::string text;
  try {
    check_invariants(r, "[training]\nsteps = 3\n");
  } catch (const BrokenInvariant& error) {
    text = error.what();
  }
  CHECK(text.ends_with("steps = 3\n"));
}
