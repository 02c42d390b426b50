// What simulating adds to the learning itself: a run against a loop that computes the same gradients and
// updates.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "model/dataset.hpp"
#include "model/learner.hpp"
#include "model/optimizer.hpp"
#include "model/sampler.hpp"
#include "sim/simulation.hpp"
#include "tests/bench/harness.hpp"

namespace psim::bench {
namespace fs = std::filesystem;
namespace {

// Bulk-synchronous training as a loop: what a run computes, and nothing else. Returns the final weights.
Values train(const LoadedScenario& loaded, const Learner& learner, std::uint32_t workers,
             std::int64_t steps) {
  const Scenario& scenario = loaded.scenario;
  const auto seed = static_cast<std::uint64_t>(scenario.seed);
  Sampler sampler(loaded.data->train,
                  {.workers = workers, .batch = scenario.training.batch_size, .seed = seed});
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
)",
                     quick ? 1000 : 8192, quick ? 32 : 512, quick ? 2 : 40, servers);
}

Json loop_seconds(const std::string& toml) {
  return in_child([&]() -> Json {
           const LoadedScenario loaded = scenario_of(toml);
           const Elapsed elapsed = timed([&] {
             const auto learner = make_learner(loaded.scenario.model, *loaded.data);
             const auto workers = static_cast<std::uint32_t>(loaded.scenario.cluster.workers);
             static_cast<void>(train(loaded, *learner, workers, *loaded.scenario.training.steps));
           });
           return {{"wall", elapsed.wall}, {"cpu", elapsed.cpu}};
         })
      .result;
}

Json run_seconds(const std::string& toml, unsigned threads) {
  return in_child([&]() -> Json {
           const LoadedScenario loaded = scenario_of(toml);
           const Elapsed elapsed =
               timed([&] { static_cast<void>(simulate(loaded, {.threads = threads, .context = {}}, {})); });
           return {{"wall", elapsed.wall}, {"cpu", elapsed.cpu}};
         })
      .result;
}

constexpr double full_capacity = 1.9;

// Marks a line that needs two cores, when there are not.
void note_capacity(Line& line, const std::vector<double>& capacities) {
  const double capacity = std::ranges::max(capacities);
  line.detail += fmt::format("; two independent threads are {:.2f} times as fast as one", capacity);
  line.disturbed = capacity < full_capacity;
}

constexpr const char* fashion_folder = "/usr/share/datasets/fashion-mnist";

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
)",
                     folder, quick ? 0.1 : 10);
}

// The same training in one process on one core: loads, learns, and looks at the test set at the end.
Json train_plainly(const std::string& toml) {
  const LoadedScenario loaded = scenario_of(toml);
  const auto learner = make_learner(loaded.scenario.model, *loaded.data);
  const double batches = *loaded.scenario.training.epochs * static_cast<double>(loaded.data->train.size()) /
                         static_cast<double>(loaded.scenario.training.batch_size);
  const Values weights = train(loaded, *learner, 1, std::llround(std::ceil(batches)));
  return {{"accuracy", learner->evaluate(weights, loaded.data->test).accuracy.value_or(0)}};
}

// A run takes its memory at its beginning, and then uses it again.
Line faults_of_updates(bool quick) {
  const TemporaryFile file(gradients_only(2, false));
  const int first = quick ? 5 : 100, last = quick ? 20 : 400;
  const auto faults = [&](int steps) {
    return run_psim({"run", file.path().string(), "--threads", "2", "--trace", "none", "--set",
                     "training.batch_size=64", "--set", fmt::format("training.steps={}", steps)})
        .faults;
  };
  const double before = faults(first), after = faults(last);
  return {.name = "page faults for each further update (bsp, 8 workers, 2 servers, 2 threads)",
          .ratio = (after - before) / (last - first),
          .bound = Bound::at_most,
          .limit = 1,
          .detail = fmt::format("{:.0f} in {} updates, {:.0f} in {}", before, first, after, last)};
}

}  // namespace

std::vector<Line> run_against_loop(const Settings& settings) {
  std::vector<Line> lines;
  for (const int servers : {1, 2}) {
    const std::string toml = gradients_only(servers, settings.quick);
    std::vector<double> one_cpu;
    const auto t =
        alternate(settings.repeats, settings.patience / 2,
                  {[&] { return loop_seconds(toml)["cpu"].get<double>(); },
                   [&] {
                     const Json one = run_seconds(toml, 1);
                     one_cpu.push_back(one["cpu"].get<double>());
                     return one["wall"].get<double>();
                   },
                   [&] { return run_seconds(toml, 2)["wall"].get<double>(); }, capacity_of_two_threads});
    const std::string scene = fmt::format("{} server{}", servers, servers == 1 ? "" : "s");
    lines.push_back({.name = "time of a run (bsp, 8 workers, " + scene +
                             ", 1 thread) over a loop of its gradients and updates",
                     .ratio = ratio_of_least(one_cpu, t[0]),
                     .bound = Bound::at_most,
                     .limit = 1.10,
                     .detail = fmt::format("{:.3f} s and {:.3f} s; {}", least(one_cpu), least(t[0]),
                                           spread(one_cpu, t[0]))});
    lines.push_back(
        {.name = "speed of the same run on 2 threads over 1 thread, " + scene,
         .ratio = ratio_of_least(t[1], t[2]),
         .bound = Bound::at_least,
         .limit = 1.8,
         .detail = fmt::format("{:.3f} s and {:.3f} s; {}", least(t[1]), least(t[2]), spread(t[1], t[2]))});
    note_capacity(lines.back(), t[3]);
  }
  lines.push_back(faults_of_updates(settings.quick));
  return lines;
}

std::vector<Line> fashion_against_plain(const Settings& settings) {
  Line line{.name =
                "time of Fashion-MNIST (10 epochs, 8 workers, 2 servers, bsp, 2 threads) over plain training "
                "on one core",
            .ratio = {},
            .bound = Bound::at_most,
            .limit = 1,
            .detail = {}};
  if (!fs::is_directory(fashion_folder)) {
    line.detail = "skipped: Fashion-MNIST is not installed (apt-get install dataset-fashion-mnist)";
    return {line};
  }
  const std::string toml = fashion(fashion_folder, settings.quick);
  const TemporaryFile file(toml);
  double run_accuracy = 0, plain_accuracy = 0;
  const auto run = [&] {
    const Usage usage = run_psim({"run", file.path().string(), "--threads", "2"});
    run_accuracy = usage.result["final"]["accuracy"].get<double>();
    return usage.wall;
  };
  const auto plain = [&] {
    const Usage usage = in_child([&] { return train_plainly(toml); });
    plain_accuracy = usage.result["accuracy"].get<double>();
    return usage.wall;
  };
  const auto t = alternate(settings.quick ? 1 : std::max(3, settings.repeats / 2), settings.patience,
                           {run, plain, capacity_of_two_threads});
  line.ratio = ratio_of_least(t[0], t[1]);
  line.detail = fmt::format("{:.2f} s and {:.2f} s, accuracy {:.3f} and {:.3f}; {}", least(t[0]), least(t[1]),
                            run_accuracy, plain_accuracy, spread(t[0], t[1]));
  note_capacity(line, t[2]);
  return {line};
}

}  // namespace psim::bench
