// A scenario: everything that a run is a function of. Read from TOML (load.hpp), described field by field
// in fields.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/data_spec.hpp"
#include "model/model_spec.hpp"
#include "model/optimizer.hpp"
#include "sim/protocol/architecture.hpp"
#include "sim/protocol/consistency.hpp"
#include "sim/protocol/filter.hpp"
#include "sim/protocol/key_space.hpp"
#include "sim/protocol/work.hpp"
#include "sim/scenario/spec/distributions.hpp"
#include "sim/scenario/spec/faults.hpp"
#include "sim/scenario/spec/node_life.hpp"
#include "sim/scenario/spec/presets.hpp"
#include "sim/scenario/spec/recovery.hpp"
#include "sim/scenario/spec/tasks.hpp"
#include "sim/scenario/spec/units.hpp"

namespace psim {

struct Target {
  std::optional<double> accuracy;
  std::optional<double> loss;
  bool stop = true;                       // end the run when reached
  std::optional<std::int64_t> hold = {};  // evaluations in a row that must be as good; none: 1

  bool given() const { return accuracy || loss; }
};

// What a worker pushes: the gradients of its steps, or the distance that an elastic spring pulls it and the
// servers' centre together (Zhang, Choromanska, LeCun, NIPS 2015).
enum class Algorithm { gradient, elastic };
// Who runs the optimizer: servers, or every worker on the sum that servers send back (MXNet's
// update_on_kvstore = false, BytePS).
enum class UpdateAt { server, worker };

struct TrainingSpec {
  std::int64_t batch_size = 32;
  std::optional<std::int64_t> steps;
  std::optional<double> epochs;
  std::optional<std::int64_t> samples;
  std::optional<Seconds> duration;
  OptimizerSpec optimizer;
  bool multi_precision = false;     // half precision: updates go to a copy in single precision
  double loss_scale = 1;            // half precision: of gradients, while they are rounded
  std::int64_t feature_blocks = 1;  // proximal: clock t changes the weights of block t mod feature_blocks
  double learning_rate = 0.1;
  RateSchedule schedule = RateSchedule::constant;
  double schedule_every = 1;
  double schedule_factor = 0.1;
  bool staleness_aware = false;
  Chosen<StalenessWeightRow> staleness_weight;
  Settings staleness_settings;  // of the weight
  Algorithm algorithm = Algorithm::gradient;
  std::optional<double> elastic_rate;  // alpha; 0.9 / workers
  UpdateAt update = UpdateAt::server;
  std::int64_t local_steps = 1;       // of a worker on its own copy, per clock
  std::optional<Seconds> local_time;  // instead, of a clock: as many local steps as fit
  std::int64_t accumulate = 1;        // batches per local step, their gradients averaged
  bool recompute = false;             // keep few activations, and compute the others again
  std::int64_t warmup_steps = 0;      // local steps of the first clock; 0: as of every clock
  Warmup warmup = Warmup::after_pull;
  std::int64_t pull_every = 1;          // clocks from one pull to the next
  WorkPolicy work = WorkPolicy::fixed;  // who computes how much of a clock
  std::int64_t work_every = 10;         // dynamic: clocks between two decisions
  double work_smoothing = 0.5;          // dynamic: the newest measurement's weight
  double work_piece = 0.025;            // stealing: the first piece, as a share of a batch
  double delay_compensation = 0;        // lambda of DC-ASGD
  double delay_compensation_decay = 0;  // m of DC-ASGD-a
  Target target;

  std::int64_t batches_per_clock() const { return local_steps * accumulate; }
  std::int64_t local_steps_of(std::int64_t clock) const {
    return clock == 0 && warmup_steps > 0 ? warmup_steps : local_steps;
  }
  // Batches that the first clock has more than each other one.
  std::int64_t batches_more_at_first() const { return (local_steps_of(0) - local_steps) * accumulate; }
  std::optional<EvaluationPeriod> evaluate_every;
};

// One value for all nodes, or one for each.
struct Speeds {
  std::vector<FlopsPerSecond> values{{10e9}};
  std::vector<FlopsPerSecond> of_platform = {};  // instead, one for each, when the platform file's are used
  const std::vector<FlopsPerSecond>& used() const { return of_platform.empty() ? values : of_platform; }
  FlopsPerSecond of(std::size_t node) const { return used().size() == 1 ? used()[0] : used()[node]; }
};

struct NodeSpec {
  Speeds speed;
  double flops_per_value = 0;  // servers: of a pushed value; workers: of a value that they update themselves
  StartupSpec startup;
  EconomySpec economy;
  std::optional<Bytes> memory = {};  // none: no limit
};

// Where the gradients of a worker's devices are added up: MXNet's dist_* and dist_*_device.
enum class DeviceAggregation { host, device };
// Who runs the optimizer of a worker that updates its own weights.
enum class DeviceUpdate { host, device };
// How devices reach each other: directly (MXNet's MXNET_ENABLE_GPU_P2P), or through the host's memory.
enum class PeerAccess { direct, host };

// The devices of each worker. A single one without a bus is the worker's own processor.
struct DeviceSpec {
  std::int64_t count = 1;
  Speeds speeds{.values = {}};  // empty: each as fast as the worker
  std::optional<Bytes> memory;
  std::optional<BytesPerSecond> bus_bandwidth;
  Seconds bus_latency{10 / 1e6};
  DeviceAggregation aggregate = DeviceAggregation::host;
  DeviceUpdate update = DeviceUpdate::host;
  PeerAccess peers = PeerAccess::direct;
  std::optional<BytesPerSecond> peer_bandwidth;  // none: the bus's

