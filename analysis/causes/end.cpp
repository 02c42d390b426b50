#include "analysis/causes/end.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace psim::analysis {
namespace {

// Events of messages after the end of a run are no work.
bool is_leftover(const Moment& moment, std::string_view word) {
  return moment.type == Name("lost") || moment.type == Name("unused") || word == "heartbeat";
}

// The shards whose updates reached the target: with several groups, the shards of the group that reached it
// at this date.
std::pair<std::uint32_t, std::uint32_t> shards_of_target(const std::vector<Job>& jobs, double date) {
  for (const Job& job : jobs) {
    const Json& target = job.summary.at("target");
    if (target.value("reached", false) && target.at("sim_time_s") == date)
      return {job.first_shard, job.first_shard + job.shards};
  }
  return {0, ~0U};
}

bool ends_run(const Moment& moment) {
  return moment.type == Name("finish") || moment.type == Name("suspicion") ||
         moment.type == Name("view_change");
}

bool is_outcome(const Moment& moment) {
  return std::ranges::find(outcome_names, moment.type.text()) != outcome_names.end();
}

// The earliest computation that began before `since` and still ran at `date`.
std::uint32_t still_computing(const CausalGraph& graph, double since, double date) {
  std::map<std::uint32_t, std::uint32_t> computing;  // by node
  for (std::uint32_t id = 0; id < graph.size() && graph.moments[id].at <= date; ++id) {
    const Moment& moment = graph.moments[id];
    if (moment.type == Name("begun") || moment.type == Name("resumed")) computing[moment.node] = id;
    else if (moment.type == Name("ended") || moment.type == Name("paused") ||
             moment.type == Name("cancelled") || moment.type == Name("killed"))
      computing.erase(moment.node);
  }
  std::uint32_t first = CausalGraph::none;
  for (const auto& [node, begun] : computing) {
    if (graph.moments[begun].at <= since) first = std::min(first, begun);
  }
  return first;
}

}  // namespace

// The moment where the path ends. If the run ended because the last worker finished, or because the scheduler
// gave a worker up: that moment. Exception: if no update needed the last push of that worker (a slow backup),
// the path ends with the last update. Otherwise: the last update of the model before the date, unless a
// worker has computed ever since. If the run got stuck or had no updates: the last work of any node.
std::uint32_t end_of(const CausalGraph& graph, double date, const Json& summary, const std::vector<Job>& jobs,
                     Until::What what) {
  const bool is_end = what == Until::What::end;
  const auto [first_shard, last_shard] =
      what == Until::What::target ? shards_of_target(jobs, date) : std::pair(0U, ~0U);
  std::uint32_t last = CausalGraph::none, update = CausalGraph::none, end = CausalGraph::none;
  std::map<std::uint32_t, bool> is_needless;  // by worker
  for (std::uint32_t id = 0; id < graph.size() && graph.moments[id].at <= date; ++id) {
    const Moment& moment = graph.moments[id];
    if (is_outcome(moment)) is_needless[moment.peer] = moment.type != Name("applied");
    if (is_leftover(moment, graph.word_of(moment))) continue;
    last = id;
    if (moment.type == Name("model_update") && moment.shard >= first_shard && moment.shard < last_shard)
      update = id;
    if (is_end && ends_run(moment) && moment.at == date &&
        (end == CausalGraph::none || moment.type == Name("finish")))
      end = id;
  }
  constexpr double long_share = 0.05;
  const bool ends_early = update != CausalGraph::none && date - graph.moments[update].at < long_share * date;
  if (end != CausalGraph::none && ends_early && graph.moments[end].type == Name("finish") &&
      is_needless[graph.moments[end].node])
    return update;
  if (end != CausalGraph::none) return end;
  const bool is_stuck = is_end && !summary.at("stuck").empty();
  if (is_stuck || last == CausalGraph::none) return last;
  const std::uint32_t latest = update == CausalGraph::none ? last : update;
  if (date - graph.moments[latest].at < long_share * date) return latest;
  const std::uint32_t computing = still_computing(graph, graph.moments[latest].at, date);
  return computing == CausalGraph::none ? latest : computing;
}

}  // namespace psim::analysis
