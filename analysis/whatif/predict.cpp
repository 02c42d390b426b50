#include "analysis/whatif/predict.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

#include "analysis/causes/explain.hpp"
#include "analysis/links/links.hpp"

namespace psim::analysis {
namespace {

// The date when the last worker finishes.
double last_finish(const CausalGraph& graph, const std::vector<double>& dates) {
  double last = 0;
  for (std::uint32_t id = 0; id < graph.size(); ++id) {
    if (graph.moments[id].type == Name("finish")) last = std::max(last, dates[id]);
  }
  return last;
}

std::vector<double> dates_of(const CausalGraph& graph) {
  std::vector<double> dates(graph.size());
  for (std::uint32_t id = 0; id < graph.size(); ++id) dates[id] = graph.moments[id].at;
  return dates;
}

std::vector<bool> still_computing(const Actual& run, std::size_t workers) {
  return run.is_finished ? std::vector<bool>(workers, false) : run.progress.going_on(run.end);
}

double least_factor(const Change& change) { return std::max(change.factor, hardly_any); }

// Whether the change removes the fault.
bool leaves_out(const Change& change, const CausalGraph& graph, const Moment& fault) {
  if (change.nodes.empty()) return true;
  const std::string_view kind = graph.word_of(fault);
  return (kind == "crash" || kind == "restart" || kind == "leave" || kind == "join") &&
         std::ranges::find(change.nodes, fault.node) != change.nodes.end();
}

}  // namespace

Actual actual(const RunRecord& record, const CausalGraph& graph) {
  const double end = record.summary.at("sim_time_s");
  const std::uint32_t last = end_of(graph, end, record.summary, {}, Until::What::end);
  return {.progress = Progress(graph, record.facts, dates_of(graph), end),
          .is_finished = last != CausalGraph::none && graph.moments[last].type == Name("finish"),
          .end = end};
}

Predictor::Predictor(const RunRecord& record, const CausalGraph& graph)
    : record_(record),
      graph_(graph),
      replay_(record, graph, Traffic(record)),
      original_(actual(record, graph)),
      goes_on_(still_computing(original_, record.facts.workers)),
      is_stuck_(!record.summary.at("stuck").empty()) {}

Prediction Predictor::under(const Hypothesis& hypothesis) const {
  const std::vector<double> dates = replay_.dates(hypothesis);
  Prediction predicted{.progress = Progress(graph_, record_.facts, dates, original_.end),
                       .goes_on = goes_on_};
  if (original_.is_finished) {
    predicted.end = last_finish(graph_, dates);
    return predicted;
  }
  const std::int64_t steps = original_.progress.steps();
  const double last_step = original_.progress.date_of(steps),
               with_more = original_.progress.date_of_more(steps, goes_on_);
  if (with_more > 0) predicted.scale = last_step / with_more;
  predicted.end =
      predicted.scale * predicted.progress.date_of_more(steps, goes_on_) + original_.end - last_step;
  return predicted;
}

std::optional<Prediction> Predictor::of(const Change& change) const {
  if (is_stuck_) return std::nullopt;  // a stuck run has no end to predict
  Hypothesis hypothesis;
  const Facts& facts = record_.facts;
  const bool is_about_computing =
      change.what == Change::What::compute || change.what == Change::What::no_straggler;
  // The change does not affect copies over the bus, and the record does not tell copies from computing.
  if (is_about_computing && facts.copies_over_bus) return std::nullopt;
  switch (change.what) {
    case Change::What::set:
    case Change::What::later_crash: return std::nullopt;
    case Change::What::no_fault: return without_faults(change);
    case Change::What::bandwidth: hypothesis.bandwidth = change.factor; break;
    case Change::What::latency: hypothesis.latency = change.factor; break;
    case Change::What::window: hypothesis.window = change.factor; break;
    case Change::What::server_work: hypothesis.server_work = change.factor; break;
    case Change::What::overhead:
      if (!facts.fault_factors.empty()) return std::nullopt;  // a fault may have delayed messages there
      hypothesis.overhead = change.factor;
      break;
    case Change::What::compute:
      hypothesis.compute.assign(facts.workers, change.nodes.empty() ? least_factor(change) : 1);
      for (const std::uint32_t node : change.nodes)
        hypothesis.compute[facts.worker(node)] = least_factor(change);
      break;
    case Change::What::no_straggler:
      hypothesis.never_slow.assign(facts.workers, change.nodes.empty());
      for (const std::uint32_t node : change.nodes) hypothesis.never_slow[facts.worker(node)] = true;
      // The record does not say which steps were slow by chance.
      for (const Straggler& slow : facts.stragglers) {
        const bool is_meant = std::ranges::any_of(
            slow.workers, [&](std::uint32_t worker) { return hypothesis.never_slow[worker]; });
        if (slow.probability && is_meant) return std::nullopt;
      }
      break;
  }
  return under(hypothesis);
}

std::optional<Prediction> Predictor::without_faults(const Change& change) const {
  double first = std::numeric_limits<double>::infinity();
  bool is_any_left = false;
  for (std::uint32_t id = 0; id < graph_.size(); ++id) {
    const Moment& moment = graph_.moments[id];
    if (moment.type != Name("fault")) continue;
    if (leaves_out(change, graph_, moment)) first = std::min(first, moment.at);
    else is_any_left = true;
  }
  // The graph does not know what the remaining faults would do to work that they did not hit.
  if (is_any_left || std::isinf(first)) return std::nullopt;
  Prediction predicted{.progress = Progress(graph_, record_.facts, dates_of(graph_), first),
                       .goes_on = std::vector<bool>(record_.facts.workers, true)};
  const std::int64_t steps = original_.progress.steps();
  predicted.end = (original_.is_finished ? predicted.progress.date_of_all(original_.progress.most())
                                         : predicted.progress.date_of_more(steps, predicted.goes_on)) +
                  original_.end - original_.progress.date_of(steps);
  if (std::isinf(predicted.end)) return std::nullopt;
  return predicted;
}

std::optional<double> error_of(const Prediction& predicted, const Actual& original, const Actual& rerun) {
  if (original.is_finished && rerun.is_finished) return predicted.end / rerun.end - 1;
  const std::int64_t steps = std::min(original.progress.steps(), rerun.progress.steps());
  const double really = rerun.progress.date_of(steps);
  if (steps == 0 || !(really > 0)) return std::nullopt;
  return predicted.scale * predicted.progress.date_of_more(steps, predicted.goes_on) / really - 1;
}

std::optional<SameSteps> same_steps_of(const Actual& original, const Actual& rerun) {
  const std::int64_t steps = original.progress.steps();
  if (original.is_finished && rerun.is_finished && rerun.progress.steps() == steps)
    return SameSteps{.seconds = rerun.end};
  const double date = rerun.progress.date_of_more(steps, still_computing(rerun, rerun.progress.workers()));
  if (steps == 0 || std::isinf(date)) return std::nullopt;
  return SameSteps{.seconds = date + original.end - original.progress.date_of(steps),
                   .is_measured = rerun.progress.steps() >= steps};
}

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

namespace {

constexpr double no_date = std::numeric_limits<double>::infinity();

}  // namespace

Progress::Progress(const CausalGraph& graph, const Facts& facts, const std::vector<double>& dates,
                   double until)
    : dates_(facts.workers) {
  // A step with several parts, or a repeated step, is done when the last part ends.
  std::vector<std::map<std::int64_t, double>> done(facts.workers);
  for (std::uint32_t id = 0; id < graph.size() && graph.moments[id].at <= until; ++id) {
    const Moment& moment = graph.moments[id];
    if (moment.type != Name("ended") || graph.word_of(moment) != "step") continue;
    done[facts.worker(moment.node)].insert_or_assign(moment.clock, dates[id]);
  }
  for (std::size_t worker = 0; worker < done.size(); ++worker) {
    for (const auto& [clock, date] : done[worker]) dates_[worker].push_back(date);
    std::ranges::sort(dates_[worker]);
  }
}

std::int64_t Progress::steps() const {
  std::int64_t all = 0;
  for (const auto& worker : dates_) all += std::ssize(worker);
  return all;
}

std::int64_t Progress::most() const {
  std::int64_t most = 0;
  for (const auto& worker : dates_) most = std::max<std::int64_t>(most, std::ssize(worker));
  return most;
}

double Progress::pace(std::size_t worker) const {
  const auto& dates = dates_[worker];
  if (dates.size() < 2) return no_date;
  return (dates.back() - dates.front()) / static_cast<double>(dates.size() - 1);
}

double Progress::date_of(std::int64_t steps) const {
  return date_of_more(steps, std::vector<bool>(dates_.size(), false));
}

double Progress::date_of_more(std::int64_t steps, const std::vector<bool>& goes_on) const {
  const auto count = [&](double date) {
    std::int64_t all = 0;
    for (std::size_t w = 0; w < dates_.size(); ++w) {
      const auto& dates = dates_[w];
      all += std::ranges::upper_bound(dates, date) - dates.begin();
      const double gap = pace(w);
      if (goes_on[w] && gap > 0 && gap < no_date && date > dates.back())
        all += static_cast<std::int64_t>((date - dates.back()) / gap);
    }
    return all;
  };
  double low = 0, high = 0;
  for (const auto& dates : dates_) high = std::max(high, dates.empty() ? 0 : dates.back());
  for (int doubled = 0; count(high) < steps; ++doubled, high *= 2) {
    if (doubled == 60 || high == 0) return no_date;
  }
  for (int halved = 0; halved < 100 && std::nextafter(low, high) < high; ++halved) {
    const double middle = low + (high - low) / 2;
    (count(middle) >= steps ? high : low) = middle;
  }
  return high;
}

double Progress::date_of_all(std::int64_t steps) const {
  double last = 0;
  for (std::size_t w = 0; w < dates_.size(); ++w) {
    const double missing = static_cast<double>(steps - std::ssize(dates_[w])), gap = pace(w);
    if (missing > 0 && gap == no_date) return no_date;
    if (!dates_[w].empty()) last = std::max(last, dates_[w].back() + (missing > 0 ? missing * gap : 0));
  }
  return last;
}

std::vector<bool> Progress::going_on(double end) const {
  std::vector<bool> goes_on;
  for (std::size_t w = 0; w < dates_.size(); ++w) {
    const double gap = pace(w);
    goes_on.push_back(gap < no_date && dates_[w].back() + 4 * gap >= end);
  }
  return goes_on;
}

namespace {

constexpr double without_limit = std::numeric_limits<double>::infinity();
// Bytes per second for a message that nothing limits.
constexpr double very_fast = 1e18;

}  // namespace

std::uint32_t Ways::number_of(std::uint32_t from, std::uint32_t to) {
  const auto [known, is_new] =
      numbers_.emplace(std::pair(from, to), static_cast<std::uint32_t>(ways_.size()));
  const auto count = [&] {
    for (const std::uint32_t link : ways_[known->second].links) ++messages_[link];
    return known->second;
  };
  if (!is_new) return count();
  Way way{
      .links = {}, .latency = lone_.latency(from, to), .bandwidth = without_limit, .window = without_limit};
  for (const std::uint32_t link : lone_.way(from, to)) {
    way.bandwidth = std::min(way.bandwidth, lone_.links()[link].bandwidth);
    if (lone_.links()[link].is_shared) way.links.push_back(link);
  }
  if (way.latency > 0) way.window = lone_.window() / way.latency;
  ways_.push_back(std::move(way));
  return count();
}

std::uint32_t Ways::busiest(std::uint32_t way) const {
  const auto own = static_cast<std::uint32_t>(link_count() + way);
  const auto& links = ways_[way].links;
  const auto most =
      std::ranges::max_element(links, {}, [this](std::uint32_t link) { return messages_[link]; });
  return most == links.end() ? own : *most;
}

double Ways::rate(std::uint32_t way, double bandwidth, double latency) const {
  const Way& one = ways_[way];
  const double window = latency > 0 ? one.window / latency : without_limit;
  return std::min({bandwidth * one.bandwidth, window, very_fast});
}

Sharing::Sharing(const Ways& ways, double bandwidth, double latency)
    : ways_(ways),
      bandwidth_(bandwidth),
      latency_(latency),
      on_(ways.link_count()),
      by_busiest_(ways.link_count() + ways.way_count()),
      is_changed_(by_busiest_.size(), false) {}

void Sharing::begin(std::uint32_t message, std::uint32_t way, double now, double left) {
  if (loads_.size() <= message) loads_.resize(message + 1);
  loads_[message] = {.way = way, .left = left, .rate = 0, .since = now};
  for (const std::uint32_t link : ways_.links(way)) on_[link].push_back(message);
  by_busiest_[ways_.busiest(way)].push_back(message);
  share(message, now);
  share_links(way, now);
}

void Sharing::end(std::uint32_t message, double now) {
  Load& load = loads_[message];
  settle(load, now);
  for (const std::uint32_t link : ways_.links(load.way)) std::erase(on_[link], message);
  std::erase(by_busiest_[ways_.busiest(load.way)], message);
  changes(load.way);
  share_links(load.way, now);
}

void Sharing::changes(std::uint32_t way) {
  const std::uint32_t link = ways_.busiest(way);
  if (is_changed_[link]) return;
  is_changed_[link] = true;
  changed_.push_back(link);
}

void Sharing::share(std::uint32_t message, double now) {
  Load& load = loads_[message];
  const double rate = rate_of(load.way);
  if (rate == load.rate) return;
  settle(load, now);
  load.rate = rate;
  changes(load.way);
}

void Sharing::share_links(std::uint32_t way, double now) {
  for (const std::uint32_t link : ways_.links(way)) {
    for (const std::uint32_t message : on_[link]) share(message, now);
  }
}

double Sharing::rate_of(std::uint32_t way) const {
  double rate = ways_.rate(way, bandwidth_, latency_);
  for (const std::uint32_t link : ways_.links(way))
    rate = std::min(rate, bandwidth_ * ways_.link(link).bandwidth / static_cast<double>(on_[link].size()));
  return rate;
}

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

// The slow time [begin, end) that contains the date or follows it.
std::pair<double, double> window_at(const Straggler& slow, double date) {
  const double until = slow.until.value_or(never);
  if (!slow.every) return {slow.from, until};
  double turn = std::max(0.0, std::floor((date - slow.from) / *slow.every) - 1);
  for (int more = 0; more < 2 && date >= until + turn * *slow.every; ++more) ++turn;
  return {slow.from + turn * *slow.every, until + turn * *slow.every};
}

}  // namespace