  // PCI Express 3.0 with 16 lanes, unless given.
  std::optional<BytesPerSecond> bus() const {
    return bus_bandwidth || count == 1 ? bus_bandwidth : BytesPerSecond{16e9};
  }
  // Of a device's port for copies from and to other devices.
  BytesPerSecond port() const { return peer_bandwidth.value_or(bus().value_or(BytesPerSecond{16e9})); }
  FlopsPerSecond speed_of(std::size_t device, FlopsPerSecond usual) const {
    return speeds.values.empty() ? usual : speeds.of(device);
  }
};

enum class TopologyKind { star, two_tier, fat_tree, torus, dragonfly, graph, simgrid_xml };
// As flows of SimGrid, or in segments through the queues of NICs and switches.
enum class NetworkModel { fluid, nic };
enum class SimgridModel { cm02, lv08 };

// A link of topology graph: between nodes, or switches, by name.
struct LinkSpec {
  std::vector<std::string> between;
  std::optional<BytesPerSecond> bandwidth;  // the network's
  std::optional<Seconds> latency;           // likewise
};

// What a SimGrid platform file says about the nodes: filled in by the loader (platform_file.hpp).
struct PlatformFile {
  struct Link {
    double bandwidth, latency;  // bytes per second, seconds
    bool fat_pipe;              // every flow has the whole bandwidth
    std::string name = {};
  };
  struct Route {
    std::uint32_t from, to;
    std::vector<std::uint32_t> links;
    double latency;  // seconds; may be more than the links'
  };
  std::string text;
  std::vector<double> speeds;  // by node, flop/s
  std::vector<Link> links;
  std::vector<Route> routes;
};

// What a message costs the processes at its ends.
struct EndpointSpec {
  Seconds send_overhead{0}, receive_overhead{0};
  std::optional<BytesPerSecond> send_bandwidth, receive_bandwidth;  // none: no time per byte
};

// Who sums the pushes of a rack's workers and sends the servers one (PHub: Luo et al., SoCC 2018; SwitchML:
// Sapio et al., NSDI 2021).
enum class AggregateAt : std::uint8_t { servers, rack, switches };

struct NetworkSpec {
  TopologyKind topology = TopologyKind::star;
  BytesPerSecond bandwidth{1.25e9};
  Seconds latency{50 / 1e6};
  NetworkModel model = NetworkModel::fluid;
  std::int64_t segments = 8;  // nic: of a message, about
  SimgridModel simgrid_model = SimgridModel::lv08;
  bool cross_traffic = false;
  double share_spread = 0.5;
  Bytes share_turn{262144};
  std::optional<Bytes> tcp_window;
  Bytes header{0};
  double joules_per_byte = 0;
  EndpointSpec endpoint;
  std::int64_t racks = 2;
  AggregateAt aggregate = AggregateAt::servers;
  double oversubscription = 4;
  std::optional<std::int64_t> ports;     // fat-tree; network_size.hpp has the defaults of these
  std::vector<std::int64_t> dimensions;  // torus
  std::optional<std::int64_t> groups;    // dragonfly, as the next two
  std::int64_t routers = 4;
  std::int64_t hosts_per_router = 2;
  std::vector<LinkSpec> links;     // graph
  std::string platform;            // simgrid-xml, as the rest
  std::vector<std::string> hosts;  // by node
  bool platform_speeds = false;
  PlatformFile platform_file;
};

// Where the training set is: on every worker, or on a node of its own, which sends batches.
enum class Delivery { local, database };

struct DeliverySpec {
  Delivery source = Delivery::local;
  std::int64_t prefetch = 1;              // database: steps that a worker asks for ahead
  std::optional<Bytes> bytes_per_sample;  // database: instead of what the data has
};

enum class Arrivals { poisson, constant };

// Nodes that answer requests with the weights that they pull, while the workers train.
struct InferenceSpec {
  bool given = false;  // without the table there are none
  std::int64_t nodes = 1;
  double rate = 100;  // requests per second, of all nodes together
  Arrivals arrivals = Arrivals::poisson;
  Seconds refresh{1};  // from one pull of a node to the next
  std::int64_t samples_per_request = 1;
  std::optional<double> flops_per_request;  // of the forward pass: a third of a gradient's
  Speeds speed;
  std::string group;              // whose parameters are served; empty: the first one's
  std::optional<Seconds> window;  // in which answers are counted

