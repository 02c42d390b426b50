// Checks of the cluster, the times of steps, and stragglers.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "sim/scenario/checking/checks.hpp"
#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/spec/pace.hpp"

namespace psim {
namespace {

using Refuse =
    std::function<void(std::string field, std::string message, std::string label, std::string help)>;

// The path of factor `index` of [compute].
std::string path_of_factor(std::size_t index) {
  return index == 0 ? "compute." : fmt::format("compute.effect.{}.", index - 1);
}

void check_settings(const ComputeSpec& compute, std::optional<double> shortest, const Refuse& report) {
  const std::vector<const FactorSpec*> factors = compute.factors();
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const auto misfit_of = factors[i]->distribution->misfit;
    if (misfit_of == nullptr) continue;
    const std::optional<Misfit> misfit = misfit_of(factors[i]->settings, shortest);
    if (!misfit) continue;
    const std::string field = path_of_factor(i) + std::string(misfit->setting.key);
    const bool is_time = std::holds_alternative<Seconds>(misfit->setting.value);
    report(field,
           fmt::format("`{}` is {}{}", field, factors[i]->settings.of(misfit->setting), is_time ? " s" : ""),
           misfit->label, misfit->help);
  }
}

void check_trace(const Check& check, const FactorSpec& factor, const std::string& path) {
  if (!factor.distribution->reads_trace) return;
  if (factor.trace.empty())
    check.add({path + "distribution", path + "trace"}, "a trace needs its file", "`trace` is missing",
              "for example trace = \"factors.csv\"");
  const std::string resample = path + "trace_resample", start = path + "trace_start";
  if (!step_resampling(factor.trace_resample))
    check.add({resample}, fmt::format("psim cannot resample `{}`", factor.trace_resample), "not understood",
              "\"as it is\", \"iid\", or for example \"blocks of 60 steps\"");
  else if (factor.trace_start == TraceStart::draw && factor.trace_resample != "as it is")
    check.add({start, resample}, "a resampled trace has no first row", "trace_resample draws all rows",
              "remove trace_start");
  else if (factor.trace_sample == TraceSample::draw && factor.trace_resample == "as it is")
    check.add({path + "trace_sample", resample}, "a trace as it is has all its rows", "nothing is drawn",
              "for example trace_resample = \"blocks of 60 steps\"");
}

void check_effects(const Check& check) {
  const ComputeSpec& c = check.s.compute;
  const auto gives_time = [&](std::size_t effect, std::uint32_t worker) {
    return c.effects[effect].is_in_seconds() && c.effects[effect].concerns(worker);
  };
  for (std::size_t i = 0; i < c.effects.size(); ++i) {
    const std::string path = path_of_factor(i + 1);
    check_workers(check, path, c.effects[i].workers);
    for (std::uint32_t worker = 0; worker < check.s.cluster.workers; ++worker) {
      if (!gives_time(i, worker)) continue;
      bool is_given = c.is_in_seconds();
      for (std::size_t before = 0; before < i; ++before) is_given = is_given || gives_time(before, worker);
      if (!is_given) continue;
      check.add({path + "trace_unit", "compute.trace_unit"},
                fmt::format("two traces give the time of worker {} in seconds", worker), "the second of them",
                "one may be in seconds; the others are factors");
      break;
    }
  }
}

// Server i runs on the machine of worker i, so this worker must exist. The machine has one speed and one
// link.
void check_colocation(const Check& check) {
  const ClusterSpec& c = check.s.cluster;
  const std::string field = "cluster.colocate";
  if (c.servers > c.workers)
    check.add({"cluster.servers", field, "cluster.workers"}, fmt::format("there are {} servers", c.servers),
              fmt::format("for the machines of {}", counted(c.workers, "worker")),
              "use at most as many servers as workers, or colocate = false");
  const std::vector<FlopsPerSecond>& speeds = c.server.speed.values;
  if (speeds.size() != 1 || speeds[0].value != Speeds{}.values[0].value)
    check.add({"cluster.server.speed", field}, "a server on a worker's machine has no separate speed",
              "cluster.worker.speed is the speed of the machine", "colocate = false");
  if (c.network.topology == TopologyKind::graph)
    check.add({field, "cluster.network.topology"}, "links of a graph connect nodes, not machines",
              "server N and worker N would have separate links", "use another topology, or colocate = false");
}

}  // namespace

