// A scenario: the whole input of a run. load.hpp reads it from TOML; fields.cpp describes each field.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/data_spec.hpp"
#include "model/model_spec.hpp"
#include "model/optimizer.hpp"
#include "sim/protocol/architecture.hpp"
#include "sim/protocol/consistency.hpp"
#include "sim/protocol/filter.hpp"
#include "sim/protocol/key_space.hpp"
#include "sim/protocol/replication_spec.hpp"
#include "sim/protocol/scheduler/membership.hpp"
#include "sim/protocol/scheduler/rebalance.hpp"
#include "sim/protocol/work.hpp"
#include "sim/scenario/spec/compute.hpp"
#include "sim/scenario/spec/faults.hpp"
#include "sim/scenario/spec/node_life.hpp"
#include "sim/scenario/spec/presets.hpp"
#include "sim/scenario/spec/step_trace.hpp"
#include "sim/scenario/spec/tasks.hpp"
#include "sim/scenario/spec/units.hpp"

namespace psim {

// The fields of a scenario about the detection and handling of failures.
enum class Semantics : std::uint8_t { exactly_once, at_least_once };
enum class LostWorkers : std::uint8_t { wait, remove, restart };
enum class LostData : std::uint8_t { drop, reassign };
enum class DataFrom : std::uint8_t { local, database, workers };
enum class LostServers : std::uint8_t { wait, neighbour };
enum class HandOver : std::uint8_t { two_phase, stop_and_copy };

struct RecoverySpec {
  bool enabled = false;
  DetectorKind detector = DetectorKind::timeout;
  Seconds heartbeat{0.5};
  Seconds timeout{2};
  double threshold = 8;
  LostWorkers workers = LostWorkers::remove;
  LostData data = LostData::drop;
  DataFrom data_from = DataFrom::local;
  LostServers servers = LostServers::neighbour;
  Rebalance rebalance = Rebalance::placement;
  HandOver hand_over = HandOver::two_phase;
  Semantics semantics = Semantics::exactly_once;
  Seconds retry{1};
  double backoff = 2;
  Seconds longest_retry{30};
  std::int64_t retry_limit = 0;
  SlowSpec slow;
  Seconds patience{120};  // time without progress after which the run ends
};

struct SnapshotSpec {
  std::optional<Period> every;
  BytesPerSecond bandwidth{500e6};
};

struct Target {
  std::optional<double> accuracy;
  std::optional<double> loss;
  bool stop = true;                       // end the run when reached
  std::optional<std::int64_t> hold = {};  // consecutive evaluations that must be as good; none: 1

