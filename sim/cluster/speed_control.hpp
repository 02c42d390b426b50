// The current speed of every machine: windowed stragglers times profiles times faults. With cluster.colocate
// a fault of one node slows the whole machine.
//
// At factor 0 a node is frozen: its machine stops and its messages wait. With a speed near 0 instead, the
// node would still do everything that takes no time, and a computation would end in a thousand years.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sim/cluster/agenda.hpp"
#include "sim/cluster/cpu.hpp"
#include "sim/cluster/network.hpp"
#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// The time of a computation relative to its mean: compute-time distributions and stragglers.
// Pure functions of (seed, worker, step) and of simulated time; no SimGrid.

// Slowness of each step of each worker; mean 1 over steps (a trace of factors: the file's own mean).
class Slowness {
 public:
  // `mean_steps`: by worker, the mean time of a step in seconds, which includes `shift`.
  Slowness(ComputeSpec spec, std::vector<StragglerSpec> stragglers, std::uint64_t seed,
           std::vector<double> mean_steps, std::vector<ProfileSpec> profiles = {});

  // Factor on the work of step `step` (0, 1, ...): distribution times random stragglers.
  double of_step(std::uint32_t worker, std::int64_t step);

  // Factor on the worker's speed at a date, from permanent, windowed and periodic stragglers, and from
  // profiles.
  double speed_factor(std::uint32_t worker, double now) const;
  // The next date after `now` when speed_factor may change; none if it never changes.
  std::optional<double> next_change(std::uint32_t worker, double now) const;

 private:
  struct Effect {
    std::vector<StepState> states;  // by worker
    std::vector<double> drawn;      // of a shared effect: by step
  };
  double draw(std::uint32_t worker, std::int64_t step);
  double of_effect(std::size_t index, std::uint32_t worker, std::int64_t step);
  double of_factor(const FactorSpec& factor, std::uint64_t seed, std::vector<StepState>& states,
                   std::uint32_t worker, std::int64_t step) const;

  ComputeSpec spec_;
  std::vector<StragglerSpec> stragglers_;
  std::vector<ProfileSpec> profiles_;
  std::uint64_t seed_;
  std::vector<double> mean_steps_;
  std::vector<StepState> states_;  // of the factor of all workers, by worker
  std::vector<Effect> effects_;
};

class SpeedControl {
 public:
  SpeedControl(const ClusterSpec& cluster, Cpus& cpus, const Slowness& slowness, Agenda& agenda,
               Network& network, Recorder& recorder);

  // Call once, before the simulation runs. Follows the stragglers' windows, until `is_stuck`.
  void start(std::function<bool()> is_stuck);

  // Sets the factor of faults on the node's speed. A machine is frozen until all its nodes have a factor
  // above 0.
  void set_fault(NodeId node, double factor);
  bool is_frozen(NodeId node) const { return cpus_.of(node).is_frozen(); }

 private:
  void follow(NodeId node);
  void apply(NodeId node);
  // The nodes of its machine, including itself.
  std::vector<NodeId> nodes_beside(NodeId node) const;
  std::optional<std::uint32_t> worker_of(NodeId node) const;
  double factor_of(const std::vector<NodeId>& machine) const;

  const ClusterSpec& cluster_;
  Cpus& cpus_;
  const Slowness& slowness_;
  Agenda& agenda_;
  Network& network_;
  Recorder& recorder_;
  std::function<bool()> is_stuck_;
  std::vector<double> by_fault_, factors_;  // by node; factors_: those of its machine
};

// The current bandwidth and latency of every node's own links: profiles times faults.
class LinkControl {
 public:
  LinkControl(const Scenario& scenario, Network& network, Agenda& agenda, Recorder& recorder);

  // Call once, before the simulation runs. Follows the profiles until `is_stuck`.
  void start(std::function<bool()> is_stuck);

  // Sets the share of the node's bandwidth that faults leave.
  void set_fault(NodeId node, double factor);

 private:
  struct Node {
    std::vector<const ProfileSpec*> profiles = {};
    double by_fault = 1, by_profile = 1, latency = 0;
  };
  void follow(NodeId node);
  void set_bandwidth(NodeId node);

  std::uint64_t seed_;
  Network& network_;
  Agenda& agenda_;
  Recorder& recorder_;
  std::function<bool()> is_stuck_;
  std::vector<Node> nodes_;
};

}  // namespace psim
