#include "sim/scenario/spec/nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>

#include "sim/protocol/task_dag.hpp"
#include "sim/scenario/spec/activations.hpp"
#include "sim/scenario/spec/devices.hpp"
#include "sim/scenario/spec/scenario.hpp"
#include "sim/scenario/spec/tasks.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim {

std::uint32_t node_count(const ClusterSpec& cluster) {
  return first_inference_node(cluster) + static_cast<std::uint32_t>(cluster.inference.count());
}

std::uint32_t aggregator_count(const ClusterSpec& cluster) {
  const NetworkSpec& network = cluster.network;
  const bool sums = network.topology == TopologyKind::two_tier && network.aggregate != AggregateAt::servers;
  return sums ? static_cast<std::uint32_t>(network.racks) : 0;
}

std::uint32_t host_count(const ClusterSpec& cluster) {
  const auto beside = static_cast<std::uint32_t>(cluster.colocate ? cluster.servers : 0);
  return node_count(cluster) + aggregator_count(cluster) - beside;
}

std::uint32_t rack_of(const ClusterSpec& cluster, std::uint32_t node) {
  const std::uint32_t nodes = node_count(cluster);
  if (node >= nodes) return node - nodes;
  return node == 0 ? 0 : (node - 1) % static_cast<std::uint32_t>(cluster.network.racks);
}

std::uint32_t first_inference_node(const ClusterSpec& cluster) {
  const std::uint32_t others = static_cast<std::uint32_t>(1 + cluster.servers + cluster.workers);
  return others + (database_node(cluster) ? 1 : 0) + (cluster.storage ? 1 : 0);
}

std::optional<std::uint32_t> storage_node(const ClusterSpec& cluster) {
  if (!cluster.storage) return std::nullopt;
  return first_inference_node(cluster) - 1;
}

std::optional<std::uint32_t> database_node(const ClusterSpec& cluster) {
  if (cluster.delivery.source != Delivery::database && !cluster.database) return std::nullopt;
  return static_cast<std::uint32_t>(1 + cluster.servers + cluster.workers);
}

std::string node_name(const ClusterSpec& cluster, std::uint32_t node) {
  const auto servers = static_cast<std::uint32_t>(cluster.servers);
  if (node == 0) return "scheduler";
  if (node == database_node(cluster)) return "database";
  if (node == storage_node(cluster)) return "storage";
  if (const std::uint32_t first = first_inference_node(cluster); node >= first)
    return fmt::format("inference {}", node - first);
  return node <= servers ? fmt::format("server {}", node - 1) : fmt::format("worker {}", node - 1 - servers);
}

std::optional<std::uint32_t> node_named(const ClusterSpec& cluster, std::string_view name) {
  if (name == "scheduler") return 0;
  if (name == "database") return database_node(cluster);
  if (name == "storage") return storage_node(cluster);
  const std::size_t space = name.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const std::optional<std::uint32_t> number = number_in<std::uint32_t>(name.substr(space + 1));
  if (!number || name.substr(space + 1) != fmt::to_string(*number)) return std::nullopt;
  if (name.starts_with("server ") && *number < cluster.servers) return 1 + *number;
  if (name.starts_with("worker ") && *number < cluster.workers)
    return 1 + static_cast<std::uint32_t>(cluster.servers) + *number;
  if (name.starts_with("inference ") && *number < cluster.inference.count())
    return first_inference_node(cluster) + *number;
  return std::nullopt;
}

// Without servers the workers take the numbers of the servers.
std::uint32_t host_of(const ClusterSpec& cluster, std::uint32_t node) {
  const auto servers = static_cast<std::uint32_t>(cluster.servers);
  return cluster.colocate && node > servers ? node - servers : node;
}

std::vector<std::uint32_t> nodes_on(const ClusterSpec& cluster, std::uint32_t host) {
  const auto servers = static_cast<std::uint32_t>(cluster.servers);
  if (!cluster.colocate || host == 0) return {host};
  if (host > servers) return {host + servers};
  return {host + servers, host};
}

std::optional<std::uint32_t> host_named(const ClusterSpec& cluster, std::string_view name) {
  constexpr std::string_view word = "host ";
  if (!cluster.colocate || !name.starts_with(word)) return std::nullopt;
  const std::optional<std::uint32_t> number = number_in<std::uint32_t>(name.substr(word.size()));
  if (!number || *number >= cluster.workers) return std::nullopt;
  return 1 + *number;
}

ClusterSpec machines_of(const ClusterSpec& cluster) {
  ClusterSpec machines = cluster;
  if (cluster.colocate) machines.servers = 0;
  machines.colocate = false;
  return machines;
}

