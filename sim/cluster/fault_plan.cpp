#include "sim/cluster/fault_plan.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "model/base/random.hpp"
#include "sim/scenario/spec/nodes.hpp"

namespace psim {
namespace {

// Turns of a fault without effect. After these, psim expects no effect of more turns.
constexpr int enough = 3;

}  // namespace

FaultPlan::FaultPlan(const Scenario& scenario, Network& network, Recorder& recorder, Agenda& agenda,
                     FaultTarget& target)
    : scenario_(scenario),
      network_(network),
      recorder_(recorder),
      agenda_(agenda),
      target_(target),
      links_(scenario),
      uses_(scenario.faults.size()),
      starts_to_come_(node_count(scenario.cluster), 0) {
  network_.set_faults(&links_);
  const auto seed = static_cast<std::uint64_t>(scenario.seed);
  for (std::size_t table = 0; table < scenario.faults.size(); ++table) {
    const FaultSpec& fault = spec(table);
    active_.emplace_back(node_count(scenario.cluster), 0);
    if (fault.is_off) continue;
    if (!fault.when.empty()) {
      const FaultCondition condition = std::get<FaultCondition>(parse_condition(fault.when));
      conditions_.push_back({table, condition, node_named(scenario.cluster, condition.node).value_or(0)});
    } else if (fault.mtbf && !fault.nodes.empty()) {  // every node fails independently
      for (const NodeId node : fault_nodes(scenario.cluster, fault.nodes))
        units_.push_back({table, node, FaultTurns(fault, seed, table, node)});
    } else {
      units_.push_back({table, std::nullopt, FaultTurns(fault, seed, table, 0)});
    }
  }
}

void FaultPlan::start(std::function<bool()> is_quiet) {
  is_quiet_ = std::move(is_quiet);
  for (std::size_t unit = 0; unit < units_.size(); ++unit) plan(unit);
}

// A fault with a window from date 0 takes effect before the first actor acts; the agenda would be too late.
void FaultPlan::plan(std::size_t index) {
  Unit& unit = units_[index];
  const std::optional<FaultTurn> turn = unit.turns.next();
  if (!turn) return;
  const bool repeats = unit.turns.for_ever();
  if (turn->begin == 0 && spec(unit.table).kind->window) {
    begin(unit.table, unit.node, *turn, !repeats);
    return plan(index);
  }
  if (!repeats) ++pending_;
  expect_starts(unit.table, unit.node, 1);
  agenda_.at(turn->begin, [this, index, turn = *turn, repeats] {
    Unit& now = units_[index];
    if (!repeats) passes();
    const bool begins = !repeats || !gives_up(now);
    // All nodes of the fault count as coming until begin() has started all of them. So a server that leaves
    // keeps a shard for a next owner that begin() has not started yet.
    if (begins) begin(now.table, now.node, turn, !repeats);
    expect_starts(now.table, now.node, -1);
    if (begins) plan(index);
  });
}

// Faults that repeat for ever would keep the clock running for ever. They stop when no other fault is planned
// and the last `enough` turns of each have caused no event except the faults themselves. Then more turns do
// not help either, not even a restart.
bool FaultPlan::gives_up(Unit& unit) {
  const RunStats& stats = recorder_.stats();
  const std::uint64_t progress = stats.events - stats.events_beside - recorded_;
  unit.idle = is_quiet_() && progress == unit.progress ? unit.idle + 1 : 0;
  unit.progress = progress;
  given_up_ = given_up_ || (pending_ == 0 && std::ranges::all_of(units_, [](const Unit& one) {
                              return !one.turns.for_ever() || one.idle >= enough;
                            }));
  return given_up_;
}

double FaultPlan::some_turns() const {
  // One of them almost certainly succeeds if each succeeds with a probability of at least 1/3.
  constexpr double attempts = 30;
  double longest = 0, lossy = 0;
  for (const FaultSpec& fault : scenario_.faults) {
    if (fault.kind->drops && fault.probability < 1) lossy = attempts * scenario_.recovery.longest_retry.value;
    for (const std::optional<Seconds>& period : {fault.every, fault.mtbf}) {
      if (period) longest = std::max(longest, period->value);
    }
  }
  return std::max(enough * longest, lossy);
}

std::vector<FaultUse> FaultPlan::uses() const {
  std::vector<FaultUse> uses = uses_;
  for (std::size_t table = 0; table < uses.size(); ++table)
    uses[table].mattered = uses[table].mattered || (uses[table].happened && links_.has_met_any(table));
  return uses;
}

void FaultPlan::passes() {
  --pending_;
  last_once_ = Agenda::now();
}

void FaultPlan::begin(std::size_t table, std::optional<NodeId> node, const FaultTurn& turn, bool counts) {
  act(table, node, true);
  if (turn.end == HUGE_VAL) return;
  if (counts) ++pending_;
  expect_starts(table, node, 1);
  agenda_.at(turn.end, [this, table, node, counts] {
    if (counts) passes();
    act(table, node, false);
    expect_starts(table, node, -1);
  });
}

bool FaultPlan::starts_nodes(std::size_t table) const {
  const FaultSpec& fault = spec(table);
  return fault.kind->joins || fault.kind->restarts ||
         (fault.kind->crashes && fault.restart_after.has_value());
}

void FaultPlan::expect_starts(std::size_t table, std::optional<NodeId> node, int change) {
  if (!starts_nodes(table)) return;
  for (const NodeId one : nodes_of(table, node)) starts_to_come_[one] += change;
}

std::vector<NodeId> FaultPlan::nodes_of(std::size_t table, std::optional<NodeId> node) const {
  if (node) return {*node};
  return fault_nodes(scenario_.cluster, spec(table).nodes);
}

void FaultPlan::act(std::size_t table, std::optional<NodeId> node, bool begins) {
  record(table, node, begins);
  if (begins && std::exchange(last_turn_, Agenda::now()) < Agenda::now()) ++turns_;
  FaultUse& use = uses_[table];
  use.happened = true;
  const FaultKindRow& kind = *spec(table).kind;
  if (kind.on == FaultOn::everything) {
    use.mattered = true;
    return links_.end_all(kind.undoes);
  }
  if (kind.cuts || kind.meet != nullptr) return begins ? links_.begin(table, node) : links_.end(table, node);
  for (const NodeId one : nodes_of(table, node)) use.mattered = act_on(table, one, begins) || use.mattered;
}

bool FaultPlan::act_on(std::size_t table, NodeId node, bool begins) {
  const FaultSpec& fault = spec(table);
  const FaultKindRow& kind = *fault.kind;
  recorder_.outside().goes_on(Agenda::now(), {rows_.at(node)});
  bool changed = false;
  if (const auto act = begins ? kind.begin : kind.end) changed = act(target_, node, fault);
  if (kind.crashes && begins) check(FaultCondition::Quantity::crashed, node, 1);
  if (!kind.takes_factor()) return changed;
  active_[table][node] += begins ? 1 : -1;
  if (kind.slows) target_.set_speed(node, product(&FaultKindRow::slows, node));
  if (kind.degrades) target_.set_bandwidth(node, product(&FaultKindRow::degrades, node));
  return changed || *fault.factor != 1;
}

// The factors of active faults with the same effect multiply.
double FaultPlan::product(bool FaultKindRow::*what, NodeId node) const {
  double factor = 1;
  for (std::size_t table = 0; table < active_.size(); ++table) {
    if (*spec(table).kind.*what && active_[table][node] > 0) factor *= *spec(table).factor;
  }
  return factor;
}

void FaultPlan::record(std::size_t table, std::optional<NodeId> node, bool begins) {
  const FaultSpec& fault = spec(table);
  const auto record_one = [&](std::optional<NodeId> target, std::optional<NodeId> other_side) {
    const std::uint64_t row = recorder_.record(
        {Agenda::now(), scheduler_node,
         FaultChange{static_cast<std::int64_t>(table), fault.kind, begins, target, other_side}});
    if (target) rows_[*target] = static_cast<std::int64_t>(row);
    ++recorded_;
  };
  const auto record_all = [&](const std::vector<NodeId>& nodes, std::optional<NodeId> other_side) {
    for (const NodeId one : nodes) record_one(one, other_side);
  };
  if (!fault.between.empty()) {
    const auto [a, b] = fault_sides(scenario_.cluster, fault.between);
    record_all(a, b.front());
    record_all(b, a.front());
    return;
  }
  const std::vector<NodeId> nodes = nodes_of(table, node);
  record_all(nodes, {});
  if (nodes.empty()) record_one({}, {});  // it affects all nodes
}

void FaultPlan::on_evaluation(const Evaluation& evaluation) {
  check(FaultCondition::Quantity::loss, 0, evaluation.loss);
  if (evaluation.accuracy) check(FaultCondition::Quantity::accuracy, 0, *evaluation.accuracy);
}

bool FaultPlan::waits_for_evaluations() const {
  return std::ranges::any_of(conditions_, [](const Condition& one) {
    const FaultCondition::Quantity quantity = one.condition.quantity;
    return !one.fired &&
           (quantity == FaultCondition::Quantity::loss || quantity == FaultCondition::Quantity::accuracy);
  });
}

// An actor may have changed the quantity, so the agenda starts the fault, at the same date.
void FaultPlan::check(FaultCondition::Quantity quantity, NodeId node, double value) {
  for (Condition& one : conditions_) {
    if (one.fired || one.condition.quantity != quantity || one.node != node || !one.condition.holds(value))
      continue;
    one.fired = true;
    ++pending_;
    expect_starts(one.table, std::nullopt, 1);
    agenda_.at(Agenda::now(), [this, table = one.table] {
      --pending_;
      begin(table, std::nullopt, FaultTurns::from(spec(table), Agenda::now()), true);
      expect_starts(table, std::nullopt, -1);
    });
  }
}

FaultTurns::FaultTurns(FaultSpec spec, std::uint64_t seed, std::uint64_t table, std::uint32_t node)
    : spec_(std::move(spec)), seed_(seed), table_(table), node_(node) {}

FaultTurn FaultTurns::from(const FaultSpec& spec, double now) {
  const std::optional<Seconds>& length = spec.kind->crashes ? spec.restart_after : spec.lasts;
  return {now, length ? now + length->value : HUGE_VAL};
}

std::optional<FaultTurn> FaultTurns::next() {
  const bool by_condition = !spec_.when.empty();
  if (by_condition || (turn_ > 0 && !for_ever())) return std::nullopt;
  const std::uint64_t turn = turn_++;
  if (spec_.mtbf) {
    // Exponential times between failures, the usual assumption of a constant failure rate.
    const double gap = spec_.mtbf->value * Stream(seed_, "fault", combine(table_, node_), turn).exponential();
    const FaultTurn result = from(spec_, well_ + gap);
    well_ = result.end < HUGE_VAL ? result.end : result.begin;
    return result;
  }
  // Each date is computed from its turn number, so rounding errors do not add up.
  const double shift = spec_.every ? static_cast<double>(turn) * spec_.every->value : 0;
  if (spec_.at) return from(spec_, spec_.at->value + shift);
  const double begin = spec_.from ? spec_.from->value : 0;
  return FaultTurn{begin + shift, spec_.until ? spec_.until->value + shift : HUGE_VAL};
}

}  // namespace psim
