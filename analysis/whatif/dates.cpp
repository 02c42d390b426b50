#include "analysis/whatif/dates.hpp"

#include <algorithm>
#include <cmath>
#include <queue>
#include <tuple>
#include <utility>

#include "analysis/links/links.hpp"

namespace psim::analysis {
namespace {

// When a message was on the links: from its first bit to its last.
struct OnLinks {
  double begin = 0, end = 0;
};

// The sending of the message that ends at this moment; none: no message ends here.
std::uint32_t sending_of(const CausalGraph& graph, std::uint32_t effect) {
  const auto [first, last] = out_edges(effect, graph.moments);
  for (auto edge = first; edge != last; ++edge) {
    const auto cause = static_cast<std::uint32_t>(target(*edge, graph.moments));
    const Moment& sending = graph.moments[cause];
    if (graph.moments[*edge].kind == Kind::network && sending.type == Name("sent") &&
        sending.number == graph.moments[effect].message)
      return cause;
  }
  return CausalGraph::none;
}

// The sending of the message that had to leave before this message; none: no message had to.
std::uint32_t followed_by(const CausalGraph& graph, std::uint32_t sending) {
  const auto [first, last] = out_edges(sending, graph.moments);
  if (first == last || graph.moments[*first].kind != Kind::network) return CausalGraph::none;
  const bool is_sending = graph.moments[sending].type == Name("sent");
  return is_sending ? static_cast<std::uint32_t>(target(*first, graph.moments)) : CausalGraph::none;
}

}  // namespace

Replay::Replay(const RunRecord& record, const CausalGraph& graph, const Traffic& traffic)
    : graph_(graph),
      facts_(record.facts),
      ways_(traffic.lone),
      speed_(record.facts),
      message_of_(graph.size(), CausalGraph::none),
      begun_by_(graph.size(), CausalGraph::none),
      first_effect_(graph.size() + 1, 0) {
  const auto each_edge = [&](auto visit) {
    for (std::uint32_t id = 0; id < graph_.size(); ++id) {
      const auto [first, last] = out_edges(id, graph_.moments);
      for (auto edge = first; edge != last; ++edge)
        visit(static_cast<std::uint32_t>(target(*edge, graph_.moments)), id);
    }
  };
  each_edge([&](std::uint32_t cause, std::uint32_t) { ++first_effect_[cause + 1]; });
  for (std::size_t id = 0; id < graph_.size(); ++id) first_effect_[id + 1] += first_effect_[id];
  effects_.resize(first_effect_.back());
  std::vector<std::uint32_t> next(first_effect_.begin(), first_effect_.end() - 1);
  each_edge([&](std::uint32_t cause, std::uint32_t effect) { effects_[next[cause]++] = effect; });
  for (std::uint32_t id = 0; id < graph_.size(); ++id) end_ = std::max(end_, graph_.moments[id].at);
  find_messages(traffic);
  weigh_messages();
}

void Replay::find_messages(const Traffic& traffic) {
  std::vector<OnLinks> on_links(graph_.size());
  for (const Transfer& t : traffic.transfers) {
    const auto number = static_cast<std::size_t>(t.message);
    if (number < graph_.sent.size() && graph_.sent[number] != CausalGraph::none)
      on_links[graph_.sent[number]] = {t.on_wire, t.end};
  }
  for (std::uint32_t id = 0; id < graph_.size(); ++id) {
    const std::uint32_t sent = sending_of(graph_, id);
    if (sent == CausalGraph::none) continue;
    const Moment& sending = graph_.moments[sent];
    const auto [begin, end] = on_links[sent];
    Carried message{.sending = sent, .effect = id, .way = ways_.number_of(sending.node, sending.peer)};
    message.before = begin - sending.at;
    message.latency = std::min(end - begin, ways_.latency(message.way));
    message.after = graph_.moments[id].at - end;
    message_of_[id] = begun_by_[sent] = static_cast<std::uint32_t>(messages_.size());
    messages_.push_back(message);
  }
  for (std::uint32_t id = 0; id < graph_.size(); ++id) {
    const std::uint32_t before = followed_by(graph_, id);
    if (before != CausalGraph::none && begun_by_[before] != CausalGraph::none)
      messages_[begun_by_[before]].next = id;
  }
}

// The load of each message: the amount that its rates allow between its dates in the run.
void Replay::weigh_messages() {
  std::vector<std::tuple<double, bool, std::uint32_t>> events;  // date, begins, message
  for (std::uint32_t n = 0; n < messages_.size(); ++n) {
    const Carried& one = messages_[n];
    const double begin = graph_.moments[one.sending].at + one.before + one.latency,
                 end = graph_.moments[one.effect].at - one.after;
    if (!(begin < end)) continue;
    events.emplace_back(begin, true, n);
    events.emplace_back(end, false, n);
  }
  std::ranges::sort(events);
  Sharing sharing(ways_, 1, 1);
  for (const auto& [date, begins, n] : events) {
    if (begins) {
      sharing.begin(n, messages_[n].way, date, 0);
    } else {
      sharing.end(n, date);
      messages_[n].load = -sharing.left(n);
    }
  }
}

// One pass over the graph, in the order of the new dates.
class Replay::Pass {
 public:
  Pass(const Replay& replay, const Hypothesis& hypothesis)
      : replay_(replay),
        graph_(replay.graph_),
        hypothesis_(hypothesis),
        speed_(replay.facts_, hypothesis.never_slow),
        sharing_(replay.ways_, hypothesis.bandwidth, hypothesis.latency / hypothesis.window),
        dates_(graph_.size(), 0),
        open_(graph_.size(), 0),
        turns_(sharing_.link_count(), 0),
        next_(sharing_.link_count(), 0) {}

