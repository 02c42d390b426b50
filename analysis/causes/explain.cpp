#include "analysis/causes/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "analysis/causes/words.hpp"
#include "analysis/statistics/sample.hpp"

namespace psim::analysis {
namespace {

// The date that `until` stands for.
double date_of(const RunRecord& record, Until until) {
  const double end = record.summary.at("sim_time_s");
  if (until.what == Until::What::end) return end;
  if (until.what == Until::What::date) return std::min(until.date, end);
  const Json& target = record.summary.at("target");
  if (!target.value("given", false) || !target.value("reached", false))
    throw Unverifiable("the run did not reach a target", "leave out --until, or use --at DATE");
  return target.at("sim_time_s");
}

std::vector<Share> shares_of(const std::vector<PathPiece>& path) {
  std::map<std::pair<std::uint32_t, Kind>, double> seconds;
  for (const PathPiece& piece : path) seconds[{piece.node, piece.kind}] += piece.seconds();
  std::vector<Share> shares;
  for (const auto& [key, sum] : seconds) shares.push_back({key.first, key.second, sum});
  std::ranges::stable_sort(shares, std::ranges::greater{}, &Share::seconds);
  return shares;
}

bool is_work(const Moment& moment) { return moment.is(ComputePhase::ended) || moment.is<ModelUpdate>(); }

std::vector<NodeSlack> slacks_of(const CausalGraph& graph, const std::vector<PathPiece>& path,
                                 std::uint32_t end) {
  std::vector<bool> on_path(graph.size(), false);
  for (const PathPiece& piece : path) {
    if (piece.effect != CausalGraph::none) on_path[piece.effect] = true;
  }
  const std::vector<double> slack = slack_of(graph, end);
  std::map<std::uint32_t, std::pair<NodeSlack, std::vector<double>>> nodes;
  for (std::uint32_t id = 0; id <= end; ++id) {
    if (!is_work(graph.moments[id])) continue;
    auto& [node, finite] = nodes[graph.moments[id].node];
    ++node.moments;
    if (on_path[id]) ++node.on_path;
    if (std::isinf(slack[id])) ++node.without_effect;
    else finite.push_back(slack[id]);
  }
  std::vector<NodeSlack> all;
  for (auto& [number, entry] : nodes) {
    auto& [node, finite] = entry;
    node.node = number;
    if (!finite.empty()) {
      node.least = std::ranges::min(finite);
      node.median = statistics::median_of(std::move(finite));
    }
    all.push_back(node);
  }
  return all;
}

NetworkTime network_time(const Traffic& traffic, const CausalGraph& graph,
                         const std::vector<PathPiece>& path) {
  if (traffic.lone.links().empty()) return {};  // the record has no links for sums in switches
  enum class OnPath : std::uint8_t { none, until_it_left, whole };
  std::vector<OnPath> on_path(graph.sent.size(), OnPath::none);
  for (const PathPiece& piece : path) {
    const std::int64_t message = message_of(graph, piece);
    if (message < 0) continue;
    const bool left_only = graph.moments[piece.effect].is<Sent>();
    on_path[static_cast<std::size_t>(message)] = left_only ? OnPath::until_it_left : OnPath::whole;
  }
  NetworkTime time;
  for (const Transfer& message : traffic.transfers) {
    const OnPath part = on_path[static_cast<std::size_t>(message.message)];
    if (part == OnPath::none) continue;
    const double late = message.late_from + message.late_to;
    if (part == OnPath::whole) time.latency += message.latency + late;
    time.alone += message.alone;
    time.sharing += message.sharing;
    time.rest += message.rest - late;
  }
  return time;
}

std::vector<LinkUse> fullest(std::vector<LinkUse> links) {
  constexpr std::size_t shown = 8;
  std::ranges::stable_sort(links, std::ranges::greater{},
                           [](const LinkUse& link) { return std::pair(link.full_seconds(), link.use); });
  if (links.size() > shown) links.resize(shown);
  return links;
}

Explanation explanation(const RunRecord& record, const CausalGraph& graph, Until until) {
  if (graph.size() == 0) throw Unverifiable("nothing happened in this run", "choose another run");
  Explanation why{.until = until, .total = date_of(record, until), .main_cause = {}, .staleness = {}};
  const std::uint32_t end = end_of(graph, why.total, record.summary, record.jobs, until.what);
  if (end == CausalGraph::none)
    throw Unverifiable(fmt::format("nothing happened before {:.9g} s", why.total), "choose a later date");
  why.path = path_to(graph, end, why.total);
  for (const PathPiece& piece : why.path) why.causes.push_back(cause_of(graph, record.facts, piece));
  why.shares = shares_of(why.path);
  const bool is_stuck = until.what == Until::What::end && !record.summary.at("stuck").empty();
  if (is_stuck && !why.path.empty() && why.path.back().effect == CausalGraph::none)
    why.causes.back() = "nothing came any more";
  why.waits = waits_of(graph, record.facts, why.total, is_stuck);
  why.slack = slacks_of(graph, why.path, end);
  StalenessBook book(graph);
  for (std::uint32_t id = 0; id < graph.size() && graph.moments[id].at <= why.total; ++id)
    book.on(graph.moments[id]);
  why.staleness = book.cost();
  const Rates rates(record);
  const Traffic traffic(record, rates);
  why.network = network_time(traffic, graph, why.path);
  const FaultBook faults(record);
  const LinkOwners owners(record, traffic, rates);
  std::vector<LinkUse> links =
      links_of(traffic, record.summary.at("sim_time_s"),
               [&](std::uint32_t link, double from, double to) { return owners.left(link, from, to); });
  const Bottlenecks bottlenecks(record.facts, rates, owners, traffic, links, why.total);
  why.main_cause = main_cause_of(record, graph, why.path, bottlenecks, traffic, faults, rates, why.total);
  why.links = fullest(std::move(links));
  why.sentences = sentences_of(why, record);
  return why;
}

}  // namespace

Explanation explain(const RunRecord& record, Until until) {
  return explain(record, causal_graph(record), until);
}

Explanation explain(const RunRecord& record, const CausalGraph& graph, Until until) try {
  return explanation(record, graph, until);
} catch (const Json::exception& error) {
  throw unfit_summary(record.database().path().parent_path(), error);
}

namespace {

// Events of messages after the end of a run are no work.
bool is_leftover(const Moment& moment) {
  return moment.is<Lost>() || moment.is(Outcome::unused) || moment.is<Sent, Received>(MessageKind::heartbeat);
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

bool ends_run(const Moment& moment) { return moment.is<Finish, Suspicion, ViewChange>(); }

// The earliest computation that began before `since` and still ran at `date`.
std::uint32_t still_computing(const CausalGraph& graph, double since, double date) {
  std::map<std::uint32_t, std::uint32_t> computing;  // by node
  for (std::uint32_t id = 0; id < graph.size() && graph.moments[id].at <= date; ++id) {
    const Moment& moment = graph.moments[id];
    if (moment.is(ComputePhase::begun, ComputePhase::resumed)) computing[moment.node] = id;
    else if (moment.is<Computation>()) computing.erase(moment.node);
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
    if (moment.is<PushOutcome>()) is_needless[moment.peer] = !moment.is(Outcome::applied);
    if (is_leftover(moment)) continue;
    last = id;
    if (moment.is<ModelUpdate>() && moment.shard >= first_shard && moment.shard < last_shard) update = id;
    if (is_end && ends_run(moment) && moment.at == date && (end == CausalGraph::none || moment.is<Finish>()))
      end = id;
  }
  constexpr double long_share = 0.05;
  const bool ends_early = update != CausalGraph::none && date - graph.moments[update].at < long_share * date;
  if (end != CausalGraph::none && ends_early && graph.moments[end].is<Finish>() &&
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
