#include "analysis/causes/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "analysis/causes/words.hpp"

namespace psim::analysis {
namespace {

// The date that is asked for.
double date_of(const RunRecord& record, Until until) {
  const double end = record.summary.at("sim_time_s");
  if (until.what == Until::What::end) return end;
  if (until.what == Until::What::date) return std::min(until.date, end);
  const Json& target = record.summary.at("target");
  if (!target.value("given", false) || !target.value("reached", false))
    throw Unverifiable("the run has reached no target", "leave out --until, or use --at DATE");
  return target.at("sim_time_s");
}

// What becomes of messages when a run is over is no work of anybody.
bool is_leftover(const Moment& moment, std::string_view word) {
  return moment.type == Name("lost") || moment.type == Name("unused") || word == "heartbeat";
}

std::vector<Share> shares_of(const std::vector<Piece>& path) {
  std::map<std::pair<std::uint32_t, Kind>, double> seconds;
  for (const Piece& piece : path) seconds[{piece.node, piece.kind}] += piece.seconds();
  std::vector<Share> shares;
  for (const auto& [key, sum] : seconds) shares.push_back({key.first, key.second, sum});
  std::ranges::stable_sort(shares, std::ranges::greater{}, &Share::seconds);
  return shares;
}

bool is_work(const Moment& moment) {
  return moment.type == Name("ended") || moment.type == Name("model_update");
}

std::vector<NodeSlack> slacks_of(const CausalGraph& graph, const std::vector<Piece>& path,
                                 std::uint32_t end) {
  std::vector<bool> on_path(graph.size(), false);
  for (const Piece& piece : path) {
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

// Reads staleness off the moments: what each worker computes on, and when it had left its server.
class StalenessBook {
 public:
  explicit StalenessBook(const CausalGraph& graph) : graph_(graph) {}
  void on(const Moment& moment) {
    const std::string_view word = graph_.word_of(moment);
    if (moment.type == Name("sent") && word == "weights")
      left_[{moment.shard, moment.peer, moment.version}] = moment.at;
    if (moment.type == Name("received") && word == "weights")
      here_[moment.node][moment.shard] = moment.version;
    if (moment.type == Name("begun") && word == "step") on_step(moment);
    if (moment.type == Name("applied")) on_applied(moment);
  }
  StalenessCost cost() const {
    StalenessCost cost = cost_;
    if (cost.applied > 0) cost.age_mean /= static_cast<double>(cost.applied);
    return cost;
  }

 private:
  void on_step(const Moment& moment) {
    const auto& shards = here_[moment.node];
    ++cost_.computations;
    if (shards.empty()) return;
    const auto [least, most] =
        std::ranges::minmax_element(shards, {}, [](const auto& one) { return one.second; });
    cost_.torn += least->second != most->second ? 1 : 0;
    cost_.widest = std::max(cost_.widest, most->second - least->second);
  }
  void on_applied(const Moment& moment) {
    const auto left = left_.find({moment.shard, moment.peer, moment.version});
    if (left == left_.end()) return;
    const double age = moment.at - left->second;
    ++cost_.applied;
    cost_.age_mean += age;
    cost_.age_max = std::max(cost_.age_max, age);
  }

  const CausalGraph& graph_;
  StalenessCost cost_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::int64_t>, double> left_;  // shard, worker, version
  std::map<std::uint32_t, std::map<std::uint32_t, std::int64_t>> here_;            // worker, shard: version
};

NetworkTime network_time(const RunRecord& record, const CausalGraph& graph, const std::vector<Piece>& path) {
  std::vector<bool> on_path(graph.sent.size(), false);
  for (const Piece& piece : path) {
    if (piece.kind == Kind::network)
      on_path[static_cast<std::size_t>(graph.moments[piece.effect].message)] = true;
  }
  NetworkTime time;
  each_transfer(record, Lone(record), [&](const Transfer& message) {
    if (!on_path[static_cast<std::size_t>(message.message)]) return;
    time.latency += message.latency;
    time.alone += message.alone;
    time.sharing += message.sharing;
    time.rest += message.rest;
  });
  return time;
}

std::vector<LinkUse> fullest_links(const RunRecord& record) {
  constexpr std::size_t shown = 8;
  std::vector<LinkUse> links = links_of(record);
  std::ranges::stable_sort(links, std::ranges::greater{},
                           [](const LinkUse& link) { return std::pair(link.full_seconds(), link.use); });
  if (links.size() > shown) links.resize(shown);
  return links;
}

}  // namespace

// What the path ends with: the last worker that was through, if that ended the run; else the last update of
// the model until the date. Of a run that got stuck, and of one without updates, the last thing that anybody
// did.
std::uint32_t end_of(const CausalGraph& graph, double date, const Json& summary, bool is_end) {
  std::uint32_t last = CausalGraph::none, update = CausalGraph::none;
  for (std::uint32_t id = 0; id < graph.size() && graph.moments[id].at <= date; ++id) {
    const Moment& moment = graph.moments[id];
    if (is_leftover(moment, graph.word_of(moment))) continue;
    last = id;
    if (moment.type == Name("model_update")) update = id;
    if (is_end && moment.type == Name("finish") && moment.at == date) return id;
  }
  const bool is_stuck = is_end && !summary.at("stuck").empty();
  return update == CausalGraph::none || is_stuck ? last : update;
}

Explanation explain(const RunRecord& record, Until until) {
  const CausalGraph graph = causal_graph(record);
  if (graph.size() == 0) throw Unverifiable("nothing happened in this run", "choose another one");
  Explanation why{.until = until, .total = date_of(record, until), .staleness = {}};
  const std::uint32_t end = end_of(graph, why.total, record.summary, until.what == Until::What::end);
  if (end == CausalGraph::none)
    throw Unverifiable(fmt::format("nothing had happened until {:.9g} s", why.total), "choose a later date");
  why.path = path_to(graph, end, why.total);
  for (const Piece& piece : why.path) why.causes.push_back(cause_of(graph, record.facts, piece));
  why.shares = shares_of(why.path);
  why.waits = waits_of(graph, record.facts, why.total);
  why.slack = slacks_of(graph, why.path, end);
  StalenessBook book(graph);
  for (std::uint32_t id = 0; id < graph.size() && graph.moments[id].at <= why.total; ++id)
    book.on(graph.moments[id]);
  why.staleness = book.cost();
  why.staleness.updates_mean = record.summary.at("staleness").at("mean");
  why.network = network_time(record, graph, why.path);
  why.links = fullest_links(record);
  why.sentences = sentences_of(why, record);
  return why;
}

std::vector<std::string> broken_causes(const CausalGraph& graph, const Json& summary) {
  std::vector<std::string> broken;
  for (std::uint32_t id = 0; id < graph.size(); ++id) {
    const auto [first, last] = out_edges(id, graph.moments);
    for (auto edge = first; edge != last; ++edge) {
      const auto cause = static_cast<std::uint32_t>(target(*edge, graph.moments));
      const Moment &effect = graph.moments[id], &reason = graph.moments[cause];
      const double least = graph.moments[*edge].least;
      if (cause >= id || reason.at > effect.at || reason.at + least > effect.at + 1e-12 * (1 + effect.at))
        broken.push_back(fmt::format("event {} at {:.9g} s is said to come of event {} at {:.9g} s",
                                     effect.number, effect.at, reason.number, reason.at));
    }
  }
  const double total = summary.at("sim_time_s");
  const std::uint32_t end = end_of(graph, total, summary, true);
  if (end == CausalGraph::none) return broken;
  const std::vector<Piece> path = path_to(graph, end, total);
  double reached = 0;
  for (const Piece& piece : path) {
    if (piece.begin != reached)
      broken.push_back(fmt::format("the path has a gap from {:.9g} s to {:.9g} s", reached, piece.begin));
    reached = piece.end;
  }
  if (reached != total)
    broken.push_back(fmt::format("the path ends at {:.9g} s, the run at {:.9g} s", reached, total));
  return broken;
}

}  // namespace psim::analysis
