// The nodes of the cluster: their numbers, their names, and which pairs exchange messages. A node's number is
// its NodeId: the scheduler is 0, then come the servers, the workers, the database and the storage if they
// exist, and the inference nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

}  // namespace psim
