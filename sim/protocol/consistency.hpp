// The consistency models of the field as points of one small space: when a worker may start, how many pushes
// make an update, and what happens to a late push. A new model is a new row (consistency.cpp).
//
// Decisions:
// - ssp with staleness 0 is bsp. With a bound of zero no worker can see a half-applied clock. So the update
//   is applied once, in worker order, and ssp 0 equals bsp bit for bit.
// - late = "cancel" needs no message type of its own. A worker sends its next pull when it starts to compute,
//   and asks for the first version at which its push would be too late: a newer one than its own, or, with a
//   limit of R updates, its own plus R + 1 (Ringmaster ASGD: Maranjyan et al., ICML 2025, algorithm 5). The
//   arrival of the answer stops the computation. Then the worker begins the same clock again.
// - aggregation = "mean" scales the learning rate and not the gradient: an update of m gradients takes m/n of
//   the rate where all n pushes of a clock are applied. So adaptive optimizers, which ignore the gradient's
//   scale, are scaled too.
// - Where late pushes count, the last groups shrink as workers finish. So no update waits for a push that
//   will never come.
// - Under k-sync and k-async the order of arrival decides which pushes make an update, and several servers
//   see different orders. The first shard's owner decides for all shards and tells the others (UpdateGroup).
//   If each shard decided by itself, workers could wait for one another for ever
//   (tests/properties/several_servers_test.cpp).
// - A window or a deadline closes an update with the pushes that have arrived, at least one. So bsp with a
//   window or a deadline is k-sync with k = all workers: some pushes may come too late. late = "next" keeps
//   late pushes for the next update; their workers then wait for that update, as under k-async.
// - A grace keeps an update open after its condition has become true, until all workers have pushed. Once
//   true, the condition counts as true until the update, even if more workers take part or more pushes come.
// - StalenessRule (staleness_weight.hpp) says what a stale push weighs, and whether a push is too stale.
// - steps counts the clocks of each worker. Where only fresh pushes count, a clock is a version.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/settings.hpp"
#include "model/base/table.hpp"
#include "sim/protocol/consistency_policy.hpp"
#include "sim/protocol/custom_model.hpp"
#include "sim/protocol/gradient_aggregation.hpp"
#include "sim/protocol/staleness_weight.hpp"

namespace psim {

// The logic of psim's own consistency models.

// An update is made as soon as `shape.group` pushes have arrived. bsp, asp, and all models with a k.
std::shared_ptr<const ConsistencyPolicy> counting_policy(const PolicyShape& shape);
// Like counting_policy, but no worker may be further ahead than the bound. ssp.
std::shared_ptr<const ConsistencyPolicy> bounded_policy(const PolicyShape& shape, StalenessBound bound);
// Like bounded_policy, with bounds between bound.staleness and bound.most. dssp.
std::shared_ptr<const ConsistencyPolicy> dynamic_policy(PolicyShape shape, StalenessBound bound,
                                                        std::int64_t workers);

// An update is made only when a task says so. tasks.
std::shared_ptr<const ConsistencyPolicy> told_policy();

// How many pushes make an update.
enum class Group : std::uint8_t {
  one,
  k,
  all,
  told,    // the pushes that have arrived when a task says so
  custom,  // an expression says how many
  own,     // the row's policy says how many
};

enum class Late : std::uint8_t { cancel, drop, next };

// Whose staleness decides what several servers do with a gradient: each shard's own, or the first shard's.
enum class AgeOf : std::uint8_t { shard, gradient };

struct ConsistencySpec;
using PolicyFactory = std::shared_ptr<const ConsistencyPolicy> (*)(const ConsistencySpec& spec,
                                                                   std::int64_t workers);

struct ConsistencyRow {
  std::string_view name;
  std::string_view aliases = {};  // separated by spaces
  Gate gate;
  Group group;
  bool drops_stale = false;  // only pushes computed at the current version count; others are late and dropped
  bool dynamic = false;      // the bound of Gate::staleness is chosen in [staleness, staleness_max]
  // For help and the reference page: when a worker may start a clock, when pushes are applied, and what
  // happens to a late push.
  std::string_view may_start, applies, late;
  std::string_view source;
  SettingList settings = {};
  // The model's logic; none: the logic of its gate and group. A row from outside psim with a policy has
  // `group = Group::own`, and the policy's `gate` and `drops_stale`; make_rule throws if they differ.
  PolicyFactory policy = nullptr;
  // Conditions that hold in every run. `psim verify` checks them as consistency.promises.
  std::vector<std::string> promises = {};
  double fuzz = 1;  // how often the fuzzer draws it, relative to 1

