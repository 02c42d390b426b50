// The network with which simulated runs take as long as the logged ones.
#include <fmt/format.h>

#include <cmath>

#include "sim/calibrate/fit_network.hpp"
#include "sim/calibrate/search.hpp"
#include "sim/calibrate/simulated_steps.hpp"

namespace psim::calibrate {
namespace {

struct Fittable {
  Parameter parameter;
  const char *field, *unit, *missing;
};

// A property of shared links: its usual value is psim's default.
Fittable of_sharing(double NetworkValues::*value, double low, double high, double spread, const char* field,
                    const char* unit, const char* missing) {
  return {{.value = value,
           .low = low,
           .high = high,
           .step = 0.5,
           .spread = spread,
           .usual = NetworkValues().*value},
          field,
          unit,
          missing};
}

std::vector<Fittable> fittable(bool knows_link) {
  const char* asp = "runs under asp in which transfers share links";
  std::vector<Fittable> all{
      of_sharing(&NetworkValues::share_turn, 2048, 4e6, 0.4, "cluster.network.share_turn", "B", asp),
      of_sharing(&NetworkValues::share_cv, 0.005, 1, 0.4, "cluster.network.share_cv", "",
                 "runs under bsp with several workers for each server"),
      of_sharing(&NetworkValues::share_queue, 0.001, 0.5, 0.3, "cluster.network.share_queue", "", asp),
      {{.value = &NetworkValues::receive_overhead,
        .low = 1e-6,
        .high = 1,
        .step = 0.7,
        .spread = 2,
        .usual = 1e-4},
       "cluster.network.endpoint.receive_overhead",
       "s",
       "runs with few and with many servers"}};
  if (!knows_link)
    all.insert(all.begin(), {{.value = &NetworkValues::bandwidth, .low = 1e3, .high = 1e14},
                             "cluster.network.bandwidth",
                             "B/s",
                             "a link test: the network takes too little of a step"});
  return all;
}

// Networks to begin with: every bandwidth, if none is known.
std::vector<NetworkValues> guesses(const std::optional<LinkFit>& link, const std::vector<Fittable>& all) {
  NetworkValues from = link ? network_of(*link) : NetworkValues();
  for (const Fittable& one : all) {
    if (one.parameter.spread > 0) from.*one.parameter.value = one.parameter.usual;
  }
  if (link) return {from};
  std::vector<NetworkValues> networks;
  for (from.bandwidth = 1e5; from.bandwidth < 1e12; from.bandwidth *= 10) networks.push_back(from);
  return networks;
}

// By network, then by run.
std::vector<std::vector<double>> simulate_all(const ClusterFacts& facts, std::span<const LoggedRun> runs,
                                              const std::vector<NetworkValues>& networks,
                                              std::int64_t seeds) {
  std::vector<Trial> trials;
  for (const NetworkValues& network : networks) {
    for (const LoggedRun& run : runs) {
      for (std::int64_t seed = 1; seed <= seeds; ++seed)
        trials.push_back(
            {.scenario = run_text(facts, network, run), .folder = ".", .seed = seed, .name = run.name});
    }
  }
  const std::vector<StepTimes> simulated = simulated_steps(trials);
  const auto each = static_cast<std::size_t>(seeds);
  std::vector<std::vector<double>> steps(networks.size(), std::vector<double>(runs.size(), 0));
  for (std::size_t i = 0; i < simulated.size(); ++i)
    steps[i / (runs.size() * each)][i / each % runs.size()] +=
        statistics::mean_of(simulated[i].mean_durations()) / static_cast<double>(seeds);
  return steps;
}

}  // namespace

double usual_error(const std::string& consistency) {
  return consistency.empty() || consistency.find("bsp") != std::string::npos ? 0.02 : 0.06;
}

std::vector<double> simulated_runs(const ClusterFacts& facts, std::span<const LoggedRun> runs,
                                   const NetworkValues& network, std::int64_t seeds) {
  return simulate_all(facts, runs, {network}, seeds).front();
}

NetworkFit fit_runs(const ClusterFacts& facts, std::span<const LoggedRun> runs,
                    const std::optional<LinkFit>& link, const std::optional<NetworkValues>& near) {
  const auto errors = [&](const std::vector<NetworkValues>& networks) {
    std::vector<std::vector<double>> all = simulate_all(facts, runs, networks, seeds_of_search);
    for (std::vector<double>& one : all) {
      for (std::size_t i = 0; i < runs.size(); ++i) one[i] = std::log(one[i] / runs[i].step);
    }
    return all;
  };
  const std::vector<Fittable> all = fittable(link.has_value());
  std::vector<Parameter> parameters;
  for (const Fittable& one : all) parameters.push_back(one.parameter);
  std::vector<double> usual;
  for (const LoggedRun& run : runs) {
    const std::string* own = run.consistency();
    usual.push_back(usual_error(own == nullptr ? facts.consistency : *own));
  }
  Search search(errors, usual, parameters);
  const Search::Found best = search.best(search.best_of(near ? std::vector{*near} : guesses(link, all)));
  NetworkFit result{.values = best.values, .error = best.error()};
  if (link) list_link(*link, result);
  const std::vector<double> ranges = search.ranges(best);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string how = fmt::format("simulations of {} runs", runs.size());
    list_searched(all[i].field, result.values.*parameters[i].value, all[i].unit, ranges[i], how,
                  all[i].missing, result);
  }
  for (std::size_t i = 0; i < runs.size(); ++i)
    result.steps.push_back(std::exp(best.errors[i]) * runs[i].step);
  result.simulations = search.simulated() * static_cast<int>(runs.size()) * seeds_of_search;
  return result;
}

}  // namespace psim::calibrate
