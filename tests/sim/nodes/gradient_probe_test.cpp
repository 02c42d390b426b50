// Beside each gradient that is applied, the fresh one of the same samples: on a learner whose gradient is
// twice the weights, and the samples' mean more.
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "model/dataset.hpp"
#include "model/learner.hpp"
#include "sim/nodes/worker/gradient_probe.hpp"
#include "tests/sim/nodes/stage.hpp"
#include "tests/sim/protocol/server_driver.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

class Slope final : public Learner {
 public:
  Values initial_weights(std::uint64_t) const override { return {}; }
  Values gradient(const Values& weights, std::span<const std::uint32_t> samples) const override {
    Values result(weights);
    to_gradient(result, samples);
    return result;
  }
  void to_gradient(Values& weights, std::span<const std::uint32_t> samples) const override {
    const double mean =
        std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
    for (double& weight : weights.as<double>()) weight = 2 * weight + mean;
  }
  Evaluation evaluate(const Values&, const Dataset&) const override { return {}; }
  std::int64_t hits(const Values&, const Dataset&, std::span<const std::uint32_t>) const override {
    return 0;
  }
};

// Two servers, each with one of two weights.
Planned two_shards(const std::string& more = "") {
  Planned planned(
      "[model]\nkind = \"phantom\"\nparameters = 2\nprecision = \"float64\"\n[training]\nsteps = 30\n"
      "[compute]\ntime = \"1s\"\n[cluster]\nworkers = 3\nservers = 2\n" +
      more);
  planned.plans[0].learner = std::make_shared<const Slope>();
  return planned;
}

ProbedGradient applied(NodeId worker, std::int64_t clock, std::int64_t staleness, double at = 1) {
  return {.at = at, .worker = worker, .clock = clock, .staleness = staleness};
}
Slice weight(double value) { return {values_of({value}), 0, 1}; }
LocalWork work(std::uint32_t sample) { return {.batches = {{{sample}}}}; }

}  // namespace

TEST_CASE("probe: a gradient is compared when the last shard applies it, with what was there before",
          "[roles][probe]") {
  const Planned planned = two_shards();
  GradientProbe probe;
  probe.on_work(3, work(2));
  probe.on_gradient(3, 0, *values_of({3, 4}));  // the fresh one is 2 w + 2
  probe.on_applied(planned.plan(), 1, applied(3, 0, 5, 7), weight(1));
  CHECK(probe.gradients().empty());
  probe.on_applied(planned.plan(), 0, applied(3, 0, 2, 8), weight(-1));
  REQUIRE(probe.gradients().size() == 1);
  const ProbedGradient& one = probe.gradients()[0];
  CHECK(one.at == 8);
  CHECK(one.worker == 3);
  CHECK(one.clock == 0);
  CHECK(one.staleness == 5);               // of the shard where it was most
  CHECK(one.cosine == Approx(4.0 / 5.0));  // (3, 4) and (0, 4)
  CHECK(one.ratio == Approx(5.0 / 4.0));
}

TEST_CASE("probe: the gradient of unchanged weights is the fresh one", "[roles][probe]") {
  const Planned planned = two_shards();
  GradientProbe probe;
  probe.on_work(4, work(1));
  probe.on_gradient(4, 6, *values_of({5, 7}));
  probe.on_applied(planned.plan(), 0, applied(4, 6, 0), weight(2));
  probe.on_applied(planned.plan(), 1, applied(4, 6, 0), weight(3));
  REQUIRE(probe.gradients().size() == 1);
  CHECK(probe.gradients()[0].cosine == Approx(1).epsilon(1e-15));
  CHECK(probe.gradients()[0].ratio == Approx(1).epsilon(1e-15));
}

TEST_CASE("probe: each gradient has the samples of its own step, and workers do not mix", "[roles][probe]") {
  const Planned planned = two_shards();
  GradientProbe probe;
  const auto apply = [&](NodeId worker, std::int64_t clock) {
    probe.on_applied(planned.plan(), 0, applied(worker, clock, 0), weight(0));
    probe.on_applied(planned.plan(), 1, applied(worker, clock, 0), weight(0));
  };
  probe.on_work(3, work(2));
  probe.on_gradient(3, 0, *values_of({2, 2}));
  probe.on_work(3, work(4));
  probe.on_gradient(3, 1, *values_of({4, 4}));
  probe.on_work(5, work(8));
  probe.on_gradient(5, 0, *values_of({8, 8}));
  apply(5, 0);
  apply(3, 0);
  apply(3, 1);
  REQUIRE(probe.gradients().size() == 3);
  for (const ProbedGradient& one : probe.gradients()) CHECK(one.ratio == Approx(1));
}

TEST_CASE("probe: a push that comes again, or that a later one has overtaken, is not looked at",
          "[roles][probe]") {
  const Planned planned = two_shards();
  GradientProbe probe;
  const auto apply = [&](std::int64_t clock) {
    probe.on_applied(planned.plan(), 0, applied(3, clock, 0), weight(0));
    probe.on_applied(planned.plan(), 1, applied(3, clock, 0), weight(0));
  };
  for (const std::int64_t clock : {0, 1, 2}) {
    probe.on_work(3, work(2));
    probe.on_gradient(3, clock, *values_of({1, 1}));
  }
  apply(1);
  CHECK(probe.gradients().size() == 1);
  apply(1);
  apply(0);
  CHECK(probe.gradients().size() == 1);
  apply(2);
  CHECK(probe.gradients().size() == 2);
}

TEST_CASE("probe: what has no direction is not compared", "[roles][probe]") {
  const Planned planned = two_shards();
  GradientProbe probe;
  probe.on_work(3, work(2));
  probe.on_gradient(3, 0, *values_of({0, 0}));
  probe.on_applied(planned.plan(), 0, applied(3, 0, 0), weight(4));
  probe.on_applied(planned.plan(), 1, applied(3, 0, 0), weight(4));
  probe.on_gradient(3, 1, *values_of({1, 1}));
  probe.on_applied(planned.plan(), 0, applied(3, 1, 0), weight(-1));
  probe.on_applied(planned.plan(), 1, applied(3, 1, 0), weight(-1));
  CHECK(probe.gradients().empty());
}

TEST_CASE("probe: it says why gradients cannot be compared", "[roles][probe]") {
  CHECK(GradientProbe::why_not(two_shards().plan()).empty());
  const Planned phantom(
      "[model]\nkind = \"phantom\"\nparameters = 2\n[training]\nsteps = 3\n"
      "[compute]\ntime = \"1s\"\n");
  CHECK(GradientProbe::why_not(phantom.plan()) == "a phantom model has no gradients");
  CHECK(GradientProbe::why_not(two_shards("[consistency]\nmodel = \"asp\"\n").plan()).empty());
  const std::string cut =
      "[recovery]\nenabled = true\nrebalance = \"load\"\n[messages]\nunit = \"range\"\n"
      "[placement]\nkind = \"hash-ring\"\n";
  CHECK(GradientProbe::why_not(two_shards(cut).plan()) == "the scheduler may cut shards during the run");
}
