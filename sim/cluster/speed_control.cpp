#include "sim/cluster/speed_control.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "model/base/random.hpp"
#include "sim/protocol/probe.hpp"
#include "sim/scenario/spec/nodes.hpp"

namespace psim {
namespace {

bool concerns(const StragglerSpec& straggler, std::uint32_t worker) {
  return std::ranges::find(straggler.workers, static_cast<std::int64_t>(worker)) != straggler.workers.end();
}

struct Window {
  double begin, end;  // the straggler's window at or after a date
};

// The window that contains `now`, or else the next one; `every` repeats [from, until) for ever.
Window window_at(const StragglerSpec& s, double now) {
  const double from = s.from ? s.from->value : 0.0;
  const double until = s.until ? s.until->value : HUGE_VAL;
  if (!s.every) return {from, until};
  const double period = s.every->value;
  // The first turn that has not ended. Each date is computed from its turn number, so it is the same in every
  // call. The division may have been rounded up or down.
  double turn = std::max(0.0, std::floor((now - from) / period) - 1);
  for (int more = 0; more < 2 && now >= until + turn * period; ++more) ++turn;
  return {from + turn * period, until + turn * period};
}

bool active(const StragglerSpec& s, double now) {
  const Window window = window_at(s, now);
  return now >= window.begin && now < window.end;
}

}  // namespace

Slowness::Slowness(ComputeSpec spec, std::vector<StragglerSpec> stragglers, std::uint64_t seed,
                   std::vector<double> mean_steps, std::vector<ProfileSpec> profiles)
    : spec_(std::move(spec)),
      stragglers_(std::move(stragglers)),
      profiles_(std::move(profiles)),
      seed_(seed),
      mean_steps_(std::move(mean_steps)),
      effects_(spec_.effects.size()) {}

double Slowness::of_step(std::uint32_t worker, std::int64_t step) {
  double factor = draw(worker, step);
  for (std::size_t i = 0; i < stragglers_.size(); ++i) {
    const StragglerSpec& s = stragglers_[i];
    if (!s.probability || !concerns(s, worker)) continue;
    Stream stream(seed_, "straggler", combine(i, worker), static_cast<std::uint64_t>(step));
    if (stream.uniform() < *s.probability) factor *= s.slowdown;
  }
  return factor;
}

double Slowness::draw(std::uint32_t worker, std::int64_t step) {
  double factor = of_factor(spec_, seed_, states_, worker, step);
  for (std::size_t i = 0; i < spec_.effects.size(); ++i) {
    const EffectSpec& effect = spec_.effects[i];
    if (effect.concerns(worker)) factor *= of_effect(i, worker, step);
  }
  return factor;
}

// A shared effect is drawn once for each step, whichever worker gets there first.
double Slowness::of_effect(std::size_t index, std::uint32_t worker, std::int64_t step) {
  const EffectSpec& spec = spec_.effects[index];
  Effect& effect = effects_[index];
  const std::uint64_t seed = combine(combine(seed_, "effect"), index);
  if (!spec.shared) return of_factor(spec, seed, effect.states, worker, step);
  while (std::ssize(effect.drawn) <= step)
    effect.drawn.push_back(of_factor(spec, seed, effect.states, 0, std::ssize(effect.drawn)));
  return effect.drawn[static_cast<std::size_t>(step)];
}

double Slowness::of_factor(const FactorSpec& factor, std::uint64_t seed, std::vector<StepState>& states,
                           std::uint32_t worker, std::int64_t step) const {
  if (states.size() <= worker) states.resize(worker + 1);
  StepDraw draw{.settings = factor.settings,
                .trace = &factor,
                .seed = seed,
                .worker = worker,
                .step = step,
                .mean_step = mean_steps_.at(worker),
                .state = states[worker],
                .stream = Stream(seed, "compute", worker, static_cast<std::uint64_t>(step))};
  return factor.distribution->draw(draw);
}

double Slowness::speed_factor(std::uint32_t worker, double now) const {
  double factor = 1.0;
  for (const StragglerSpec& s : stragglers_) {
    if (!s.probability && concerns(s, worker) && active(s, now)) factor /= s.slowdown;
  }
  for (const ProfileSpec& profile : profiles_) {
    if (psim::concerns(profile, worker)) factor *= value_at(profile, now, 1, seed_, worker);
  }
  return factor;
}

std::optional<double> Slowness::next_change(std::uint32_t worker, double now) const {
  std::optional<double> next;
  const auto consider = [&](double date) {
    if (date > now && date < HUGE_VAL && (!next || date < *next)) next = date;
  };
  for (const StragglerSpec& s : stragglers_) {
    if (s.probability || !concerns(s, worker)) continue;
    const Window window = window_at(s, now);
    consider(window.begin);
    consider(window.end);
  }
  for (const ProfileSpec& profile : profiles_) {
    if (!psim::concerns(profile, worker)) continue;
    if (const std::optional<double> row = next_row(profile, now, seed_, worker)) consider(*row);
  }
  return next;
}

SpeedControl::SpeedControl(const ClusterSpec& cluster, Cpus& cpus, const Slowness& slowness, Agenda& agenda,
                           Network& network, Recorder& recorder)
    : cluster_(cluster),
      cpus_(cpus),
      slowness_(slowness),
      agenda_(agenda),
      network_(network),
      recorder_(recorder),
      by_fault_(node_count(cluster), 1.0),
      factors_(by_fault_) {}

void SpeedControl::start(std::function<bool()> is_stuck) {
  is_stuck_ = std::move(is_stuck);
  for (std::int64_t worker = 0; worker < cluster_.workers; ++worker)
    follow(static_cast<NodeId>(1 + cluster_.servers + worker));
}

void SpeedControl::follow(NodeId node) {
  if (is_stuck_()) return;
  apply(node);
  if (const auto next = slowness_.next_change(*worker_of(node), Agenda::now()))
    agenda_.at(*next, [this, node] { follow(node); });
}

void SpeedControl::set_fault(NodeId node, double factor) {
  const bool was_frozen = is_frozen(node);
  by_fault_[node] = factor;
  apply(node);
  PSIM_PROBE(was_frozen && factor > 0 && is_frozen(node), "another node keeps the machine frozen");
  if (!was_frozen || is_frozen(node)) return;
  for (const NodeId other : nodes_beside(node)) network_.hand_out(other);
}

std::optional<std::uint32_t> SpeedControl::worker_of(NodeId node) const {
  const std::int64_t worker = static_cast<std::int64_t>(node) - 1 - cluster_.servers;
  if (worker < 0 || worker >= cluster_.workers) return std::nullopt;
  return static_cast<std::uint32_t>(worker);
}

std::vector<NodeId> SpeedControl::nodes_beside(NodeId node) const {
  return nodes_on(cluster_, host_of(cluster_, node));
}

// Stragglers and profiles are properties of the worker's machine. A fault of either node slows both.
double SpeedControl::factor_of(const std::vector<NodeId>& machine) const {
  double by_fault = 1, by_machine = 1;
  for (const NodeId node : machine) {
    by_fault = std::min(by_fault, by_fault_[node]);
    if (const auto worker = worker_of(node)) by_machine = slowness_.speed_factor(*worker, Agenda::now());
  }
  return by_fault * by_machine;
}

void SpeedControl::apply(NodeId node) {
  const double factor = factor_of(nodes_beside(node));
  for (const NodeId one : nodes_beside(node)) {
    if (factor != std::exchange(factors_[one], factor))
      recorder_.on_rate({one, Quantity::speed, Agenda::now(), factor});
  }
  if (factor > 0) return cpus_.of(node).set_factor(factor);
  cpus_.of(node).freeze();
  for (const NodeId other : nodes_beside(node)) network_.hold(other);
}

LinkControl::LinkControl(const Scenario& scenario, Network& network, Agenda& agenda, Recorder& recorder)
    : seed_(static_cast<std::uint64_t>(scenario.seed)),
      network_(network),
      agenda_(agenda),
      recorder_(recorder),
      nodes_(node_count(scenario.cluster)) {
  for (const ProfileSpec& profile : scenario.profiles) {
    if (!profile.is_of_links()) continue;
    std::vector<std::uint32_t> nodes = fault_nodes(scenario.cluster, profile.nodes);
    for (NodeId node = 0; profile.nodes.empty() && node < nodes_.size(); ++node) nodes.push_back(node);
    for (const NodeId node : nodes) nodes_[node].profiles.push_back(&profile);
  }
}

void LinkControl::start(std::function<bool()> is_stuck) {
  is_stuck_ = std::move(is_stuck);
  for (NodeId node = 0; node < nodes_.size(); ++node) {
    if (!nodes_[node].profiles.empty()) follow(node);
  }
}

void LinkControl::follow(NodeId node) {
  if (is_stuck_()) return;
  const double now = Agenda::now();
  double bandwidth = 1, latency = 0;
  std::optional<double> next;
  for (const ProfileSpec* profile : nodes_[node].profiles) {
    if (profile->of == ProfileOf::bandwidth) bandwidth *= value_at(*profile, now, 1, seed_, node);
    else latency += value_at(*profile, now, 0, seed_, node);
    if (const auto date = next_row(*profile, now, seed_, node)) next = std::min(next.value_or(*date), *date);
  }
  network_.set_extra_latency(node, latency);
  if (latency != std::exchange(nodes_[node].latency, latency))
    recorder_.on_rate({node, Quantity::latency, now, latency});
  if (bandwidth != std::exchange(nodes_[node].by_profile, bandwidth)) set_bandwidth(node);
  if (next) agenda_.at(*next, [this, node] { follow(node); });
}

void LinkControl::set_fault(NodeId node, double factor) {
  nodes_[node].by_fault = factor;
  set_bandwidth(node);
}

void LinkControl::set_bandwidth(NodeId node) {
  const double share = nodes_[node].by_fault * nodes_[node].by_profile;
  network_.set_bandwidth(node, share);
  recorder_.on_rate({node, Quantity::bandwidth, Agenda::now(), share});
}

}  // namespace psim
