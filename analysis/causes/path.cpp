#include "analysis/causes/path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/render/text_table.hpp"

namespace psim::analysis {
namespace {

// The binding cause of a moment.
struct Binding {
  std::uint32_t cause;
  Kind kind;
};

std::optional<Binding> binding_of(const CausalGraph& graph, std::uint32_t moment) {
  const auto [edge, last] = out_edges(moment, graph.moments);
  if (edge == last) return std::nullopt;
  return Binding{static_cast<std::uint32_t>(target(*edge, graph.moments)), graph.moments[*edge].kind};
}

// The node to blame for a piece while a worker is held up. For a message to a server: the server, because
// many workers share its links.
std::uint32_t blamed(const Facts& facts, const PathPiece& piece) {
  return piece.kind == Kind::network && facts.is_server(piece.to) ? piece.to : piece.node;
}

// Trouble of a node itself: with it a node can hold itself up.
bool is_trouble(Kind kind) { return kind == Kind::timeout || kind == Kind::down; }

}  // namespace

std::vector<PathPiece> path_to(const CausalGraph& graph, std::uint32_t end, double until, double since) {
  std::vector<PathPiece> path;
  const auto add = [&](double begin, double finish, std::uint32_t node, std::uint32_t to, Kind kind,
                       std::uint32_t effect) {
    if (finish > std::max(begin, since))
      path.push_back({std::max(begin, since), finish, node, to, kind, effect});
  };
  std::uint32_t here = end;
  double now = graph.moments[here].at;
  const bool computes = graph.moments[here].is(ComputePhase::begun, ComputePhase::resumed);
  add(now, until, graph.moments[here].node, graph.moments[here].node, computes ? Kind::compute : Kind::idle,
      CausalGraph::none);
  while (now > since) {
    const std::optional<Binding> binding = binding_of(graph, here);
    const std::uint32_t node = graph.moments[here].node;
    if (!binding) {
      add(since, now, node, node, Kind::idle, here);
      break;
    }
    const Moment& cause = graph.moments[binding->cause];
    const bool travels = binding->kind == Kind::network;
    const bool is_over = !travels || graph.moments[here].is<Received>();
    add(cause.at, now, travels ? cause.node : node, is_over ? node : graph.moments[here].peer, binding->kind,
        here);
    here = binding->cause;
    now = cause.at;
  }
  std::ranges::reverse(path);
  return path;
}

std::int64_t message_of(const CausalGraph& graph, const PathPiece& piece) {
  if (piece.kind != Kind::network || piece.effect == CausalGraph::none) return -1;
  const Moment& effect = graph.moments[piece.effect];
  if (!effect.is<Sent>()) return effect.sent;
  return graph.moments[binding_of(graph, piece.effect)->cause].number;
}

std::string cause_of(const CausalGraph& graph, const Facts& facts, const PathPiece& piece) {
  if (piece.effect == CausalGraph::none)
    return piece.kind == Kind::compute ? "an unfinished step" : "nothing more was needed";
  const Moment& effect = graph.moments[piece.effect];
  const std::optional<Binding> binding = binding_of(graph, piece.effect);
  const auto clock_of = [](const Moment& moment) { return fmt::format("step {}", moment.clock); };
  switch (piece.kind) {
    case Kind::compute: {
      const std::string_view work = effect.word();
      if (work == "filter") return "filters its message";
      if (work == "piece") return "samples of another worker's batch";
      return clock_of(effect);
    }
    case Kind::network: {
      const Moment& sending = graph.moments[binding->cause];
      const std::string_view kind = sending.word();
      const bool has_clock = kind == "push" || kind == "pull" || kind == "weights";
      return fmt::format("{}{}, {}", kind, has_clock ? " of " + clock_of(sending) : "",
                         size_text(static_cast<double>(sending.bytes)));
    }
    case Kind::service: return fmt::format("works on {}", binding ? "what came" : "something");
    case Kind::timeout:
      return effect.is<Suspicion>()
                 ? fmt::format("silence of {} until it is suspected", facts.name_of(effect.peer))
                 : "no answer came";
    case Kind::down: return fmt::format("{} lasts", binding ? graph.moments[binding->cause].word() : "fault");
    case Kind::idle: break;
  }
  return binding ? "until a set date" : "had not begun";
}

namespace {

// Adds up waits by the worker that waited, the awaited node, and the kind.
class WaitBook {
 public:
  explicit WaitBook(const Facts& facts) : facts_(facts) {}