  bool given() const { return accuracy || loss; }
};

// The content of a push: gradients, or the distance by which an elastic spring pulls the worker and the
// servers' centre together (Zhang, Choromanska, LeCun, NIPS 2015).
enum class Algorithm { gradient, elastic };
// Which nodes run the optimizer: servers, or every worker on the sum that servers send back (MXNet's
// update_on_kvstore = false, BytePS).
enum class UpdateAt { server, worker };

// Whether a worker's own optimizer keeps its state from clock to clock, or begins each clock with a new one.
enum class InnerState { kept, fresh };

// [training.inner]: the steps of a worker between a pull and a push. When a scenario is loaded, the first
// three fields replace those of TrainingSpec.
struct InnerLoop {
  bool given = false;
  OptimizerSpec optimizer;
  double learning_rate = 0.1;
  std::int64_t steps = 1;
  InnerState state = InnerState::kept;
  bool dynamic = false;  // fewer steps for slower workers
};

// [training.outer]: how the mean move of the workers changes the common weights.
struct OuterLoop {
  bool given = false;
  OptimizerSpec optimizer;
  double learning_rate = 1;
  std::int64_t fragments = 1;  // parts of the model that take turns
  std::int64_t delay = 0;      // local steps between the push of a fragment and its use
  double mix = 0;              // share of a worker's own weights in a fragment that it gets
};

struct TrainingSpec {
  std::int64_t batch_size = 32;
  std::optional<std::int64_t> steps;
  std::optional<double> epochs;
  std::optional<std::int64_t> samples;
  std::optional<Seconds> duration;
  OptimizerSpec optimizer;
  bool multi_precision = false;     // half precision: updates change a copy in single precision
  double loss_scale = 1;            // half precision: factor of gradients while they are rounded
  std::int64_t feature_blocks = 1;  // proximal: clock t changes the weights of block t mod feature_blocks
  double learning_rate = 0.1;
  RateSchedule schedule = RateSchedule::constant;
  double schedule_every = 1;
  double schedule_factor = 0.1;
  bool staleness_aware = false;
  Chosen<StalenessWeightRow> staleness_weight;
  Settings staleness_settings;  // of the weight
  StaleScales staleness_scales = StaleScales::rate;
  Algorithm algorithm = Algorithm::gradient;
  std::optional<double> elastic_rate;  // alpha; 0.9 / workers
  UpdateAt update = UpdateAt::server;
  InnerLoop inner;
  OuterLoop outer;
  std::int64_t local_steps = 1;            // steps per clock of a worker on its own copy
  std::optional<Seconds> local_time;       // time of a clock, instead of local_steps
  std::int64_t accumulate = 1;             // batches per local step, whose gradients are averaged
  std::optional<Seconds> accumulate_time;  // of them only those that fit
  std::optional<Seconds> give_up;          // a longer computation is given up, and another begins
  bool recompute = false;                  // keep few activations, and compute the others again
  std::int64_t warmup_steps = 0;           // local steps of the first clock; 0: local_steps
  Warmup warmup = Warmup::after_pull;
  std::int64_t pull_every = 1;          // clocks from one pull to the next
  WorkPolicy work = WorkPolicy::fixed;  // how many samples each worker computes
  std::int64_t work_every = 10;         // dynamic: clocks between two decisions
  double work_smoothing = 0.5;          // dynamic: weight of the newest measurement
  double work_piece = 0.025;            // stealing: the first piece, as a share of a batch
  double delay_compensation = 0;        // lambda of DC-ASGD
  double delay_compensation_decay = 0;  // m of DC-ASGD-a
  Target target;

  // A worker steps on its own copy in each clock, and pushes how far the copy moved.
  bool has_local_steps() const {
    return local_steps > 1 || warmup_steps > 1 || local_time || inner.given || outer.given;
  }
  // Workers run the optimizer, each on its own copy.
  bool workers_step() const {
    return has_local_steps() || update == UpdateAt::worker || algorithm == Algorithm::elastic;
  }
  // The optimizer of the common weights: that of [training.outer], which adds moves up unless the scenario
  // says more, or the scenario's.
  const OptimizerSpec& common_optimizer() const { return workers_step() ? outer.optimizer : optimizer; }
  // The number of local steps, or of batches, depends on the worker's speed.
  bool fits_steps() const { return local_time || inner.dynamic || accumulate_time; }
  std::int64_t batches_per_clock() const { return local_steps * accumulate; }
  std::int64_t local_steps_of(std::int64_t clock) const {
    return clock == 0 && warmup_steps > 0 ? warmup_steps : local_steps;
  }
  // Number of additional batches in the first clock.
  std::int64_t batches_more_at_first() const { return (local_steps_of(0) - local_steps) * accumulate; }
  std::optional<EvaluationPeriod> evaluate_every;
};

// One value for all nodes, or one for each.
struct Speeds {
  std::vector<FlopsPerSecond> values{{10e9}};
  std::vector<FlopsPerSecond> of_platform =
      {};  // speeds of the platform file, one for each node, if they are used
  const std::vector<FlopsPerSecond>& used() const { return of_platform.empty() ? values : of_platform; }
  FlopsPerSecond of(std::size_t node) const { return used().size() == 1 ? used()[0] : used()[node]; }
};

struct NodeSpec {
  Speeds speed;
  double flops_per_value = 0;  // servers: per pushed value; workers: per value that they update
  StartupSpec startup;
  EconomySpec economy;
  std::optional<Bytes> memory = {};  // none: no limit
};

// Where a worker adds up the gradients of its devices: MXNet's dist_* and dist_*_device.
enum class DeviceAggregation { host, device };
// Where a worker that updates its own weights runs the optimizer.
enum class DeviceUpdate { host, device };
// How devices reach each other: directly (MXNet's MXNET_ENABLE_GPU_P2P), or through the host's memory.
enum class PeerAccess { direct, host };

// The devices of each worker. A single device without a bus is the worker's processor.
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

