// Two loops: an inner optimizer on the workers and an outer one on the servers, against calculations of their
// own and against what they must equal.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/oracles/two_workers.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

const std::string asp = "model = \"asp\"";

Json curve_of(const std::string& training, const std::string& consistency = "model = \"bsp\"") {
  return of_two_workers({.training = training, .consistency = consistency}).run()["curve"];
}

// AdamW with PyTorch's names and order.
struct AdamW {
  double mean = 0, square = 0;
  int t = 0;
  void step(double& w, double g, double rate, double decay) {
    ++t;
    w *= 1 - rate * decay;
    mean = 0.9 * mean + 0.1 * g;
    square = 0.999 * square + 0.001 * g * g;
    w -= rate * (mean / (1 - std::pow(0.9, t))) / (std::sqrt(square / (1 - std::pow(0.999, t))) + 1e-8);
  }
};

}  // namespace

TEST_CASE("an inner loop of sgd with an outer rate of 1 is local SGD to the last bit", "[oracle][loops]") {
  for (const std::string& consistency : {std::string("model = \"bsp\""), asp}) {
    const Json local = curve_of("learning_rate = 0.05\nlocal_steps = 4", consistency);
    CHECK(curve_of("inner = {learning_rate = 0.05, steps = 4}", consistency) == local);
    CHECK(curve_of("learning_rate = 0.05\nlocal_steps = 4\nouter = {learning_rate = 1.0}", consistency) ==
          local);
    CHECK(curve_of(
              "inner = {learning_rate = 0.05, steps = 4}\nouter = {optimizer = \"nesterov\", learning_rate = "
              "1.0, momentum = 0.0}",
              consistency) == local);
  }
}

TEST_CASE("an outer rate of 0 leaves the weights still", "[oracle][loops]") {
  const Json run = of_two_workers({.training = "inner = {steps = 3}\nouter = {learning_rate = 0.0}"}).run();
  CHECK(run["final"]["loss"] == run["initial"]["loss"]);
  CHECK(run["updates"] == 8);
}

TEST_CASE("one worker with an outer rate of 1 ends on its own copy", "[oracle][loops]") {
  for (const char* optimizer : {"adamw", "adam", "nesterov", "delayed-nesterov"}) {
    const auto loss_of = [&](int steps, int inner) {
      return of_two_workers({.training = fmt::format(
                                 "inner = {{optimizer = \"{}\", learning_rate = 0.03, weight_decay = 0.2, "
                                 "steps = {}}}\nouter = {{learning_rate = 1.0}}",
                                 optimizer, inner),
                             .steps = steps})
          .set({"cluster.workers=1"})
          .run()["final"]["loss"]
          .get<double>();
    };
    INFO(optimizer);
    CHECK(loss_of(3, 8) == Approx(loss_of(24, 1)).epsilon(1e-11));
  }
}

TEST_CASE("DiLoCo: AdamW on the workers, Nesterov on the mean of their moves", "[oracle][loops]") {
  const double rate = 0.02, decay = 0.1, outer = 0.7, momentum = 0.9;
  for (const bool fresh : {false, true}) {
    std::array<AdamW, 2> states;
    std::vector<double> weights{start};
    double m = 0;
    for (int t = 0; t < 8; ++t) {
      double move = 0;
      for (const int worker : {0, 1}) {
        AdamW& state = states[static_cast<std::size_t>(worker)];
        if (fresh) state = {};
        double w = weights.back();
        for (int h = 0; h < 5; ++h) state.step(w, gradient(worker, w), rate, decay);
        move += (weights.back() - w) / 2;
      }
      m = momentum * m + move;
      weights.push_back(weights.back() - outer * (momentum * m + move));
    }
    const std::string training = fmt::format(
        "inner = {{optimizer = \"adamw\", learning_rate = {}, weight_decay = {}, steps = 5, state = "
        "\"{}\"}}\n"
        "outer = {{optimizer = \"nesterov\", learning_rate = {}, momentum = {}}}",
        rate, decay, fresh ? "fresh" : "kept", outer, momentum);
    INFO(training);
    check_losses(of_two_workers({.training = training}).run(), weights);
    check_losses(
        of_two_workers({.training = training, .consistency = ""}).set({"architecture.kind=all-reduce"}).run(),
        weights);
  }
}

