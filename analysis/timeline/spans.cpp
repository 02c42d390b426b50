#include "analysis/timeline/spans.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "analysis/run_record.hpp"
#include "analysis/timeline/text.hpp"

namespace psim::analysis {
namespace {

// Finds the node that each wait of a worker is for.
class Released {
 public:
  void on(const Row& row) {
    if (row.is<Release>()) {
      if (row.sent >= 0)
        last_[{row.node, row.shard, row.peer}] = {row.pull, row.as<Release>().sender.value_or(0)};
      else last_.erase({row.node, row.shard, row.peer});
    }
    if (row.is<Sent>(MessageKind::weights, MessageKind::finished)) {
      const auto found = last_.find({row.node, row.shard, row.peer});
      if (found != last_.end() && found->second.first == row.pull) behind_[row.number] = found->second.second;
    }
    if (row.is<Lost>()) behind_.erase(row.sent);
  }
  // The node whose message made the sender send `message`.
  std::uint32_t behind(std::int64_t message, std::uint32_t sender) {
    const auto found = behind_.find(message);
    return found == behind_.end() ? sender : found->second;
  }

 private:
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::pair<std::int64_t, std::uint32_t>>
      last_;                                      // by server, shard and worker: pull and releaser
  std::map<std::int64_t, std::uint32_t> behind_;  // by message
};

// The server that got a pull first, if it is down when another server answers.
class Replaced {
 public:
  void on(const Row& row, const std::vector<std::optional<double>>& down_since) {
    if (row.is<Sent>(MessageKind::pull)) first_.try_emplace({row.node, row.shard, row.pull}, row.peer);
    if (row.is<Sent>(MessageKind::join))  // a returning worker counts its pulls from 1
      std::erase_if(first_, [&](const auto& one) { return std::get<0>(one.first) == row.node; });
    if (!row.is<Sent>(MessageKind::weights)) return;
    const auto first = first_.find({row.peer, row.shard, row.pull});
    if (first == first_.end()) return;
    if (first->second != row.node && down_since[first->second]) lost_[row.number] = first->second;
    first_.erase(first);
  }
  // None: `message` came from the server that got the pull.
  std::optional<std::uint32_t> before(std::int64_t message) const {
    const auto found = lost_.find(message);
    return found == lost_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::int64_t>, std::uint32_t>
      first_;                                   // by worker, shard and pull
  std::map<std::int64_t, std::uint32_t> lost_;  // by message that another server sent
};

class Builder {
 public:
  explicit Builder(const RunRecord& run)
      : run_(run),
        days_(run.facts, run.summary,
              [this](std::uint32_t worker, double begin, double end, Use use) {
                const std::uint32_t node = 1 + run_.facts.servers + worker;
                add(node, {.begin = begin, .end = end, .use = use, .for_node = node, .clock = clock_[node]});
              }),
        clock_(run.names.size()),
        down_since_(run.names.size()),
        seen_(run.names.size()) {
    line_.end = run.summary.at("sim_time_s").get<double>();
    for (std::uint32_t node = 0; node < run.names.size(); ++node)
      line_.lanes.push_back({.node = node, .name = run.names[node], .spans = {}, .marks = {}});
  }

  void on(const Row& row) {
    days_.on(row);
    released_.on(row);
    replaced_.on(row, down_since_);
    if (row.is_step(ComputePhase::begun)) clock_[row.node] = row.clock;
    if (row.is<Wait>()) on_wait(row);
    if (row.is<Sent>()) on_sent(row);
    if (row.is<FaultChange>()) on_fault(row);
    add_mark(row);
  }

  Timeline finish() {
    days_.close();
    add_service();
    for (std::uint32_t node = 0; node < down_since_.size(); ++node) comes(node, line_.end);
    for (const auto& [key, begin] : open_) add_shade(key, begin, line_.end);
    add_stragglers();
    for (Lane& lane : line_.lanes) tidy(lane);
    return std::move(line_);
  }

 private:
  using FaultKey = std::tuple<std::int64_t, std::uint32_t, std::string>;  // [[fault]], node, kind

  void add(std::uint32_t node, const Span& span) { line_.lanes[node].spans.push_back(span); }

  // Adds the work of servers and the storage.
  void add_service() {
    query(run_.database(),
          "SELECT service.node, coalesce(sent.node, service.node), begin_s, end_s, coalesce(clock, 0), "
          "coalesce(message, -1) FROM service LEFT JOIN sent ON sent.number = message",
          [this](sqlite3_stmt* row) {
            add(id_in(row, 0), {.begin = sqlite3_column_double(row, 2),
                                .end = sqlite3_column_double(row, 3),
                                .use = Use::service,
                                .for_node = id_in(row, 1),
                                .clock = sqlite3_column_int64(row, 4),
                                .message = sqlite3_column_int64(row, 5)});
          });
  }