  // The name of a missing function.
  std::string_view lacks() const { return group == Group::own && policy == nullptr ? "policy" : ""; }
  // Which fields of [consistency] have a meaning with this model.
  bool is_custom() const { return group == Group::custom; }
  bool has_own_logic() const { return is_custom() || group == Group::own; }  // not one of psim's
  bool has_bound() const { return gate == Gate::staleness && group != Group::own; }
  bool has_staleness() const { return has_bound() || is_custom(); }
  bool has_highest_bound() const { return has_bound() && dynamic; }
  bool has_schedule() const { return has_bound() && !dynamic; }
  bool has_k() const { return group == Group::k || is_custom(); }
  bool has_backup() const {
    return group == Group::k && gate == Gate::version;
  }  // the scenario may give the number of left-out workers instead of k
  bool has_tasks() const { return group == Group::told; }
  bool has_late() const { return (drops_stale && group != Group::own) || has_age(); }
  bool has_age() const { return is_custom() || (has_limit() && !has_tasks()); }
  bool has_limit() const { return !drops_stale && !is_custom(); }  // of staleness
  bool has_closing() const { return has_k() || group == Group::all; }
};

// The row of a PlainModel that needs only the number of workers.
template <class Model>
ConsistencyRow row_of(std::string_view name, std::string_view may_start, std::string_view applies) {
  const PolicyShape shape = Model(1).shape();
  return {
      .name = name,
      .gate = shape.gate,
      .group = Group::own,
      .drops_stale = shape.drops_stale,
      .may_start = may_start,
      .applies = applies,
      .late = shape.drops_stale ? "dropped" : "applied",
      .source = "an addition",
      .policy = [](const ConsistencySpec&, std::int64_t workers) -> std::shared_ptr<const ConsistencyPolicy> {
        return std::make_shared<const Model>(workers);
      }};
}

template <>
std::deque<ConsistencyRow> built_in_rows();
using ConsistencyModel = Chosen<ConsistencyRow>;

// The field of [consistency] that takes the number of "ssp 3"; `name` stands before the number.
std::string_view number_field(std::string_view name);

// A separate bound for the arrays of one layer.
struct ArrayBound {
  std::int64_t layer = 0;  // from the input
  std::int64_t staleness = 0;
};

// The table [consistency] of a scenario.
struct ConsistencySpec {
  ConsistencyModel model;                               // bsp
  Settings settings = {};                               // of the model's row
  std::int64_t staleness = 3;                           // ssp, dssp
  std::int64_t staleness_max = 8;                       // dssp
  std::vector<std::vector<double>> staleness_schedule;  // ssp: rows (clock, s), from that clock on
  std::optional<std::int64_t> k;                        // the k models
  std::optional<std::int64_t> backup;                   // k-sync: k = workers - backup
  std::optional<Late> late;         // none: drop if pushes are late by their age, else cancel
  std::optional<Seconds> window;    // from an update's first push until the update closes
  std::optional<Seconds> deadline;  // from the last update until the next one closes
  std::optional<double>
      deadline_mad;              // the same, in deviations after the median arrival (adaptive_deadline.hpp)
  std::optional<Seconds> grace;  // from the condition of an update until it closes
  std::optional<std::int64_t> max_staleness;
  TooStale too_stale = TooStale::drop;
  AgeOf age = AgeOf::shard;
  bool cache = false;              // workers keep pulled weights as long as the bound allows
  std::vector<ArrayBound> arrays;  // ssp
  AggregationRule aggregation = {};
  CustomTexts custom;
  std::vector<std::string> promises;  // expressions that must hold in every run

  bool closes_early() const { return window || deadline || deadline_mad; }
  CustomNumbers numbers(std::int64_t workers) const {
    return {
        .workers = workers, .k = backup ? workers - *backup : k.value_or(workers), .staleness = staleness};
  }
};

// The rule that the servers of `workers` workers follow: the row with the scenario's numbers.
struct ConsistencyRule : ResolvedRule {
  bool cancel = false;  // workers hear at once that their computation is late
  // A push that is more updates old is dropped; none: no age is too old. With drops_stale it is 0.
  std::optional<std::int64_t> oldest = {};
  bool dynamic = false;   // dssp
  bool counts = true;     // an update is made when enough pushes have arrived, and each weighs the same
  bool asks_all = false;  // any push may let any worker start
  // The policy drops stale pushes, and late = "next" keeps them: a worker waits for its own push instead of a
  // newer version.
  bool keeps_late = false;
  bool one_age = false;  // the first shard's staleness of a push counts at all shards, so that shard decides
  // Each server forms its own groups, so one server may be finished while another needs more pushes.
  bool shards_advance_independently = false;
  AggregationRule aggregation = {};
  // Where tasks decide: pushes and updates of every clock.
  struct Told {
    std::int64_t pushes = 1, updates = 1;
  };
  std::optional<Told> told = {};
  StalenessRule stale = {};
  std::shared_ptr<const ConsistencyPolicy> policy = {};

  // The updates after a pull until its worker's computation is stopped.
  std::int64_t patience() const { return oldest.value_or(0); }
  // How an update of `size` gradients is scaled. `mean`: one clock of all workers moves the weights by
  // their mean gradient. Where late pushes are dropped, a clock is one update; elsewhere all n pushes of
  // a clock are applied, each for an n-th.
  double push_weight(std::size_t size) const;
  double rate_factor(std::size_t size) const;

  std::int64_t pushes_per_clock() const { return told ? told->pushes : workers; }
  // Updates that one clock of all workers makes.
  double updates_per_clock() const;
};
// Throws std::logic_error for a policy whose shape contradicts itself or its row.
ConsistencyRule make_rule(const ConsistencySpec& spec, std::int64_t workers);

}  // namespace psim
