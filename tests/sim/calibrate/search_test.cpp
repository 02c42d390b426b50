// The search for a network, with errors of a known form instead of simulations.
#include "sim/calibrate/search.hpp"

#include <cmath>
#include <vector>

#include "tests/support/catch.hpp"

using namespace psim::calibrate;

namespace {

const Parameter bandwidth{.value = &NetworkValues::bandwidth, .low = 1e3, .high = 1e14};
const Parameter turn{
    .value = &NetworkValues::share_turn, .low = 2048, .high = 4e6, .step = 0.5, .spread = 1, .usual = 65536};

// A step of a run: 0.1 s, and these bytes over the network.
struct Run {
  double bytes, measured;
};

// Errors of these runs, with `bend` per factor e of the turn.
Search::Errors errors_of(const std::vector<Run>& runs, double bend = 0) {
  return [runs, bend](const std::vector<NetworkValues>& networks) {
    std::vector<std::vector<double>> all;
    for (const NetworkValues& network : networks) {
      std::vector<double>& errors = all.emplace_back();
      for (const Run& run : runs)
        errors.push_back(std::log((0.1 + run.bytes / network.bandwidth) / run.measured) +
                         bend * std::log(network.share_turn / 65536));
    }
    return all;
  };
}

Run exact(double bytes) { return {bytes, 0.1 + bytes / 50e6}; }

std::vector<double> usual(std::size_t errors) { return std::vector<double>(errors, 0.03); }

NetworkValues at(double bytes_per_second) {
  NetworkValues network;
  network.bandwidth = bytes_per_second;
  return network;
}

}  // namespace

TEST_CASE("a search finds the bandwidth that explains all runs, from far away", "[calibrate]") {
  for (const double first : {1e6, 5e8}) {
    Search search(errors_of({exact(1e6), exact(4e6), exact(2e7)}), usual(3), {bandwidth});
    const Search::Found found = search.best(search.best_of({at(first)}));
    INFO(first << " " << search.simulated());
    CHECK(found.values.bandwidth == Approx(50e6).epsilon(0.002));
    CHECK(found.error() < 1e-3);
    CHECK(search.simulated() <= 1 + 12 * 4);
  }
}

TEST_CASE("a run that fits no network has a bounded pull", "[calibrate]") {
  std::vector<Run> runs{exact(2e6), exact(4e6), exact(6e6), exact(8e6), exact(1e7), exact(2e7)};
  runs[2].measured *= 2;
  Search search(errors_of(runs), usual(6), {bandwidth});
  const double robust = search.best(search.best_of({at(1e7)})).values.bandwidth;
  // Least squares would spread an error of log(2) over all runs: more than 10 %.
  CHECK(robust == Approx(50e6).epsilon(0.04));
  CHECK(robust < 50e6);
}

TEST_CASE("a value without a slope stays at its usual value, and is not told", "[calibrate]") {
  Search search(errors_of({exact(1e6), exact(4e6), exact(2e7)}), usual(3), {bandwidth, turn});
  NetworkValues from = at(2e7);
  from.share_turn = 1e6;
  const Search::Found found = search.best(search.best_of({from}));
  CHECK(found.values.share_turn == Approx(65536).epsilon(0.01));
  const std::vector<double> ranges = search.ranges(found);
  CHECK(std::isfinite(ranges[0]));
  CHECK(std::isinf(ranges[1]));
}

TEST_CASE("intervals are those of the posterior distribution", "[calibrate]") {
  // Four runs tell the turn: an error of 0.015 each, and a slope of 0.05, beside a spread of 1.
  std::vector<Run> runs;
  for (const double sign : {1.0, -1.0, 1.0, -1.0}) runs.push_back({0, 0.1 * std::exp(0.015 * sign)});
  Search search(errors_of(runs, 0.05), usual(4), {turn});
  const Search::Found found = search.best(search.best_of({NetworkValues()}));
  CHECK(found.error() == Approx(0.015).epsilon(1e-6));
  // Errors smaller than the usual ones of 0.03 are luck; larger ones are not.
  const double precision = 4 * std::pow(0.05 / 0.03, 2) + 1;
  CHECK(search.ranges(found).front() == Approx(1.96 / std::sqrt(precision)).epsilon(1e-3));
  Search worse(errors_of(runs, 0.05), std::vector<double>(4, 0.01), {turn});
  // Huber's weight of an error beyond the usual one, and a scale of 1.5 usual errors.
  const double less = 4 * std::pow(0.05, 2) / (0.01 * 0.015) / std::pow(1.5, 2) + 1;
  CHECK(worse.ranges(found).front() == Approx(1.96 / std::sqrt(less)).epsilon(1e-3));
}

TEST_CASE("the best of several guesses has the least error", "[calibrate]") {
  Search search(errors_of({exact(4e6)}), usual(1), {bandwidth});
  CHECK(search.best_of({at(1e6), at(4e7), at(1e9)}).values.bandwidth == 4e7);
  CHECK(search.simulated() == 3);
}