void check_workers(const Check& check, const std::string& path, const std::vector<std::int64_t>& workers) {
  for (const std::int64_t worker : workers) {
    if (worker < check.s.cluster.workers) continue;
    check.add({path + "workers", "cluster.workers"}, fmt::format("there is no worker {}", worker),
              check.s.cluster.workers == 1 ? "the only worker is 0"
                                           : fmt::format("workers are 0 to {}", check.s.cluster.workers - 1));
  }
}

void check_cluster(const Check& check) {
  const ClusterSpec& c = check.s.cluster;
  const auto one_each = [&](const std::string& path, const std::string& count, const Speeds& speeds,
                            std::int64_t nodes, std::string_view what) {
    const std::size_t given_count = speeds.values.size();
    if (given_count == 1 || given_count == static_cast<std::size_t>(nodes)) return;
    check.add({path, count}, fmt::format("`{}` has {} values", path, given_count),
              fmt::format("for {}", counted(nodes, what)), "give one value for all, or one for each");
  };
  one_each("cluster.worker.speed", "cluster.workers", c.worker.speed, c.workers, "worker");
  one_each("cluster.server.speed", "cluster.servers", c.server.speed, c.servers, "server");
  if (c.colocate) check_colocation(check);
  one_each("inference.speed", "inference.nodes", c.inference.speed, c.inference.nodes, "node");
}

void check_compute(const Check& check) {
  const ComputeSpec& c = check.s.compute;
  check_settings(c, std::nullopt,
                 [&](std::string field, std::string message, std::string label, std::string help) {
                   check.add({std::move(field), "compute.distribution"}, std::move(message), std::move(label),
                             std::move(help));
                 });
  const std::vector<const FactorSpec*> factors = c.factors();
  for (std::size_t i = 0; i < factors.size(); ++i) check_trace(check, *factors[i], path_of_factor(i));
  check_effects(check);
}

// One value for every machine, or one for all; empty if an error makes them unknown.
std::vector<double> mean_steps(const Check& check) {
  std::size_t machines = check.s.cluster.worker.speed.used().size();
  const DeviceSpec& devices = check.s.cluster.worker_devices;
  const std::size_t device_speeds = devices.speeds.values.size();
  std::vector<double> steps;
  const bool sound = (machines == 1 || machines == static_cast<std::size_t>(check.s.cluster.workers)) &&
                     (device_speeds <= 1 || device_speeds == static_cast<std::size_t>(devices.count));
  const ComputeSpec& compute = check.s.compute;
  if (std::ranges::any_of(compute.factors(), &FactorSpec::is_in_seconds))
    machines = static_cast<std::size_t>(check.s.cluster.workers);
  for (std::size_t w = 0; sound && knows_model(check) && w < machines; ++w)
    steps.push_back(mean_step_seconds(check.s, w));
  return steps;
}

// The approximate length of the run without waiting times; for a number of epochs the length of one clock.
double about_seconds(const Scenario& s, double clock) {
  if (s.training.duration) return s.training.duration->value;
  return static_cast<double>(s.training.steps.value_or(1)) * clock;
}

