// A study of many small runs, against the simulations in it: what planning, processes, the journal and the
// files of the study add, and whether the cores are kept busy.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <future>

#include "sim/simulation.hpp"
#include "tests/bench/growth.hpp"
#include "tests/bench/harness.hpp"

namespace psim::bench {
namespace {

// Of a run under each of the models the study compares.
constexpr std::array models{"bsp", "asp"};

std::string scenario(const std::string& model, int steps) {
  return fmt::format(R"([consistency]
model = "{}"
[model]
layers = [64, 32, 10]
[training]
batch_size = 16
steps = {}
[cluster]
workers = 8
servers = 2
)",
                     model, steps);
}

std::string study(int steps) {
  return scenario(models[0], steps) +
         fmt::format("[compare]\nconsistency = [\"{}\"]\n", fmt::join(models, "\", \""));
}

// Mean seconds of a processor that a simulation takes while the other core simulates, too, as in the study:
// two cores share caches and memory, so both are slower together than alone.
double simulation_seconds(int steps, int times) {
  const auto simulate_all = [&] {
    double seconds = 0;
    for (int i = 0; i < times; ++i) {
      for (const char* model : models) {
        const Usage usage = in_child([&] {
          const LoadedScenario loaded = scenario_of(scenario(model, steps));
          return Json(timed([&] { simulate(loaded, {}, {}); }).cpu);
        });
        seconds += usage.result.get<double>();
      }
    }
    return seconds / (times * models.size());
  };
  std::future<double> beside = std::async(std::launch::async, simulate_all);
  const double here = simulate_all();
  return (here + beside.get()) / 2;
}

}  // namespace

Usage run_study(int seeds, int steps, int jobs) {
  const TemporaryFile file(study(steps));
  return run_psim({"compare", file.path().string(), "--jobs", std::to_string(jobs), "--seeds",
                   fmt::format("1-{}", seeds)});
}

std::vector<Line> study_against_runs(const Settings& settings) {
  const int seeds = settings.quick ? 3 : 200, steps = settings.quick ? 2 : 60;
  const int runs = 2 * seeds, rounds = settings.quick ? 1 : 5, times = settings.quick ? 1 : 20;
  std::vector<double> simulation, extra, busy, faults;
  alternate(rounds, settings.patience, {[&] {
              const double before = simulation_seconds(steps, times);
              const Usage usage = run_study(seeds, steps, 2);
              simulation.push_back((before + simulation_seconds(steps, times)) / 2);
              extra.push_back(usage.cpu / runs - simulation.back());
              busy.push_back(usage.cpu / (2 * usage.wall));
              faults.push_back(usage.faults / runs);
              return usage.wall;
            }});
  constexpr double allowed = 5e-3;  // seconds of a processor, for each run
  const double own = median(extra);
  const bool disturbed = capacity_of_two_threads() < 1.8;
  return {{.name = fmt::format("a study's own work for each of {} runs, over 5 ms", runs),
           .ratio = own / allowed,
           .bound = Bound::at_most,
           .limit = 1,
           .detail = fmt::format("{:.2f} ms beside {:.2f} ms of simulation, {:.0f} %; {:.0f} page faults",
                                 1e3 * own, 1e3 * median(simulation), 100 * own / median(simulation),
                                 median(faults))},
          {.name = fmt::format("share of two cores that {} runs keep busy", runs),
           .ratio = median(busy),
           .bound = Bound::at_least,
           .limit = 0.95,
           .detail = fmt::format("{:.3f} to {:.3f}", least(busy), *std::ranges::max_element(busy)),
           .disturbed = disturbed}};
}

}  // namespace psim::bench