  // The default is PCI Express 3.0 with 16 lanes.
  std::optional<BytesPerSecond> bus() const {
    return bus_bandwidth || count == 1 ? bus_bandwidth : BytesPerSecond{16e9};
  }
  // The bandwidth of a device's port for copies from and to other devices.
  BytesPerSecond port() const { return peer_bandwidth.value_or(bus().value_or(BytesPerSecond{16e9})); }
  FlopsPerSecond speed_of(std::size_t device, FlopsPerSecond usual) const {
    return speeds.values.empty() ? usual : speeds.of(device);
  }
};

enum class TopologyKind { star, two_tier, fat_tree, torus, dragonfly, graph, simgrid_xml };
// Messages are flows of SimGrid, or segments in the queues of NICs and switches.
enum class NetworkModel { fluid, nic };
enum class SimgridModel { cm02, lv08 };

// A link of topology graph between nodes or switches, by name.
struct LinkSpec {
  std::vector<std::string> between;
  std::optional<BytesPerSecond> bandwidth;  // the network's
  std::optional<Seconds> latency;           // likewise
};

// Content of a SimGrid platform file; the loader fills it in (scenario.hpp).
struct PlatformFile {
  struct Link {
    double bandwidth, latency;  // bytes per second, seconds
    bool fat_pipe;              // every flow has the whole bandwidth
    std::string name = {};
  };
  struct Route {
    std::uint32_t from, to;
    std::vector<std::uint32_t> links;
    double latency;  // seconds; may exceed the sum of the links' latencies
  };
  std::string text;
  std::vector<double> speeds;  // by node, flop/s
  std::vector<Link> links;
  std::vector<Route> routes;
};

// The time that the sending and receiving processes spend on a message.
struct EndpointSpec {
  Seconds send_overhead{0}, receive_overhead{0};
  std::optional<BytesPerSecond> send_bandwidth, receive_bandwidth;  // none: no time per byte
};

// Which node sums the pushes of a rack's workers and sends the servers one push (PHub: Luo et al., SoCC 2018;
// SwitchML: Sapio et al., NSDI 2021).
enum class AggregateAt : std::uint8_t { servers, rack, switches };

struct NetworkSpec {
  TopologyKind topology = TopologyKind::star;
  BytesPerSecond bandwidth{1.25e9};
  double bandwidth_sd = 0;     // of its logarithm
  double drawn_bandwidth = 1;  // the factor that the seed draws for all links
  Seconds latency{50 / 1e6};
  NetworkModel model = NetworkModel::fluid;
  std::int64_t segments = 8;  // nic: approximate number per message
  SimgridModel simgrid_model = SimgridModel::lv08;
  bool cross_traffic = false;
  double share_spread = 0.5;
  Bytes share_turn{40960};
  double share_cv = 0.08;
  double share_queue = 0.04;
  Bytes share_start{0};
  std::optional<Bytes> tcp_window;
  Bytes header{0};
  double joules_per_byte = 0;
  EndpointSpec endpoint;
  std::int64_t racks = 2;
  AggregateAt aggregate = AggregateAt::servers;
  double oversubscription = 4;
  std::optional<std::int64_t> ports;     // fat-tree; nodes.hpp has the defaults of these
  std::vector<std::int64_t> dimensions;  // torus
  std::optional<std::int64_t> groups;    // dragonfly, as are the next two
  std::int64_t routers = 4;
  std::int64_t hosts_per_router = 2;
  std::vector<LinkSpec> links;     // graph
  std::string platform;            // simgrid-xml, as are the following
  std::vector<std::string> hosts;  // by node
  bool platform_speeds = false;
  PlatformFile platform_file;
};

// Where the training set is: on every worker, or on a separate node that sends batches.
enum class Delivery { local, database };

struct DeliverySpec {
  Delivery source = Delivery::local;
  std::int64_t prefetch = 1;              // database: steps for which a worker requests batches in advance
  std::optional<Bytes> bytes_per_sample;  // database: replaces the size in the data
};

enum class Arrivals { poisson, constant };

// Nodes that answer requests with the weights that they pull, while the workers train.
struct InferenceSpec {
  bool given = false;  // false: no table, so no inference nodes
  std::int64_t nodes = 1;
  double rate = 100;  // requests per second, of all nodes together
  Arrivals arrivals = Arrivals::poisson;
  Seconds refresh{1};  // from one pull of a node to the next
  std::int64_t samples_per_request = 1;
  std::optional<double> flops_per_request;  // none: the forward pass, a third of a gradient
  Speeds speed;
  std::string group;              // the group that provides the parameters; empty: the first
  std::optional<Seconds> window;  // time window for counting answers

