#include "analysis/causes/builder.hpp"

#include <algorithm>
#include <limits>

namespace psim::analysis {
namespace {

// Tables whose rows only say more about another event of the same moment.
bool is_detail(const Row& row) {
  return row.is("place") || row.is("participant") || row.is("membership") || row.is("copy") ||
         row.is("acknowledgement") || row.is("prediction");
}

bool is_arrival(const Moment& moment) {
  return moment.type == Name("received") || moment.type == Name("fault");
}

}  // namespace

CauseBuilder::CauseBuilder(const Facts& facts, std::span<const Job> jobs)
    : facts_(facts),
      jobs_(jobs),
      storage_(
          static_cast<std::uint32_t>(1 + facts.servers + facts.workers +
                                     (std::ranges::find(facts.others, "storage") - facts.others.begin()))) {}

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
  bind(is_now(here.last, now) ? here.last : here.work, otherwise, now);
}

void CauseBuilder::bind_to_message(const Row& row, Id arrived) {
  const Node& here = node(row.node);
  const double now = row.at;
  if (arrived != none && is_now(arrived, now)) return bind(arrived, Kind::idle, now);
  if (is_woken(here, now)) return bind_to_node(here, now);
  if (!works(row.node)) {
    const bool had_turn = !is_now(here.last, now) && is_now(here.delivered, now);
    return had_turn ? bind(here.delivered, Kind::idle, now) : bind_to_node(here, now);
  }
  const Id busy = is_now(here.handled_now, now) ? here.handled : here.handled_now;
  const bool was_busy = busy != none && (arrived == none || date(busy) > date(arrived));
  bind(was_busy ? busy : arrived, Kind::service, now);
}