  // `pieces`: how the time was spent. A wait counts for the node that took most of it, under the kind that
  // took most of the time of that node.
  void add(std::uint32_t waiter, double since, double until, const std::vector<PathPiece>& pieces) {
    std::map<std::uint32_t, double> seconds;
    for (const PathPiece& piece : pieces) {
      const std::uint32_t node = blamed(facts_, piece);
      if (node != waiter || is_trouble(piece.kind)) seconds[node] += piece.seconds();
    }
    const auto most = std::ranges::max_element(seconds, {}, [](const auto& entry) { return entry.second; });
    const std::uint32_t awaited = most == seconds.end() ? waiter : most->first;
    std::array<double, kind_names.size()> of_kind{};
    for (const PathPiece& piece : pieces) {
      if (blamed(facts_, piece) == awaited) of_kind[static_cast<std::size_t>(piece.kind)] += piece.seconds();
    }
    const auto kind = static_cast<Kind>(std::ranges::max_element(of_kind) - of_kind.begin());
    WaitTotal& total = totals_[{waiter, awaited, kind}];
    if (total.count++ == 0)
      total = {.waiter = waiter, .awaited = awaited, .count = 1, .first = since, .kind = kind};
    total.first = std::min(total.first, since);
    total.last = std::max(total.last, until);
    total.seconds += until - since;
  }
  std::vector<WaitTotal> totals() const {
    std::vector<WaitTotal> all;
    for (const auto& [key, total] : totals_) all.push_back(total);
    std::ranges::stable_sort(all, [](const WaitTotal& a, const WaitTotal& b) {
      return a.waiter != b.waiter ? a.waiter < b.waiter : a.seconds > b.seconds;
    });
    return all;
  }

 private:
  const Facts& facts_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, Kind>, WaitTotal> totals_;
};

// The activity of each node at a date.
struct NodeStatus {
  enum class Is : std::uint8_t { waiting, computing, down, gone } is = Is::waiting;
  double since = 0;
};

std::map<std::uint32_t, NodeStatus> status_at(const CausalGraph& graph, const Facts& facts, double date) {
  std::map<std::uint32_t, NodeStatus> nodes;
  using Is = NodeStatus::Is;
  for (std::uint32_t id = 0; id < graph.size() && graph.moments[id].at <= date; ++id) {
    const Moment& moment = graph.moments[id];
    if (moment.takes_away()) nodes[moment.node] = {moment.begins ? Is::down : Is::waiting, moment.at};
    if (!facts.is_worker(moment.node)) continue;
    if (moment.is(ComputePhase::begun, ComputePhase::resumed))
      nodes[moment.node] = {Is::computing, moment.at};
    if (moment.is(ComputePhase::ended, ComputePhase::paused, ComputePhase::cancelled) || moment.is<Wait>())
      nodes[moment.node] = {Is::waiting, moment.at};
    if (moment.is<Sent>(MessageKind::join)) nodes[moment.node] = {Is::waiting, moment.at};
    if (moment.is<Finish>()) nodes[moment.node] = {Is::gone, moment.at};
  }
  return nodes;
}

// Adds long waits that are still open at the date. Their end is unknown: they count for a node that is down,
// or otherwise for the worker that has computed the longest. If there is none, the message is on its way, or
// the run is stuck.
void add_open_waits(const CausalGraph& graph, const Facts& facts, double date, bool is_stuck,
                    WaitBook& book) {
  constexpr double long_share = 0.05;
  using Is = NodeStatus::Is;
  const std::map<std::uint32_t, NodeStatus> nodes = status_at(graph, facts, date);
  const std::pair<const std::uint32_t, NodeStatus>* awaited = nullptr;
  for (const auto& node : nodes) {
    if (node.second.is != Is::down && node.second.is != Is::computing) continue;
    const bool is_worse = awaited == nullptr ||
                          (node.second.is == Is::down && awaited->second.is != Is::down) ||
                          (node.second.is == awaited->second.is && node.second.since < awaited->second.since);
    if (is_worse) awaited = &node;
  }
  for (const auto& [node, status] : nodes) {
    if (status.is != Is::waiting || !facts.is_worker(node) || !(date - status.since > long_share * date))
      continue;
    const std::uint32_t whom = awaited == nullptr ? node : awaited->first;
    const Kind kind = awaited == nullptr                    ? (is_stuck ? Kind::idle : Kind::network)
                      : awaited->second.is == Is::computing ? Kind::compute
                                                            : Kind::down;
    book.add(node, status.since, date, {PathPiece{status.since, date, whom, whom, kind, CausalGraph::none}});
  }
}

}  // namespace

std::vector<WaitTotal> waits_of(const CausalGraph& graph, const Facts& facts, double until, bool is_stuck) {
  WaitBook book(facts);
  for (std::uint32_t id = 0; id < graph.size(); ++id) {
    const Moment& wait = graph.moments[id];
    if (wait.is<Wait>() && wait.at <= until)
      book.add(wait.node, wait.since, wait.at, path_to(graph, id, wait.at, wait.since));
  }
  add_open_waits(graph, facts, until, is_stuck, book);
  return book.totals();
}

std::vector<double> slack_of(const CausalGraph& graph, std::uint32_t end) {
  constexpr double never = std::numeric_limits<double>::infinity();
  std::vector<double> latest(graph.size(), never);
  latest[end] = graph.moments[end].at;
  for (std::uint32_t id = end + 1; id-- > 0;) {
    if (latest[id] == never) continue;
    const auto [first, last] = out_edges(id, graph.moments);
    for (auto edge = first; edge != last; ++edge) {
      double& cause = latest[target(*edge, graph.moments)];
      cause = std::min(cause, latest[id] - graph.moments[*edge].least);
    }
  }
  for (std::uint32_t id = 0; id < graph.size(); ++id) {
    if (latest[id] != never) latest[id] = std::max(0.0, latest[id] - graph.moments[id].at);
  }
  return latest;
}

}  // namespace psim::analysis