  // Pieces of a worker are cut where its use changes, and also at the start of a wait.
  void on_wait(const Row& row) {
    if (!run_.facts.is_worker(row.node)) return;
    days_.mark(run_.facts.worker(row.node), row.at);
    std::vector<Span>& spans = line_.lanes[row.node].spans;
    const std::uint32_t whom = replaced_.before(row.sent).value_or(released_.behind(row.sent, row.peer));
    std::size_t first = spans.size();
    while (first > 0 && spans[first - 1].end > row.since) --first;
    if (first < spans.size() && spans[first].begin < row.since) {
      Span before = spans[first];
      before.end = spans[first].begin = row.since;
      spans.insert(spans.begin() + static_cast<std::ptrdiff_t>(first++), before);
    }
    for (std::size_t i = first; i < spans.size(); ++i) {
      if (spans[i].use != Use::wait && spans[i].use != Use::network) continue;
      spans[i].for_node = whom;
      spans[i].message = row.sent;
      if (row.clock > 0) spans[i].clock = row.clock;
    }
  }

  // Servers exist from the start, or from their first message.
  void on_sent(const Row& row) {
    if (run_.facts.is_worker(row.node)) return;
    const bool is_first = !seen_[row.node];
    seen_[row.node] = true;
    if (is_first && row.is<Sent>(MessageKind::join) && row.at > 0) down_since_[row.node] = 0;
    comes(row.node, row.at);
  }

  void on_fault(const Row& row) {
    const FaultChange& change = row.as<FaultChange>();
    if (change.target && !run_.facts.is_worker(row.peer)) {
      if (row.is_crash() && !down_since_[row.peer]) down_since_[row.peer] = row.at;
      if (row.starts_peer()) comes(row.peer, row.at);
    }
    if (!change.kind->window) return;
    const std::uint32_t node = change.target.value_or(Shade::everybody);
    const FaultKey key{change.fault_table, node, row.word()};
    const auto found = open_.find(key);
    if (row.begins && found == open_.end()) open_.emplace(key, row.at);
    if (row.begins || found == open_.end()) return;
    add_shade(key, found->second, row.at);
    open_.erase(found);
  }

  void comes(std::uint32_t node, double at) {
    const std::optional<double> since = std::exchange(down_since_[node], std::nullopt);
    if (since && *since < at) add(node, {.begin = *since, .end = at, .use = Use::down, .for_node = node});
  }

  void add_shade(const FaultKey& key, double begin, double end) {
    const auto& [table, node, kind] = key;
    const std::vector<double>& factors = run_.facts.fault_factors;
    const bool has_factor = kind == "slow" || kind == "degrade";
    const auto number = static_cast<std::size_t>(table);
    std::string text =
        has_factor && number < factors.size()
            ? fmt::format("{}: {} of its {}", kind, factors[number], kind == "slow" ? "speed" : "bandwidth")
            : kind;
    if (begin < end) line_.shades.push_back({node, begin, end, std::move(text)});
  }

  void add_stragglers();
  void add_mark(const Row& row);
  static void tidy(Lane& lane);