  std::int64_t count() const { return given ? nodes : 0; }
};

struct ClusterSpec {
  bool storage = false;   // a node for snapshots; set once a scenario with some is loaded
  bool database = false;  // likewise a node that holds the training set for workers that join
  std::int64_t workers = 8;
  std::int64_t spares = 0;   // of the workers, the last ones: absent until a slow one is replaced
  std::int64_t servers = 1;  // 0 once a scenario of an architecture without servers is loaded
  bool colocate = false;     // server i and worker i are on one machine
  NodeSpec worker;
  DeviceSpec worker_devices;
  NodeSpec server;
  NetworkSpec network;
  DeliverySpec delivery;
  InferenceSpec inference;
};

struct ComputeSpec {
  Distribution distribution;
  Settings settings;            // of the distribution
  std::optional<Seconds> time;  // mean time of a step, instead of flops / speed
  std::string trace;            // trace: file with one row per step, one column, or one per worker
  std::vector<std::vector<double>> trace_rows;  // the file's content, filled in by the loader
};

struct StragglerSpec {
  std::vector<std::int64_t> workers;
  double slowdown = 2;
  std::optional<Seconds> from;
  std::optional<Seconds> until;
  std::optional<Seconds> every;
  std::optional<double> probability;
};

enum class KeyFormat { range, per_value };

struct MessagesSpec {
  MessageUnit unit = MessageUnit::server;
  std::int64_t slice = 0;       // unit array: values per message at most; 0: no limit
  bool overlap = false;         // layer by layer: push as the backward pass proceeds, start forward early
  std::optional<Bytes> bucket;  // all-reduce with overlap: arrays are summed together up to this size
  bool acknowledge = false;     // servers answer pushes, and workers wait for that
  SendOrder order = SendOrder::parallel;
  KeyFormat keys = KeyFormat::range;

  std::size_t key_bytes() const { return keys == KeyFormat::per_value ? 8 : 0; }
};

// Whose parameters a group of workers trains.
enum class Namespace { own, shared };

// Workers that work on one thing (Li et al., OSDI 2014, section 3): with a parameter namespace of their own,
// or in that of the group before.
struct GroupSpec {
  std::string name;
  std::optional<std::int64_t> workers;  // always there once a scenario is loaded
  Namespace space = Namespace::own;
  std::vector<std::string> set;  // "training.steps = 100": what is otherwise than in the rest of the scenario
};

struct Scenario {
  std::string title;
  Preset preset;  // whose defaults stand in the place of psim's own
  std::int64_t seed = 1;
  ArchitectureSpec architecture;
  DataSpec data;
  ModelSpec model;
  Bytes activations_per_sample{0};  // of a phantom model
  TrainingSpec training;
  ConsistencySpec consistency;
  PlacementSpec placement;
  MessagesSpec messages;
  ClusterSpec cluster;
  ComputeSpec compute;
  std::vector<GroupSpec> groups;
  std::vector<TaskSpec> tasks;
  std::vector<StragglerSpec> stragglers;
  std::vector<ProfileSpec> profiles;  // of speed; those of availability become faults when they are loaded
  std::vector<FilterSpec> filters;
  std::vector<FaultSpec> faults;
  RecoverySpec recovery;
  ReplicationSpec replication;
  SnapshotSpec snapshot;

  // Something may be lost, or somebody may go: there are heartbeats, servers acknowledge every push, and
  // requests are repeated.
  bool may_fail() const {
    return recovery.enabled || std::ranges::any_of(faults, may_lose) || replication.copies > 0 ||
           snapshot.every || recovery.slow.given || std::ranges::any_of(profiles, [](const ProfileSpec& one) {
             return one.of == ProfileOf::availability;
           });
  }
  // The samples that a worker is to hold come over the network.
  bool moves_data() const { return may_fail() && recovery.data_from != DataFrom::local; }
};

}  // namespace psim
