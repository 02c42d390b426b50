#include "analysis/causes/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/causes/words.hpp"

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

bool is_work(const Moment& moment) {
  return moment.type == Name("ended") || moment.type == Name("model_update");
}

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
      std::ranges::sort(finite);
      node.least = finite.front();
      node.median = finite[finite.size() / 2];
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
    const bool left_only = graph.moments[piece.effect].type == Name("sent");
    on_path[static_cast<std::size_t>(message)] = left_only ? OnPath::until_it_left : OnPath::whole;
  }
  NetworkTime time;
  for (const Transfer& message : traffic.transfers) {
    const OnPath part = on_path[static_cast<std::size_t>(message.message)];
    if (part == OnPath::none) continue;
    if (part == OnPath::whole) time.latency += message.latency;
    time.alone += message.alone;
    time.sharing += message.sharing;
    time.rest += message.rest;
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
  const Traffic traffic(record);
  why.network = network_time(traffic, graph, why.path);
  const FaultBook faults(record);
  const LinkOwners owners(record, traffic, faults);
  std::vector<LinkUse> links =
      links_of(traffic, record.summary.at("sim_time_s"),
               [&](std::uint32_t link, double from, double to) { return owners.left(link, from, to); });
  const Bottlenecks bottlenecks(record.facts, faults, owners, traffic, links);
  why.main_cause = main_cause_of(record, graph, why.path, bottlenecks, traffic, faults, why.total);
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

}  // namespace psim::analysis
