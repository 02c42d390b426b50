// A run for the scripts of its page. Dates are whole nanoseconds, each as the difference from the date
// before, because a long run has a hundred thousand dates.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "analysis/page/page.hpp"
#include "analysis/page/run_parts.hpp"
#include "analysis/run_record.hpp"
#include "analysis/timeline/spans.hpp"

namespace psim::analysis {
namespace {

constexpr std::size_t most_pieces = 300'000, most_messages = 120'000, bins = 240, most_lines = 16;

std::int64_t whole_nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

// Joins neighbouring pieces shorter than `least` into one piece, with the use that takes most of it.
std::vector<Span> coarsened(const std::vector<Span>& spans, double least) {
  std::vector<Span> out;
  std::array<double, 5> seconds{};
  bool is_open = false;
  for (const Span& span : spans) {
    const double length = span.end - span.begin;
    const bool is_short = length < least;
    const bool joins =
        is_open && is_short && span.end - out.back().begin < least && span.begin <= out.back().end;
    if (!joins) {
      out.push_back(span);
      seconds = {};
      is_open = is_short;
    }
    seconds[static_cast<std::size_t>(span.use)] += length;
    if (!joins) continue;
    out.back().end = span.end;
    out.back().use = static_cast<Use>(std::ranges::max_element(seconds) - seconds.begin());
  }
  return out;
}

std::size_t pieces_of(const Timeline& timeline) {
  std::size_t pieces = 0;
  for (const Lane& lane : timeline.lanes) pieces += lane.spans.size();
  return pieces;
}

Json lane_json(const Lane& lane, const std::vector<Span>& spans) {
  Json pieces = Json::array(), marks = Json::array();
  std::int64_t last = 0;
  for (const Span& span : spans) {
    const std::int64_t begin = whole_nanoseconds(span.begin), end = whole_nanoseconds(span.end);
    for (const std::int64_t number : {begin - last, end - begin, static_cast<std::int64_t>(span.use),
                                      static_cast<std::int64_t>(span.for_node), span.clock})
      pieces.push_back(number);
    last = end;
  }
  for (const Mark& mark : lane.marks) {
    if (mark.kind != "update") marks.push_back({mark.at, mark.kind, in_words(mark)});
  }
  return {
      {"node", lane.node}, {"name", lane.name}, {"pieces", std::move(pieces)}, {"marks", std::move(marks)}};
}

// Messages, staleness, clocks and traffic, from the events.
class Reader {
 public:
  explicit Reader(const RunPage& page)
      : end_(std::max(page.timeline->end, 1e-9)), facts_(page.record->facts) {
    if (first_fault(*page.timeline)) opens_ = opening_of(*page.timeline).from;
    each_event(*page.record, [this](const Row& row) { on(row); });
  }
  Json json() {
    Json staleness = Json::array(), clocks = Json::array(), traffic = Json::array();
    for (std::size_t i = 0; i < bins; ++i) {
      if (stale_[i].second > 0)
        staleness.push_back({middle(i), stale_[i].first / static_cast<double>(stale_[i].second)});
    }
    for (const auto& [worker, line] : clocks_) clocks.push_back({{"worker", worker}, {"line", line}});
    const TrafficBins parts = traffic_bins(end_, mean_step());
    for (const auto& [node, rate] : rates(parts))
      traffic.push_back({{"name", facts_.name_of(node)}, {"out", rate.first}, {"in", rate.second}});
    return {{"bin_s", parts.width},
            {"bin_steps", parts.steps},
            {"staleness", staleness},
            {"clocks", clocks},
            {"clock_spread", spread_},
            {"traffic", traffic},
            {"messages", {{"all", sent_.size()}, {"list", messages()}}}};
  }

