// The network with which simulated runs take as long as the logged ones.
#include <fmt/format.h>

#include <cmath>

#include "sim/calibrate/fit_network.hpp"
#include "sim/calibrate/search.hpp"
#include "sim/calibrate/simulated_steps.hpp"

namespace psim::calibrate {
namespace {

constexpr std::int64_t seeds = 3;  // of each run; transfers that share links differ by chance

struct Fittable {
  Parameter parameter;
  const char *field, *unit, *missing;
  double first[2];  // where the two searches begin
};

std::vector<Fittable> fittable(bool knows_link) {
  std::vector<Fittable> all{{{&NetworkValues::share_turn, 2048, 4e6, 3},
                             "cluster.network.share_turn",
                             "B",
                             "runs under asp in which transfers share links",
                             {NetworkValues().share_turn, NetworkValues().share_turn}},
                            {{&NetworkValues::share_cv, 0.005, 1, 3},
                             "cluster.network.share_cv",
                             "",
                             "runs under bsp with several workers for each server",
                             {NetworkValues().share_cv, 0.2}},
                            {{&NetworkValues::receive_overhead, 1e-6, 1, 3},
                             "cluster.network.endpoint.receive_overhead",
                             "s",
                             "runs with few and with many servers",
                             {2e-4, 1e-3}}};
  if (!knows_link)
    all.insert(all.begin(), {{&NetworkValues::bandwidth, 1e3, 1e14},
                             "cluster.network.bandwidth",
                             "B/s",
                             "a link test: the network takes too little of a step",
                             {1e8, 1e8}});
  return all;
}

double mean_step(const StepTimes& times) {
  double sum = 0;
  for (std::size_t i = 0; i < times.size(); ++i)
    sum += statistics::mean_of(times.compute[i]) + statistics::mean_of(times.rest[i]);
  return sum / static_cast<double>(times.size());
}

// By network, then by run.
std::vector<std::vector<double>> simulate_all(const ClusterFacts& facts, std::span<const LoggedRun> runs,
                                              const std::vector<NetworkValues>& networks) {
  std::vector<Trial> trials;
  for (const NetworkValues& network : networks) {
    for (const LoggedRun& run : runs) {
      for (std::int64_t seed = 1; seed <= seeds; ++seed)
        trials.push_back({.scenario = run_text(facts, network, run), .folder = ".", .seed = seed});
    }
  }
  const std::vector<StepTimes> simulated = simulated_steps(trials);
  std::vector<std::vector<double>> steps(networks.size(), std::vector<double>(runs.size(), 0));
  for (std::size_t i = 0; i < simulated.size(); ++i)
    steps[i / (runs.size() * seeds)][i / seeds % runs.size()] += mean_step(simulated[i]) / seeds;
  return steps;
}

}  // namespace

std::vector<double> simulated_runs(const ClusterFacts& facts, std::span<const LoggedRun> runs,
                                   const NetworkValues& network) {
  return simulate_all(facts, runs, {network}).front();
}

NetworkFit fit_runs(const ClusterFacts& facts, std::span<const LoggedRun> runs, bool knows_link,
                    NetworkValues from) {
  Search search([&](const std::vector<NetworkValues>& networks) {
    std::vector<std::vector<double>> errors = simulate_all(facts, runs, networks);
    for (std::vector<double>& one : errors) {
      for (std::size_t i = 0; i < runs.size(); ++i) one[i] = std::log(one[i] / runs[i].step);
    }
    return errors;
  });
  const std::vector<Fittable> all = fittable(knows_link);
  std::vector<Parameter> parameters;
  for (const Fittable& one : all) parameters.push_back(one.parameter);
  Search::Found best;
  constexpr double good = 0.02;  // error of a mean step; chance alone makes as much under asp
  // The errors have several minima, because transfers that share links fall into step or leave it.
  for (const int start : {0, 1}) {
    for (const Fittable& one : all) from.*one.parameter.value = one.first[start];
    const Search::Found found = search.best(from, parameters, good);
    if (best.errors.empty() || found.error() < best.error()) best = found;
    if (best.error() < good) break;
  }
  NetworkFit result{.values = best.values, .error = best.error()};
  const std::vector<double> ranges = search.ranges(best, parameters);
  constexpr double useless = 2;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double value = result.values.*parameters[i].value;
    Fitted fitted{.field = all[i].field, .value = value, .unit = all[i].unit};
    if (ranges[i] < useless) {
      fitted.interval = {value * std::exp(-ranges[i]), value * std::exp(ranges[i])};
      fitted.how = fmt::format("simulations of {} runs", runs.size());
    } else {
      fitted.how = "not fitted";
      fitted.missing = all[i].missing;
    }
    result.fitted.push_back(std::move(fitted));
  }
  result.simulations = search.simulated() * static_cast<int>(runs.size());
  return result;
}

}  // namespace psim::calibrate
