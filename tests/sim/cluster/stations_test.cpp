#include "sim/cluster/stations.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include "model/base/random.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

namespace {

constexpr double mega = 1e6;

// Stations of these bandwidths, and the dates of what arrives.
struct Run {
  explicit Run(std::vector<double> bandwidths, unsigned segments = 8)
      : stations(bandwidths, segments, [this](std::uint32_t slot, double date) { arrived[slot] = date; }) {}

  void end() {
    while (stations.next() < HUGE_VAL) stations.advance(stations.next());
  }

  std::map<std::uint32_t, double> arrived;
  Stations stations;
};

Approx near(double t) { return Approx(t).epsilon(1e-12); }

// The dates at which processor sharing by weight ends loads of one station: (begin, bytes, weight).
struct Job {
  double begin, bytes, weight;
};
std::vector<double> shared(const std::vector<Job>& jobs, double bandwidth) {
  std::vector<double> left, end(jobs.size(), 0);
  for (const Job& job : jobs) left.push_back(job.bytes);
  for (double now = 0;;) {
    double weights = 0, next = HUGE_VAL;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (left[i] > 0 && jobs[i].begin <= now) weights += jobs[i].weight;
      else if (left[i] > 0) next = std::min(next, jobs[i].begin);
    }
    std::size_t first = jobs.size();
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (!(left[i] > 0) || jobs[i].begin > now) continue;
      const double date = now + left[i] * weights / (jobs[i].weight * bandwidth);
      if (date <= next) next = date, first = i;
    }
    if (next == HUGE_VAL) return end;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (left[i] > 0 && jobs[i].begin <= now) left[i] -= (next - now) * bandwidth * jobs[i].weight / weights;
    }
    if (first < jobs.size()) {
      left[first] = 0;
      end[first] = next;
    }
    now = next;
  }
}

}  // namespace

