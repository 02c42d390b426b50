// A study of many small runs, against the simulations in it: what planning, processes, the journal and the
// files of the study add, and whether the cores are kept busy.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

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

// Seconds of a processor that one simulation takes, by itself.
double simulation_seconds(const std::string& toml) {
  const Usage usage = in_child([&] {
    const LoadedScenario loaded = scenario_of(toml);
    return Json(timed([&] { simulate(loaded, {}, {}); }).cpu);
  });
  return usage.result.get<double>();
}

}  // namespace

Usage run_study(int seeds, int steps, int jobs) {
  const TemporaryFile file(study(steps));
  return run_psim({"compare", file.path().string(), "--jobs", std::to_string(jobs), "--seeds",
                   fmt::format("1-{}", seeds)});
}

std::vector<Line> study_against_runs(const Settings& settings) {
  const int seeds = settings.quick ? 3 : 1000, steps = settings.quick ? 2 : 60;
  const int runs = 2 * seeds;
  double single = 0;  // mean over the models
  for (const char* model : models) {
    std::vector<double> seconds;
    for (int i = 0; i < (settings.quick ? 1 : 20); ++i)
      seconds.push_back(simulation_seconds(scenario(model, steps)));
    single += least(seconds) / models.size();
  }
  Usage usage;
  alternate(1, settings.patience, {[&] {
              usage = run_study(seeds, steps, 2);
              return usage.wall;
            }});
  constexpr double allowed = 5e-3;  // seconds of a processor, for each run
  const double own = usage.cpu / runs - single;
  const bool disturbed = capacity_of_two_threads() < 1.8;
  return {{.name = fmt::format("a study's own work for each of {} runs, over 5 ms", runs),
           .ratio = own / allowed,
           .bound = Bound::at_most,
           .limit = 1,
           .detail = fmt::format("{:.2f} ms beside {:.2f} ms of simulation", 1e3 * own, 1e3 * single)},
          {.name = fmt::format("share of two cores that {} runs keep busy", runs),
           .ratio = usage.cpu / (2 * usage.wall),
           .bound = Bound::at_least,
           .limit = 0.95,
           .detail = fmt::format("{:.1f} s of processors in {:.1f} s", usage.cpu, usage.wall),
           .disturbed = disturbed}};
}

}  // namespace psim::bench