std::string meant_node(std::string_view name) {
  std::string word, rest;
  for (const char c : name) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0 && rest.empty())
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (std::string_view(" _-#.").find(c) == std::string_view::npos) rest += c;
  }
  if ((word == "scheduler" || word == "database" || word == "storage") && rest.empty()) return word;
  if (word != "server" && word != "worker" && word != "inference") return "";
  const std::optional<std::uint32_t> number = number_in<std::uint32_t>(rest);
  return number ? fmt::format("{} {}", word, *number) : "";
}

bool talks(const Scenario& scenario, std::uint32_t a, std::uint32_t b) {
  const auto [low, high] = std::minmax(a, b);
  const auto servers = static_cast<std::uint32_t>(scenario.cluster.servers);
  if (low == high) return false;
  if (high >= node_count(scenario.cluster)) {  // an aggregator, and a server or a worker of its rack
    const std::uint32_t after_workers = servers + 1 + static_cast<std::uint32_t>(scenario.cluster.workers);
    const bool is_worker = low > servers && low < after_workers;
    return (low > 0 && low <= servers) ||
           (is_worker && rack_of(scenario.cluster, low) == rack_of(scenario.cluster, high));
  }
  const bool has_servers = scenario.architecture.has_servers();
  if (high == storage_node(scenario.cluster)) return low > 0 && (low <= servers || !has_servers);
  // If nodes may fail, the scheduler tells inference nodes the owners of shards.
  if (high >= first_inference_node(scenario.cluster))
    return low <= servers && (low > 0 || scenario.may_fail());
  if (high == database_node(scenario.cluster)) return low > servers;  // the database and a worker
  if (low == 0) return true;                                          // the scheduler and every other node
  // Groups agree on the step to continue with, and when a worker is lost, other workers become neighbours.
  const bool regroups = !has_servers && scenario.may_fail() && scenario.recovery.workers != LostWorkers::wait;
  if (regroups) return true;
  if (!has_servers)
    return workers_talk(scenario.architecture, static_cast<std::uint32_t>(scenario.cluster.workers), low - 1,
                        high - 1);
  if (low <= servers && high > servers) return true;  // a server and a worker
  if (low > servers)
    return scenario.training.work == WorkPolicy::stealing ||
           (scenario.moves_data() && scenario.recovery.data_from == DataFrom::workers);
  if (high <= servers && (scenario.may_fail() || !scenario.groups.empty())) return true;
  // The first shard's server and another server. Only with an even placement this is certainly the first
  // server.
  return high <= servers && (low == 1 || scenario.placement.kind != PlacementKind::even) &&
         rule_of(scenario).first_shard_decides;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> talking_pairs(const Scenario& scenario) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  const std::uint32_t nodes = node_count(scenario.cluster) + aggregator_count(scenario.cluster);
  for (std::uint32_t a = 0; a < nodes; ++a) {
    for (std::uint32_t b = a + 1; b < nodes; ++b) {
      if (talks(scenario, a, b)) pairs.emplace_back(a, b);
    }
  }
  return pairs;
}

GraphEnds graph_ends(const ClusterSpec& cluster) {
  GraphEnds ends{.vertices = node_count(cluster), .links = {}};
  std::map<std::string, std::uint32_t> switches;
  const auto vertex = [&](const std::string& name) {
    if (const std::optional<std::uint32_t> node = node_named(cluster, name)) return *node;
    const auto [at, fresh] = switches.try_emplace(name, ends.vertices);
    if (fresh) ++ends.vertices;
    return at->second;
  };
  for (const LinkSpec& link : cluster.network.links) {
    const std::uint32_t a = vertex(link.between[0]);
    ends.links.emplace_back(a, vertex(link.between[1]));
  }
  return ends;
}

namespace {

// A run that never reaches its target ends after this number of passes over the data.
constexpr double epochs_without_end = 1000;

}  // namespace

double mean_gradient_seconds(const Scenario& s, std::size_t worker) {
  const auto batches = static_cast<double>(s.training.batches_per_clock());
  const double devices = devices_time_ratio(s, worker);
  if (const std::optional<double> seconds = s.compute.traced_seconds(static_cast<std::uint32_t>(worker)))
    return devices * batches * *seconds;
  const double speed = s.cluster.worker.speed.of(worker).value;
  if (s.compute.time) {
    const FlopsPerSecond usual = s.compute.time_speed.value_or(s.cluster.worker.speed.of(0));
    return devices * batches * s.compute.time->value * (usual.value / speed);
  }
  return devices * batches * flops_per_sample(s.model) * static_cast<double>(s.training.batch_size) / speed;
}

std::int64_t batches_of_workers(const Scenario& scenario) {
  if (!scenario.consistency.model->has_tasks()) return scenario.cluster.workers;
  const Program program = parse_program(scenario.tasks, scenario.cluster.workers).program;
  return std::max<std::int64_t>(1, tasks_of(program, TaskKind::gradient));
}