TEST_CASE("a lone load takes bytes / the slowest bandwidth, whatever its segments", "[nic]") {
  const std::vector<std::vector<double>> chains{
      {1e8}, {1e8, 1e8}, {1e8, 2e8}, {2e8, 1e8}, {3e8, 1e8, 2e8, 1.5e8}, {1e9, 1e8, 1e9, 2e8, 1e8}};
  for (const std::vector<double>& chain : chains) {
    for (const unsigned segments : {2U, 8U, 64U}) {
      for (const double bytes : {1500.0, 1501.0, 1e5, 1e9}) {
        INFO(chain.size() << " stations, " << segments << " segments, " << bytes << " bytes");
        Run run(chain, segments);
        Stations::Path path;
        for (std::uint32_t i = 0; i < chain.size(); ++i) path.push_back(i);
        run.stations.enter(0, 0, {.bytes = bytes, .path = path});
        run.end();
        CHECK(run.arrived.at(0) == Approx(bytes / std::ranges::min(chain)).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("a limit paces a load, and nothing at all takes no time", "[nic]") {
  Run run({1e8, 1e8});
  run.stations.enter(0, 0, {.bytes = mega, .limit = 1e7, .path = {0, 1}});
  run.stations.enter(1, 0, {.bytes = 0, .path = {0, 1}});
  run.stations.enter(2, 0, {.bytes = mega, .limit = 1e7});
  run.end();
  CHECK(run.arrived.at(0) == near(0.1));
  CHECK(run.arrived.at(1) == 0);
  CHECK(run.arrived.at(2) == near(0.1));
}

TEST_CASE("loads of one station share it by their weights", "[nic]") {
  for (const std::size_t loads : {2U, 8U, 64U}) {
    for (const double spread : {0.0, 0.5}) {
      for (const unsigned segments : {8U, 64U}) {
        INFO(loads << " loads, spread " << spread << ", " << segments << " segments");
        Run run({1e8}, segments);
        std::vector<Job> jobs;
        Stream draws(1, "test", loads);
        for (std::uint32_t i = 0; i < loads; ++i) {
          const Job& job =
              jobs.emplace_back(Job{.begin = draws.uniform() * 0.005 * static_cast<double>(loads),
                                    .bytes = mega * draws.uniform(0.5, 1.5),
                                    .weight = std::exp(spread * draws.uniform(-1, 1))});
          run.stations.enter(i, job.begin, {.bytes = job.bytes, .weight = job.weight, .path = {0}});
        }
        run.end();
        const std::vector<double> exact = shared(jobs, 1e8);
        double error = 0, late = 0, worst = 0;
        for (std::uint32_t i = 0; i < loads; ++i) {
          error += std::abs(run.arrived.at(i) - exact[i]) / static_cast<double>(loads);
          late += (run.arrived.at(i) - exact[i]) / static_cast<double>(loads);
          worst = std::max(worst, std::abs(run.arrived.at(i) - exact[i]));
        }
        // A load ends early or late by what the others have had less or more than their shares until then. A
        // segment is at most 2 / segments of a load, so no date is off by more than that part of the whole
        // time. A load that is in service is anywhere within a segment's length of its share: uniform within
        // half a segment to both sides it is off by a quarter of one in the mean, and if all of them erred to
        // the same side the mean end would be off by a quarter of 2 / segments.
        const double whole = std::ranges::max(exact);
        CHECK(worst < whole * 2 / segments);
        CHECK(error < whole * 0.5 / segments);
        CHECK(std::abs(late) < whole * 0.5 / segments);
        double last = 0;
        for (const auto& [slot, date] : run.arrived) last = std::max(last, date);
        CHECK(last == Approx(whole).epsilon(1e-9));  // the station is never idle
      }
    }
  }
}

TEST_CASE("what waits elsewhere takes no turn: the rest of a NIC goes to others", "[nic]") {
  // Loads 1 to 9 share station 1 with load 0, which so uses a tenth of station 0; load 10 gets nine tenths.
  Run run({1e8, 1e8, 1e8}, 128);
  for (std::uint32_t i = 0; i < 10; ++i)
    run.stations.enter(i, 0, {.bytes = mega, .path = i == 0 ? Stations::Path{0, 1} : Stations::Path{1}});
  run.stations.enter(10, 0, {.bytes = mega, .path = {0, 2}});
  run.end();
  CHECK(run.arrived.at(10) == Approx(0.01 / 0.9).epsilon(0.06));
  CHECK(run.arrived.at(0) == Approx(0.1).epsilon(0.06));
}

TEST_CASE("a packet does not wait for a segment, which ends so much later", "[nic]") {
  Run run({1e6});
  run.stations.enter(0, 0, {.bytes = mega, .path = {0}});
  run.stations.enter(1, 0.01, {.bytes = 1000, .path = {0}});
  run.stations.enter(2, 0.01, {.bytes = 1000, .path = {0}});
  run.end();
  CHECK(run.arrived.at(1) == near(0.011));
  CHECK(run.arrived.at(2) == near(0.012));
  CHECK(run.arrived.at(0) == near(1.002));
}

TEST_CASE("acknowledgements take a twentieth of what comes the other way", "[nic]") {
  Run run({1e6, 1e6}, 64);
  run.stations.enter(0, 0, {.bytes = mega, .path = {0}, .back = {1}});
  run.stations.enter(1, 0, {.bytes = mega, .path = {1}, .back = {0}});
  run.end();
  CHECK(run.arrived.at(0) == Approx(1.05).epsilon(0.003));
  CHECK(run.arrived.at(1) == Approx(1.05).epsilon(0.003));
}

TEST_CASE("a cancelled load takes no more bandwidth, and its slot is free", "[nic]") {
  Run run({1e6, 1e6});
  run.stations.enter(0, 0, {.bytes = mega, .path = {0, 1}});
  run.stations.enter(1, 0, {.bytes = mega, .path = {0, 1}});
  run.stations.advance(0.5);
  run.stations.cancel(0, 0.5);
  run.stations.enter(0, 2, {.bytes = mega, .path = {0, 1}});
  run.end();
  CHECK(run.arrived.at(1) == Approx(1.25).epsilon(0.05));
  CHECK(run.arrived.at(0) == near(3));
}

TEST_CASE("a station that gets slower or faster finishes its segment so", "[nic]") {
  Run run({1e6, 1e6}, 128);
  run.stations.enter(0, 0, {.bytes = mega, .path = {0, 1}});
  run.stations.set_bandwidth(0, 0.5e6, 0.5);
  run.stations.set_bandwidth(0, 1e6, 0.9);
  run.end();
  CHECK(run.arrived.at(0) == Approx(1.2).epsilon(2.0 / 128));
}

namespace {

// The date by which `bytes` are through a link of bandwidth 1, which between two dates has `factor` of it.
double through(double bytes, double from, double until, double factor) {
  if (bytes <= from) return bytes;
  const double meanwhile = (until - from) * factor;
  return bytes <= from + meanwhile ? from + (bytes - from) / factor : until + bytes - from - meanwhile;
}

}  // namespace

TEST_CASE("a load ends when its bytes are through, whichever station is slow for a time", "[nic]") {
  constexpr unsigned segments = 32;
  for (const std::uint32_t slow : {0U, 1U, 2U}) {
    for (const auto& [from, until] : std::vector<std::pair<double, double>>{
             {0, 0.3}, {0, 5}, {0.2, 0.25}, {0.2, 1.5}, {0.501, 3}, {0.97, 1.2}, {1.5, 2}}) {
      for (const double factor : {1e-9, 1e-3, 0.1, 0.6}) {
        INFO("station " << slow << " from " << from << " to " << until << ": " << factor);
        Run run({1e6, 1e6, 1e6}, segments);
        run.stations.enter(0, 0, {.bytes = mega, .path = {0, 1, 2}});
        run.stations.set_bandwidth(slow, factor * 1e6, from);
        run.stations.set_bandwidth(slow, 1e6, until);
        run.end();
        CHECK(run.arrived.at(0) == Approx(through(1, from, until, factor)).epsilon(0).margin(2.0 / segments));
      }
    }
  }
}

TEST_CASE("no byte leaves before it is there: a slow station after a slow one", "[nic]") {
  // Half of the load is through both when the first almost stops. The second does so when the first runs
  // again, for a second each: what was not through the first is not through the second.
  Run run({1e6, 1e6}, 32);
  run.stations.enter(0, 0, {.bytes = mega, .path = {0, 1}});
  run.stations.set_bandwidth(0, 1e-3, 0.5);
  run.stations.set_bandwidth(0, 1e6, 1.5);
  run.stations.set_bandwidth(1, 1e-3, 1.5);
  run.stations.set_bandwidth(1, 1e6, 2.5);
  run.end();
  CHECK(run.arrived.at(0) == Approx(3).epsilon(0).margin(2.0 / 32));
}

TEST_CASE("a load that has become slow keeps no other waiting where they meet", "[nic]") {
  // Loads 0 and 1 share station 2. Load 0 almost stops at 0.5, with a quarter of it through; so the other has
  // the station for itself, and is through at 1.25. The rest of load 0 goes from 10 on.
  Run run({1e6, 1e6, 1e6}, 32);
  run.stations.enter(0, 0, {.bytes = mega, .path = {0, 2}});
  run.stations.enter(1, 0, {.bytes = mega, .path = {1, 2}});
  run.stations.set_bandwidth(0, 1e-3, 0.5);
  run.stations.set_bandwidth(0, 1e6, 10);
  run.end();
  CHECK(run.arrived.at(1) == Approx(1.25).epsilon(0).margin(3 * 2.0 / 32));
  CHECK(run.arrived.at(0) == Approx(10.75).epsilon(0).margin(3 * 2.0 / 32));
}

TEST_CASE("a cancelled load leaves its turn to the next when it is cancelled, not before", "[nic]") {
  Run run({1e6}, 2);
  run.stations.enter(0, 0, {.bytes = mega, .path = {0}});
  run.stations.enter(1, 0, {.bytes = mega, .path = {0}});
  run.stations.advance(0);
  run.stations.cancel(0, 0.25);
  run.end();
  CHECK(run.arrived.at(1) == near(1.25));
}

TEST_CASE("after a cancelled load the next one is alone, and goes in one piece", "[nic]") {
  const auto looks = [](bool after_another) {
    Run run({1e8, 1e8});
    if (after_another) {
      run.stations.enter(1, 0, {.bytes = 100 * mega, .path = {0, 1}});
      run.stations.cancel(1, 0.25);
      run.stations.advance(5);
    }
    run.stations.enter(0, 6, {.bytes = 100 * mega, .path = {0, 1}});
    int times = 0;
    for (; run.stations.next() < HUGE_VAL; ++times) run.stations.advance(run.stations.next());
    CHECK(run.arrived.at(0) == near(7));
    return times;
  };
  CHECK(looks(true) == looks(false));
}
