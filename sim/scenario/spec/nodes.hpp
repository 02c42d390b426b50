// The nodes of the cluster: their numbers, their names, and which pairs exchange messages. A node's number is
// its NodeId: the scheduler is 0, then come the servers, the workers, the database and the storage if they
// exist, and the inference nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/protocol/consistency.hpp"
#include "sim/protocol/key_space.hpp"
#include "sim/scenario/spec/scenario.hpp"

namespace psim {

std::uint32_t node_count(const ClusterSpec& cluster);
// The node with the training set, after the workers, if it exists.
std::optional<std::uint32_t> database_node(const ClusterSpec& cluster);
// The first inference node, if one exists; all later nodes are inference nodes, too.
std::uint32_t first_inference_node(const ClusterSpec& cluster);

// The node after those, if there is one that keeps snapshots.
std::optional<std::uint32_t> storage_node(const ClusterSpec& cluster);

// Aggregators come after all nodes, one in each rack. They are hosts of the network only.
std::uint32_t aggregator_count(const ClusterSpec& cluster);
// The rack of a node other than the scheduler, which is in the first rack.
std::uint32_t rack_of(const ClusterSpec& cluster, std::uint32_t node);

// "scheduler", "server 0", "worker 3", "database", "inference 0"
std::string node_name(const ClusterSpec& cluster, std::uint32_t node);
std::optional<std::uint32_t> node_named(const ClusterSpec& cluster, std::string_view name);

// The machines, from 0: one for each node. With cluster.colocate server i is on the machine of worker i.
std::uint32_t host_count(const ClusterSpec& cluster);
std::uint32_t host_of(const ClusterSpec& cluster, std::uint32_t node);
// The nodes of a machine: the worker before its server.
std::vector<std::uint32_t> nodes_on(const ClusterSpec& cluster, std::uint32_t host);
// "host 3" with cluster.colocate: the machine of worker 3.
std::optional<std::uint32_t> host_named(const ClusterSpec& cluster, std::string_view name);
// The cluster as the network sees it: machines, without servers on the machines of workers.
ClusterSpec machines_of(const ClusterSpec& cluster);

// The node that `name` means, existing or not: "worker 3" for "Worker-3". Empty for the name of a switch.
std::string meant_node(std::string_view name);

// Whether two nodes ever send messages to each other; only these pairs have routes.
bool talks(const Scenario& scenario, std::uint32_t a, std::uint32_t b);

// The pairs (a, b), a < b, that exchange messages.
std::vector<std::pair<std::uint32_t, std::uint32_t>> talking_pairs(const Scenario& scenario);

// The ends of the links of topology graph: first the nodes, then the switches in the order of appearance.
struct GraphEnds {
  std::uint32_t vertices = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> links;
};
GraphEnds graph_ends(const ClusterSpec& cluster);  // every link must have two names

// The ranks of an all-reduce's workers. Implemented in sim/cluster/topology.cpp, which finds paths through
// the network.

// Sets `architecture.ranks` by `architecture.rank_order`. The scenario must have no errors.
void give_ranks(Scenario& scenario);

// The time of a clock's computation, and the number of clocks of a run.

// Mean seconds of the gradients of a clock of `worker` without slowness, and of its whole computation in a
// clock, including recomputed activations. If a clock has a fixed time, the seconds of one local step.
double mean_gradient_seconds(const Scenario& scenario, std::size_t worker);
double mean_step_seconds(const Scenario& scenario, std::size_t worker);

// Number of batches of a clock in which each worker takes one step: one per worker, or the number that tasks
// compute.
std::int64_t batches_of_workers(const Scenario& scenario);
// Number of steps of `step` seconds that fit in `time` seconds, between 1 and most_local_steps.
constexpr std::int64_t most_local_steps = 1'000'000;
std::int64_t steps_that_fit(double time, double step);
// Local steps of a worker that needs `own` seconds for one, where the fastest worker needs `fastest`: DyLU of
// Liu et al., arXiv 2401.09135, 2024.
std::int64_t dynamic_steps(const Scenario& scenario, double fastest, double own);
// Local steps of a clock of `worker`. If they depend on its speed, at the workers' mean speeds.
std::int64_t mean_local_steps(const Scenario& scenario, std::size_t worker);
// Number of batches of a worker in a clock, as the mean over workers; and the additional batches of the first
// clock.
double batches_per_clock(const Scenario& scenario);
double batches_more_at_first(const Scenario& scenario);

// Number of machines with a separate batch and part of the data: the workers, or the one machine of a
// pipeline over devices. And the number of samples of all these batches.
std::int64_t machines_with_data(const Scenario& scenario);
std::int64_t samples_per_step(const Scenario& scenario);

// Clocks of each worker for the scenario's steps, epochs or samples; none if another limit ends the run.
std::optional<std::int64_t> steps_of(const Scenario& scenario, std::int64_t training_samples);

// A pipeline over the devices of one machine: the devices are the stages, and the machine's bus is their
// network. For the simulation they are ordinary nodes, on a platform that this file makes.
//
// Without peer access every message goes through host memory, over the host's link, which all devices share:
// it has half of the bandwidth and twice the latency. With peer access a device has a port to the bus's
// switch with peer_bandwidth (by default the bandwidth of the bus) in each direction, and a message goes
// through two ports. The scheduler is on the host. Costs of messages at their ends, and TCP's uneven sharing
// of links, exist only on networks.

// The scenario with the bus instead of the network, if its stages are the devices of one machine; otherwise
// the unchanged scenario.
Scenario on_its_bus(const Scenario& scenario);

// Sizes of topologies with a fixed shape: the scenario's value, or the smallest size with room for all nodes.

// Ports of a fat tree's switches.
std::int64_t fat_tree_ports(const ClusterSpec& cluster);
std::int64_t fat_tree_capacity(std::int64_t ports);
std::int64_t least_fat_tree_ports(std::int64_t nodes);

// Points along each dimension of a torus.
std::vector<std::int64_t> torus_dimensions(const ClusterSpec& cluster);
double torus_capacity(const std::vector<std::int64_t>& dimensions);
std::vector<std::int64_t> least_torus(std::int64_t nodes);

// Groups of a dragonfly.
std::int64_t dragonfly_groups(const ClusterSpec& cluster);
std::int64_t least_dragonfly_groups(const ClusterSpec& cluster);

// The rule that the servers of a scenario follow. The simulator, the facts of a record and the list of nodes
// that talk to each other all use it.
ConsistencyRule rule_of(const Scenario& scenario);

// The initial placement of a scenario's parameters on the servers.
KeySpace key_space_of(const Scenario& scenario);

}  // namespace psim
