#include "analysis/causes/path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>

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

// Whose time a message's is, where a worker waits: the server's, which its links are shared at.
std::uint32_t blamed(const Facts& facts, const Piece& piece) {
  return piece.kind == Kind::network && facts.is_server(piece.to) ? piece.to : piece.node;
}

std::string size_text(std::uint64_t bytes) {
  if (bytes < 10'000) return fmt::format("{} B", bytes);
  if (bytes < 10'000'000) return fmt::format("{:.3g} kB", static_cast<double>(bytes) / 1e3);
  return fmt::format("{:.3g} MB", static_cast<double>(bytes) / 1e6);
}

}  // namespace

std::vector<Piece> path_to(const CausalGraph& graph, std::uint32_t end, double until, double since) {
  std::vector<Piece> path;
  const auto add = [&](double begin, double finish, std::uint32_t node, std::uint32_t to, Kind kind,
                       std::uint32_t effect) {
    if (finish > std::max(begin, since))
      path.push_back({std::max(begin, since), finish, node, to, kind, effect});
  };
  std::uint32_t here = end;
  double now = graph.moments[here].at;
  add(now, until, graph.moments[here].node, graph.moments[here].node, Kind::idle, CausalGraph::none);
  while (now > since) {
    const std::optional<Binding> binding = binding_of(graph, here);
    const std::uint32_t node = graph.moments[here].node;
    if (!binding) {
      add(since, now, node, node, Kind::idle, here);
      break;
    }
    const Moment& cause = graph.moments[binding->cause];
    const bool travels = binding->kind == Kind::network;
    add(cause.at, now, travels ? cause.node : node, node, binding->kind, here);
    here = binding->cause;
    now = cause.at;
  }
  std::ranges::reverse(path);
  return path;
}

std::string cause_of(const CausalGraph& graph, const Facts& facts, const Piece& piece) {
  if (piece.effect == CausalGraph::none) return "nothing more was needed";
  const Moment& effect = graph.moments[piece.effect];
  const std::optional<Binding> binding = binding_of(graph, piece.effect);
  const auto clock_of = [](const Moment& moment) { return fmt::format("step {}", moment.clock); };
  switch (piece.kind) {
    case Kind::compute: {
      const std::string_view work = graph.word_of(effect);
      if (work == "filter") return "filters what it sends";
      if (work == "piece") return "samples of another worker's batch";
      return clock_of(effect);
    }
    case Kind::network: {
      const Moment& sending = graph.moments[binding->cause];
      const std::string_view kind = graph.word_of(sending);
      const bool has_clock = kind == "push" || kind == "pull" || kind == "weights";
      return fmt::format("{}{}, {}", kind, has_clock ? " of " + clock_of(sending) : "",
                         size_text(sending.bytes));
    }
    case Kind::service: return fmt::format("works on {}", binding ? "what came" : "something");
    case Kind::timeout:
      return effect.type == Name("suspicion")
                 ? fmt::format("nothing is heard from {} until it is suspected", facts.name_of(effect.peer))
                 : "no answer came";
    case Kind::down:
      return fmt::format("{} lasts", binding ? graph.word_of(graph.moments[binding->cause]) : "fault");
    case Kind::idle: break;
  }
  return binding ? "until its time came" : "had not begun";
}

std::vector<WaitTotal> waits_of(const CausalGraph& graph, const Facts& facts, double until) {
  std::map<std::pair<std::uint32_t, std::uint32_t>,
           std::pair<WaitTotal, std::array<double, kind_names.size()>>>
      totals;
  for (std::uint32_t id = 0; id < graph.size(); ++id) {
    const Moment& wait = graph.moments[id];
    if (wait.type != Name("wait") || wait.at > until) continue;
    std::map<std::uint32_t, double> seconds;
    const std::vector<Piece> pieces = path_to(graph, id, wait.at, wait.since);
    for (const Piece& piece : pieces) {
      if (const std::uint32_t node = blamed(facts, piece); node != wait.node)
        seconds[node] += piece.seconds();
    }
    const auto most = std::ranges::max_element(seconds, {}, [](const auto& entry) { return entry.second; });
    const std::uint32_t awaited = most == seconds.end() ? wait.node : most->first;
    auto& [total, of_kind] = totals[{wait.node, awaited}];
    if (total.count++ == 0)
      total = {.waiter = wait.node, .awaited = awaited, .count = 1, .first = wait.since};
    total.first = std::min(total.first, wait.since);
    total.last = wait.at;
    total.seconds += wait.at - wait.since;
    for (const Piece& piece : pieces) {
      if (blamed(facts, piece) == awaited) of_kind[static_cast<std::size_t>(piece.kind)] += piece.seconds();
    }
  }
  std::vector<WaitTotal> all;
  for (auto& [key, entry] : totals) {
    entry.first.kind = static_cast<Kind>(std::ranges::max_element(entry.second) - entry.second.begin());
    all.push_back(entry.first);
  }
  std::ranges::stable_sort(all, [](const WaitTotal& a, const WaitTotal& b) {
    return a.waiter != b.waiter ? a.waiter < b.waiter : a.seconds > b.seconds;
  });
  return all;
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