// Samples that came ahead of their clock are not what this one needs.
void CauseBuilder::take_arrived(Node& here, std::int64_t clock) {
  for (const Id id : here.arrived) after(id, Kind::idle, 0);
  here.arrived.clear();
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
  const std::optional<std::int64_t> bound = facts_of(row.shard).bound_at(asked.clock);
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

CauseBuilder::Id CauseBuilder::sending_of(const Row& row) const {
  return row.sent >= 0 && row.sent < std::ssize(sent_) ? sent_[static_cast<std::size_t>(row.sent)] : none;
}

namespace {

void set_at(std::vector<std::uint32_t>& by_number, std::int64_t number, std::uint32_t id) {
  const auto place = static_cast<std::size_t>(number);
  if (by_number.size() <= place)
    by_number.resize(std::max(place + 1, by_number.size() * 2), CausalGraph::none);
  by_number[place] = id;
}

}  // namespace

void CauseBuilder::on_sent(const Row& row) {
  const Node& here = node(row.node);
  const bool is_weights = row.is("sent", "weights"), is_heartbeat = row.is("sent", "heartbeat");
  if (is_weights && facts_.is_server(row.node)) {
    const Requests& asked = requests(row, row.node, row.peer);
    if (is_now(asked.release, row.at)) bind(asked.release, Kind::idle, row.at);
    else bind_to_message(row, asked.pull);
    after(asked.pull, Kind::idle, 0);
    after_what_it_needs(row, asked);
  } else if (is_heartbeat) {
    bind(here.work, Kind::idle, row.at);
  } else if (is_now(here.control, row.at)) {
    bind(here.control, Kind::idle, row.at);
  } else if (!is_now(here.last, row.at) && is_now(here.delivered, row.at)) {
    bind(here.delivered, Kind::idle, row.at);  // its turn after another message
  } else if (!is_now(here.last, row.at) && works(row.node)) {
    bind_to_message(row, here.arrived.empty() ? none : here.arrived.front());
  } else {
    bind_to_node(here, row.at, here.last == none ? Kind::idle : Kind::timeout);
  }
  // Whoever sends heartbeats does so beside all other work.
  const Id id = is_heartbeat ? add(row) : happens(row, row.node);
  set_at(sent_, row.number, id);
  if (is_heartbeat) return;
  asked_[{row.node, moments_[id].word, row.shard}] = id;
  if (!facts_.is_worker(row.node)) node(row.node).arrived.clear();
}

void CauseBuilder::on_received(const Row& row) {
  bind(sending_of(row), Kind::network, row.at);
  const Id id = happens(row, row.node);
  set_at(received_, row.sent, id);
  if (row.is("received", "heartbeat")) {
    node(row.peer).heard = id;
    return;
  }
  node(row.peer).delivered = id;
  if (row.is("received", "samples")) node(row.node).samples.emplace_back(clock_of_batch(row.part), id);
  else node(row.node).arrived.push_back(id);
  if (row.is("received", "pull")) {
    Requests& asked = requests(row, row.node, row.peer);
    asked.pull = id;
    asked.above = row.above;
    asked.clock = row.clock;
    asked.pushes_before = row.pushes_before;
  }
  if (row.is("received", "push")) requests(row, row.node, row.peer).pushes[row.push] = id;
}

std::int64_t CauseBuilder::clock_of_batch(std::int64_t batch) const {
  const std::int64_t later = batch - facts_.first_batches;
  return later < 0 ? 0 : 1 + later / facts_.batches;
}

// Nobody learns of it; but the sender's next message may have waited for its turn.
void CauseBuilder::on_lost(const Row& row) {
  bind(sending_of(row), Kind::network, row.at);
  node(row.node).delivered = add(row);
}

void CauseBuilder::on_computation(const Row& row) {
  Node& here = node(row.node);
  const bool starts = row.is("begun") || row.is("resumed");
  const bool is_cut = row.is("cancelled") || row.is("killed");
  if (starts || is_cut) {
    if (!is_cut && is_now(here.control, row.at)) bind(here.control, Kind::idle, row.at);
    else if (is_now(here.last, row.at)) bind(here.last, Kind::idle, row.at);
    else bind(here.control, Kind::compute, row.at);  // an update of its own
    if (starts) take_arrived(here, row.clock);
  } else {
    bind(here.control, Kind::compute, row.at);
  }
  if (next_.empty()) bind_to_node(here, row.at);
  const Id id = happens(row, row.node);
  node(row.node).control = id;
  node(row.node).computes = starts;
}

void CauseBuilder::on_wait(const Row& row) {
  Node& here = node(row.node);
  bind_to_message(row, arrival_of(row.sent));
  after(here.control, Kind::idle, 0);
  take_arrived(here, row.clock);
  node(row.node).control = happens(row, row.node);
}

void CauseBuilder::on_release(const Row& row) {
  Requests& asked = requests(row, row.node, row.peer);
  if (row.sent >= 0) bind_to_message(row, arrival_of(row.sent));
  else bind_to_node(node(row.node), row.at);
  after(asked.pull, Kind::idle, 0);
  after_what_it_needs(row, asked);
  const Id id = happens(row, row.node);
  requests(row, row.node, row.peer).release = id;
}

void CauseBuilder::on_outcome(const Row& row) {
  Requests& asked = requests(row, row.node, row.peer);
  const auto push = asked.pushes.find(row.push);
  const Id arrived = push == asked.pushes.end() ? none : push->second;
  bind_to_message(row, arrived);
  after(arrived, Kind::idle, 0);
  if (push != asked.pushes.end()) asked.pushes.erase(push);
  const Id id = happens(row, row.node);
  asked.outcomes.emplace_back(row.push, id);
  if (!row.is("applied")) return;
  count_clock(row, id);
  Update& update = updates_[{row.node, row.shard}];
  update.outcomes.push_back(id);
  if (arrived != none && (update.last_push == none || arrived > update.last_push)) update.last_push = arrived;
}

void CauseBuilder::on_update(const Row& row) {
  if (facts_.is_worker(row.node)) {
    bind_to_node(node(row.node), row.at);
  } else {
    Update& update = updates_[{row.node, row.shard}];
    bind_to_message(row, update.last_push);
    for (const Id id : update.outcomes) after(id, Kind::idle, 0);
    update = {};
  }
  const Id id = happens(row, row.node);
  auto& versions = shards_[{row.node, row.shard}].versions;
  while (!versions.empty() && versions.back().first >= row.version) versions.pop_back();  // it was set back
  versions.emplace_back(row.version, id);
}

// What a node does when a fault is over it does because the fault is over: until then the fault kept it.
void CauseBuilder::on_fault(const Row& row) {
  Node& target = node(row.peer);
  const std::pair key{static_cast<std::int64_t>(word(row.kind)), row.peer};
  const auto begun = faults_.find(key);
  if (row.begins == 0 && begun != faults_.end()) bind(begun->second, Kind::down, row.at);
  else if (row.kind == "restart" && target.down != none) bind(target.down, Kind::down, row.at);
  else bind_to_node(target, row.at);
  const Id id = happens(row, row.peer);
  moments_[id].node = row.peer;
  if (row.begins != 0) faults_[key] = id;
  if (row.takes_away()) node(row.peer).down = row.begins != 0 ? id : none;
}

// It has heard nothing since the node's last heartbeat, or since the node went down.
void CauseBuilder::on_suspicion(const Row& row) {
  const Node& suspect = node(row.peer);
  const bool is_down =
      suspect.down != none && (suspect.heard == none || date(suspect.down) >= date(suspect.heard));
  const Id since = is_down ? suspect.down : suspect.heard;
  if (since != none) bind(since, Kind::timeout, row.at);
  else bind_to_node(node(row.node), row.at, Kind::timeout);
  happens(row, row.node);
}

void CauseBuilder::on_repetition(const Row& row) {
  const auto first = asked_.find({row.node, word(row.kind), row.shard});
  if (first != asked_.end()) bind(first->second, Kind::timeout, row.at);
  else bind_to_node(node(row.node), row.at, Kind::timeout);
  happens(row, row.node);
}

void CauseBuilder::on_other(const Row& row) {
  Node& here = node(row.node);
  const bool is_worker = facts_.is_worker(row.node);
  if (is_worker && is_now(here.control, row.at)) bind(here.control, Kind::idle, row.at);
  else if (works(row.node) && !is_now(here.last, row.at))
    bind_to_message(row, here.arrived.empty() ? none : here.arrived.front());
  else bind_to_node(here, row.at);
  if (row.is("finish")) take_arrived(here, row.clock);
  happens(row, row.node);
  if (!is_worker) node(row.node).arrived.clear();
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

CausalGraph causal_graph(const RunRecord& record) {
  CauseBuilder builder(record.facts, record.jobs);
  record.each([&](const Row& row) { builder.on(row); });
  return std::move(builder).graph();
}

}  // namespace psim::analysis
