#include "analysis/timeline/day.hpp"

#include <algorithm>
#include <utility>

namespace psim::analysis {

std::string_view name_of(Use use) {
  constexpr std::string_view names[] = {"compute", "network", "wait", "service", "down"};
  return names[static_cast<std::size_t>(use)];
}

Days::Days(const Facts& facts, const Json& summary, OnPiece on_piece)
    : facts_(facts), on_piece_(std::move(on_piece)), days_(facts.workers) {
  // If the training of a group ends before other groups, the time of its workers ends then.
  const bool has_groups = summary.contains("groups");
  for (std::uint32_t w = 0; w < facts.workers; ++w) {
    const Json& end =
        has_groups ? summary.at("workers").at(w).at("time").at("total_s") : summary.at("sim_time_s");
    days_[w].here = facts.here_at_first[w];
    days_[w].last = end.get<double>();
  }
}

void Days::on(const Row& row) {
  if (row.is_message()) return on_message(row);
  if (row.is<Computation>()) {
    Day& day = at(row, row.node);
    const bool goes_on = row.is(ComputePhase::begun, ComputePhase::resumed);
    if (row.is_step()) day.in_step = goes_on;
    day.computes = goes_on || day.in_step;  // a filter may end within a step
  }
  if (row.is<Finish>()) {
    Day& day = at(row, row.node);
    day.computes = day.in_step = false;
    if (row.as<Finish>().leaves) day.here = false;
    else day.through = true;
  }
  if (row.is_crash() && facts_.is_worker(row.peer)) {
    Day& day = at(row, row.peer);
    day.here = day.computes = day.in_step = false;
  }
}

void Days::on_message(const Row& row) {
  for (const std::uint32_t node : {row.node, row.peer}) {
    if (facts_.is_worker(node)) at(row, node).on_the_way += row.is<Sent>() ? 1 : -1;
  }
  if (row.is<Sent>(MessageKind::join) && facts_.is_worker(row.node)) joins(facts_.worker(row.node), row.at);
}

void Days::joins(std::uint32_t worker, double now) {
  if (Day& day = days_[worker]; (day.here && !day.through) || now > day.last) return;
  Day& day = pass(worker, now);
  day.here = true;
  if (!std::exchange(day.through, false)) return;
  for (const TimeSpan& one : std::exchange(day.later, {})) on_piece_(worker, one.begin, one.end, one.use);
}

Days::Day& Days::pass(std::uint32_t worker, double now) {
  Day& day = days_[worker];
  const Use use = !day.here                            ? Use::down
                  : day.computes                       ? Use::compute
                  : day.on_the_way > 0 && !day.through ? Use::network
                                                       : Use::wait;
  const double begin = std::exchange(day.since, std::min(now, day.last));
  if (!(begin < day.since)) return day;
  if (!day.through) on_piece_(worker, begin, day.since, use);
  else if (!day.later.empty() && day.later.back().use == use) day.later.back().end = day.since;
  else day.later.push_back({begin, day.since, use});
  return day;
}

void Days::close() {
  for (std::uint32_t worker = 0; worker < days_.size(); ++worker) pass(worker, days_[worker].last);
}

}  // namespace psim::analysis
