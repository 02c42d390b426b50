// What a client does where messages get lost, servers change, and the worker itself may have come back from a
// crash.
#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "sim/nodes/kv_client.hpp"

namespace psim {

void KvClient::send(Message&& message) {
  if (!retries_) return job_.network.send(std::move(message));
  message.because = job_.recorder.course().cause();  // for the time in which no answer comes, too
  retries_->sent(message, Agenda::now());
  job_.network.send(with_oldest(std::move(message)));
}

// A request says from where on this worker can still send its pushes.
Message KvClient::with_oldest(Message request) const {
  const std::optional<std::int64_t> kept = retries_->oldest(request.shard);
  if (Pull* pull = request.as<Pull>())
    pull->oldest_resendable = kept.value_or(pull->pushes_sent.value_or(-1));
  if (Push* push = request.as<Push>()) push->oldest_resendable = kept.value_or(push->number);
  return request;
}

// Whoever sends a pull again is not computing; what it has pushed since the first time may be on its way.
// Which lists of keys the receiver has of pushes before is not known.
Message KvClient::again(Message request) const {
  request.because = job_.recorder.course().cause();
  if (Push* push = request.as<Push>()) push->gradient.list_keys();
  if (Pull* pull = request.as<Pull>()) {
    pull->computes = false;
    pull->list_keys();
    if (pull->pushes_sent) pull->pushes_sent = connections_[index_of(request)].pushes;
  }
  return with_oldest(std::move(request));
}

void KvClient::wait_for_message(std::optional<double> date) {
  std::optional<double> next = date;
  const auto look_at = [&next](const std::optional<double>& other) {
    if (other) next = std::min(next.value_or(*other), *other);
  };
  if (retries_) look_at(retries_->next());
  if (requests_ != nullptr) look_at(requests_->next());
  std::optional<Message> message =
      next ? job_.network.receive_until(node_, *next) : job_.network.receive(node_);
  if (message) return handle(std::move(*message));
  // The clock may stop a rounding error before the date.
  const double now = std::max(Agenda::now(), *next);
  if (retries_) repeat(now);
  if (requests_ != nullptr) requests_->repeat(now);
}

void KvClient::repeat(double now) {
  const std::optional<double> next = retries_->next();
  if (!next || *next > now) return;
  settle(true);
  for (Message& due : retries_->due(now)) {
    if (job_.network.carries(due)) continue;  // sent again it would only be in its own way
    const MessageFacts facts = facts_of(due.body);
    const Cause asked{due.because.event, Spent::timeout};
    job_.record(node_, Repetition{due.to, facts.kind, due.shard, facts.pull, facts.push}, asked);
    job_.network.send_again(again(std::move(due)));
  }
  if (retries_->gave_up()) job_.observer.watch().give_up(node_);
}

void KvClient::on_ack(const Message& message, const Ack& ack) {
  if (message.epoch != epoch_of(index_of(message))) return;
  if (retries_) {
    retries_->accepted(message.shard, ack.number);
    commit(message, ack.safe_pushes);
  }
  acknowledged(index_of(message), ack.number, ack.number + 1);
}

void KvClient::acknowledged(std::uint32_t shard, std::int64_t from, std::int64_t to) {
  const auto end = push_tasks_.lower_bound({shard, to});
  for (auto task = push_tasks_.lower_bound({shard, from}); task != end; task = push_tasks_.erase(task))
    answered_one(task->second);
}

void KvClient::commit(const Message& message, std::int64_t safe_pushes) {
  const std::uint32_t s = index_of(message);
  std::int64_t& safe = standings_[s].safe;
  if (safe_pushes <= safe) return;
  safe = safe_pushes;
  retries_->committed(message.shard, safe);
  acknowledged(s, 0, safe);  // their acknowledgements may be lost
  job_.record(node_, Acknowledgement{message.from, message.shard, message.epoch, safe});
}

// Shards may be set back, each to another version, and updates may be made without a worker that was taken
// for lost. Workers could then wait for each other in a circle: each has the answer of a shard that needs its
// push, and waits for a newer version of another shard, which needs the next worker's push. So a worker that
// has waited for long, or is to compute an old version again, waits for a newer version only of shards that
// are behind all those that need its push: along a chain of workers that wait, the versions fall, and the
// chain cannot close. Of the other shards any version will do; the next push takes the place of one that
// waits there.
void KvClient::settle(bool has_waited) {
  if (job_.plan.rule.gate != Gate::version) return;
  const auto is_here = [](const Connection& shard) {
    return shard.unused && !shard.outstanding && !shard.finished;
  };
  std::int64_t least = std::numeric_limits<std::int64_t>::max();  // of those that need its push
  for (const Connection& shard : connections_) {
    if (is_here(shard) && !shard.has_push) least = std::min(least, shard.version);
  }
  for (const std::uint32_t s : all_) {
    const Connection& shard = connections_[s];
    if (has_waited && shard.outstanding && shard.above >= least) request(s, shard.clock, -1, shard.pull_task);
    if (is_here(shard) && shard.has_push && shard.version < least)
      request(s, shard.clock, shard.version, shard.pull_task);
  }
}

// Returns the parts whose weights are here, but which of them belong to which part is not known.
ShardIds KvClient::cut(const View& view) {
  ShardIds of_other_keys;
  if (view.cuts.empty() || all_.size() == view.owners.size()) return of_other_keys;
  const std::size_t planned = view.owners.size() - view.cuts.size();
  for (std::size_t i = all_.size() - planned; i < view.cuts.size(); ++i) {
    if (cut(view.cuts[i])) continue;
    for (const std::uint32_t s : {view.cuts[i].shard, all_.back()}) of_other_keys.push_back(s);
  }
  if (batch_) batch_ = std::make_shared<const BatchKeys>(split(batch_->keys, view.layout->keys));
  return of_other_keys;
}

bool KvClient::cut(const Cut& cut) {
  const auto upper = static_cast<std::uint32_t>(all_.size());
  all_.push_back(upper);
  connections_[cut.shard].keys = {};  // nobody has listed those of the parts
  connections_.push_back(Connection(connections_[cut.shard]));
  standings_.push_back(Standing(standings_[cut.shard]));
  if (connections_[upper].outstanding) ++open_[connections_[upper].pull_task];
  auto push = push_tasks_.lower_bound({cut.shard, 0});
  for (; push != push_tasks_.end() && push->first.first == cut.shard; ++push) {
    push_tasks_[{upper, push->first.second}] = push->second;
    ++open_[push->second];
  }
  const std::uint32_t of_run = job_.plan.first_shard;
  retries_->cut(of_run + cut.shard, of_run + upper, cut.at);
  encoder_.cut(cut, key_space());
  cache_.cut(cut.shard);
  return cut_weights(cut);
}

// Weights of a sparse model are those of a batch, and not always of the one at hand.
bool KvClient::cut_weights(const Cut& cut) {
  std::optional<std::size_t> keys_below;
  if (batch_) {
    BatchKeys parts = *batch_;
    SharedKeys& lower = parts.local[cut.shard];
    SharedKeys upper;
    std::tie(lower, upper) = split(lower, cut.at);
    keys_below = lower->size();
    parts.local.push_back(std::move(upper));
    batch_ = std::make_shared<const BatchKeys>(std::move(parts));
  }
  if (weights_.empty()) return true;
  Slice& lower = weights_[cut.shard];
  const bool is_known =
      !keys_below || lower.count == 0 || lower.count == *keys_below + batch_->local.back()->size();
  if (!is_known) lower = {};
  const std::size_t below = std::min(keys_below.value_or(cut.at), lower.count);
  Slice upper = part_of(lower, {below, lower.count - below});
  lower = part_of(lower, {0, below});
  weights_.push_back(std::move(upper));
  return is_known;
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
  members_ = job_.plan.members_in(*view);
  const ShardIds of_other_keys = cut(*view);
  for (const std::uint32_t s : ShardIds(all_)) {
    Standing& standing = standings_[s];
    const Owner& owner = job_.plan.owner_in(*view, s);
    if (owner.epoch == standing.epoch) continue;
    standing.owner = owner.primary;
    standing.epoch = owner.epoch;
    cache_.forget(s);
    connections_[s].keys.forget();
    encoder_.forget_keys(s);
    const std::uint32_t of_run = job_.plan.first_shard + s;
    for (Message& request : retries_->again(of_run, owner.primary, owner.epoch, Agenda::now()))
      job_.network.send(again(std::move(request)));
    const Connection& shard = connections_[s];
    if (only_reads()) continue;
    const bool has_answer = shard.unused && !shard.outstanding;
    const bool matters = job_.plan.rule.gate == Gate::staleness || job_.plan.rule.waits_for_all() ||
                         (job_.plan.rule.first_shard_decides && s == 0);
    if (finished(s)) request(s, shard.clock, shard.version, ++last_);
    else if (matters && has_answer) request(s, shard.clock, -1, ++last_);
  }
  for (const std::uint32_t s : of_other_keys) {
    if (!outstanding(s)) request(s, connections_[s].clock, -1, ++last_);
  }
}

std::int64_t KvClient::resume() {
  for (Standing& shard : standings_) shard.is_new = true;
  const Timestamp task = pull(all_, 0, Wanted::any);
  wait_until(Awaited::weights, {}, [this, task] { return done(task); });
  const auto least = std::ranges::min_element(connections_, {}, &Connection::pushes)->pushes;
  skipped_ = ahead_;
  cache_.forget_all();
  if (job_.plan.rule.drops_stale) return least_version();
  for (Connection& shard : connections_) shard.pushes = least;
  return least + ahead_;
}

}  // namespace psim
