#include "sim/protocol/consistency.hpp"

#include "model/mutant.hpp"

namespace psim {

ConsistencyRule make_rule(const ConsistencySpec& spec, std::int64_t workers) {
  // With a bound of zero nobody can see a half-applied clock, so ssp 0 is bsp; the row of bsp fixes the
  // order of the sum.
  const bool is_bsp =
      spec.model == ConsistencyModel::ssp && spec.staleness == 0 && spec.staleness_schedule.empty();
  const ConsistencyRow& row = row_of(is_bsp ? ConsistencyModel::bsp : spec.model);

  ConsistencyRule rule{.gate = row.gate, .fresh = row.fresh};
  if (row.group == Group::all) rule.group = workers;
  if (row.group == Group::k)
    rule.group =
        spec.backup ? workers - *spec.backup + (mutant("one-backup-less") ? 1 : 0) : spec.k.value_or(workers);
  // Under k-sync nobody is late where all are waited for.
  const bool some_are_late = rule.group < workers || row.gate == Gate::none;
  rule.cancel = !mutant("late-workers-go-on") && row.fresh && row.group == Group::k && some_are_late &&
                spec.late == Late::cancel;
  rule.first_decides = row.group == Group::k && rule.group < workers && row.gate != Gate::none;
  rule.servers_apart = row.fresh && row.gate == Gate::none;
  rule.dynamic = row.model == ConsistencyModel::dssp;
  rule.aggregation = spec.aggregation;
  rule.workers = workers;
  rule.staleness = spec.staleness;
  rule.staleness_max = spec.staleness_max;
  rule.schedule = spec.staleness_schedule;
  return rule;
}

std::int64_t ConsistencyRule::staleness_at(std::int64_t clock) const {
  std::int64_t bound = staleness;
  for (const auto& step : schedule) {
    if (static_cast<double>(clock) >= step[0] + (mutant("bound-changes-a-clock-late") ? 1 : 0))
      bound = static_cast<std::int64_t>(step[1]);
  }
  return bound;
}

double ConsistencyRule::push_weight(std::size_t size) const {
  return aggregation == Aggregation::sum ? 1.0 : 1.0 / static_cast<double>(size);
}

double ConsistencyRule::rate_factor(std::size_t size) const {
  if (aggregation == Aggregation::sum || fresh || mutant("small-groups-move-as-far")) return 1.0;
  return static_cast<double>(size) / static_cast<double>(workers);
}

double ConsistencyRule::updates_per_clock() const {
  return fresh ? 1.0 : static_cast<double>(workers) / static_cast<double>(group);
}

}  // namespace psim