std::int64_t steps_that_fit(double time, double step) {
  constexpr double rounding = 1e-9;  // five steps of 10 ms fit in 50 ms, despite rounding of their time
  if (!(step > 0)) return 1;
  const double all = std::floor(time / step * (1 + rounding));
  return std::max<std::int64_t>(
      1, static_cast<std::int64_t>(std::min(all, static_cast<double>(most_local_steps))));
}

std::int64_t dynamic_steps(const Scenario& s, double fastest, double own) {
  return own > 0 ? steps_that_fit(static_cast<double>(s.training.local_steps) * std::min(fastest, own), own)
                 : s.training.local_steps;
}

namespace {

double fastest_step_seconds(const Scenario& s) {
  double fastest = HUGE_VAL;
  for (std::int64_t w = 0; s.training.inner.dynamic && w < s.cluster.workers; ++w)
    fastest = std::min(fastest, mean_step_seconds(s, static_cast<std::size_t>(w)));
  return fastest;
}

std::int64_t local_steps_beside(const Scenario& s, std::size_t worker, double fastest) {
  const double own = mean_step_seconds(s, worker);
  if (s.training.local_time) return steps_that_fit(s.training.local_time->value, own);
  return s.training.inner.dynamic ? dynamic_steps(s, fastest, own) : s.training.local_steps;
}

std::int64_t batches_beside(const Scenario& s, std::size_t worker, double fastest) {
  const TrainingSpec& training = s.training;
  if (!training.accumulate_time) return local_steps_beside(s, worker, fastest) * training.accumulate;
  const double batch = mean_step_seconds(s, worker) / static_cast<double>(training.accumulate);
  return std::min(training.accumulate, steps_that_fit(training.accumulate_time->value, batch));
}

}  // namespace

std::int64_t mean_local_steps(const Scenario& s, std::size_t worker) {
  return local_steps_beside(s, worker, fastest_step_seconds(s));
}

double batches_per_clock(const Scenario& s) {
  if (!s.training.fits_steps()) return static_cast<double>(s.training.batches_per_clock());
  const double fastest = fastest_step_seconds(s);
  std::int64_t all = 0;
  for (std::int64_t w = 0; w < s.cluster.workers; ++w)
    all += batches_beside(s, static_cast<std::size_t>(w), fastest);
  return static_cast<double>(all) / static_cast<double>(s.cluster.workers);
}

double batches_more_at_first(const Scenario& s) {
  if (!s.training.fits_steps()) return static_cast<double>(s.training.batches_more_at_first());
  if (s.training.warmup_steps == 0) return 0;
  return static_cast<double>(s.training.warmup_steps * s.training.accumulate) - batches_per_clock(s);
}

double mean_step_seconds(const Scenario& s, std::size_t worker) {
  return mean_gradient_seconds(s, worker) * recompute_factor(s);
}

std::int64_t machines_with_data(const Scenario& s) {
  return s.architecture.is_on_one_machine() ? 1 : s.cluster.workers;
}

std::int64_t samples_per_step(const Scenario& s) {
  return s.training.batch_size * (s.architecture.is_on_one_machine() ? 1 : batches_of_workers(s));
}

std::optional<std::int64_t> steps_of(const Scenario& scenario, std::int64_t training_samples) {
  const TrainingSpec& training = scenario.training;
  std::optional<double> epochs = training.epochs;
  if (!epochs && !training.steps && !training.samples && !training.duration) epochs = epochs_without_end;
  std::optional<std::int64_t> steps = training.steps;
  const auto end_after = [&](double all) {
    const std::int64_t samples = samples_per_step(scenario);
    const double per_clock = static_cast<double>(samples) * batches_per_clock(scenario),
                 more_at_first = static_cast<double>(samples) * batches_more_at_first(scenario);
    const auto clocks =
        static_cast<std::int64_t>(std::max(1.0, std::ceil((all - more_at_first) / per_clock)));
    steps = std::min(steps.value_or(clocks), clocks);
  };
  if (epochs) end_after(*epochs * static_cast<double>(training_samples));
  if (training.samples) end_after(static_cast<double>(*training.samples));
  return steps;
}

namespace {

// Link 0 is the host's link. Device i has link 2 i + 1, up to the switch, and link 2 i + 2, down from the
// switch.
PlatformFile::Route route(const DeviceSpec& devices, std::uint32_t from, std::uint32_t to) {
  PlatformFile::Route way{.from = from, .to = to, .links = {}, .latency = devices.bus_latency.value};
  const bool direct = devices.peers == PeerAccess::direct;
  if (from == 0 || to == 0 || !direct) way.links = {0};
  else way.links = {2 * (from - 1) + 1, 2 * (to - 1) + 2};
  if (!direct) way.latency *= 2;
  return way;
}

}  // namespace

