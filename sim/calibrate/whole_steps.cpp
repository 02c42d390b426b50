#include "sim/calibrate/whole_steps.hpp"

#include <algorithm>
#include <cmath>

#include "sim/calibrate/fit_network.hpp"
#include "sim/calibrate/simulated_steps.hpp"
#include "sim/runs/files.hpp"

namespace psim::calibrate {
namespace {

// Of each worker: computation and rest.
std::vector<double> mean_steps(const StepTimes& times) {
  std::vector<double> means(times.compute.front().size(), 0);
  for (std::size_t i = 0; i < times.size(); ++i) {
    for (std::size_t w = 0; w < means.size(); ++w)
      means[w] += (times.compute[i][w] + (times.rest.empty() ? 0 : times.rest[i][w])) /
                  static_cast<double>(times.size());
  }
  return means;
}

}  // namespace

StepRest rest_of(const StepTimes& whole, const ClusterFacts& facts, const NetworkValues& network,
                 const std::filesystem::path& folder) {
  constexpr int most_rounds = 8;
  constexpr double close = 1e-3;
  const std::vector<double> logged = mean_steps(whole);
  StepRest rest{.seconds = std::vector<double>(logged.size(), 0)};
  const std::string text = scenario_text({.facts = facts,
                                          .fit = {},
                                          .network = network,
                                          .from = StepsFrom::file,
                                          .steps = static_cast<std::int64_t>(whole.size()) + 1});
  for (int round = 0; round < most_rounds; ++round) {
    write_file(folder / "steps.csv", steps_csv(without_rest(whole, rest)));
    std::vector<Trial> trials;
    for (std::int64_t seed = 1; seed <= seeds_of_search; ++seed)
      trials.push_back({.scenario = text, .folder = folder, .seed = seed});
    std::vector<double> errors(logged.size(), 0);  // by worker, in seconds
    for (const StepTimes& run : simulated_steps(trials)) {
      const std::vector<double> steps = mean_steps(run);
      for (std::size_t w = 0; w < steps.size(); ++w) {
        const std::size_t column = logged.size() == 1 ? 0 : w;
        const double runs = seeds_of_search * static_cast<double>(steps.size() / logged.size());
        errors[column] += (steps[w] - logged[column]) / runs;
      }
    }
    rest.error = 0;
    for (std::size_t w = 0; w < errors.size(); ++w) {
      rest.error = std::max(rest.error, std::abs(errors[w]) / logged[w]);
      rest.seconds[w] = std::max(0.0, rest.seconds[w] + errors[w]);
    }
    if (rest.error < close) break;
  }
  return rest;
}

StepTimes without_rest(const StepTimes& whole, const StepRest& rest) {
  constexpr double least = 0.01;
  StepTimes times = whole;
  times.rest.clear();
  for (std::vector<double>& row : times.compute) {
    std::vector<double>& others = times.rest.emplace_back();
    for (std::size_t w = 0; w < row.size(); ++w) {
      const double computing = std::max(row[w] - rest.seconds[w], least * row[w]);
      others.push_back(row[w] - computing);
      row[w] = computing;
    }
  }
  return times;
}

StepTimes averaged(const StepTimes& whole, std::size_t columns) {
  StepTimes times = whole;
  times.workers.resize(columns);
  for (std::vector<double>& row : times.compute) row.assign(columns, statistics::mean_of(row));
  return times;
}

}  // namespace psim::calibrate
