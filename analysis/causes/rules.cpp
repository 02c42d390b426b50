// What comes of what: a rule for each type of event.
#include <algorithm>
#include <cmath>

#include "analysis/causes/builder.hpp"
#include "model/mutant.hpp"

namespace psim::analysis {
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
  const Id followed = followed_by(row);
  bind(followed, Kind::network, row.at);
  if (is_weights && facts_.is_server(row.node)) {
    const Requests& asked = requests(row, row.node, row.peer);
    if (followed != none) after(asked.release, Kind::idle, 0);
    else if (is_now(asked.release, row.at)) bind(asked.release, Kind::idle, row.at);
    else bind_to_message(row, asked.pull);
    after(asked.pull, Kind::idle, 0);
    after_what_it_needs(row, asked);
  } else if (followed != none) {
    // The record tells only its last wait.
  } else if (is_heartbeat) {
    bind(here.work, Kind::idle, row.at);
  } else if (is_now(here.control, row.at)) {
    bind(here.control, Kind::idle, row.at);
  } else if (row.is("sent", "chunk") && is_now(here.delivered, row.at)) {
    bind(here.delivered, Kind::idle, row.at);
  } else if (!is_now(here.last, row.at) && !is_now(here.delivered, row.at) && works(row.node)) {
    bind_to_message(row, here.arrived.empty() ? none : here.arrived.front());
  } else {
    bind_to_node(here, row.at, here.last == none ? Kind::idle : Kind::timeout);
  }
  // A worker sends its next part when its last one is there, and it has what came before.
  if (row.is("sent", "chunk")) {
    after(here.control, Kind::idle, 0);
    after(here.delivered, Kind::idle, 0);
    take_parts(node(row.node), row.clock, row.part);
  }
  const Id id = is_beside(row) ? add(row) : happens(row, row.node);
  // What it sends beside its computing does not stand in that one's way.
  if (row.is("sent", "chunk") && !node(row.node).computes) node(row.node).control = id;
  set_at(sent_, row.number, id);
  if (is_heartbeat) return;
  asked_[{row.node, moments_[id].word, row.shard}] = id;
  if (!facts_.is_worker(row.node)) node(row.node).arrived.clear();
}

void CauseBuilder::on_received(const Row& row) {
  bind(sending_of(row.sent), Kind::network, row.at);
  const bool is_inference = facts_.is_server(row.node) && is_beside(row) && row.kind != "heartbeat";
  const Id id = is_inference ? add(row) : happens(row, row.node);
  set_at(received_, row.sent, id);
  if (row.is("received", "heartbeat")) {
    node(row.peer).heard = id;
    return;
  }
  if (!mutant("turns-are-forgotten")) node(row.peer).delivered = id;
  if (row.is("received", "samples")) node(row.node).samples.emplace_back(clock_of_batch(row.part), id);
  else if (row.is("received", "chunk")) node(row.node).parts.push_back({row.clock, row.part, id});
  else if (row.is("received", "activation")) node(row.node).activations.push_back(id);
  else if (row.is("received", "error")) node(row.node).errors.push_back(id);
  else if (!is_inference) node(row.node).arrived.push_back(id);
  if (row.is("received", "pull")) {
    Requests& asked = requests(row, row.node, row.peer);
    asked.pull = id;
    asked.above = row.above;
    asked.clock = row.clock;
    asked.pushes_before = row.pushes_before;
  }
  if (row.is("received", "push")) {
    requests(row, row.node, row.peer).pushes[row.push] = id;
    queue(row, id);
  }
}

std::int64_t CauseBuilder::clock_of_batch(std::int64_t batch) const {
  const std::int64_t later = batch - facts_.first_batches;
  return later < 0 ? 0 : 1 + later / facts_.batches;
}

// Nobody learns of it; but the sender's next message may have waited for its turn.
void CauseBuilder::on_lost(const Row& row) {
  bind(sending_of(row.sent), Kind::network, row.at);
  node(row.node).delivered = add(row);
}

