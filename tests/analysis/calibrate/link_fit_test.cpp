// Latency and bandwidth from a link test.
#include "analysis/calibrate/link_fit.hpp"

#include <cmath>
#include <vector>

#include "model/base/random.hpp"
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
    bandwidths += fit.bandwidth_interval->low <= 1e8 && 1e8 <= fit.bandwidth_interval->high ? 1 : 0;
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
}

TEST_CASE("one transfer tells the bandwidth without an interval", "[calibrate]") {
  const std::optional<LinkFit> fit = fit_link(std::vector<Transfer>{{1e6, 0.01}});
  REQUIRE(fit);
  CHECK(fit->bandwidth == Approx(1e8));
  CHECK(!fit->bandwidth_interval);
  CHECK(!fit->knows_latency);
  CHECK(!fit_link({}));
}

TEST_CASE("spans of a stream tell all bytes over all seconds, whatever their bytes are", "[calibrate]") {
  std::vector<Transfer> all;
  for (const double bytes : {40e6, 100e6, 0.0, 110e6, 90e6})
    all.push_back({bytes, 1.0, Transfer::Kind::span});
  const LinkFit spans = *fit_link(all);
  CHECK(spans.bandwidth == Approx(68e6));
  CHECK(!spans.knows_latency);
  CHECK(spans.latency == 0);
  // Small transfers beside them tell the latency.
  for (const double bytes : {1e3, 2e3, 4e3}) all.push_back({bytes, 100e-6 + bytes / 68e6});
  const LinkFit both = *fit_link(all);
  CHECK(both.knows_latency);
  CHECK(both.latency == Approx(100e-6).epsilon(0.01));
  CHECK(both.bandwidth == Approx(68e6).epsilon(0.01));
}

TEST_CASE("transfers that do not take longer with more bytes are refused", "[calibrate]") {
  CHECK_THROWS_AS(fit_link(std::vector<Transfer>{{1e6, 0.5}, {2e6, 0.4}, {4e6, 0.3}}), LogError);
  // Spans of one second that are not marked as such: the bytes are chance.
  CHECK_THROWS_AS(fit_link(std::vector<Transfer>{{50e6, 1}, {100e6, 1.01}, {110e6, 0.99}, {105e6, 1}}),
                  LogError);
}

TEST_CASE("collective operations tell the bandwidth and hide the latency", "[calibrate]") {
  std::vector<Transfer> all = transfers(50e-6, 1.25e9, 0, 1);
  for (Transfer& one : all) one.kind = Transfer::Kind::collective;
  const LinkFit fit = *fit_link(all);
  CHECK(fit.bandwidth == Approx(1.25e9).epsilon(1e-9));
  CHECK(!fit.knows_latency);
  CHECK(fit.latency == 0);
}

TEST_CASE("a latency is never negative", "[calibrate]") {
  const LinkFit fit = *fit_link(std::vector<Transfer>{{1e3, 0.9e-5}, {1e5, 1e-3}, {1e6, 1e-2}, {1e7, 1e-1}});
  CHECK(fit.latency == 0);
  CHECK(fit.bandwidth == Approx(1e8).epsilon(0.05));
  CHECK(fit.latency_interval.low == 0);
}