 private:
  // When a worker began its steps.
  struct Steps {
    double first, last;
    std::size_t begun;
    void add(double at) {
      last = at;
      ++begun;
    }
  };
  struct Message {
    double sent, received;
    std::uint32_t from, to;
    std::uint64_t bytes;
  };
  double middle(std::size_t bin) const { return (static_cast<double>(bin) + 0.5) * end_ / bins; }
  std::size_t bin_of(double at) const {
    return std::min(bins - 1, static_cast<std::size_t>(std::max(0.0, at) / end_ * bins));
  }
  void on(const Row& row) {
    if (row.is<Sent>()) {
      sent_[row.number] = {row.at, -1, row.node, row.peer, row.bytes};
    } else if (row.is<Received>()) {
      const auto message = sent_.find(row.sent);
      if (message == sent_.end()) return;
      message->second.received = row.at;
    } else if (row.is(Outcome::applied)) {
      auto& [sum, count] = stale_[bin_of(row.at)];
      sum += static_cast<double>(row.staleness);
      ++count;
    } else if (row.is_step(ComputePhase::begun)) {
      clock(row);
      if (row.part == 0) steps_.try_emplace(row.node, Steps{row.at, row.at, 0}).first->second.add(row.at);
    }
  }
  // Mean time from a step of a worker to its next step; 0: no worker has two steps.
  double mean_step() const {
    double seconds = 0;
    std::size_t steps = 0;
    for (const auto& [worker, its] : steps_) {
      seconds += its.last - its.first;
      steps += its.begun - 1;
    }
    return steps == 0 ? 0 : seconds / static_cast<double>(steps);
  }
  // By node: bytes sent and bytes received in each part of the run.
  using Rates = std::map<std::uint32_t, std::pair<std::vector<double>, std::vector<double>>>;
  Rates rates(const TrafficBins& parts) const {
    Rates all;
    const auto of = [&](std::uint32_t node) -> auto& {
      const std::vector<double> none(parts.count);
      return all.try_emplace(node, none, none).first->second;
    };
    for (const auto& [number, m] : sent_) {
      const auto bytes = static_cast<double>(m.bytes);
      if (m.from < most_lines) parts.add(of(m.from).first, m.sent, bytes);
      if (m.received >= 0 && m.to < most_lines) parts.add(of(m.to).second, m.received, bytes);
    }
    return all;
  }
  // Adds at most one point for each bin.
  void clock(const Row& row) {
    spread(row);
    if (facts_.worker(row.node) >= most_lines) return;
    Json& line = clocks_.try_emplace(facts_.worker(row.node), Json::array()).first->second;
    const bool is_new = line.empty() || bin_of(line.back()[0].get<double>()) != bin_of(row.at);
    if (is_new) line.push_back({row.at, row.clock});
    else line.back() = {row.at, row.clock};
  }
  // Updates the largest lead of the first worker over the last, in clocks.
  void spread(const Row& row) {
    const auto [at, is_new] = clock_of_.try_emplace(row.node, row.clock);
    if (!is_new) {
      const auto old = workers_at_.find(at->second);
      if (--old->second == 0) workers_at_.erase(old);
    }
    at->second = row.clock;
    ++workers_at_[row.clock];
    spread_ = std::max(spread_, workers_at_.rbegin()->first - workers_at_.begin()->first);
  }
  // Of too many messages those around the first fault, or the first ones.
  Json messages() const {
    auto first = sent_.begin();
    std::size_t left = sent_.size();
    for (; left > most_messages && first->second.sent < opens_; --left) ++first;
    Json list = Json::array();
    std::int64_t last = 0;
    for (left = std::min(left, most_messages); left > 0; --left, ++first) {
      const Message& m = first->second;
      const std::int64_t at = whole_nanoseconds(m.sent);
      const std::int64_t took = m.received < 0 ? -1 : whole_nanoseconds(m.received) - at;
      for (const std::int64_t value : {at - last, took, std::int64_t{m.from}, std::int64_t{m.to}})
        list.push_back(value);
      last = at;
    }
    return list;
  }

