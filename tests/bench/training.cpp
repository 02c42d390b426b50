// What simulating adds to the learning itself: a run against a loop that computes the same gradients and updates.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "model/learner.hpp"
#include "model/optimizer.hpp"
#include "model/sampler.hpp"
#include "sim/simulation.hpp"
#include "tests/bench/harness.hpp"

namespace psim::bench {
namespace {

// Bulk-synchronous training as a loop: what a run computes, and nothing else. Returns the final weights.
Values train(const LoadedScenario& loaded, const Learner& learner, std::uint32_t workers, std::int64_t steps) {
  const Scenario& scenario = loaded.scenario;
  const auto seed = static_cast<std::uint64_t>(scenario.seed);
  Sampler sampler(loaded.data->train, {.workers = workers, .batch = scenario.training.batch_size, .seed = seed});
  Values weights = learner.initial_weights(seed);
  Optimizer optimizer(scenario.training.optimizer, weights.precision(), weights.size());
  for (std::int64_t step = 0; step < steps; ++step) {
    std::vector<WeightedGradient> group;
    for (std::uint32_t w = 0; w < workers; ++w) {
      auto gradient = std::make_shared<Values>(learner.gradient(weights, sampler.batch(w, step)));
      group.push_back({.gradient = {gradient, 0, gradient->size()}, .weight = 1.0 / workers});
    }
    optimizer.apply(weights, group, scenario.training.learning_rate);
  }
  return weights;
}

// Evaluations would add to both sides; the test set is small and is looked at before and after the run only.
std::string gradients_only(int servers, bool quick) {
  return fmt::format(R"([data]
source = "blobs"
samples = {}
features = 784
classes = 10
test_fraction = 0.01
[model]
layers = [784, 128, 10]
[training]
batch_size = {}
steps = {}
evaluate_every = "1000000 updates"
[consistency]
model = "bsp"
[cluster]
workers = 8
servers = {}
[compute]
distribution = "lognormal"
cv = 0.1
)", quick ? 1000 : 8192, quick ? 32 : 512, quick ? 2 : 40, servers);
}

double loop_seconds(const std::string& toml) {
  return in_child([&]() -> Json {
    const LoadedScenario loaded = scenario_of(toml);
    return timed([&] {
      pin_cache_sizes();
      const auto learner = make_learner(loaded.scenario.model, *loaded.data);
      const auto workers = static_cast<std::uint32_t>(loaded.scenario.cluster.workers);
      static_cast<void>(train(loaded, *learner, workers, *loaded.scenario.training.steps));
    }).wall;
  }).result.get<double>();
}

double run_seconds(const std::string& toml, unsigned threads) {
  return in_child([&]() -> Json {
    const LoadedScenario loaded = scenario_of(toml);
    return timed([&] { static_cast<void>(simulate(loaded, {.threads = threads, .context = {}}, {})); }).wall;
  }).result.get<double>();
}

// Fashion-MNIST's folder, found as the tests find it.
std::optional<std::string> fashion_folder() {
  const char* folder = std::getenv("PSIM_TEST_DATA");
  if (folder == nullptr || *folder == '\0') return std::nullopt;
  return folder;
}

std::string fashion(const std::string& folder, bool quick) {
  return fmt::format(R"([data]
source = "idx"
path = "{}"
[model]
layers = [784, 128, 10]
[training]
batch_size = 64
epochs = {}
learning_rate = 0.1
[consistency]
model = "bsp"
[cluster]
workers = 8
servers = 2
[compute]
distribution = "lognormal"
cv = 0.1
)", folder, quick ? 0.1 : 10);
}

// The same training in one process on one core: loads, learns, and looks at the test set at the end.
Json train_plainly(const std::string& toml) {
  const LoadedScenario loaded = scenario_of(toml);
  pin_cache_sizes();
  const auto learner = make_learner(loaded.scenario.model, *loaded.data);
  const double batches = *loaded.scenario.training.epochs * static_cast<double>(loaded.data->train.size()) /
                         static_cast<double>(loaded.scenario.training.batch_size);
  const Values weights = train(loaded, *learner, 1, std::llround(std::ceil(batches)));
  return {{"accuracy", learner->evaluate(weights).accuracy.value_or(0)}};
}

}  // namespace

std::vector<Line> run_against_loop(const Settings& settings) {
  std::vector<Line> lines;
  for (const int servers : {1, 2}) {
    const std::string toml = gradients_only(servers, settings.quick);
    const auto t = alternate(settings.repeats, {[&] { return loop_seconds(toml); }, [&] { return run_seconds(toml, 1); },
                                                [&] { return run_seconds(toml, 2); }});
    const std::string scene = fmt::format("{} server{}", servers, servers == 1 ? "" : "s");
    lines.push_back({.name = "time of a run (bsp, 8 workers, " + scene + ", 1 thread) over a loop of its gradients and updates",
                     .ratio = ratio_of_least(t[1], t[0]), .bound = Bound::at_most, .limit = 1.10,
                     .detail = fmt::format("{:.3f} s and {:.3f} s; {}", least(t[1]), least(t[0]), spread(t[1], t[0]))});
    lines.push_back({.name = "speed of the same run on 2 threads over 1 thread, " + scene,
                     .ratio = ratio_of_least(t[1], t[2]), .bound = Bound::at_least, .limit = 1.8,
                     .detail = fmt::format("{:.3f} s and {:.3f} s; {}", least(t[1]), least(t[2]), spread(t[1], t[2]))});
  }
  return lines;
}

std::vector<Line> fashion_against_plain(const Settings& settings) {
  Line line{.name = "time of Fashion-MNIST (10 epochs, 8 workers, 2 servers, bsp, 2 threads) over plain training on one core",
            .ratio = {}, .bound = Bound::at_most, .limit = 1, .detail = {}};
  const std::optional<std::string> folder = fashion_folder();
  if (!folder) {
    line.detail = "skipped: PSIM_TEST_DATA does not name the folder of the four Fashion-MNIST files";
    return {line};
  }
  const std::string toml = fashion(*folder, settings.quick);
  const TemporaryFile file(toml);
  double run_accuracy = 0, plain_accuracy = 0;
  const auto run = [&] {
    const Usage usage = run_psim(file.path(), {"--threads", "2"});
    run_accuracy = usage.result["final"]["accuracy"].get<double>();
    return usage.wall;
  };
  const auto plain = [&] {
    const Usage usage = in_child([&] { return train_plainly(toml); });
    plain_accuracy = usage.result["accuracy"].get<double>();
    return usage.wall;
  };
  const auto t = alternate(settings.quick ? 1 : std::max(3, settings.repeats / 2), {run, plain});
  line.ratio = ratio_of_least(t[0], t[1]);
  line.detail = fmt::format("{:.2f} s and {:.2f} s, accuracy {:.3f} and {:.3f}; {}", least(t[0]), least(t[1]), run_accuracy,
                            plain_accuracy, spread(t[0], t[1]));
  return {line};
}

}  // namespace psim::bench
