#include "analysis/links/links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace psim::analysis {
namespace {

// All arrivals and losses in order, with their dates on the wire if the record has them.
constexpr const char* all_transfers =
    "SELECT sent.number, sent.node, receiver, sent_bytes, sent.at_s, over.at_s, is_lost, begin_s, end_s FROM "
    "(SELECT number, at_s, message, 0 AS is_lost FROM received UNION ALL SELECT number, at_s, message, 1 "
    "FROM lost) over JOIN sent ON sent.number = over.message LEFT JOIN wire ON wire.message = sent.number "
    "ORDER BY over.number";

constexpr std::size_t arrives = std::numeric_limits<std::size_t>::max();

// A message starts or stops using a link at `rate` bytes per second. `lost`: the number of a lost message;
// its rate is an upper bound.
struct Change {
  double at, rate;
  std::size_t lost = arrives;
};

// A message that was lost on its way. How much of it the link had carried is unknown.
struct LostOne {
  std::uint32_t from;
  double rate;         // bytes per second at most
  double carried = 0;  // bytes, at most
};

struct Load {
  LinkUse use;
  std::uint32_t number = 0;  // number of the link
  std::map<std::uint32_t, std::uint64_t> by_sender = {};
  std::vector<Change> changes = {};
  std::vector<LostOne> lost = {};
};

void count_bytes(std::uint32_t from, double bytes, Load& load) {
  load.use.bytes += static_cast<std::uint64_t>(bytes);
  load.by_sender[from] += static_cast<std::uint64_t>(bytes);
}

// A message that takes no time or has no bytes has no rate and cannot fill a link.
void add(const Transfer& t, Load& load) {
  ++load.use.messages;
  const auto bytes = static_cast<double>(t.bytes);
  if (!t.is_lost) count_bytes(t.from, bytes, load);
  if (!(t.end > t.begin) || !(bytes > 0)) return;
  const bool is_part = t.is_lost && t.alone > t.end - t.begin;
  const double rate = bytes / (is_part ? t.alone : t.end - t.begin);
  const std::size_t lost = t.is_lost ? load.lost.size() : arrives;
  if (t.is_lost) load.lost.push_back({.from = t.from, .rate = rate});
  load.changes.push_back({t.begin, rate, lost});
  load.changes.push_back({t.end, -rate, lost});
}

// Adds the time between two dates with `rate` bytes per second on the link and at least one open message.
void pass(double from, double to, double rate, const BandwidthLeft& left, Load& load) {
  LinkUse& use = load.use;
  use.busy += to - from;
  const double bandwidth = use.link.bandwidth * (left ? left(load.number, from, to) : 1);
  if (!use.link.is_shared || !(rate >= full_share * bandwidth)) return;
  if (!use.full.empty() && use.full.back().second == from) use.full.back().second = to;
  else use.full.emplace_back(from, to);
}

// Lost messages share the remaining bandwidth equally. Returns their bytes per second.
double pass_lost(double seconds, double rate, const std::vector<std::size_t>& open, Load& load) {
  const LinkUse& use = load.use;
  const double left =
      use.link.is_shared ? std::max(0.0, use.link.bandwidth - rate) : std::numeric_limits<double>::infinity();
  double all = 0;
  for (const std::size_t number : open) {
    LostOne& one = load.lost[number];
    const double own = std::min(one.rate, left / static_cast<double>(open.size()));
    one.carried += own * seconds;
    all += own;
  }
  return all;
}

// Limits lost bytes to the capacity of the link: messages that arrived may have been faster at first than on
// average.
void count_lost(Load& load) {
  double all = 0;
  for (const LostOne& one : load.lost) all += one.carried;
  const double most = load.use.busy * load.use.link.bandwidth - static_cast<double>(load.use.bytes);
  const double share = load.use.link.is_shared && all > most ? std::max(0.0, most) / all : 1;
  for (const LostOne& one : load.lost) count_bytes(one.from, share * one.carried, load);
}

void sweep(const BandwidthLeft& left, Load& load) {
  std::ranges::sort(load.changes, [](const Change& a, const Change& b) {
    return std::tuple(a.at, a.rate) < std::tuple(b.at, b.rate);
  });
  double rate = 0;  // of messages that arrive
  std::int64_t open = 0;
  std::vector<std::size_t> lost;
  for (std::size_t i = 0; i < load.changes.size(); ++i) {
    const Change& change = load.changes[i];
    if (const double since = i > 0 ? load.changes[i - 1].at : 0; i > 0 && change.at > since) {
      const double all = rate + pass_lost(change.at - since, rate, lost, load);
      if (open > 0) pass(since, change.at, all, left, load);
    }
    open += change.rate > 0 ? 1 : -1;
    if (change.lost == arrives) rate += change.rate;
    else if (change.rate > 0) lost.push_back(change.lost);
    else std::erase(lost, change.lost);
    if (open == std::ssize(lost)) rate = 0;  // removes rounding errors
  }
  count_lost(load);
}

void rank_senders(Load& load) {
  std::vector<LinkUse::Sender>& senders = load.use.senders;
  for (const auto& [node, bytes] : load.by_sender) senders.push_back({node, bytes});
  std::ranges::stable_sort(senders, std::ranges::greater{}, &LinkUse::Sender::bytes);
  if (senders.size() > 3) senders.resize(3);
}

}  // namespace

