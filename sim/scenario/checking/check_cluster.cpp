// Checks of the cluster, the times of steps, and stragglers.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <boost/pending/disjoint_sets.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "sim/scenario/checking/checks.hpp"
#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/field_list.hpp"
#include "sim/scenario/spec/nodes.hpp"

namespace psim {

// Checks of the devices of workers, and of pipelines over devices.

namespace {

void note_idle_network(const Check& check) {
  for (const auto& [path, place] : check.reading.places) {
    const bool is_one = path.starts_with("cluster.network.") && all_fields().find(path) != nullptr;
    if (!is_one || check.reading.by_preset(path)) continue;
    check.diagnostics.note({"no-meaning", place, fmt::format("`{}` has no effect here", path),
                            "a pipeline over devices sends no messages",
                            "remove it, or change `architecture.over`"});
  }
}

}  // namespace

void check_devices(const Check& check) {
  const DeviceSpec& d = check.s.cluster.worker_devices;
  const std::string path = "cluster.worker.device.", count = path + "count", speeds = path + "speeds",
                    batch = "training.batch_size";
  const std::size_t given = d.speeds.values.size();
  if (given > 1 && given != static_cast<std::size_t>(d.count)) {
    check.add({speeds, count}, fmt::format("`{}` has {} values", speeds, given),
              fmt::format("for {}", counted(d.count, "device")), "give one value for all, or one for each");
  }
  if (!check.s.architecture.is_on_one_machine() && d.count > check.s.training.batch_size) {
    check.add({count, batch}, fmt::format("`{}` is {}", count, d.count),
              fmt::format("a batch has only {}", counted(check.s.training.batch_size, "sample")),
              "each device needs at least one sample");
  }
  if (check.s.architecture.is_on_one_machine()) note_idle_network(check);
}

void settle_devices(Scenario& scenario, const Check& check) {
  DeviceSpec& devices = scenario.cluster.worker_devices;
  const std::string workers = "cluster.workers", over = "architecture.over", speed = "cluster.worker.speed",
                    count = "cluster.worker.device.count";
  if (scenario.architecture.kind != Architecture::model_parallel) return;
  if (!scenario.architecture.is_on_one_machine()) {  // a stage is a machine, not a device
    devices = {.count = devices.count, .memory = devices.memory};
    return;
  }
  const std::int64_t machines = check.reading.given(workers) ? scenario.cluster.workers : 1;
  if (machines != 1)
    check.add({workers, over}, fmt::format("`{}` is {}", workers, machines),
              "a pipeline over devices runs on one machine",
              "write workers = 1, and `count` in [cluster.worker.device] for the number of stages; or use "
              "over = \"nodes\"");
  if (scenario.cluster.worker.speed.values.size() > 1)
    check.add({speed, over}, fmt::format("`{}` has several values", speed), "there is one machine",
              "`speeds` in [cluster.worker.device] gives the speeds of its devices");
  scenario.cluster.workers = devices.count;
}

// Checks of start-up, power, spares and profiles.

namespace {

void check_startup(const Check& check, const StartupSpec& startup, const std::string& table) {
  if (!startup.given()) return;
  const std::string distribution = table + ".startup_distribution";
  if (startup.distribution->reads_trace) {
    check.add({distribution}, "a start-up time cannot come from a trace",
              "a trace gives one factor for each step", "choose another distribution");
    return;
  }
  if (startup.distribution->misfit == nullptr) return;
  for (const std::optional<double> mean : {std::optional<double>{}, std::optional(startup.mean.value)}) {
    const std::optional<Misfit> misfit = startup.distribution->misfit(startup.settings, mean);
    if (!misfit) continue;
    check.add({fmt::format("{}.startup_{}", table, misfit->setting.key), distribution, table + ".startup"},
              fmt::format("`{}.startup_{}` is {}", table, misfit->setting.key,
                          startup.settings.of(misfit->setting)),
              mean ? fmt::format("must be at most the mean start-up time, {:.4g} s", *mean) : misfit->label,
              misfit->help);
    return;
  }
}

void check_power(const Check& check, const PowerSpec& power, const std::string& table) {
  if (power.full.value >= power.idle.value) return;
  check.add({table + ".power.full", table + ".power.idle"},
            fmt::format("a node draws {} W when it works and {} W when it does not", power.full.value,
                        power.idle.value),
            "`full` must be at least `idle`");
}

void check_spares(const Check& check) {
  const std::int64_t spares = check.s.cluster.spares, workers = check.s.cluster.workers;
  const SlowSpec& slow = check.s.recovery.slow;
  const bool replaces = slow.given && slow.action == SlowAction::replace;
  if (spares >= workers && spares > 0)
    check.add({"cluster.spares", "cluster.workers"},
              fmt::format("{} among {}", counted(spares, "spare"), counted(workers, "worker")),
              "no worker is left for the start", "`workers` includes the spares");
  if (replaces && spares == 0)
    check.add({"recovery.slow.action", "cluster.spares"}, "no spare can replace a slow worker",
              "`cluster.spares` is 0",
              "spares = 1 in [cluster] makes the last worker a spare; or use action = \"remove\"");
}

void check_profiles(const Check& check) {
  for (std::size_t i = 0; i < check.s.profiles.size(); ++i) {
    const std::string path = fmt::format("profile.{}.", i);
    check_workers(check, path, check.s.profiles[i].workers);
    for (const std::string& name : check.s.profiles[i].nodes) check_node_name(check, path + "nodes", name);
  }
}

}  // namespace

void check_nodes(const Check& check) {
  check_startup(check, check.s.cluster.worker.startup, "cluster.worker");
  check_power(check, check.s.cluster.worker.economy.power, "cluster.worker");
  if (check.s.architecture.has_servers()) {
    check_startup(check, check.s.cluster.server.startup, "cluster.server");
    check_power(check, check.s.cluster.server.economy.power, "cluster.server");
  }
  check_spares(check);
  check_profiles(check);
}

// Checks of the network: room for all nodes, and a path between each two.

namespace {

constexpr double most_points = 16384;  // of a torus

// "worker 1, worker 2, worker 3 and 5 more"
std::string listed(std::vector<std::string> names) {
  constexpr std::size_t most = 4;
  const std::size_t count = names.size();
  names.resize(std::min(count, most));
  std::string text = fmt::format("{}", fmt::join(names, ", "));
  return count > most ? fmt::format("{} and {} more", text, count - most) : text;
}

// SimGrid shares a link by the latencies of the connections, and fails on numbers near its precision.
void check_latency(const Check& check, const std::string& field, double latency) {
  constexpr double least_latency = 10 / 1e9;
  if (check.s.cluster.network.share_spread > 0 && latency > 0 && latency < least_latency) {
    check.add({field, "cluster.network.share_spread"}, fmt::format("`{}` is {} s", field, latency),
              "too short: connections share links by their latencies",
              "use 0 or at least 10ns, or share_spread = 0 with any latency");
  }
}

// A topology with given sizes must have room for the scheduler, the servers and the workers.
void check_room(const Check& check) {
  const ClusterSpec& c = check.s.cluster;
  const NetworkSpec& n = c.network;
  const std::int64_t nodes = host_count(c);
  const auto refuse = [&](const std::string& field, std::string message, std::string label,
                          std::string help) {
    check.add({"cluster.network." + field, "cluster.network.topology", "cluster.network.routers",
               "cluster.network.hosts_per_router", "cluster.workers", "cluster.servers"},
              std::move(message), std::move(label), std::move(help));
  };
  const auto fit = [nodes](double room) {
    return fmt::format("there is room for {}, but the cluster has {}",
                       counted(static_cast<std::int64_t>(room), "node"), nodes);
  };
  if (n.topology == TopologyKind::fat_tree && n.ports) {
    const std::string message = fmt::format("`cluster.network.ports` is {}", *n.ports);
    if (*n.ports % 2 != 0)
      return refuse("ports", message, "must be even", "half of a switch's ports lead up, and half lead down");
    const std::int64_t room = fat_tree_capacity(*n.ports);
    if (room < nodes)
      refuse("ports", message, fit(static_cast<double>(room)),
             fmt::format("at least {}", least_fat_tree_ports(nodes)));
  }
  if (n.topology == TopologyKind::torus && !n.dimensions.empty()) {
    const double room = torus_capacity(n.dimensions);
    const std::string message =
        fmt::format("`cluster.network.dimensions` is [{}]", fmt::join(n.dimensions, ", "));
    if (room < static_cast<double>(nodes))
      refuse("dimensions", message, fit(room),
             fmt::format("for example dimensions = [{}]", fmt::join(least_torus(nodes), ", ")));
    if (room > most_points)
      refuse("dimensions", message, fmt::format("{} points, at most {}", room, most_points), "");
  }
  if (n.topology == TopologyKind::dragonfly) {
    const std::int64_t room = dragonfly_groups(c) * n.routers * n.hosts_per_router;
    const std::string size =
        fmt::format("of {} with {} each", counted(n.routers, "router"), counted(n.hosts_per_router, "node"));
    const std::int64_t least = least_dragonfly_groups(c);
    if (n.groups && room < nodes)
      refuse("groups", fmt::format("`cluster.network.groups` is {}, {}", *n.groups, size),
             fit(static_cast<double>(room)), fmt::format("use at least {}, or larger groups", least));
    constexpr std::int64_t most_groups = 512;
    if (!n.groups && least > most_groups)
      refuse("routers", fmt::format("{} {} are needed", counted(least, "group"), size),
             fmt::format("at most {}", most_groups), "make groups larger");
  }
}

// Checks that the two names can be the ends of a link.
bool check_ends(const Check& check, const std::string& field, const std::vector<std::string>& names) {
  const ClusterSpec& c = check.s.cluster;
  if (names[0] == names[1])
    return check.add({field}, "a link leads from a node to itself", "both ends are the same"), false;
  bool sound = true;
  for (const std::string& name : names) {
    const std::string meant = meant_node(name);
    if ((meant.empty() && !name.empty()) || (meant == name && node_named(c, name))) continue;
    sound = false;
    const bool exists = node_named(c, meant).has_value();
    const bool server = meant.starts_with("server");
    const std::int64_t count = server ? c.servers : c.workers;
    const std::string label =
        name.empty() ? "a name is empty"
        : exists     ? "too similar to a node's name to name a switch"
        : count == 1 ? fmt::format("the only one is {} 0", server ? "server" : "worker")
                     : fmt::format("there are {0} 0 to {0} {1}", server ? "server" : "worker", count - 1);
    check.add({field, "cluster.workers", "cluster.servers"},
              name.empty() ? "a link leads nowhere" : fmt::format("there is no node `{}`", name), label,
              exists ? fmt::format("did you mean \"{}\"?", meant) : "");
  }
  return sound;
}

// Every node must have a path to the scheduler, and so to all other nodes.
void check_connected(const Check& check) {
  const GraphEnds ends = graph_ends(check.s.cluster);
  boost::disjoint_sets_with_storage<> parts(ends.vertices);
  std::set<std::uint32_t> linked;
  for (const auto& [a, b] : ends.links) {
    parts.union_set(a, b);
    linked.insert({a, b});
  }
  std::vector<std::string> without_link, apart;
  for (std::uint32_t node = 0; node < node_count(check.s.cluster); ++node) {
    if (!linked.contains(node)) without_link.push_back(node_name(check.s.cluster, node));
    else if (parts.find_set(node) != parts.find_set(0U)) apart.push_back(node_name(check.s.cluster, node));
  }
  const std::vector<std::string> fields{"cluster.network.topology", "cluster.network.link", "cluster.workers",
                                        "cluster.servers"};
  if (!without_link.empty())
    check.add(fields, fmt::format("nodes without a link: {}", listed(without_link)),
              "every node needs a link",
              fmt::format("for example between = [\"{}\", \"switch a\"]", without_link.front()));
  if (!apart.empty() && linked.contains(0))
    check.add(fields, fmt::format("there is no path from the scheduler to {}", listed(apart)),
              "the graph is not connected", "connect its parts; a switch has the same name in all links");
}

void check_graph(const Check& check) {
  const std::vector<LinkSpec>& links = check.s.cluster.network.links;
  const std::string table = "cluster.network.link";
  if (links.empty())
    return check.add({table, "cluster.network.topology"}, "a graph needs its links", "there is no link",
                     "write [[cluster.network.link]] tables with between = [\"server 0\", \"switch a\"]");
  bool sound = check.reading.reliable(table) && check.reading.reliable("cluster.workers") &&
               check.reading.reliable("cluster.servers");
  std::map<std::pair<std::string, std::string>, std::size_t> known;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const std::string field = fmt::format("{}.{}.between", table, i);
    const std::vector<std::string>& names = links[i].between;
    sound = sound && check.reading.reliable(field) && names.size() == 2;
    if (!check.reading.reliable(field)) continue;
    if (names.empty()) continue;  // missing
    if (names.size() != 2) {
      check.add({field},
                fmt::format("link {} has {}", i, counted(static_cast<std::int64_t>(names.size()), "end")),
                "must be two names", "for example between = [\"server 0\", \"switch a\"]");
      continue;
    }
    sound = check_ends(check, field, names) && sound;
    const auto [at, fresh] = known.try_emplace(std::minmax(names[0], names[1]), i);
    if (!fresh)
      check.add({field}, fmt::format("`{}` and `{}` are linked twice", names[0], names[1]),
                fmt::format("also by link {}", at->second), "write one link with the sum of both bandwidths");
  }
  if (sound) check_connected(check);
}

void check_platform(const Check& check) {
  const ClusterSpec& c = check.s.cluster;
  const std::string speeds = "cluster.network.platform_speeds";
  if (c.network.platform.empty())
    check.add({"cluster.network.topology", "cluster.network.platform"}, "simgrid-xml needs `platform`",
              "which file?", "for example platform = \"cluster.xml\"");
  if (!c.network.platform_speeds) return;
  for (const std::string speed : {"cluster.worker.speed", "cluster.server.speed", "inference.speed"}) {
    if (check.reading.given(speed))
      check.add({speed, speeds}, fmt::format("`{}` is given twice", speed),
                "platform_speeds takes it from the platform file", "remove one of them");
  }
}

}  // namespace

void check_network(const Check& check) {
  const ClusterSpec& c = check.s.cluster;
  const NetworkSpec& n = c.network;
  if (n.topology == TopologyKind::two_tier && n.racks > c.workers + c.servers) {
    check.add({"cluster.network.racks", "cluster.network.topology", "cluster.workers", "cluster.servers"},
              fmt::format("`cluster.network.racks` is {}", n.racks),
              there_are(c.workers + c.servers, "node"));
  }
  check_room(check);
  if (n.topology == TopologyKind::graph) check_graph(check);
  if (n.topology == TopologyKind::simgrid_xml) check_platform(check);
  check_latency(check, "cluster.network.latency", n.latency.value);
  for (std::size_t i = 0; i < n.links.size(); ++i) {
    if (n.links[i].latency)
      check_latency(check, fmt::format("cluster.network.link.{}.latency", i), n.links[i].latency->value);
  }
}

bool can_load_platform(const Check& check) {
  const NetworkSpec& n = check.s.cluster.network;
  return n.topology == TopologyKind::simgrid_xml && !n.platform.empty() && check.reading.complete &&
         check.reading.reliable("cluster") && check.reading.reliable("consistency");
}

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
