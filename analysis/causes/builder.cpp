#include "analysis/causes/builder.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/links/links.hpp"
#include "model/mutant.hpp"

namespace psim::analysis {
namespace {

// Tables whose rows only say more about another event of the same moment.
bool is_detail(const Row& row) {
  return row.is("place") || row.is("participant") || row.is("membership") || row.is("copy") ||
         row.is("acknowledgement") || row.is("prediction") || row.is("cut") || row.is("move");
}

bool is_arrival(const Moment& moment) {
  return moment.type == Name("received") || moment.type == Name("fault");
}

}  // namespace

namespace {

// The first node after the workers whose name begins like that; a number that no node has, if there is none.
std::uint32_t first_named(const Facts& facts, std::string_view name) {
  const auto is_it = [name](const std::string& other) { return other.starts_with(name); };
  const auto found = std::ranges::find_if(facts.others, is_it);
  if (found == facts.others.end()) return CausalGraph::none;
  return static_cast<std::uint32_t>(1 + facts.servers + facts.workers + (found - facts.others.begin()));
}

}  // namespace

CauseBuilder::CauseBuilder(const Facts& facts, std::span<const Job> jobs, Forwards forwards,
                           Followed followed)
    : facts_(facts),
      jobs_(jobs),
      forwards_(std::move(forwards)),
      followed_(std::move(followed)),
      storage_(first_named(facts, "storage")),
      first_inference_(first_named(facts, "inference")) {}

void CauseBuilder::on(const Row& row) {
  if (is_detail(row)) return;
  if (row.is("sent")) return on_sent(row);
  if (row.is("received")) return on_received(row);
  if (row.is("lost")) return on_lost(row);
  if (row.is_computation()) return on_computation(row);
  if (row.is("wait")) return on_wait(row);
  if (row.is("release")) return on_release(row);
  if (row.is_outcome()) return on_outcome(row);
  if (row.is("model_update")) return on_update(row);
  if (row.is("fault")) return on_fault(row);
  if (row.is("suspicion")) return on_suspicion(row);
  if (row.is("repetition")) return on_repetition(row);
  on_other(row);
}

std::uint8_t CauseBuilder::word(std::string_view text) {
  if (text.empty()) return 0;
  if (const auto known = word_of_.find(text); known != word_of_.end()) return known->second;
  const auto number = static_cast<std::uint8_t>(words_.size());
  words_.emplace_back(text);
  word_of_.emplace(text, number);
  return number;
}

CauseBuilder::Node& CauseBuilder::node(std::uint32_t number) {
  if (nodes_.size() <= number) nodes_.resize(number + 1);
  return nodes_[number];
}

CauseBuilder::Requests& CauseBuilder::requests(const Row& row, std::uint32_t server, std::uint32_t worker) {
  return requests_[{server, row.shard, worker}];
}

CauseBuilder::Id CauseBuilder::add(const Row& row) {
  const auto id = static_cast<Id>(moments_.size());
  moments_.push_back({.at = row.at,
                      .number = row.number,
                      .message = row.sent,
                      .clock = row.clock,
                      .version = row.version,
                      .bytes = row.bytes,
                      .staleness = row.staleness,
                      .since = row.since,
                      .node = row.node,
                      .peer = row.peer,
                      .shard = row.shard,
                      .part = static_cast<std::uint32_t>(row.part),
                      .begins = row.begins != 0,
                      .type = row.type,
                      .word = word(!row.kind.empty()   ? row.kind
                                   : !row.work.empty() ? row.work
                                                       : row.reason)});
  first_edge_.push_back(static_cast<std::uint32_t>(edges_.size()));
  edges_.insert(edges_.end(), next_.begin(), next_.end());
  next_.clear();
  return id;
}

CauseBuilder::Id CauseBuilder::happens(const Row& row, std::uint32_t at_node) {
  const Id id = add(row);
  Node& here = node(at_node);
  if (!is_now(here.last, row.at)) {
    here.first_now = id;
    if (here.handled_now != none) here.handled = std::exchange(here.handled_now, none);
  }
  here.last = id;
  if (!row.is("received", "heartbeat")) here.work = id;
  if (!is_arrival(moments_[id])) here.handled_now = id;
  return id;
}

void CauseBuilder::after(Id cause, Kind kind, double least) {
  if (cause == none) return;
  const auto same = [cause](const Edge& edge) { return edge.cause == cause; };
  if (std::ranges::none_of(next_, same)) next_.push_back({cause, kind, least});
}

void CauseBuilder::bind(Id cause, Kind kind, double now) {
  if (cause != none) after(cause, kind, now - date(cause));
}

bool CauseBuilder::is_woken(const Node& here, double now) const {
  return is_now(here.last, now) && is_arrival(moments_[here.first_now]);
}

void CauseBuilder::bind_to_node(const Node& here, double now, Kind otherwise) {
  if (here.computes && !is_now(here.last, now)) return bind(here.control, Kind::compute, now);
  if (!is_now(here.last, now) && is_now(here.delivered, now)) return bind(here.delivered, Kind::idle, now);
  bind(is_now(here.last, now) ? here.last : here.work, otherwise, now);
}

void CauseBuilder::bind_to_message(const Row& row, Id arrived) {
  const Node& here = node(row.node);
  const double now = row.at;
  if (arrived != none && is_now(arrived, now)) return bind(arrived, Kind::idle, now);
  if (is_woken(here, now)) return bind_to_node(here, now);
  if (!works(row.node)) return bind_to_node(here, now);
  const Id busy = is_now(here.handled_now, now) ? here.handled : here.handled_now;
  const Id first = begun_for(row.node, now);
  const Id since = first != none ? first : arrived;
  const bool was_busy =
      busy != none && !mutant("queues-are-not-seen") && (since == none || date(busy) > date(since));
  bind(was_busy ? busy : since, Kind::service, now);
}

// The arrival with which the server began the work that it is through with now; none: there is no such work.
CauseBuilder::Id CauseBuilder::begun_for(std::uint32_t server, double now) {
  std::deque<Work>& works = queued_[server];
  const double rounding = 1e-9 * (1 + now);
  while (!works.empty() && works.front().end < now - rounding) works.pop_front();
  return !works.empty() && works.front().end <= now + rounding ? works.front().first : none;
}

void CauseBuilder::queue(const Row& row, Id arrival) {
  const double speed = facts_.server_speed(row.node);
  if (!works(row.node) || !(speed > 0) || mutant("queues-are-not-seen")) return;
  Work& work = working_[row.node];
  if (!(row.at < work.end)) work = {.first = arrival, .end = row.at};
  work_[arrival] = facts_.server_flops_per_value * static_cast<double>(row.values) / speed;
  work.end += work_[arrival];
  queued_[row.node].push_back(work);
}

void CauseBuilder::take_parts(Node& here, std::int64_t clock, std::int64_t round) {
  std::erase_if(here.parts, [&](const Part& part) {
    const bool is_later = std::pair(part.clock, part.round) >= std::pair(clock, round);
    if (is_later && !mutant("parts-of-later-rounds-are-needed")) return false;
    after(part.arrival, Kind::idle, 0);
    return true;
  });
}

// Samples that came ahead of their clock are not what this one needs.
void CauseBuilder::take_arrived(Node& here, std::int64_t clock) {
  for (const Id id : here.arrived) after(id, Kind::idle, 0);
  here.arrived.clear();
  take_parts(here, clock, 0);
  std::erase_if(here.samples, [&](const std::pair<std::int64_t, Id>& batch) {
    if (batch.first > clock) return false;
    after(batch.second, Kind::idle, 0);
    return true;
  });
}

const Facts& CauseBuilder::facts_of(std::uint32_t shard) const {
  for (const Job& job : jobs_) {
    if (shard >= job.first_shard && shard < job.first_shard + job.shards) return job.facts;
  }
  return facts_;
}

std::optional<std::int64_t> CauseBuilder::bound_of(std::uint32_t shard, std::int64_t clock) const {
  const auto job = std::ranges::find(jobs_, &facts_of(shard), [](const Job& one) { return &one.facts; });
  return facts_of(shard).bound_at(clock, job == jobs_.end() ? shard : shard - job->first_shard);
}

void CauseBuilder::after_what_it_needs(const Row& row, const Requests& asked) {
  for (auto own = asked.outcomes.rbegin(); own != asked.outcomes.rend(); ++own) {
    if (own->first >= asked.pushes_before) continue;
    after(own->second, Kind::idle, 0);
    break;
  }
  const auto found = shards_.find({row.node, row.shard});
  if (found == shards_.end()) return;
  const Shard& shard = found->second;
  if (asked.above >= 0) {
    const auto made = std::ranges::upper_bound(shard.versions, asked.above, {},
                                               [](const auto& version) { return version.first; });
    if (made != shard.versions.end()) after(made->second, Kind::idle, 0);
  }
  const std::optional<std::int64_t> bound = bound_of(row.shard, asked.clock);
  if (!bound) return;
  const auto through = shard.all_through.find(asked.clock - *bound - 1);
  if (through != shard.all_through.end()) after(through->second, Kind::idle, 0);
}

void CauseBuilder::count_clock(const Row& row, Id outcome) {
  const Facts& facts = facts_of(row.shard);
  if (!facts.bound_at(row.clock)) return;
  Shard& shard = shards_[{row.node, row.shard}];
  std::vector<Id>& there = shard.clocks[row.clock];
  there.push_back(outcome);
  if (there.size() < facts.workers) return;
  for (auto last = there.rbegin(); last != there.rend(); ++last) after(*last, Kind::idle, 0);
  const Id all = add(row);
  moments_[all].type = Name();
  shard.clocks.erase(row.clock);
  shard.all_through.emplace(row.clock, all);
}

CauseBuilder::Id CauseBuilder::arrival_of(std::int64_t message) const {
  return message >= 0 && message < std::ssize(received_) ? received_[static_cast<std::size_t>(message)]
                                                         : none;
}

CauseBuilder::Id CauseBuilder::sending_of(std::int64_t message) const {
  return message >= 0 && message < std::ssize(sent_) ? sent_[static_cast<std::size_t>(message)] : none;
}

CauseBuilder::Id CauseBuilder::followed_by(const Row& row) const {
  if (row.number >= std::ssize(followed_) || mutant("turns-are-forgotten")) return none;
  return sending_of(followed_[static_cast<std::size_t>(row.number)]);
}

CausalGraph CauseBuilder::graph() && {
  std::vector<std::pair<Id, Id>> ends;
  std::vector<Cause> causes;
  ends.reserve(edges_.size());
  causes.reserve(edges_.size());
  for (Id id = 0; id < moments_.size(); ++id) {
    const std::size_t end = id + 1 < moments_.size() ? first_edge_[id + 1] : edges_.size();
    for (std::size_t n = first_edge_[id]; n < end; ++n) {
      ends.emplace_back(id, edges_[n].cause);
      causes.push_back({edges_[n].kind, edges_[n].least});
    }
  }
  CausalGraph graph{.moments = Moments(boost::edges_are_sorted, ends.begin(), ends.end(), causes.begin(),
                                       static_cast<Id>(moments_.size())),
                    .words = std::move(words_),
                    .sent = std::move(sent_)};
  for (Id id = 0; id < moments_.size(); ++id) graph.moments[id] = moments_[id];
  return graph;
}

void CauseBuilder::take_micro_batch(const Row& row) {
  const std::uint32_t worker = facts_.worker(row.node);
  const auto part = static_cast<std::size_t>(row.part);
  if (worker >= forwards_.size() || part >= forwards_[worker].size()) return;
  Node& here = node(row.node);
  std::vector<Id>& there = forwards_[worker][part] ? here.activations : here.errors;
  if (there.empty()) return;  // the first stage's activations and the last one's errors are its own
  const auto sent_first = std::ranges::min_element(there, {}, [this](Id id) { return moments_[id].message; });
  after(*sent_first, Kind::idle, 0);
  there.erase(sent_first);
}

namespace {

CauseBuilder::Forwards forwards_of(const RunRecord& record) {
  CauseBuilder::Forwards all;
  if (record.summary.value("architecture", "") != "model-parallel") return all;
  const std::uint32_t workers = record.facts.workers;
  all.resize(workers);
  std::vector<std::size_t> part(workers, 0);  // that each worker is in
  record.each([&](const Row& row) {
    if (!record.facts.is_worker(row.node)) return;
    const std::uint32_t worker = record.facts.worker(row.node);
    if (row.is("begun")) {
      part[worker] = static_cast<std::size_t>(row.part);
      if (all[worker].size() <= part[worker]) all[worker].push_back(worker + 1 == workers);
    }
    if (row.is("sent", "activation")) all[worker][part[worker]] = true;
    if (row.is("sent", "error")) all[worker][part[worker]] = false;
  });
  return all;
}

// Of messages that are sent at once none waits for another.
CauseBuilder::Followed followed_of(const RunRecord& record) {
  CauseBuilder::Followed followed;
  if (record.facts.sends_at_once) return followed;
  struct Streamed {
    std::int64_t message;
    std::uint32_t from, to;
    double sent, left;
  };
  std::vector<Streamed> all;
  each_transfer(record, Lone(record), [&](const Transfer& t) {
    all.push_back({t.message, t.from, t.to, t.sent, t.end - t.latency});
  });
  std::ranges::sort(all, {}, &Streamed::message);
  std::map<std::pair<std::uint32_t, std::uint32_t>, Streamed> last;  // of each stream: the last to leave
  for (const Streamed& one : all) {
    const auto [before, is_first] = last.try_emplace({one.from, one.to}, one);
    if (is_first) continue;
    const double rounding = 1e-9 * (1 + one.sent);
    if (before->second.sent < one.sent && std::abs(before->second.left - one.sent) <= rounding) {
      followed.resize(static_cast<std::size_t>(one.message) + 1, -1);
      followed.back() = before->second.message;
    }
    if (!(one.left < before->second.left)) before->second = one;
  }
  return followed;
}

}  // namespace

CausalGraph causal_graph(const RunRecord& record) {
  CauseBuilder builder(record.facts, record.jobs, forwards_of(record), followed_of(record));
  record.each([&](const Row& row) { builder.on(row); });
  return std::move(builder).graph();
}

}  // namespace psim::analysis
