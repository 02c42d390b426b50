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

class Builder {
 public:
  explicit Builder(const RunRecord& run) : run_(run) {
    line_.end = run.summary.at("sim_time_s").get<double>();
    for (std::uint32_t node = 0; node < run.names.size(); ++node)
      line_.lanes.push_back({.node = node, .name = run.names[node], .spans = {}, .marks = {}});
  }

  void on(const Row& row) {
    if (row.is<FaultChange>()) on_fault(row);
    add_mark(row);
  }

  Timeline finish() {
    add_spans("SELECT node, begin_s, end_s, use, for_node, clock, coalesce(message, -1) FROM span");
    add_spans(
        "SELECT service.node, begin_s, end_s, 'service', coalesce(sent.node, service.node), "
        "coalesce(clock, 0), coalesce(message, -1) "
        "FROM service LEFT JOIN sent ON sent.number = message");
    for (const auto& [key, begin] : open_) add_shade(key, begin, line_.end);
    add_stragglers();
    for (Lane& lane : line_.lanes) tidy(lane);
    return std::move(line_);
  }

 private:
  using FaultKey = std::tuple<std::int64_t, std::uint32_t, std::string>;  // [[fault]], node, kind

  void add_spans(const std::string& sql) {
    query(run_.database(), sql, [this](sqlite3_stmt* row) {
      const std::uint32_t node = id_in(row, 0), for_node = id_in(row, 4);
      const auto use = std::ranges::find(use_names, text_in(row, 3));
      if (std::max(node, for_node) >= line_.lanes.size() || use == use_names.end())
        throw Unverifiable(
            fmt::format("{}: a span does not fit the scenario", run_.database().path().string()), damaged);
      line_.lanes[node].spans.push_back({.begin = sqlite3_column_double(row, 1),
                                         .end = sqlite3_column_double(row, 2),
                                         .use = static_cast<Use>(use - use_names.begin()),
                                         .for_node = for_node,
                                         .clock = sqlite3_column_int64(row, 5),
                                         .message = sqlite3_column_int64(row, 6)});
    });
  }

  void on_fault(const Row& row) {
    const FaultChange& change = row.as<FaultChange>();
    if (!change.kind->window) return;
    const std::uint32_t node = change.target.value_or(Shade::everybody);
    const FaultKey key{change.fault_table, node, row.word()};
    const auto found = open_.find(key);
    if (row.begins && found == open_.end()) open_.emplace(key, row.at);
    if (row.begins || found == open_.end()) return;
    add_shade(key, found->second, row.at);
    open_.erase(found);
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
  std::map<FaultKey, double> open_;  // start of a lasting fault
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
