#include "sim/cluster/slowest_messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/values.hpp"
#include "sim/cluster/paths.hpp"
#include "sim/cluster/turns.hpp"
#include "sim/protocol/pipeline.hpp"
#include "sim/record/notes.hpp"
#include "sim/scenario/spec/nodes.hpp"

namespace psim {
namespace {

class Links {
 public:
  explicit Links(const Scenario& scenario)
      : cluster_(scenario.cluster),
        wiring_(scenario.cluster.network, make_topology(scenario.cluster)),
        factor_(flow_model(scenario.cluster.network).bandwidth) {}
  // Bytes per second of the slowest link from one node to another; infinite on one machine.
  double slowest(NodeId from, NodeId to) {
    double least = std::numeric_limits<double>::infinity();
    if (host_of(cluster_, from) == host_of(cluster_, to)) return least;
    const Wiring::Way way = wiring_.way(host_of(cluster_, from), host_of(cluster_, to));
    for (const std::uint32_t station : way.stations)
      least = std::min(least, factor_ * wiring_.bandwidths()[station]);
    return way.limit > 0 ? std::min(least, factor_ * way.limit) : least;
  }

 private:
  const ClusterSpec& cluster_;
  Wiring wiring_;
  double factor_;
};

TransferTime longer(const TransferTime& a, const TransferTime& b) { return a.seconds < b.seconds ? b : a; }

TransferTime transfer(std::size_t values, std::int64_t sharers, double bandwidth, const Scenario& s) {
  const std::uint64_t bytes = values * bytes_per_value(s.model.precision);
  return {static_cast<double>(bytes) * static_cast<double>(sharers) / bandwidth, bytes, sharers, bandwidth};
}

TransferTime with_servers(const Scenario& s, Links& links) {
  const KeySpace keys = key_space_of(s);
  const auto servers = static_cast<std::uint32_t>(s.cluster.servers);
  const std::vector<std::size_t> load = keys.load(servers);
  TransferTime longest;
  for (std::uint32_t server = 0; server < servers; ++server) {
    const double bandwidth = links.slowest(1 + servers, 1 + server);
    longest = longer(longest, transfer(load[server], s.cluster.workers, bandwidth, s));
  }
  for (std::int64_t w = 0; w < s.cluster.workers; ++w) {
    const double bandwidth = links.slowest(1 + servers + static_cast<NodeId>(w), 1);
    longest = longer(longest, transfer(keys.parameters, 1, bandwidth, s));
  }
  return longest;
}

TransferTime among_workers(const Scenario& s, Links& links) {
  const auto workers = static_cast<std::size_t>(s.cluster.workers);
  std::size_t values = key_space_of(s).parameters;
  if (s.architecture.kind == Architecture::all_reduce && s.architecture.algorithm == AllReduceAlgorithm::ring)
    values = (values + workers - 1) / workers;
  if (s.architecture.kind == Architecture::model_parallel) {
    const std::int64_t samples = samples_per_step(s),
                       parts = micro_batches_of(s.architecture, s.cluster.workers, samples);
    std::size_t width = 0;
    for (const Stage& stage : cut_in_stages(s.model, workers)) width = std::max(width, stage.outputs);
    values = static_cast<std::size_t>((samples + parts - 1) / parts) * width;
  }
  TransferTime longest;
  for (NodeId w = 1; w < workers; ++w)
    longest = longer(longest, transfer(values, 1, links.slowest(w, w + 1), s));
  return longest;
}

// Seconds with two digits, rounded up.
std::string long_enough(double seconds) {
  const double unit = std::pow(10.0, std::floor(std::log10(seconds)) - 1);
  return fmt::format("{:.10g}s", std::ceil(seconds / unit) * unit);
}

}  // namespace

double slowest_heartbeat(const Scenario& scenario) {
  const ClusterSpec& cluster = scenario.cluster;
  Wiring wiring(cluster.network, make_topology(cluster));
  const auto nodes = static_cast<NodeId>(1 + cluster.servers + cluster.workers);
  double slowest = 0;
  for (NodeId node = 1; node < nodes; ++node)
    slowest = std::max(slowest, wiring.way(host_of(cluster, node), scheduler_node).latency);
  return flow_model(cluster.network).latency * slowest;
}

TransferTime longest_transfer(const Scenario& scenario) {
  Links links(scenario);
  return scenario.architecture.has_servers() ? with_servers(scenario, links) : among_workers(scenario, links);
}

std::vector<std::string> short_waits(const Scenario& scenario) {
  if (!scenario.may_fail() || scenario.cluster.workers < 1 || scenario.architecture.is_on_one_machine())
    return {};
  std::vector<std::string> notes;
  const TransferTime most = longest_transfer(scenario);
  const RecoverySpec& recovery = scenario.recovery;
  const std::string transfer = fmt::format(
      "the {:.4g} s of a transfer ({:.4g} MB{} at {:.4g} MB/s)", most.seconds,
      static_cast<double>(most.bytes) / 1e6,
      most.sharers > 1 ? fmt::format(" of each of {} workers", most.sharers) : "", most.bandwidth / 1e6);
  if (recovery.retry.value < most.seconds)
    notes.push_back(
        fmt::format("recovery.retry, {:.4g} s, is shorter than {}: after a fault, nodes that wait for the "
                    "transfers of others repeat their requests in vain; recovery.retry = \"{}\" would do",
                    recovery.retry.value, transfer, long_enough(most.seconds)));
  if (recovery.patience.value < most.seconds + recovery.retry.value)
    notes.push_back(fmt::format(
        "recovery.patience, {:.4g} s, is shorter than {} and the wait until it is repeated: psim waits for a "
        "transfer that is on its way, but a lost one may end the run as stuck; recovery.patience = \"{}\" "
        "would do",
        recovery.patience.value, transfer, long_enough(most.seconds + recovery.retry.value)));
  const double header = static_cast<double>(scenario.cluster.network.header.value);
  const double on_full_link =
      most.bandwidth > 0 ? header * static_cast<double>(most.sharers + 1) / most.bandwidth : 0;
  const std::string hasty = hasty_detector(scenario, slowest_heartbeat(scenario) + on_full_link);
  if (!hasty.empty()) notes.push_back(hasty);
  return notes;
}

}  // namespace psim
