#include "analysis/causes/graph.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "analysis/run_record.hpp"

namespace psim::analysis {

CauseBuilder::CauseBuilder(const InputDatabase& database)
    : needs_(database, "SELECT event, needs, clock FROM dependency ORDER BY event") {
  query(database, "SELECT node, message, end_s - begin_s FROM service WHERE message IS NOT NULL",
        [this](sqlite3_stmt* row) {
          work_[{id_in(row, 0), sqlite3_column_int64(row, 1)}] += sqlite3_column_double(row, 2);
        });
  has_need_ = needs_.next();
}

void CauseBuilder::on(const Row& row) {
  const auto causes = needs_of(row);
  if (row.is_detail) return;
  next_.clear();
  const auto& [event, spent] = row.event.cause;
  if (const Id cause = moment_of(event); cause != none)
    next_.push_back({cause, {spent, row.at - moments_[cause].at}});
  for (const Id need : causes) after(need, row);
  if (row.is(Outcome::applied)) take_work(row);
  if (row.is<ModelUpdate>()) give_work(row);
  const Id id = add(row);
  if (row.is<FaultChange>()) moments_[id].node = row.peer;
  set(of_event_, row.number, id);
  if (row.is<Sent>()) set(sent_, row.number, id);
  if (row.is(Outcome::applied)) applied_[{row.shard, row.clock}].push_back(id);
}

// Rows of `dependency` with a smaller number belong to events that are no moments.
std::vector<CauseBuilder::Id> CauseBuilder::needs_of(const Row& row) {
  std::vector<Id> needs;
  for (; has_need_ && sqlite3_column_int64(needs_.row(), 0) <= row.number; has_need_ = needs_.next()) {
    if (sqlite3_column_int64(needs_.row(), 0) < row.number || row.is_detail) continue;
    const bool is_clock = is_null(needs_.row(), 1);
    needs.push_back(is_clock ? all_through(row.shard, sqlite3_column_int64(needs_.row(), 2))
                             : moment_of(sqlite3_column_int64(needs_.row(), 1)));
  }
  return needs;
}

// Seconds that the node has worked on the message that arrives at this moment.
double CauseBuilder::work_of(Id arrival, std::uint32_t node) const {
  const Moment& moment = moments_[arrival];
  if (!moment.is<Received>() || moment.node != node) return 0;
  const auto work = work_.find({node, moment.sent});
  return work == work_.end() ? 0 : work->second;
}

void CauseBuilder::after(Id need, const Row& row) {
  const auto same = [need](const auto& edge) { return edge.first == need; };
  if (need == none || std::ranges::any_of(next_, same)) return;
  const double work = std::min(work_of(need, row.node), row.at - moments_[need].at);
  next_.push_back({need, {work > 0 ? Kind::service : Kind::idle, work}});
}

void CauseBuilder::take_work(const Row& row) {
  Pushes& pushes = pushes_[{row.node, row.shard}];
  for (const auto& [arrival, why] : next_) {
    const double work = work_of(arrival, row.node);
    if (!(work > 0) || !pushes.arrivals.insert(arrival).second) continue;
    pushes.work += work;
  }
}

// A server works on all pushes of an update one after another, in any order.
void CauseBuilder::give_work(const Row& row) {
  const auto pushes = pushes_.extract({row.node, row.shard});
  if (pushes.empty() || pushes.mapped().arrivals.empty()) return;
  const Id first = *pushes.mapped().arrivals.begin();
  const double work = std::min(pushes.mapped().work, row.at - moments_[first].at);
  const auto same = std::ranges::find(next_, first, &std::pair<Id, Cause>::first);
  if (same == next_.end()) next_.push_back({first, {Kind::service, work}});
}

CauseBuilder::Id CauseBuilder::all_through(std::uint32_t shard, std::int64_t clock) {
  const auto [through, is_new] = all_through_.try_emplace({shard, clock}, none);
  const auto applied = applied_.extract({shard, clock});
  if (!is_new || applied.empty()) return through->second;
  std::vector<Id>& outcomes = applied.mapped();
  std::ranges::sort(outcomes, std::ranges::greater{});
  const double now = moments_[outcomes.front()].at;
  next_.clear();
  for (const Id id : outcomes)
    next_.push_back({id, {Kind::idle, id == outcomes.front() ? now - moments_[id].at : 0}});
  Moment all = moments_[outcomes.front()];
  static_cast<What&>(all) = What();
  return through->second = add(all);
}

CauseBuilder::Id CauseBuilder::add(const Moment& moment) {
  const auto id = static_cast<Id>(moments_.size());
  moments_.push_back(moment);
  for (const auto& [cause, why] : next_) {
    ends_.emplace_back(id, cause);
    causes_.push_back(why);
  }
  return id;
}

CauseBuilder::Id CauseBuilder::moment_of(std::int64_t event) const {
  return event >= 0 && event < std::ssize(of_event_) ? of_event_[static_cast<std::size_t>(event)] : none;
}

void CauseBuilder::set(std::vector<Id>& by_number, std::int64_t number, Id id) {
  const auto place = static_cast<std::size_t>(number);
  if (by_number.size() <= place) by_number.resize(std::max(place + 1, by_number.size() * 2), none);
  by_number[place] = id;
}

CausalGraph CauseBuilder::graph() && {
  CausalGraph graph{.moments = Moments(boost::edges_are_sorted, ends_.begin(), ends_.end(), causes_.begin(),
                                       static_cast<Id>(moments_.size())),
                    .sent = std::move(sent_)};
  for (Id id = 0; id < moments_.size(); ++id) graph.moments[id] = moments_[id];
  return graph;
}

CausalGraph causal_graph(const RunRecord& record) {
  CauseBuilder builder(record.database());
  each_event(record, [&](const Row& row) { builder.on(row); });
  return std::move(builder).graph();
}

}  // namespace psim::analysis