  const RunRecord& run_;
  Timeline line_;
  Days days_;
  Released released_;
  Replaced replaced_;
  std::vector<std::int64_t> clock_;                // by node: the clock that a worker began last
  std::vector<std::optional<double>> down_since_;  // by node; for workers see Days
  std::vector<bool> seen_;                         // by node: it has sent something
  std::map<FaultKey, double> open_;                // start of a lasting fault
};

void Builder::add_stragglers() {
  for (const Straggler& one : run_.facts.stragglers) {
    const std::string text = one.probability
                                 ? fmt::format("straggler: a step is {} times slower with probability {}",
                                               one.slowdown, *one.probability)
                                 : fmt::format("straggler: {} times slower", one.slowdown);
    constexpr int most = 10'000;  // windows
    for (int turn = 0; turn < most; ++turn) {
      const double moved = one.every ? turn * *one.every : 0;
      const double begin = one.from + moved;
      const bool is_last = turn + 1 == most;
      const double end = one.until && !is_last ? std::min(line_.end, *one.until + moved) : line_.end;
      if (begin < end) {
        for (const std::uint32_t worker : one.workers) {
          if (worker < run_.facts.workers)
            line_.shades.push_back(
                {1 + run_.facts.servers + worker, begin, end, is_last ? text + ", again and again" : text});
        }
      }
      if (!one.every || !(*one.every > 0) || begin >= line_.end) break;
    }
  }
}

void Builder::add_mark(const Row& row) {
  const auto mark = [&](std::uint32_t node, const char* kind, std::string text) {
    line_.lanes[node].marks.push_back({row.at, kind, std::move(text)});
  };
  if (row.is<FaultChange>())
    mark(row.as<FaultChange>().target.value_or(row.node), "fault",
         fmt::format("{}{}", row.word(), row.begins ? "" : " ends"));
  if (row.is<Suspicion>()) mark(row.peer, "suspicion", "suspected");
  if (row.is<ViewChange>()) mark(row.node, "view", fmt::format("announces view {}", row.view));
  if (row.is<Promotion>()) mark(row.node, "promotion", fmt::format("takes over shard {}", row.shard));
  if (row.is<ModelUpdate>()) mark(row.node, "update", fmt::format("version {}", row.version));
  if (row.is<Sent>(MessageKind::join) && row.at > 0) mark(row.node, "join", "joins");
  if (row.is<Finish>()) {
    const bool leaves = row.as<Finish>().leaves;
    mark(row.node, leaves ? "leave" : "done", leaves ? "leaves" : "has finished");
  }
}

// Joins equal neighbours, and cuts everything after the end.
void Builder::tidy(Lane& lane) {
  std::ranges::stable_sort(lane.spans, {}, &Span::begin);
  std::vector<Span> spans;
  for (const Span& span : lane.spans) {
    const bool goes_on = !spans.empty() && !(spans.back().end < span.begin) && spans.back().use == span.use &&
                         spans.back().for_node == span.for_node && spans.back().clock == span.clock &&
                         spans.back().message == span.message;
    if (goes_on) spans.back().end = span.end;
    else spans.push_back(span);
  }
  lane.spans = std::move(spans);
}

}  // namespace

double Lane::seconds(Use use, double from, double until) const {
  double sum = 0;
  for (const Span& span : spans) {
    if (span.use == use) sum += std::max(0.0, std::min(span.end, until) - std::max(span.begin, from));
  }
  return sum;
}

std::string in_words(const Mark& mark) {
  constexpr std::pair<std::string_view, const char*> at_once[] = {{"crash", "crashes"},
                                                                  {"crash ends", "starts again"},
                                                                  {"restart", "restarts"},
                                                                  {"leave", "leaves"},
                                                                  {"join", "joins"},
                                                                  {"heal", "ends all partitions"},
                                                                  {"disk-loss", "loses its disk"}};
  if (mark.kind != "fault") return mark.text;
  const auto* found = std::ranges::find(at_once, mark.text, &std::pair<std::string_view, const char*>::first);
  if (found != std::end(at_once)) return found->second;
  return mark.text.ends_with(" ends") ? mark.text : mark.text + " begins";
}

Timeline timeline_of(const RunRecord& run) {
  Builder builder(run);
  each_event(run, [&](const Row& row) { builder.on(row); });
  return builder.finish();
}

namespace {

constexpr std::int64_t few = 4;  // clocks

bool is_over(const Mark& mark) { return mark.text.ends_with(" ends"); }

// The date when all nodes know of a fault, or the end of the fault, whichever is first; otherwise the date of
// the fault.
double end_of(const FirstFault& fault, const Timeline& line) {
  double end = line.end;
  bool is_known = false;
  for (const Lane& lane : line.lanes) {
    for (const Mark& mark : lane.marks) {
      const bool ends = mark.kind == "view" || mark.kind == "promotion" ||
                        (mark.kind == "fault" && lane.name == fault.node && is_over(mark));
      if (!ends || mark.at <= fault.at) continue;
      end = std::min(end, mark.at);
      is_known = true;
    }
  }
  return is_known ? end : fault.at;
}

}  // namespace

std::optional<FirstFault> first_fault(const Timeline& line) {
  std::optional<FirstFault> first;
  for (const Lane& lane : line.lanes) {
    for (const Mark& mark : lane.marks) {
      if (mark.kind != "fault" || is_over(mark) || !(mark.at > 0 && mark.at < line.end)) continue;
      if (!first || mark.at < first->at)
        first = FirstFault{.at = mark.at, .until = mark.at, .node = lane.name, .what = mark.text};
    }
  }
  if (first) first->until = end_of(*first, line);
  return first;
}

Opening opening_of(const Timeline& line) {
  const double clocks = end_of_clocks(line, few);
  const std::optional<FirstFault> fault = first_fault(line);
  if (!fault) return {.from = 0, .until = clocks};
  constexpr double around = 0.25;  // share of the time from the fault until it is known
  const double room = std::max(clocks, around * (fault->until - fault->at));
  return {.from = std::max(0.0, fault->at - room), .until = std::min(line.end, fault->until + room)};
}

}  // namespace psim::analysis