  double end_, opens_ = 0;
  const Facts& facts_;
  std::map<std::int64_t, Message> sent_;  // by number, in order of time
  std::array<std::pair<double, std::size_t>, bins> stale_{};
  std::map<std::uint32_t, Json> clocks_;
  std::map<std::uint32_t, std::int64_t> clock_of_;
  std::map<std::int64_t, std::size_t> workers_at_;  // by clock
  std::int64_t spread_ = 0;
  std::map<std::uint32_t, Steps> steps_;
};

}  // namespace

// All names once; then pieces as numbers: node, kind, begin, length, to (-1: none).
Json path_json(const Json& path) {
  std::map<std::string, std::size_t> names;
  Json listed = Json::array(), pieces = Json::array();
  const auto number_of = [&](const Json& piece, const char* key) {
    if (!piece.contains(key) || !piece[key].is_string()) return std::int64_t{-1};
    const auto [at, is_new] = names.try_emplace(piece[key].get<std::string>(), names.size());
    if (is_new) listed.push_back(at->first);
    return static_cast<std::int64_t>(at->second);
  };
  for (const Json& piece : path) {
    const std::int64_t begin = whole_nanoseconds(piece["begin_s"]), end = whole_nanoseconds(piece["end_s"]);
    for (const std::int64_t value :
         {number_of(piece, "node"), number_of(piece, "kind"), begin, end - begin, number_of(piece, "to")})
      pieces.push_back(value);
  }
  return {{"names", listed}, {"pieces", pieces}};
}

Json timeline_json(const Timeline& timeline) {
  Json lanes = Json::array(), shades = Json::array();
  double least = 0;
  std::vector<std::vector<Span>> spans;
  for (const Lane& lane : timeline.lanes) spans.push_back(lane.spans);
  for (std::size_t pieces = pieces_of(timeline); pieces > most_pieces;) {
    least = least > 0 ? 2 * least : timeline.end / 1e5;
    pieces = 0;
    for (std::size_t i = 0; i < spans.size(); ++i) {
      spans[i] = coarsened(timeline.lanes[i].spans, least);
      pieces += spans[i].size();
    }
    if (least > timeline.end) break;
  }
  for (std::size_t i = 0; i < spans.size(); ++i) lanes.push_back(lane_json(timeline.lanes[i], spans[i]));
  for (const Shade& shade : timeline.shades)
    shades.push_back({{"node", shade.node == Shade::everybody ? Json() : Json(shade.node)},
                      {"begin", shade.begin},
                      {"end", shade.end},
                      {"text", shade.text}});
  Json uses = Json::array();
  for (const Use use : {Use::compute, Use::network, Use::wait, Use::service, Use::down})
    uses.push_back(name_of(use));
  Json out = {
      {"end", timeline.end}, {"uses", uses}, {"joined_below_s", least}, {"lanes", lanes}, {"shades", shades}};
  if (first_fault(timeline)) {
    const Opening opening = opening_of(timeline);
    out["opens"] = {opening.from, opening.until};
  }
  return out;
}

TrafficBins traffic_bins(double end, double step) {
  constexpr double most = 60, fewest = 10;
  TrafficBins bins{.count = static_cast<std::size_t>(most), .steps = 0, .width = end / most};
  if (!(step > 0) || end / step < fewest) return bins;
  bins.steps = static_cast<std::size_t>(std::ceil(bins.width / step));
  bins.count = static_cast<std::size_t>(std::round(end / (static_cast<double>(bins.steps) * step)));
  bins.width = end / static_cast<double>(bins.count);
  return bins;
}

void TrafficBins::add(std::vector<double>& sums, double at, double amount) const {
  const double last = static_cast<double>(count) - 1;
  const double place = std::clamp(at / width - 0.5, 0.0, last);  // between the centres of two parts
  const auto before = static_cast<std::size_t>(place);
  const double share = place - static_cast<double>(before);
  const auto is_end = [&](std::size_t part) { return part == 0 || part + 1 == count; };
  if (!is_end(before)) sums[before] += amount * (1 - share);
  if (share > 0 && !is_end(before + 1)) sums[before + 1] += amount * share;
  if (at < width) sums.front() += amount;
  if (at >= last * width) sums.back() += amount;
}

Json run_data(const RunView& view) {
  Json out = {{"dates", Json::array()}};
  for (const auto& [at, name] : dates_of(view.page.summary)) out["dates"].push_back({at, name});
  if (view.page.timeline != nullptr) out["timeline"] = timeline_json(*view.page.timeline);
  if (view.page.record != nullptr && view.page.timeline != nullptr) {
    out["events"] = Reader(view.page).json();
    out["show"] = show_json(*view.page.record, *view.page.timeline);
  }
  if (view.page.why.contains("path")) out["path"] = path_json(view.page.why["path"]);
  return out;
}

}  // namespace psim::analysis