  std::vector<double> run() {
    for (std::uint32_t id = 0; id < graph_.size(); ++id) {
      const auto causes = static_cast<std::uint32_t>(out_degree(id, graph_.moments));
      const bool is_fixed = causes == 0 || graph_.moments[id].type == Name("fault");
      open_[id] = is_fixed ? 0 : causes;
      if (!is_fixed) continue;
      dates_[id] = graph_.moments[id].at;
      events_.push({dates_[id], What::moment, id, 0});
    }
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      on(event);
    }
    return std::move(dates_);
  }

 private:
  // A message begins on the links; the next one of a link ends.
  enum class What : std::uint8_t { moment, begins, ends };
  struct Event {
    double date;
    What what;
    std::uint32_t number, turn;  // turn: of the end on a link; only the newest announced end counts
    bool operator>(const Event& other) const {
      return std::tie(date, what, number, turn) > std::tie(other.date, other.what, other.number, other.turn);
    }
  };

  void on(const Event& event) {
    if (event.what == What::moment) return happens(event.number);
    if (event.what == What::begins) {
      const Carried& message = replay_.messages_[event.number];
      sharing_.begin(event.number, message.way, event.date, message.load);
    } else {
      if (event.turn != turns_[event.number]) return;
      const std::uint32_t number = next_[event.number];
      sharing_.end(number, event.date);
      const Carried& message = replay_.messages_[number];
      allow(message.effect, event.date + message.after * hypothesis_.overhead);
      if (message.next != CausalGraph::none)
        allow(message.next, event.date - message.latency * hypothesis_.latency);
    }
    sharing_.each_changed([this](std::uint32_t link, const Sharing::Next& next) {
      next_[link] = next.message;
      events_.push({next.at, What::ends, link, ++turns_[link]});
    });
  }

  // Handles all effects of a moment. A message ends when its load is gone.
  void happens(std::uint32_t id) {
    for (std::uint32_t n = replay_.first_effect_[id]; n < replay_.first_effect_[id + 1]; ++n) {
      const std::uint32_t effect = replay_.effects_[n];
      if (open_[effect] == 0) continue;  // its date is fixed
      const std::uint32_t own = replay_.begun_by_[id];
      const bool is_next = own != CausalGraph::none && replay_.messages_[own].next == effect;
      if (is_next && replay_.messages_[own].load > 0) continue;  // happens when the message has left
      const std::uint32_t number = replay_.message_of_[effect];
      if (number == CausalGraph::none || replay_.messages_[number].sending != id) {
        allow(effect, dates_[id] + least(effect, id));
        continue;
      }
      const Carried& message = replay_.messages_[number];
      const double begin =
          dates_[id] + message.before * hypothesis_.overhead + message.latency * hypothesis_.latency;
      if (message.load > 0) events_.push({begin, What::begins, number, 0});
      else allow(effect, begin + message.after * hypothesis_.overhead);
    }
  }

  void allow(std::uint32_t id, double date) {
    dates_[id] = std::max(dates_[id], date);
    if (--open_[id] > 0) return;
    // Where messages share links under asp, a difference of dates grows from step to step. A rounding error
    // must not.
    constexpr double rounding = 1e-11;  // of the run's time
    const double own = graph_.moments[id].at;
    if (std::abs(dates_[id] - own) <= rounding * replay_.end_) dates_[id] = own;
    events_.push({dates_[id], What::moment, id, 0});
  }

  // The least seconds from the cause to the effect.
  double least(std::uint32_t id, std::uint32_t cause) const {
    const auto [first, last] = out_edges(id, graph_.moments);
    const auto edge =
        std::find_if(first, last, [&](const auto& one) { return target(one, graph_.moments) == cause; });
    const Cause& why = graph_.moments[*edge];
    const Moment& effect = graph_.moments[id];
    if (why.kind == Kind::service && replay_.facts_.is_server(effect.node))
      return why.least * hypothesis_.server_work;
    if (why.kind != Kind::compute || !replay_.facts_.is_worker(effect.node)) return why.least;
    const std::uint32_t worker = replay_.facts_.worker(effect.node);
    double factor = hypothesis_.compute.empty() ? 1 : hypothesis_.compute[worker];
    const auto clock = static_cast<std::size_t>(std::max<std::int64_t>(effect.clock, 0));
    if (!hypothesis_.of_clock.empty() && clock < hypothesis_.of_clock[worker].size())
      factor *= hypothesis_.of_clock[worker][clock];
    const double work = replay_.speed_.work(worker, graph_.moments[cause].at, effect.at);
    return speed_.end(worker, dates_[cause], factor * work) - dates_[cause];
  }

  const Replay& replay_;
  const CausalGraph& graph_;
  const Hypothesis& hypothesis_;
  Speed speed_;
  Sharing sharing_;
  std::vector<double> dates_;
  std::vector<std::uint32_t> open_;          // by moment: causes that have not happened
  std::vector<std::uint32_t> turns_, next_;  // by link; next_: the message that ends first
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

std::vector<double> Replay::dates(const Hypothesis& hypothesis) const {
  return Pass(*this, hypothesis).run();
}

double Replay::error() const {
  const std::vector<double> again = dates({});
  double most = 0;
  for (std::uint32_t id = 0; id < graph_.size(); ++id)
    most = std::max(most, std::abs(again[id] - graph_.moments[id].at));
  return end_ > 0 ? most / end_ : 0;
}

}  // namespace psim::analysis
