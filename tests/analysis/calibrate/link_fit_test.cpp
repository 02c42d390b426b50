// Latency and bandwidth from a link test.
#include "analysis/calibrate/link_fit.hpp"

#include <cmath>
#include <vector>

#include "model/random.hpp"
#include "tests/support/catch.hpp"

using namespace psim::calibrate;

namespace {

std::vector<Transfer> transfers(double latency, double bandwidth, double noise, std::uint64_t seed) {
  psim::Stream stream(seed, "test");
  std::vector<Transfer> all;
  for (double bytes = 1e3; bytes < 2e7; bytes *= 2)
    all.push_back({bytes, (latency + bytes / bandwidth) * std::exp(noise * stream.normal())});
  return all;
}

}  // namespace

TEST_CASE("exact transfers give latency and bandwidth exactly", "[calibrate]") {
  const std::optional<LinkFit> fit = fit_link(transfers(50e-6, 1.25e9, 0, 1));
  REQUIRE(fit);
  CHECK(fit->knows_latency);
  CHECK(fit->latency == Approx(50e-6).epsilon(1e-9));
  CHECK(fit->bandwidth == Approx(1.25e9).epsilon(1e-9));
  CHECK(fit->error < 1e-9);
}

TEST_CASE("the intervals of a link test hold the truth", "[calibrate]") {
  int latencies = 0, bandwidths = 0;
  constexpr int tests = 400;
  for (std::uint64_t seed = 0; seed < tests; ++seed) {
    const LinkFit fit = *fit_link(transfers(100e-6, 1e8, 0.05, seed));
    latencies += fit.latency_interval.low <= 100e-6 && 100e-6 <= fit.latency_interval.high ? 1 : 0;
    bandwidths += fit.bandwidth_interval.low <= 1e8 && 1e8 <= fit.bandwidth_interval.high ? 1 : 0;
  }
  CHECK(latencies >= 0.9 * tests);
  CHECK(latencies < 0.99 * tests);
  CHECK(bandwidths >= 0.9 * tests);
  CHECK(bandwidths < 0.99 * tests);
}

TEST_CASE("transfers of one size tell the bandwidth only", "[calibrate]") {
  const std::optional<LinkFit> fit =
      fit_link(std::vector<Transfer>{{1e6, 0.01}, {1e6, 0.0101}, {1e6, 0.0099}});
  REQUIRE(fit);
  CHECK(!fit->knows_latency);
  CHECK(fit->latency == 0);
  CHECK(fit->bandwidth == Approx(1e8).epsilon(0.01));
  CHECK(!fit_link(std::vector<Transfer>{{1e6, 0.01}}));
}

TEST_CASE("a latency is never negative", "[calibrate]") {
  const LinkFit fit = *fit_link(std::vector<Transfer>{{1e3, 0.9e-5}, {1e5, 1e-3}, {1e6, 1e-2}, {1e7, 1e-1}});
  CHECK(fit.latency == 0);
  CHECK(fit.bandwidth == Approx(1e8).epsilon(0.05));
  CHECK(fit.latency_interval.low == 0);
}