Scenario on_its_bus(const Scenario& scenario) {
  Scenario result = scenario;
  if (!scenario.architecture.is_on_one_machine()) return result;
  const DeviceSpec& devices = scenario.cluster.worker_devices;
  const double bus = devices.bus().value_or(devices.port()).value;
  PlatformFile file;
  const double shared = devices.peers == PeerAccess::direct ? bus : bus / 2;
  file.links.push_back({.bandwidth = shared, .latency = 0, .fat_pipe = false, .name = "bus"});
  for (std::int64_t device = 0; device < devices.count; ++device) {
    for (const char* way : {"up", "down"})
      file.links.push_back({.bandwidth = devices.port().value,
                            .latency = 0,
                            .fat_pipe = false,
                            .name = fmt::format("device {} {}", device, way)});
  }
  for (const auto& [a, b] : talking_pairs(scenario)) {
    file.routes.push_back(route(devices, b, a));
    file.routes.push_back(route(devices, a, b));
  }
  result.cluster.network = {.topology = TopologyKind::simgrid_xml,
                            .simgrid_model = SimgridModel::cm02,
                            .share_spread = 0,
                            .platform_file = std::move(file)};
  return result;
}

std::int64_t fat_tree_capacity(std::int64_t ports) { return ports * ports * ports / 4; }

std::int64_t least_fat_tree_ports(std::int64_t nodes) {
  std::int64_t ports = 2;
  while (fat_tree_capacity(ports) < nodes) ports += 2;
  return ports;
}

std::int64_t fat_tree_ports(const ClusterSpec& cluster) {
  return cluster.network.ports.value_or(least_fat_tree_ports(host_count(cluster)));
}

double torus_capacity(const std::vector<std::int64_t>& dimensions) {
  double points = 1;
  for (const std::int64_t n : dimensions) points *= static_cast<double>(n);
  return points;
}

std::vector<std::int64_t> least_torus(std::int64_t nodes) {
  std::int64_t x = 1;
  while (x * x * x < nodes) ++x;
  std::int64_t y = 1;
  while (x * y * y < nodes) ++y;
  return {x, y, (nodes + x * y - 1) / (x * y)};
}

std::vector<std::int64_t> torus_dimensions(const ClusterSpec& cluster) {
  return cluster.network.dimensions.empty() ? least_torus(host_count(cluster)) : cluster.network.dimensions;
}

std::int64_t least_dragonfly_groups(const ClusterSpec& cluster) {
  const std::int64_t of_a_group = cluster.network.routers * cluster.network.hosts_per_router;
  return (host_count(cluster) + of_a_group - 1) / of_a_group;
}

std::int64_t dragonfly_groups(const ClusterSpec& cluster) {
  return cluster.network.groups.value_or(least_dragonfly_groups(cluster));
}

ConsistencyRule rule_of(const Scenario& scenario) {
  ConsistencyRule rule = make_rule(scenario.consistency, scenario.cluster.workers);
  const TrainingSpec& training = scenario.training;
  rule.stale.settings = training.staleness_settings;
  rule.stale.scales = training.staleness_scales;
  if (training.staleness_aware) rule.stale.function = training.staleness_weight;
  // Every worker's spring moves the centre by its full pull.
  if (scenario.training.algorithm == Algorithm::elastic) rule.aggregation = {.row = "sum"};
  // A message that is lost for one shard may arrive at another.
  if (scenario.may_fail() && rule.drops_stale) rule.shards_advance_independently = true;
  if (rule.told) {
    const Program program = parse_program(scenario.tasks, scenario.cluster.workers).program;
    rule.told->pushes = tasks_of(program, TaskKind::push);
    rule.told->updates =
        std::max<std::int64_t>(1, tasks_of(program, TaskKind::apply) + tasks_of(program, TaskKind::update));
  }
  // A worker that leaves may have its last push on some shards, but not on others.
  const bool has_several = scenario.cluster.servers > 1 || scenario.messages.unit != MessageUnit::server;
  if (scenario.may_fail() && rule.gate == Gate::own && has_several) rule.first_shard_decides = true;
  return rule;
}

KeySpace key_space_of(const Scenario& scenario) {
  return make_key_space(parameter_arrays(scenario.model),
                        {.placement = scenario.placement,
                         .unit = scenario.messages.unit,
                         .slice = scenario.messages.slice,
                         .servers = static_cast<std::uint32_t>(scenario.cluster.servers),
                         .seed = static_cast<std::uint64_t>(scenario.seed)});
}

}  // namespace psim