void CauseBuilder::on_computation(const Row& row) {
  Node& here = node(row.node);
  const bool starts = row.is("begun") || row.is("resumed");
  const bool is_cut = row.is("cancelled") || row.is("killed");
  if (starts || is_cut) {
    if (!is_cut && is_now(here.control, row.at)) bind(here.control, Kind::idle, row.at);
    else if (is_now(here.last, row.at)) bind(here.last, Kind::idle, row.at);
    else if (is_now(here.delivered, row.at)) bind(here.delivered, Kind::idle, row.at);
    else bind(here.control, Kind::compute, row.at);  // an update of its own
    if (starts) take_arrived(here, row.clock);
    if (row.is("begun")) take_micro_batch(row);
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
  const Id arrival = arrival_of(row.sent);
  bind_to_message(row, arrival);
  after(here.control, Kind::idle, 0);
  const auto part = std::ranges::find(here.parts, arrival, &Part::arrival);
  if (part != here.parts.end()) take_parts(here, part->clock, part->round);
  std::erase_if(here.parts, [arrival](const Part& one) { return one.arrival == arrival; });
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

// Of an update that was made because its window or its deadline was over: since its first push, or since the
// update before. Returns whether it is one.
bool CauseBuilder::bind_to_closing(const Row& row) {
  const Facts& facts = facts_of(row.shard);
  const bool may_close = facts.closing_window || facts.closing_deadline;
  if (!may_close || !row.is("applied") || works(row.node) || is_now(node(row.node).last, row.at))
    return false;
  Id first = none;
  for (auto one = requests_.lower_bound({row.node, row.shard, 0}); one != requests_.end(); ++one) {
    if (std::get<0>(one->first) != row.node || std::get<1>(one->first) != row.shard) break;
    for (const auto& [number, arrival] : one->second.pushes) first = std::min(first, arrival);
  }
  const double rounding = 1e-9 * (1 + row.at);
  const bool by_window = first != none && facts.closing_window &&
                         std::abs(date(first) + *facts.closing_window - row.at) <= rounding;
  const auto& versions = shards_[{row.node, row.shard}].versions;
  if (by_window) bind(first, Kind::idle, row.at);
  else if (!versions.empty()) bind(versions.back().second, Kind::idle, row.at);
  return !next_.empty();
}

void CauseBuilder::on_outcome(const Row& row) {
  Requests& asked = requests(row, row.node, row.peer);
  const auto push = asked.pushes.find(row.push);
  const Id arrived = push == asked.pushes.end() ? none : push->second;
  if (!bind_to_closing(row)) bind_to_message(row, arrived);
  after(arrived, Kind::idle, 0);
  if (push != asked.pushes.end()) asked.pushes.erase(push);
  const Id id = happens(row, row.node);
  asked.outcomes.emplace_back(row.push, id);
  if (!row.is("applied")) return;
  count_clock(row, id);
  Update& update = updates_[{row.node, row.shard}];
  update.outcomes.push_back(id);
  if (arrived == none) return;
  if (update.last_push == none || arrived > update.last_push) update.last_push = arrived;
  update.first_push = std::min(update.first_push, arrived);
  if (const auto work = work_.extract(arrived); !work.empty()) update.work += work.mapped();
}

void CauseBuilder::on_update(const Row& row) {
  if (facts_.is_worker(row.node)) {
    bind_to_node(node(row.node), row.at);
  } else {
    Update& update = updates_[{row.node, row.shard}];
    bind_to_message(row, update.last_push);
    for (const Id id : update.outcomes) after(id, Kind::idle, 0);
    // A server works on all of them, one after the other, whoever was last.
    if (update.work > 0)
      after(update.first_push, Kind::service, std::min(update.work, row.at - date(update.first_push)));
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
  const Id since = is_down && !mutant("crashes-leave-no-date") ? suspect.down : suspect.heard;
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

}  // namespace psim::analysis
