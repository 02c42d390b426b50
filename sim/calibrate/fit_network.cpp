#include "sim/calibrate/fit_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/calibrate/search.hpp"
#include "sim/calibrate/simulated_steps.hpp"
#include "sim/scenario/spec/units.hpp"

namespace psim::calibrate {
namespace {

using statistics::mean_of;

// The numbers that a simulation and the log are compared by: means over the steps, in seconds.
struct Traits {
  double step = 0;     // from a step to the next
  double slowest = 0;  // push and pull of the worker with the longest computation, which waits for nobody
};

Traits traits_of(const StepTimes& times) {
  Traits traits;
  const auto steps = static_cast<double>(times.size());
  for (std::size_t i = 0; i < times.size(); ++i) {
    const std::vector<double>&compute = times.compute[i], &rest = times.rest[i];
    traits.step += (mean_of(compute) + mean_of(rest)) / steps;
    const auto slowest = std::ranges::max_element(compute) - compute.begin();
    traits.slowest += rest[static_cast<std::size_t>(slowest)] / steps;
  }
  return traits;
}

// The errors of networks with which the logged steps are simulated with their own computations.
class LoggedSteps {
 public:
  LoggedSteps(const ClusterFacts& facts, const StepTimes& times, const StepFit& fit,
              std::filesystem::path folder)
      : facts_(facts), times_(times), fit_(fit), folder_(std::move(folder)), measured_(traits_of(times)) {}

  std::vector<std::vector<double>> errors_of(const std::vector<NetworkValues>& networks) const {
    std::vector<Trial> trials;
    for (const NetworkValues& network : networks) {
      const std::string text = scenario_text({.facts = facts_,
                                              .fit = fit_,
                                              .network = network,
                                              .from = StepsFrom::file,
                                              .steps = static_cast<std::int64_t>(times_.size()) + 1});
      trials.push_back({.scenario = text, .folder = folder_});
    }
    std::vector<std::vector<double>> errors;
    for (const StepTimes& simulated : simulated_steps(trials)) {
      const Traits traits = traits_of(simulated);
      std::vector<double>& one = errors.emplace_back();
      one.push_back(std::log(traits.step / measured_.step));
      if (measured_.slowest > 0) one.push_back(std::log(std::max(traits.slowest, 1e-9) / measured_.slowest));
    }
    return errors;
  }
  std::vector<double> usual_errors() const {
    return std::vector<double>(measured_.slowest > 0 ? 2 : 1, 0.03);
  }
  const Traits& measured() const { return measured_; }

 private:
  const ClusterFacts& facts_;
  const StepTimes& times_;
  const StepFit& fit_;
  std::filesystem::path folder_;
  Traits measured_;
};

// A bandwidth to begin with: the busiest link carries a push and a pull in the slowest worker's rest.
double first_bandwidth(const ClusterFacts& facts, const Traits& measured) {
  const double bytes = facts.model_bytes.value_or(0), seconds = std::max(measured.slowest, 1e-6);
  const double busiest =
      std::max(1.0, static_cast<double>(*facts.workers) / static_cast<double>(facts.servers.value_or(1)));
  return std::max(1e3, 2 * bytes * busiest / seconds);
}

}  // namespace

std::string steps_csv(const StepTimes& times) {
  std::string out = "step";
  for (const std::int64_t worker : times.workers) out += fmt::format(",worker {}", worker);
  out += '\n';
  for (std::size_t i = 0; i < times.size(); ++i) {
    out += fmt::to_string(times.steps.empty() ? static_cast<std::int64_t>(i) : times.steps[i]);
    for (const double one : times.compute[i]) out += "," + shortest(one);
    out += '\n';
  }
  return out;
}

NetworkValues network_of(const LinkFit& link) {
  NetworkValues values;
  values.bandwidth = link.bandwidth;
  if (link.knows_latency) values.latency = link.latency / 2;
  return values;
}

namespace {

void add_known(std::string field, double value, std::string unit,
               std::optional<statistics::Interval> interval, std::string how, NetworkFit& result) {
  result.fitted.push_back({.field = std::move(field),
                           .value = value,
                           .unit = std::move(unit),
                           .interval = interval,
                           .how = std::move(how)});
}

void add_unknown(std::string field, double value, std::string unit, std::string missing, NetworkFit& result) {
  result.fitted.push_back({.field = std::move(field),
                           .value = value,
                           .unit = std::move(unit),
                           .how = "not fitted",
                           .missing = std::move(missing)});
}

// Bandwidth from the logged steps.
void search_bandwidth(Search& search, double first, NetworkFit& result) {
  result.values.bandwidth = first;
  const Search::Found found = search.best(search.best_of({result.values}));
  result.values = found.values;
  result.error = found.error();
  const double range = search.ranges(found).front();
  list_searched("cluster.network.bandwidth", result.values.bandwidth, "B/s", range,
                fmt::format("{} simulations of the logged steps", search.simulated()),
                "a link test: the network takes too little of a step", result);
  add_unknown("cluster.network.latency", result.values.latency, "s", "a link test with small transfers",
              result);
}

}  // namespace

void list_searched(const char* field, double value, const char* unit, double range, const std::string& how,
                   const char* missing, NetworkFit& result) {
  if (!std::isfinite(range)) return add_unknown(field, value, unit, missing, result);
  add_known(field, value, unit, statistics::Interval{value * std::exp(-range), value * std::exp(range)}, how,
            result);
}

void list_link(const LinkFit& link, NetworkFit& result) {
  const NetworkValues values = network_of(link);
  add_known("cluster.network.bandwidth", values.bandwidth, "B/s", link.bandwidth_interval,
            link.bandwidth_interval ? "least squares of the link test" : "the only transfer of the link test",
            result);
  if (link.knows_latency)
    add_known("cluster.network.latency", values.latency, "s",
              statistics::Interval{link.latency_interval.low / 2, link.latency_interval.high / 2},
              "half of the link test's time without bytes: a path has two links", result);
  else
    add_unknown("cluster.network.latency", values.latency, "s",
                "transfers of several sizes, small ones included", result);
}

NetworkFit fit_network(const ClusterFacts& facts, const StepTimes& times, const StepFit& fit,
                       const std::optional<LinkFit>& link, const std::filesystem::path& folder) {
  NetworkFit result;
  if (link) {
    result.values = network_of(*link);
    list_link(*link, result);
  }
  if (!times.rest.empty() && facts.model_bytes) {
    const LoggedSteps logged(facts, times, fit, folder);
    Search search([&](const std::vector<NetworkValues>& networks) { return logged.errors_of(networks); },
                  logged.usual_errors(), {{.value = &NetworkValues::bandwidth, .low = 1e3, .high = 1e14}});
    if (link) result.error = search.best_of({result.values}).error();
    else search_bandwidth(search, first_bandwidth(facts, logged.measured()), result);
    result.simulations = search.simulated();
  } else if (!link) {
    const std::string missing = times.rest.empty() ? "push_s and pull_s, or a link test" : "--model-bytes";
    add_unknown("cluster.network.bandwidth", result.values.bandwidth, "B/s", missing, result);
    add_unknown("cluster.network.latency", result.values.latency, "s", missing, result);
  }
  add_unknown("cluster.network.share_turn", result.values.share_turn, "B",
              "a table of runs under bsp and asp", result);
  return result;
}

}  // namespace psim::calibrate
