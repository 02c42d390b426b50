// The client where messages get lost, servers change, and its own worker may have come back from a crash.
#include <algorithm>

#include "model/mutant.hpp"
#include "sim/roles/kv_client.hpp"

namespace psim {

void KvClient::send(Message message) {
  if (!retries_) return world_.network.send(std::move(message));
  retries_->sent(message, Agenda::now());
  world_.network.send(with_kept(std::move(message)));
}

// A request says from where on this worker can still send its pushes.
Message KvClient::with_kept(Message request) const {
  request.kept = retries_->kept(request.shard).value_or(request.pushed);
  return request;
}

void KvClient::wait_for_message() {
  if (!retries_) return handle(world_.network.receive(node_));
  const std::optional<double> next = retries_->next();
  std::optional<Message> message =
      next ? world_.network.receive_until(node_, *next) : world_.network.receive(node_);
  if (message) return handle(std::move(*message));
  // The clock may stop a rounding error before the date.
  for (Message& again : retries_->due(std::max(Agenda::now(), *next))) {
    if (world_.network.carries(again)) continue;  // sent again it would only be in its own way
    world_.record(EventKind::repeat, node_, again.clock, again.version, again.to, again.number, again.shard);
    world_.network.send_again(with_kept(std::move(again)));
  }
  break_circle();
  if (retries_->gave_up()) world_.watch->give_up(node_);
}

void KvClient::on_ack(const Message& ack) {
  if (ack.from == World::scheduler || ack.epoch != epoch_of(index_of(ack))) return;
  if (retries_) {
    retries_->accepted(ack.shard, ack.number);
    commit(ack);
  }
  acknowledged(index_of(ack), ack.number, ack.number + 1);
}

void KvClient::acknowledged(std::uint32_t shard, std::int64_t from, std::int64_t to) {
  const auto end = push_tasks_.lower_bound({shard, to});
  for (auto task = push_tasks_.lower_bound({shard, from}); task != end; task = push_tasks_.erase(task))
    answered_one(task->second);
}

void KvClient::commit(const Message& answer) {
  std::int64_t& safe = standings_[index_of(answer)].safe;
  if (answer.pushed <= safe) return;
  safe = answer.pushed;
  retries_->committed(answer.shard, answer.pushed);
  acknowledged(index_of(answer), 0, answer.pushed);  // their acknowledgements may be lost
  world_.record(EventKind::acked, node_, answer.epoch, 0, answer.from, answer.pushed, answer.shard);
}

// A shard was set back: this worker is to compute that version again, for all shards. Any version of the
// others will do: one that has this worker's push may wait for another worker, which in turn waits for the
// shard that was set back.
void KvClient::start_again(std::uint32_t set_back, std::int64_t clock) {
  if (world_.rule.gate != Gate::version) return;
  for (const std::uint32_t s : all_) {
    const Connection& shard = connections_[s];
    if (s != set_back && shard.outstanding && shard.above >= 0) request(s, clock, -1, shard.pull_task);
  }
}

// Shards that were set back one after the other, some before a worker's push and some after it, can leave
// workers in a circle: each has the answer of a shard that lacks its push, and waits for another, which lacks
// the next worker's. One that was set back and has waited for long, with answers of others in its hands,
// computes on the same version of that shard once more; one that has come back no longer waits until its last
// push is applied.
void KvClient::break_circle() {
  if (world_.rule.gate != Gate::version || mutant("circles-stay")) return;
  const auto is_here = [](const Connection& shard) {
    return shard.unused && !shard.outstanding && !shard.finished;
  };
  if (std::ranges::none_of(connections_, is_here)) return;
  const double patience = 2 * world_.scenario.recovery.longest_retry.value;
  for (const std::uint32_t s : all_) {
    const Connection& shard = connections_[s];
    if (!shard.outstanding || Agenda::now() < shard.asked + patience) continue;
    if (standings_[s].is_new) standings_[s].asks_as = back_in_haste;
    else if (was_set_back_ && shard.above >= 0) breaks_circle_ = true;
    else continue;
    request(s, shard.clock, -1, shard.pull_task);
  }
}

// Of the others, some may have given the next version and some the last one once more. Then all workers have
// pushed to the last one, and it is followed by the next; with both, this worker would be too early for the
// one, and two such workers could wait for each other.
void KvClient::wait_for_newer(std::int64_t clock) {
  if (!waits_for_all() || breaks_circle_ || !answered(all_)) return;
  const auto is_same = [](const Connection& shard) {
    return shard.unused && !shard.finished && !shard.set_back && shard.version == shard.computed_on;
  };
  const auto is_next = [](const Connection& shard) {
    // A finished shard takes no push, so none is too early for it.
    const bool is_newer = shard.computed_on >= 0 && shard.version > shard.computed_on && !shard.finished;
    return shard.unused && !shard.set_back && is_newer;
  };
  if (std::ranges::none_of(connections_, is_next)) return;
  for (const std::uint32_t s : all_) {
    const Connection& shard = connections_[s];
    if (is_same(shard)) request(s, clock, shard.version, shard.pull_task);
  }
}

// A new owner knows of no request: it gets all that are not answered, and the pushes that the last one might
// have been alone with. It may have less than the last one had; a shard that had all its updates may need
// pushes again, and others may wait for this worker's. A worker that has its answer, and waits for another
// shard's, asks again as well: the new owner may have less than that answer, and need its push again; under
// ssp others may wait until the new owner knows its clock, and where the first shard decides for all, for a
// decision that was lost.
void KvClient::on_view(const std::shared_ptr<const View>& view) {
  if (view->number <= this->view()) return;
  view_ = view;
  for (const std::uint32_t s : all_) {
    Standing& standing = standings_[s];
    const Owner& owner = view->owners[s];
    if (owner.epoch == standing.epoch) continue;
    standing.owner = owner.primary;
    standing.epoch = owner.epoch;
    for (Message& again : retries_->again(s, owner.primary, owner.epoch, Agenda::now()))
      world_.network.send(with_kept(std::move(again)));
    const Connection& shard = connections_[s];
    const bool has_answer = shard.unused && !shard.outstanding;
    const bool matters =
        world_.rule.gate == Gate::staleness || waits_for_all() || (world_.rule.first_decides && s == 0);
    if (finished(s)) request(s, shard.clock, shard.version, ++last_);
    else if (matters && has_answer && !mutant("new-owner-is-not-asked")) request(s, shard.clock, -1, ++last_);
  }
}

std::int64_t KvClient::resume() {
  for (Standing& shard : standings_) shard.is_new = true;
  const Timestamp task = pull(all_, 0, Wanted::any);
  wait(task);
  const auto least = std::ranges::min_element(connections_, {}, &Connection::pushes)->pushes;
  if (world_.rule.fresh) return least_version();
  for (Connection& shard : connections_) shard.pushes = least;
  return least + ahead_;
}

}  // namespace psim
