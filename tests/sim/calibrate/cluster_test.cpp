// The scenario of a calibrated cluster: what it says of each fitted value.
#include "sim/calibrate/cluster.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "sim/calibrate/calibrate.hpp"
#include "sim/calibrate/fit_network.hpp"
#include "tests/support/catch.hpp"

using namespace psim::calibrate;

namespace {

constexpr const char *bandwidth = "cluster.network.bandwidth", *latency = "cluster.network.latency";

NetworkFit fit_of_link() {
  NetworkFit fit;
  list_link({.latency = 80e-6,
             .bandwidth = 1e8,
             .latency_interval = {60e-6, 100e-6},
             .bandwidth_interval = psim::statistics::Interval{0.9e8, 1.2e8},
             .knows_latency = true},
            fit);
  return fit;
}

const Fitted& of(const std::vector<Fitted>& fitted, std::string_view field) {
  for (const Fitted& one : fitted) {
    if (one.field == field) return one;
  }
  FAIL("no value " << field);
  return fitted.front();
}

std::string scenario(const ClusterFacts& facts, const std::vector<Fitted>& values, bool in_step = false) {
  StepFit fit{.in_step = in_step};
  fit.means.assign(in_step ? 1 : 2, 0.1);
  return scenario_text({.facts = facts, .fit = fit, .network = {}, .values = values});
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a link has half of the latency of a path, and half of its interval", "[unit][calibrate]") {
  const NetworkFit fit = fit_of_link();
  const Fitted& found = of(fit.fitted, latency);
  CHECK(found.value == Approx(40e-6));
  CHECK(found.interval->low == Approx(30e-6));
  CHECK(found.interval->high == Approx(50e-6));
}

TEST_CASE("a given value has no interval, and replaces a fitted one", "[unit][calibrate]") {
  std::vector<Fitted> fitted = fit_of_link().fitted;
  take_given({.sets = {"cluster.network.bandwidth=10Gbps", "training.steps=7"}}, fitted);
  const Fitted& given = of(fitted, bandwidth);
  CHECK(given.value == 1.25e9);
  CHECK(given.is_given);
  CHECK(given.how == "given");
  CHECK(!given.interval);
  CHECK(of(fitted, latency).interval);
  CHECK(!has(scenario({.workers = 2}, fitted), "bandwidth_sd"));
}

TEST_CASE("seeds draw bandwidths of the interval: 1.96 standard deviations to each side",
          "[unit][calibrate]") {
  const std::string text = scenario({.workers = 2}, fit_of_link().fitted);
  CHECK(has(text, fmt::format("bandwidth_sd = {:.3g}", std::log(1.2 / 0.9) / 2 / 1.96)));
  CHECK(has(text, "# 95 %: 9e+07 to 1.2e+08 B/s; least squares of the link test"));
}

TEST_CASE("a given text with quotes stays TOML, and so does a number without a zero", "[unit][calibrate]") {
  const std::string text =
      scenario({.workers = 2, .sets = {"title=a \"b\"", "training.learning_rate=.5"}}, {});
  CHECK(has(text, R"(title = "a \"b\"")"));
  CHECK(has(text, "learning_rate = 0.5"));
}

TEST_CASE("an all-reduce has no servers and no consistency model", "[unit][calibrate]") {
  const std::string ring = scenario({.workers = 2, .consistency = "all-reduce"}, {});
  CHECK(has(ring, "kind = \"all-reduce\""));
  CHECK(!has(ring, "servers"));
  CHECK(!has(ring, "bsp"));
  CHECK(has(scenario({.workers = 2}, {}), "consistency = \"bsp\""));
  for (const auto& [model, set, waits] :
       {std::tuple("", "", true), std::tuple("all-reduce", "", true), std::tuple("ssp 3", "", false),
        std::tuple("asp", "consistency=bsp", true), std::tuple("", "consistency.model=\"asp\"", false)}) {
    ClusterFacts facts{.consistency = model};
    if (*set != '\0') facts.sets = {set};
    INFO(model << set);
    CHECK(facts.is_synchronous() == waits);
  }
}

TEST_CASE("workers in step have one column of times, whatever their number", "[unit][calibrate]") {
  CHECK(has(scenario({.workers = 8}, {}), "trace_workers = \"draw\""));
  CHECK(has(scenario({.workers = 8}, {}, true), "trace_workers = \"as they are\""));
  const StepTimes whole{.workers = {4, 5}, .compute = {{1, 2}, {3, 5}}, .rest = {}};
  CHECK(averaged(whole, 1).compute == std::vector<std::vector<double>>{{1.5}, {4}});
  CHECK(averaged(whole, 2).compute == std::vector<std::vector<double>>{{1.5, 1.5}, {4, 4}});
  const StepTimes parts = without_rest(whole, {.seconds = {0.5, 4.5}});
  CHECK(parts.compute[0][0] == 0.5);
  CHECK(parts.rest[0][0] == 0.5);
  CHECK(parts.compute[0][1] == Approx(0.02));  // a hundredth
  CHECK(parts.rest[1][1] == Approx(4.5));
}
