// The events of a run for the step-through of its pages: who did what when, as the run recorded it.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/links/links.hpp"
#include "analysis/page/page.hpp"
#include "analysis/page/run_parts.hpp"
#include "analysis/run_record.hpp"
#include "analysis/timeline/spans.hpp"

namespace psim::analysis {
namespace {

// Where each node stands: the first link that it shares with its neighbours, "rack 0" of "rack 0 to core".
// Empty: its own link ends at the switch of all nodes.
Json places_of(const RunRecord& record) {
  const Lone lone(record);
  Json places = Json::array();
  const auto nodes = static_cast<std::uint32_t>(record.names.size());
  for (std::uint32_t node = 0; node < nodes; ++node) {
    std::string place;
    for (std::uint32_t other = 0; other < nodes && place.empty(); ++other) {
      const std::vector<std::uint32_t> way = lone.way(node, other);
      if (way.size() < 3) continue;
      const std::string& name = lone.links()[way[1]].name;
      place = name.substr(0, name.find(" to "));
    }
    places.push_back(place);
  }
  return places;
}

// Events as numbers, without the zeros at the end of each: number and nanoseconds since the event before,
// node, what, distance to the sending of its message, kind, other node, shard, clock, version, bytes,
// staleness.
class Events {
 public:
  void add(const Row& row) {
    const std::int64_t at = std::llround(row.at * 1e9);
    std::vector<std::int64_t> all{row.number - std::exchange(last_, row.number),
                                  at - std::exchange(last_at_, at), row.node, word(row.name()),
                                  row.sent < 0 ? 0 : row.number - row.sent};
    if (!row.is<Received, Lost>()) {
      const bool is_place = row.is<ShardPlace>(), is_fault = row.is<FaultChange>();
      for (const std::int64_t more :
           {word(is_place ? name_in(row.as<ShardPlace>().role) : row.word()), std::int64_t{row.peer},
            std::int64_t{row.shard}, row.clock, row.is<ViewChange>() ? row.view : row.version,
            static_cast<std::int64_t>(row.bytes), is_fault ? std::int64_t{row.begins} : row.staleness})
        all.push_back(more);
    }
    while (all.back() == 0) all.pop_back();
    events_.push_back(all);
  }
  Json words() const { return words_; }
  Json events() { return std::move(events_); }

 private:
  std::int64_t word(std::string_view text) {
    const auto [at, is_new] = numbers_.try_emplace(std::string(text), words_.size());
    if (is_new) words_.push_back(at->first);
    return static_cast<std::int64_t>(at->second);
  }
  std::map<std::string, std::size_t> numbers_ = {{"", 0}};
  Json words_ = Json::array({""}), events_ = Json::array();
  std::int64_t last_ = 0, last_at_ = 0;
};

// What nodes do and have before the first event that is shown: the last event of each kind, and the messages
// on their way.
class Before {
 public:
  void add(const Row& row) {
    if (row.is<Sent>()) on_their_way_.insert_or_assign(row.number, row);
    if (row.is<Sent>(MessageKind::weights)) open_.erase({row.node, row.shard, row.peer, pull});
    if (row.is<Received, Lost>()) arrive(row);
    if (row.is<PushOutcome>()) open_.erase({row.node, row.shard, row.peer, row.push});
    if (row.is_crash())
      std::erase_if(open_, [&](const auto& one) { return std::get<0>(one.first) == row.peer; });
    const bool has_peer = row.is<ShardPlace, FaultChange>();
    if (has_peer || row.is<ModelUpdate, ViewChange, Computation>()) keep(row, has_peer ? row.peer : 0);
  }
  // The number of events that it has given.
  std::int64_t give(Events& events) {
    std::vector<const Row*> rows;
    for (const auto& [key, row] : last_) rows.push_back(&row);
    for (const auto& [number, row] : on_their_way_) rows.push_back(&row);
    for (const auto& [key, pair] : open_) rows.insert(rows.end(), {&pair.first, &pair.second});
    std::ranges::sort(rows, {}, [](const Row* row) { return row->number; });
    for (const Row* row : rows) events.add(*row);
    last_.clear();
    on_their_way_.clear();
    open_.clear();
    return std::ssize(rows);
  }

