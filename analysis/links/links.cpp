#include "analysis/links/links.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/database.hpp"

namespace psim::analysis {
namespace {

// What came to an end, in this order: arrivals and losses, with their dates on the wire if they have any.
constexpr const char* all_transfers =
    "SELECT sent.number, sent.node, receiver, sent_bytes, sent.at_s, over.at_s, is_lost, begin_s, end_s FROM "
    "(SELECT number, at_s, message, 0 AS is_lost FROM received UNION ALL SELECT number, at_s, message, 1 "
    "FROM "
    "lost) over JOIN sent ON sent.number = over.message LEFT JOIN wire ON wire.message = sent.number "
    "ORDER BY over.number";

// Of one link: when what began and ended, with how many bytes per second.
struct Change {
  double at, rate;
};

struct Load {
  LinkUse use;
  std::map<std::uint32_t, std::uint64_t> by_sender = {};
  std::vector<Change> changes = {};
};

// What a message can have carried until it was lost, of its bytes.
double carried(const Transfer& t) {
  const double share = t.is_lost && t.alone > 0 ? std::clamp((t.end - t.begin) / t.alone, 0.0, 1.0) : 1;
  return share * static_cast<double>(t.bytes);
}

// A message that took no time, or has no bytes, has no rate and cannot fill a link.
void add(const Transfer& t, Load& load) {
  const double bytes = carried(t);
  ++load.use.messages;
  load.use.bytes += static_cast<std::uint64_t>(bytes);
  load.by_sender[t.from] += static_cast<std::uint64_t>(bytes);
  if (!(t.end > t.begin) || !(bytes > 0)) return;
  const double rate = bytes / (t.end - t.begin);
  load.changes.push_back({t.begin, rate});
  load.changes.push_back({t.end, -rate});
}

// Adds what is between two dates, at which `rate` bytes per second went through, and something was open.
void pass(double from, double to, double rate, LinkUse& use) {
  use.busy += to - from;
  if (!use.link.is_shared || !(rate >= full_share * use.link.bandwidth)) return;
  if (!use.full.empty() && use.full.back().second == from) use.full.back().second = to;
  else use.full.emplace_back(from, to);
}

void sweep(Load& load) {
  std::ranges::sort(load.changes, [](const Change& a, const Change& b) {
    return std::tuple(a.at, a.rate) < std::tuple(b.at, b.rate);
  });
  double rate = 0;
  std::int64_t open = 0;
  for (std::size_t i = 0; i < load.changes.size(); ++i) {
    const Change& change = load.changes[i];
    if (i > 0 && open > 0 && change.at > load.changes[i - 1].at)
      pass(load.changes[i - 1].at, change.at, rate, load.use);
    open += change.rate > 0 ? 1 : -1;
    rate = open == 0 ? 0 : rate + change.rate;  // nothing is left of roundings
  }
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

void each_transfer(const RunRecord& run, const Lone& lone, const std::function<void(const Transfer&)>& f) {
  query(run.database(), all_transfers, [&](sqlite3_stmt* row) {
    const auto node = [row](int column) {
      return static_cast<std::uint32_t>(sqlite3_column_int64(row, column));
    };
    Transfer t{.message = sqlite3_column_int64(row, 0),
               .from = node(1),
               .to = node(2),
               .bytes = static_cast<std::uint64_t>(sqlite3_column_int64(row, 3)),
               .is_lost = sqlite3_column_int(row, 6) != 0,
               .sent = sqlite3_column_double(row, 4),
               .received = sqlite3_column_double(row, 5)};
    const bool has_dates = sqlite3_column_type(row, 7) != SQLITE_NULL;
    t.on_wire = has_dates ? sqlite3_column_double(row, 7) : t.sent;
    t.end = has_dates ? sqlite3_column_double(row, 8) : t.received;
    t.latency = lone.latency(t.from, t.to);
    t.alone = lone.transfer(t.from, t.to, t.bytes);
    t.begin = std::min(t.on_wire + t.latency, t.end);
    if (!t.is_lost) t.sharing = std::max(0.0, t.end - t.begin - t.alone);
    t.rest = t.received - t.sent - t.latency - t.alone - t.sharing;
    f(t);
  });
}

std::vector<LinkUse> links_of(const RunRecord& run) {
  const Lone lone(run);
  std::vector<Load> loads;
  for (const Link& link : lone.links()) loads.push_back({.use = {.link = link}});
  each_transfer(run, lone, [&](const Transfer& t) {
    for (const std::uint32_t link : lone.way(t.from, t.to)) add(t, loads[link]);
  });
  const auto end = run.summary.at("sim_time_s").get<double>();
  std::vector<LinkUse> uses;
  for (Load& load : loads) {
    if (load.use.messages == 0) continue;
    sweep(load);
    rank_senders(load);
    LinkUse& use = load.use;
    const auto share = [&use](double seconds) {
      return seconds > 0 ? static_cast<double>(use.bytes) / (seconds * use.link.bandwidth) : 0;
    };
    use.use_while_busy = share(use.busy);
    use.use = share(end);
    uses.push_back(std::move(use));
  }
  return uses;
}

}  // namespace psim::analysis
