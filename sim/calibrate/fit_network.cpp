#include "sim/calibrate/fit_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/calibrate/step_times.hpp"
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

// Push and pull, by step, of the worker with the longest computation.
std::vector<double> rests_of_slowest(const StepTimes& times) {
  std::vector<double> rests;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const auto slowest = std::ranges::max_element(times.compute[i]) - times.compute[i].begin();
    rests.push_back(times.rest[i][static_cast<std::size_t>(slowest)]);
  }
  return rests;
}

Traits traits_of(const StepTimes& times) {
  return {.step = mean_of(times.mean_durations()), .slowest = mean_of(rests_of_slowest(times))};
}

// The usual relative error of a trait: that of psim's model, and that of the mean of so few steps. The latter
// comes from the means of parts, because neighbouring steps are alike.
double usual_error_of(const std::vector<double>& trait, const std::string& consistency) {
  const std::vector<double> parts = means_of_parts(trait, 8);
  const double deviation = statistics::sd_of(parts).value_or(0);
  return std::hypot(usual_error(consistency),
                    deviation / std::sqrt(static_cast<double>(parts.size())) / mean_of(trait));
}

// The errors of networks with which the logged steps are simulated with their own computations.
class LoggedSteps {
 public:
  LoggedSteps(const ClusterFacts& facts, const StepTimes& times, const StepFit& fit,
              std::filesystem::path folder)
      : facts_(facts),
        times_(times),
        fit_(fit),
        folder_(std::move(folder)),
        measured_(traits_of(times)),
        usual_{usual_error_of(times.mean_durations(), facts.consistency)} {
    if (measured_.slowest > 0) usual_.push_back(usual_error_of(rests_of_slowest(times), facts.consistency));
  }

  std::vector<std::vector<double>> errors_of(const std::vector<NetworkValues>& networks) const {
    std::vector<Trial> trials;
    for (const NetworkValues& network : networks) {
      const std::string text = scenario_text({.facts = facts_,
                                              .fit = fit_,
                                              .network = network,
                                              .from = StepsFrom::file,
                                              .steps = static_cast<std::int64_t>(times_.size()) + 1});
      for (std::int64_t seed = 1; seed <= seeds_of_search; ++seed)
        trials.push_back({.scenario = text, .folder = folder_, .seed = seed});
    }
    const std::vector<StepTimes> simulated = simulated_steps(trials);
    std::vector<std::vector<double>> errors;
    for (std::size_t first = 0; first < simulated.size(); first += seeds_of_search) {
      Traits traits;
      for (std::size_t i = first; i < first + seeds_of_search; ++i) {
        const Traits seed = traits_of(simulated[i]);
        traits.step += seed.step / seeds_of_search;
        traits.slowest += seed.slowest / seeds_of_search;
      }
      std::vector<double>& one = errors.emplace_back();
      one.push_back(std::log(traits.step / measured_.step));
      if (measured_.slowest > 0) one.push_back(std::log(std::max(traits.slowest, 1e-9) / measured_.slowest));
    }
    return errors;
  }
  const std::vector<double>& usual_errors() const { return usual_; }
  const Traits& measured() const { return measured_; }

 private:
  const ClusterFacts& facts_;
  const StepTimes& times_;
  const StepFit& fit_;
  std::filesystem::path folder_;
  Traits measured_;
  std::vector<double> usual_;
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

// The work of a server for a push: each server receives its part of the model's values.
void list_server(const ClusterFacts& facts, const ServerWork& work, NetworkFit& result) {
  if (!facts.model_bytes)
    return add_unknown(server_work_field, 0, "", "--model-bytes, for the number of values of a push", result);
  const double values = *facts.model_bytes / 4 / static_cast<double>(facts.servers.value_or(1));
  result.values.server_time = work.seconds / values;
  const double per_second = server_speed / values;
  add_known(server_work_field, work.seconds * per_second, "",
            statistics::Interval{work.interval.low * per_second, work.interval.high * per_second},
            fmt::format("mean of server_s in {} pushes: {:.4g} s", work.pushes, work.seconds), result);
}

// Bandwidth from the logged steps. Workers that wait for each other hide how fast the network is, so the
// search begins with the best of many.
void search_bandwidth(Search& search, double first, NetworkFit& result) {
  std::vector<NetworkValues> networks;
  for (const double factor : {0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 100.0}) {
    networks.push_back(result.values);
    networks.back().bandwidth = factor * first;
  }
  const Search::Found found = search.best(search.best_of(networks));
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
                       const Measured& measured, const std::filesystem::path& folder) {
  NetworkFit result;
  if (measured.link) {
    result.values = network_of(*measured.link);
    list_link(*measured.link, result);
  }
  if (measured.server) list_server(facts, *measured.server, result);
  if (!times.rest.empty() && facts.model_bytes) {
    const LoggedSteps logged(facts, times, fit, folder);
    Search search([&](const std::vector<NetworkValues>& networks) { return logged.errors_of(networks); },
                  logged.usual_errors(), {{.value = &NetworkValues::bandwidth, .low = 1e3, .high = 1e14}});
    if (measured.link) result.error = search.best_of({result.values}).error();
    else search_bandwidth(search, first_bandwidth(facts, logged.measured()), result);
    result.fits = result.error < worst_fit;
    result.simulations = search.simulated() * seeds_of_search;
  } else if (!measured.link) {
    const std::string missing = times.rest.empty() ? "push_s and pull_s, or a link test" : "--model-bytes";
    add_unknown("cluster.network.bandwidth", result.values.bandwidth, "B/s", missing, result);
    add_unknown("cluster.network.latency", result.values.latency, "s", missing, result);
  }
  add_unknown("cluster.network.share_turn", result.values.share_turn, "B",
              "a table of runs under bsp and asp", result);
  return result;
}

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