 private:
  // A replica's version is that of the last change that it has received. Pushes wait for their update, and
  // pulls for their answer.
  void arrive(const Row& row) {
    const auto sent = on_their_way_.extract(row.sent);
    if (sent.empty() || row.is<Lost>()) return;
    if (const MessageKind kind = row.message->kind; kind == MessageKind::replicate) {
      keep(sent.mapped(), row.node);
      keep(row, row.node);
    } else if (kind == MessageKind::push || kind == MessageKind::pull) {
      const std::int64_t number = kind == MessageKind::push ? row.push : pull;
      open_.insert_or_assign({row.node, row.shard, row.peer, number}, std::pair(sent.mapped(), row));
    }
  }
  void keep(const Row& row, std::uint32_t peer) {
    const std::string_view what = row.is<Computation>() ? "computation" : row.name();
    last_.insert_or_assign(std::tuple(what, row.word(), row.node, peer, row.shard), row);
  }
  std::map<std::tuple<std::string_view, std::string_view, std::uint32_t, std::uint32_t, std::uint32_t>, Row>
      last_;
  std::map<std::int64_t, Row> on_their_way_;
  static constexpr std::int64_t pull = -1;
  // Messages that have arrived, with their sending: by server, shard, worker and push.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::int64_t>, std::pair<Row, Row>> open_;
};

bool is_shown(const Row& row) { return !row.is_detail || row.is<ShardPlace>(); }

// Where the page begins, if it cannot show all events: the number of shown events before it.
std::int64_t first_of(const RunRecord& record, const Timeline& timeline, const ShowFrom& from,
                      std::int64_t& all, std::int64_t& messages) {
  const auto fault = first_fault(timeline);
  const std::optional<double> date = from.date ? from.date : fault ? std::optional(fault->at) : std::nullopt;
  std::int64_t at = 0;
  each_event(record, [&](const Row& row) {
    if (!is_shown(row)) return;
    ++all;
    messages += row.is<Sent>() ? 1 : 0;
    if (from.event ? row.number < *from.event : date && row.at < *date) at = all;
  });
  constexpr std::int64_t lead = most_shown_events / 6;  // before a date, so that one can step back
  return std::clamp<std::int64_t>(from.event ? at : at - lead, 0,
                                  std::max<std::int64_t>(0, all - most_shown_events));
}

}  // namespace

Json show_json(const RunRecord& record, const Timeline& timeline, const ShowFrom& from) {
  const Facts& facts = record.facts;
  if (std::ssize(record.names) > most_shown_nodes) return nullptr;
  std::int64_t all = 0, messages = 0, given = 0;
  const std::int64_t first = first_of(record, timeline, from, all, messages);
  Events events;
  Before before;
  std::int64_t place = 0;
  each_event(record, [&](const Row& row) {
    if (!is_shown(row)) return;
    const std::int64_t here = place++;
    if (here < first) before.add(row);
    else given += before.give(events);
    if (here >= first && here < first + most_shown_events) events.add(row);
  });
  // Pushes of an update, if one number holds for all shards and all dates.
  const bool has_group = record.jobs.empty() && facts.rule.group <= facts.workers;
  const bool varies = facts.rule.varies || facts.rule.closes_by_date() || first_fault(timeline) ||
                      std::ranges::find(facts.here_at_first, false) != facts.here_at_first.end();
  return {{"names", record.names},
          {"servers", facts.servers},
          {"workers", facts.workers},
          {"has_servers", facts.has_servers},
          {"group", has_group ? facts.rule.group : 0},
          {"varies", varies},
          {"here_at_first", facts.here_at_first},
          {"before", given},
          {"places", places_of(record)},
          {"words", events.words()},
          {"all", all},
          {"messages", messages},
          {"events", events.events()}};
}

}  // namespace psim::analysis
