// The cluster's nodes: their numbers, their names, and which of them talk to each other. A node's number is
// its NodeId: the scheduler is 0, then come the servers, the workers, the database and the storage if there
// are such, and the nodes of the inference group.
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
// The node after the workers, if there is one that holds the training set.
std::optional<std::uint32_t> database_node(const ClusterSpec& cluster);
// The first of the inference group, if there is one: all from here on are.
std::uint32_t first_inference_node(const ClusterSpec& cluster);

// The node after those, if there is one that keeps snapshots.
std::optional<std::uint32_t> storage_node(const ClusterSpec& cluster);

// Aggregators stand behind all nodes, one in each rack: hosts of the network only.
std::uint32_t aggregator_count(const ClusterSpec& cluster);
// Of a node that has a rack: of every one but the scheduler, which is in the first.
std::uint32_t rack_of(const ClusterSpec& cluster, std::uint32_t node);

// "scheduler", "server 0", "worker 3", "database", "inference 0"
std::string node_name(const ClusterSpec& cluster, std::uint32_t node);
std::optional<std::uint32_t> node_named(const ClusterSpec& cluster, std::string_view name);

// The machines, from 0: one for each node; with cluster.colocate server i is on that of worker i.
std::uint32_t host_count(const ClusterSpec& cluster);
std::uint32_t host_of(const ClusterSpec& cluster, std::uint32_t node);
// The nodes of a machine: the worker before its server, whose names are less telling.
std::vector<std::uint32_t> nodes_on(const ClusterSpec& cluster, std::uint32_t host);
// "host 3" with cluster.colocate: the machine of worker 3.
std::optional<std::uint32_t> host_named(const ClusterSpec& cluster, std::string_view name);
// The cluster as the network sees it: machines, and no server beside a worker.
ClusterSpec machines_of(const ClusterSpec& cluster);

// What `name` would be if it were meant for a node, whether that exists or not: "worker 3" for "Worker-3".
// Empty when it is a switch's.
std::string meant_node(std::string_view name);

// Whether two nodes ever send messages to each other; only these pairs have routes.
bool talks(const Scenario& scenario, std::uint32_t a, std::uint32_t b);

// The pairs (a, b), a < b, that talk.
std::vector<std::pair<std::uint32_t, std::uint32_t>> talking_pairs(const Scenario& scenario);

// The ends of the links of topology graph. Nodes come first, then the switches in order of appearance.
struct GraphEnds {
  std::uint32_t vertices = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> links;
};
GraphEnds graph_ends(const ClusterSpec& cluster);  // every link must have two names

}  // namespace psim