TEST_CASE("delayed Nesterov: every push moves the weights, every fourth the momentum", "[oracle][loops]") {
  // Worker 1 takes 1.7 times as long as worker 0, so their first pushes never come at the same time.
  const double rate = 0.05, outer = 0.4, beta = 0.9;
  std::array<double, 2> pulled{start, start};
  std::array<int, 2> done{0, 0};
  std::vector<double> weights{start};
  double m = 0, buffer = 0;
  while (done[0] + done[1] < 9) {
    const auto worker = static_cast<std::size_t>(1.7 * (done[1] + 1) < done[0] + 1 ? 1 : 0);
    ++done[worker];
    double w = pulled[worker];
    for (int h = 0; h < 2; ++h) w -= rate * gradient(static_cast<int>(worker), w);
    const double move = (pulled[worker] - w) / 2;  // aggregation = "mean" halves the push of one of two
    buffer += move;
    const bool is_full = weights.size() % 4 == 0;
    if (is_full) {
      m = beta * m + buffer / 4;
      buffer = 0;
    }
    weights.push_back(weights.back() - outer * ((is_full ? beta * m : 0) + move / 4));
    pulled[worker] = weights.back();
  }
  check_losses(of_two_workers({.training = fmt::format(
                                   "inner = {{learning_rate = {}, steps = 2}}\nouter = {{optimizer = "
                                   "\"delayed-nesterov\", learning_rate = {}, momentum = {}, buffer = 4}}",
                                   rate, outer, beta),
                               .consistency = asp,
                               .more = "straggler = [{workers = [1], slowdown = 1.7}]"})
                   .run(),
               weights);
}

TEST_CASE("dynamic local updates: all workers end a clock together", "[oracle][loops]") {
  const auto run = [](const std::string& stragglers, const std::string& fault) {
    return of_two_workers({.training = "inner = {steps = 8, dynamic = true}",
                           .steps = 5,
                           .more = fmt::format("straggler = [{}]\n{}", stragglers, fault)})
        .set({"cluster.workers=2"})
        .run();
  };
  // The first clock goes by the plan, which knows no stragglers; then worker 1 takes two steps instead of 8.
  const Json slow = run("{workers = [1], slowdown = 4.0}", "");
  CHECK(slow["sim_time_s"].get<double>() == Approx(0.1 * 8 * 4 + 4 * 0.1 * 8));
  CHECK(slow["workers"][0]["samples"] == 5 * 8 * 4);
  CHECK(slow["workers"][1]["samples"] == (8 + 4 * 2) * 4);
  // Too slow for a single step in that time.
  const Json slower = run("{workers = [1], slowdown = 20.0}", "");
  CHECK(slower["workers"][1]["samples"] == (8 + 4 * 1) * 4);
}

TEST_CASE("the clock of the notebook of asynchronous DiLoCo", "[oracle][loops]") {
  // google-deepmind/asyncdiloco (2024): workers of .58, .75, 1.51 and 3.33 s a step, 20 steps a clock. Its
  // synchronous run prints 66.60, 133.20 ... 333.00 s. Its asynchronous run with max_wait_time = 0 updates at
  // the multiples of each worker's clock.
  const std::array<double, 4> seconds{0.58, 0.75, 1.51, 3.33};
  const auto curve = [&](const char* model, int clocks) {
    std::string stragglers;
    for (int w = 1; w < 4; ++w)
      stragglers += fmt::format("{{workers = [{}], slowdown = {:.17g}}}, ", w, seconds[w] / seconds[0]);
    return ScenarioBuilder({"data.source=blobs", "data.samples=60", "data.features=2", "data.classes=2",
                            "training.batch_size=4", "model.layers=[2, 2]",
                            "training.evaluate_every=1 update", "cluster.workers=4", "compute.time=580ms"})
        .links("1000Tbps", "0s")
        .with("training", "inner = {steps = 20}")
        .with(fmt::format("straggler = [{}]", stragglers))
        .set("consistency.model", model)
        .set("training.steps", clocks)
        .run()["curve"];
  };
  const Json rounds = curve("bsp", 5);
  for (std::size_t round = 0; round <= 5; ++round)
    CHECK(rounds[round]["sim_time_s"].get<double>() == Approx(66.6 * static_cast<double>(round)));
  std::vector<double> dates;
  for (const double s : seconds) {
    for (int clock = 1; clock <= 200; ++clock) dates.push_back(20 * s * clock);
  }
  std::ranges::sort(dates);
  const Json updates = curve("asp", 60);
  for (std::size_t update = 1; update <= 60; ++update)
    CHECK(updates[update]["sim_time_s"].get<double>() == Approx(dates[update - 1]));
  CHECK(updates[40]["sim_time_s"].get<double>() == Approx(208.8));
}