double LinkUse::full_seconds() const {
  double seconds = 0;
  for (const auto& [from, to] : full) seconds += to - from;
  return seconds;
}

Traffic::Traffic(const RunRecord& run, const Rates& rates) : lone(run) {
  query(run.database(), all_transfers, [&](sqlite3_stmt* row) {
    Transfer t{.message = sqlite3_column_int64(row, 0),
               .from = id_in(row, 1),
               .to = id_in(row, 2),
               .bytes = static_cast<std::uint64_t>(sqlite3_column_int64(row, 3)),
               .is_lost = sqlite3_column_int(row, 6) != 0,
               .sent = sqlite3_column_double(row, 4),
               .received = sqlite3_column_double(row, 5)};
    const bool has_dates = !is_null(row, 7);
    t.on_wire = has_dates ? sqlite3_column_double(row, 7) : t.sent;
    t.end = has_dates ? sqlite3_column_double(row, 8) : t.received;
    t.latency = lone.latency(t.from, t.to);
    t.alone = lone.transfer(t.from, t.to, t.bytes);
    t.begin = std::min(t.on_wire + t.latency, t.end);
    if (!t.is_lost) t.sharing = std::max(0.0, t.end - t.begin - t.alone);
    t.rest = t.received - t.sent - t.latency - t.alone - t.sharing;
    t.late_from = rates.latency(t.from, t.sent);
    t.late_to = rates.latency(t.to, t.sent);
    transfers.push_back(t);
  });
}

std::vector<LinkUse> links_of(const Traffic& traffic, double until, const BandwidthLeft& left) {
  std::vector<Load> loads;
  for (const Link& link : traffic.lone.links())
    loads.push_back({.use = {.link = link}, .number = static_cast<std::uint32_t>(loads.size())});
  for (const Transfer& t : traffic.transfers) {
    for (const std::uint32_t link : traffic.lone.way(t.from, t.to)) add(t, loads[link]);
  }
  std::vector<LinkUse> uses;
  for (Load& load : loads) {
    if (load.use.messages == 0) continue;
    sweep(left, load);
    rank_senders(load);
    LinkUse& use = load.use;
    const auto share = [&use](double seconds) {
      return seconds > 0 ? static_cast<double>(use.bytes) / (seconds * use.link.bandwidth) : 0;
    };
    use.use_while_busy = share(use.busy);
    use.use = share(until);
    uses.push_back(std::move(use));
  }
  return uses;
}