// Events that repeat with a period, however little nodes compute in between.
void check_periods(const Check& check, double clock,
                   const std::function<void(std::string, std::string, std::string, std::string)>& report) {
  struct Recurring {
    std::string field, what;
    double period, most = 1e6;
  };
  const Scenario& s = check.s;
  std::vector<Recurring> all;
  for (std::size_t i = 0; i < s.stragglers.size(); ++i) {
    if (s.stragglers[i].every)
      all.push_back(
          {fmt::format("straggler.{}.every", i), "the slow times come", s.stragglers[i].every->value});
  }
  for (std::size_t i = 0; i < s.profiles.size(); ++i) {
    if (s.profiles[i].every)
      all.push_back({fmt::format("profile.{}.every", i), "the profile comes", s.profiles[i].every->value});
  }
  if (s.training.evaluate_every && s.training.evaluate_every->by_time() && s.model.kind->has_numbers)
    all.push_back({"training.evaluate_every", "evaluations come", s.training.evaluate_every->time.value});
  if (s.cluster.inference.given) {
    const InferenceSpec& inference = s.cluster.inference;
    all.push_back({"inference.refresh", "pulls come", inference.refresh.value, 1e7});
    all.push_back({"inference.rate", "requests come", 1 / inference.rate, 1e8});
  }
  const double run = about_seconds(s, clock);
  for (const Recurring& one : all) {
    const double times = run / one.period;
    if (times > one.most)
      report(one.field, fmt::format("{} every {:.3g} s", one.what, one.period),
             fmt::format("about {:.2g} times in the run", times),
             fmt::format("at most {:.2g} times", one.most));
  }
}

// Checks that depend on the mean time of a step.
void check_pace(const Check& check) {
  const std::vector<double> steps = mean_steps(check);
  if (steps.empty()) return;
  const auto [least, longest] = std::ranges::minmax_element(steps);
  const auto report_pace = [&](std::string field, std::string message, std::string label, std::string help) {
    check.add(
        {std::move(field), "compute.time", "compute.distribution", "cluster.worker.speed", "cluster.workers",
         "cluster.network.bandwidth", "training.batch_size", "training.duration", "model"},
        std::move(message), std::move(label), std::move(help));
  };
  check_settings(check.s.compute, *least, report_pace);
  const double bytes = static_cast<double>(parameter_count(check.s.model)) *
                       static_cast<double>(bytes_per_value(check.s.model.precision));
  constexpr double ways = 4;  // number of transfers in a clock
  const NetworkSpec& network = check.s.cluster.network;
  const double clock = *longest + bytes / network.bandwidth.value + ways * network.latency.value;
  if (const std::optional<Seconds>& time = check.s.training.local_time;
      time && *least > 0 && time->value / *least > static_cast<double>(most_local_steps))
    report_pace("training.local_time",
                fmt::format("a clock of {:.6g} s has {:.3g} local steps", time->value, time->value / *least),
                fmt::format("at most {}", most_local_steps), fmt::format("a step takes {:.3g} s", *least));
  check_periods(check, clock, report_pace);
  check_pace_of_faults(check, clock);
}

void check_stragglers(const Check& check) {
  for (std::size_t i = 0; i < check.s.stragglers.size(); ++i) {
    const StragglerSpec& g = check.s.stragglers[i];
    const std::string path = fmt::format("straggler.{}.", i);
    check_workers(check, path, g.workers);
    const std::string from = path + "from", until = path + "until", every = path + "every";
    const double begin = g.from ? g.from->value : 0;
    if (g.until && g.until->value <= begin)
      check.add({until, from}, "the slow time ends before it begins", "must be after `from`");
    if (g.every && !g.until)
      check.add({every, until}, "`every` needs `until`, the end of the slow time", "`until` is missing");
    if (g.every && g.until && g.until->value > begin && g.every->value < g.until->value - begin) {
      check.add({every, until, from}, "the slow time is longer than its period",
                "must be at least until - from");
    }
    if (g.probability && (g.from || g.until || g.every)) {
      check.add({path + "probability", from, until, every},
                "a straggler is slow either by chance or at fixed times",
                "remove `probability`, or from, until and every", "for both, write two [[straggler]] tables");
    }
  }
}

}  // namespace psim