namespace {

// torchft's mock trainer (test_fixtures, October 2025): every gradient is 2, the inner rate 1, the outer rate
// 2, and each of two fragments has one weight, 1 at first. Here the target is so far away that rounding
// removes the weights from the error, so both gradients are 2 to the last bit.
std::string weights_after(int clocks, const std::array<double, 2>& start_at, const std::string& loops) {
  const double input = std::pow(2.0, -30), target = -std::pow(2.0, 31);
  return ScenarioBuilder({"data.source=inline", "data.partition=contiguous", "model.bias=false",
                          "model.activation=identity", "model.loss=half-sse", "model.precision=float64",
                          "training.batch_size=1", "cluster.workers=2"})
      .set("model.layers", "[2, 1]")
      .set("model.weights", fmt::format("[[[{}, {}]]]", start_at[0], start_at[1]))
      .set("data.inputs", fmt::format("[[{0:.17g}, {0:.17g}], [{0:.17g}, {0:.17g}]]", input))
      .set("data.targets", fmt::format("[[{0:.17g}], [{0:.17g}]]", target))
      .set("training.steps", clocks)
      .with("training", loops)
      .run()["model"]["weights"]
      .get<std::string>();
}

}  // namespace

TEST_CASE("streaming DiLoCo: the common weights of torchft's fixtures, to the last bit", "[oracle][loops]") {
  struct Fixture {
    int delay;
    double mix;
    std::vector<std::array<double, 2>> history;  // global_parameter_history, after each clock
  };
  const std::vector<Fixture> fixtures{{0, 0, {{-11, 1}, {-11, -23}, {-35, -23}, {-35, -47}}},
                                      {0, 0.5, {{-11, 1}, {-11, -23}, {-29, -23}, {-29, -35}}},
                                      {0, 1, {{-11, 1}, {-11, -23}, {-23, -23}, {-23, -23}}},
                                      {1, 0, {{-7, 1}, {-7, -19}, {-27, -19}, {-27, -39}}},
                                      {1, 0.5, {{-7, 1}, {-7, -19}, {-25, -19}, {-25, -31}}},
                                      {1, 1, {{-7, 1}, {-7, -19}, {-23, -19}, {-23, -23}}}};
  for (const Fixture& one : fixtures) {
    const std::string loops = fmt::format(
        "inner = {{learning_rate = 1.0, steps = 6}}\nouter = {{learning_rate = 2.0, fragments = 2, "
        "delay = {}, mix = {}}}",
        one.delay, one.mix);
    for (int clock = 1; clock <= 4; ++clock) {
      const std::array<double, 2>& expected = one.history[static_cast<std::size_t>(clock) - 1];
      INFO(loops << ", clock " << clock);
      CHECK(weights_after(clock, {1, 1}, loops) == weights_after(1, expected, "learning_rate = 0.0"));
    }
  }
}

TEST_CASE("optimizers of whole arrays: wherever they run, the steps are the same", "[oracle][loops]") {
  for (const char* optimizer : {"muon", "lars", "lamb"}) {
    const auto weights = [&](std::vector<std::string> more) {
      more.push_back(fmt::format("training.optimizer={}", optimizer));
      return ScenarioBuilder({"data.source=blobs", "data.samples=80", "data.features=6", "data.classes=3",
                              "model.layers=[6, 8, 3]", "model.precision=float64", "training.batch_size=8",
                              "training.weight_decay=0.01", "cluster.workers=1"})
          .set({"training.learning_rate=0.05"})
          .set(more)
          .run()["final"]["loss"]
          .get<double>();
    };
    const double alone = weights({"training.steps=12"});
    INFO(optimizer);
    CHECK(weights({"training.steps=12", "cluster.servers=3", "placement.kind=greedy"}) == alone);
    CHECK(weights({"training.steps=12", "cluster.servers=3", "placement.kind=round-robin",
                   "messages.unit=array"}) == alone);
    CHECK(weights({"training.steps=3", "training.local_steps=4", "cluster.servers=2"}) ==
          Approx(alone).epsilon(1e-9));
    CHECK(weights({"training.steps=12", "architecture.kind=all-reduce"}) == alone);
  }
}