LinkOwners::LinkOwners(const RunRecord& record, const Traffic& traffic, const Rates& rates) : rates_(rates) {
  std::map<std::string, std::uint32_t> node_of;
  for (std::uint32_t node = 0; node < record.names.size(); ++node) node_of[record.names[node]] = node;
  const std::vector<Link>& links = traffic.lone.links();
  for (const Link& link : links) {
    auto owner = node_of.find(link.name);  // "worker 3", or "worker 3 up"
    if (owner == node_of.end()) owner = node_of.find(link.name.substr(0, link.name.rfind(' ')));
    owners_.emplace_back();
    if (owner != node_of.end()) owners_.back().push_back(owner->second);
  }
  // The links of a host: the first link of every message that its nodes send, and the last link of every
  // message that they receive.
  const auto attach = [&](std::uint32_t link, std::uint32_t node) {
    std::vector<std::uint32_t>& owners = owners_[link];
    const bool is_in = std::ranges::find(owners, node) != owners.end();
    if (links[link].name.starts_with("host ") && !is_in) owners.push_back(node);
  };
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  for (const Transfer& t : traffic.transfers) {
    if (!seen.emplace(t.from, t.to).second) continue;
    const std::vector<std::uint32_t> way = traffic.lone.way(t.from, t.to);
    if (way.empty()) continue;
    attach(way.front(), t.from);
    attach(way.back(), t.to);
  }
  for (std::vector<std::uint32_t>& owners : owners_) std::ranges::sort(owners);
}

double LinkOwners::left(std::uint32_t link, double from, double to) const {
  double least = 1;
  for (const std::uint32_t node : owners_[link])
    least = std::min(least, rates_.mean(Quantity::bandwidth, node, from, to));
  return least;
}

namespace {

double number(sqlite3_stmt* row, int column, double otherwise) {
  return is_null(row, column) ? otherwise : sqlite3_column_double(row, column);
}

}  // namespace

Lone::Lone(const RunRecord& run) {
  query(run.database(), "SELECT name, bandwidth, latency_s, shared FROM link ORDER BY link",
        [this](sqlite3_stmt* row) {
          links_.push_back({std::string(text_in(row, 0)), number(row, 1, unlimited),
                            sqlite3_column_double(row, 2), sqlite3_column_int(row, 3) != 0});
        });
  query(run.database(), "SELECT sender, receiver, position, link FROM hop ORDER BY position",
        [&](sqlite3_stmt* row) {
          const Hop hop{sqlite3_column_int64(row, 2), id_in(row, 3)};
          if (hop.link >= links_.size())
            throw Unverifiable(fmt::format("{}: a message crosses link {}, and there are {}",
                                           run.database().path().string(), hop.link, links_.size()),
                               damaged);
          if (is_null(row, 1)) from_[id_in(row, 0)].push_back(hop);
          else if (is_null(row, 0)) to_[id_in(row, 1)].push_back(hop);
          else between_[{id_in(row, 0), id_in(row, 1)}].push_back(hop);
        });
  query(run.database(), "SELECT window_bytes FROM ends",
        [this](sqlite3_stmt* row) { window_ = number(row, 0, unlimited); });
}

void Lone::add(const std::map<std::uint32_t, Hops>& hops, std::uint32_t node, Hops& way) {
  const auto found = hops.find(node);
  if (found != hops.end()) way.insert(way.end(), found->second.begin(), found->second.end());
}

std::vector<std::uint32_t> Lone::way(std::uint32_t from, std::uint32_t to) const {
  Hops hops;
  add(from_, from, hops);
  add(to_, to, hops);
  const auto between = between_.find({from, to});
  if (between != between_.end()) hops.insert(hops.end(), between->second.begin(), between->second.end());
  std::ranges::sort(hops, {}, &Hop::position);
  std::vector<std::uint32_t> way;
  for (const Hop& hop : hops) way.push_back(hop.link);
  return way;
}

double Lone::latency(std::uint32_t from, std::uint32_t to) const {
  double latency = 0;
  for (const std::uint32_t link : way(from, to)) latency += links_[link].latency;
  return latency;
}

double Lone::transfer(std::uint32_t from, std::uint32_t to, std::uint64_t bytes) const {
  double bandwidth = unlimited, latency = 0;
  for (const std::uint32_t link : way(from, to)) {
    bandwidth = std::min(bandwidth, links_[link].bandwidth);
    latency += links_[link].latency;
  }
  if (latency > 0) bandwidth = std::min(bandwidth, window_ / latency);
  return static_cast<double>(bytes) / bandwidth;
}

}  // namespace psim::analysis