Speed::Speed(const Facts& facts, const std::vector<bool>& without) : rows_(facts.workers) {
  for (const Straggler& slow : facts.stragglers) {
    for (const std::uint32_t worker : slow.workers) {
      const bool is_out = worker < without.size() && without[worker];
      if (worker < rows_.size() && !slow.probability && !is_out) rows_[worker].push_back(slow);
    }
  }
}

Speed::Stretch Speed::at(std::uint32_t worker, double date) const {
  Stretch stretch{.share = 1, .until = never};
  for (const Straggler& slow : rows_[worker]) {
    const auto [begin, end] = window_at(slow, date);
    if (date >= begin && date < end) stretch.share /= slow.slowdown;
    for (const double change : {begin, end}) {
      if (change > date) stretch.until = std::min(stretch.until, change);
    }
  }
  return stretch;
}

double Speed::work(std::uint32_t worker, double from, double until) const {
  if (rows_[worker].empty()) return until - from;
  double work = 0;
  while (from < until) {
    const Stretch here = at(worker, from);
    const double end = std::min(here.until, until);
    work += (end - from) * here.share;
    from = end;
  }
  return work;
}

double Speed::end(std::uint32_t worker, double from, double work) const {
  if (rows_[worker].empty()) return from + work;
  for (;;) {
    const Stretch here = at(worker, from);
    const double end = from + work / here.share;
    if (end <= here.until) return end;
    work -= (here.until - from) * here.share;
    from = here.until;
  }
}

}  // namespace psim::analysis