  std::int64_t count() const { return given ? nodes : 0; }
};

struct ClusterSpec {
  bool storage = false;   // a node for snapshots; the loader sets it
  bool database = false;  // a node with the training set for workers that join; the loader sets it
  std::int64_t workers = 8;
  std::int64_t spares = 0;   // the last workers; absent until one replaces a slow worker
  std::int64_t servers = 1;  // the loader sets it to 0 without servers
  bool colocate = false;     // server i and worker i run on one machine
  NodeSpec worker;
  DeviceSpec worker_devices;
  NodeSpec server;
  NetworkSpec network;
  DeliverySpec delivery;
  InferenceSpec inference;
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
  std::int64_t slice = 0;       // unit array: largest number of values per message; 0: no limit
  bool overlap = false;         // layer by layer: push as the backward pass proceeds, start forward early
  std::optional<Bytes> bucket;  // all-reduce with overlap: largest size of a bucket
  bool acknowledge = false;     // servers acknowledge pushes, and workers wait for the answers
  SendOrder order = SendOrder::parallel;
  KeyFormat keys = KeyFormat::range;

  std::size_t key_bytes() const { return keys == KeyFormat::per_value ? 8 : 0; }
};

// Which parameters a group of workers trains.
enum class Namespace { own, shared };

// A group of workers (Li et al., OSDI 2014, section 3): with its own parameter namespace, or with the
// namespace of the previous group.
struct GroupSpec {
  std::string name;
  std::optional<std::int64_t> workers;  // the loader always sets it
  Namespace space = Namespace::own;
  std::vector<std::string> set;  // "training.steps = 100": fields that differ from the rest of the scenario
};

struct Scenario {
  std::string title;
  Preset preset;  // its defaults replace psim's
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
  std::vector<ProfileSpec> profiles;  // the loader turns profiles of availability into faults
  std::vector<FilterSpec> filters;
  std::vector<FaultSpec> faults;
  RecoverySpec recovery;
  ReplicationSpec replication;
  SnapshotSpec snapshot;

  // Whether a message or node may be lost: nodes send heartbeats, servers acknowledge every push, and nodes
  // repeat requests.
  bool may_fail() const {
    return recovery.enabled || std::ranges::any_of(faults, may_lose) || replication.copies > 0 ||
           snapshot.every || recovery.slow.given || std::ranges::any_of(profiles, [](const ProfileSpec& one) {
             return one.of == ProfileOf::availability;
           });
  }
  // Whether an all-reduce sends partial sums in half precision, whose range is limited.
  bool sums_in_half() const {
    const std::vector<FilterSpec> used = filters_on(filters, true);
    const auto gathers = [](const FilterSpec& filter) { return static_cast<bool>(filter.kind->select); };
    const auto is_half_filter = [](const FilterSpec& filter) { return filter.kind->is_half; };
    return architecture.kind == Architecture::all_reduce && std::ranges::none_of(used, gathers) &&
           (is_half(model.precision) || std::ranges::any_of(used, is_half_filter));
  }
  bool divides_first() const { return sums_in_half() && architecture.divide_first.value_or(true); }
  // Whether samples that a worker needs travel over the network.
  bool moves_data() const { return may_fail() && recovery.data_from != DataFrom::local; }
};

// SimGrid's report about a platform file. Implemented in sim/cluster/platform.cpp, which uses SimGrid.
struct PlatformReport {
  std::string error;               // SimGrid's error message; empty if there is none
  std::vector<std::string> hosts;  // all hosts, in file order
  std::vector<std::pair<std::uint32_t, std::uint32_t>> without_route;
  PlatformFile file;
};

// Loads the text of a file in a child process, because SimGrid aborts on many errors, and asks for the routes
// of `pairs` in both directions. Node i is the host `hosts[i]`, or host i of the file if `hosts` is empty. If
// the file has too few hosts, or a host is unknown, only `PlatformReport::hosts` is filled in. Call it before
// threads are started.
PlatformReport inspect_platform(const std::string& text, const std::vector<std::string>& hosts,
                                std::uint32_t nodes,
                                const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs);

}  // namespace psim
