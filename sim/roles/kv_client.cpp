#include "sim/roles/kv_client.hpp"

#include <simgrid/s4u/Actor.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>

#include "model/mutant.hpp"
#include "model/parameters.hpp"
#include "sim/roles/scheduler.hpp"

namespace psim {

KvClient::KvClient(World& world, NodeId node)
    : world_(world), node_(node), connections_(world.keys.shards.size()), all_(world.keys.shards.size()) {
  std::iota(all_.begin(), all_.end(), 0U);
  for (const std::uint32_t s : all_) connections_[s].filters = world.make_chain(s, node, true);
  if (world.scenario.may_fail()) {
    retries_ = std::make_unique<RetryQueue>(world.retry());
    for (const std::uint32_t s : all_) standings_.push_back({.owner = world.server_of(s)});
  }
  if (std::ranges::find(world.scenario.filters, FilterKind::kkt, &FilterSpec::kind) !=
      world.scenario.filters.end())
    last_weights_.resize(all_.size());
}

Timestamp KvClient::pull(const ShardIds& shards, std::int64_t clock, Wanted wanted) {
  const Timestamp task = ++last_;
  const bool newer_only = wanted != Wanted::any;
  for (const std::uint32_t s : shards) {
    const bool begins = wanted == Wanted::next;  // a step with what is here
    // A finished shard's weights do not change any more; but another batch of a sparse model needs others.
    if (connections_[s].finished && (!batch_ || begins)) continue;
    if (begins && is_ahead_of_first(s)) continue;
    std::int64_t newer_than = connections_[s].version;
    if (retries_ && world_.rule.first_decides && !begins) newer_than = std::min(newer_than, begun_on_);
    request(s, clock, newer_only ? newer_than : -1, task, !begins);
  }
  return task;
}

void KvClient::request(std::uint32_t s, std::int64_t clock, std::int64_t above, Timestamp task,
                       bool has_pushed) {
  Connection& shard = connections_[s];
  if (shard.outstanding) answered_one(shard.pull_task);  // a newer pull takes its place
  shard.outstanding = true;
  shard.clock = clock;
  shard.above = above;
  shard.pull_task = task;
  ++open_[task];
  send({.kind = MessageKind::pull,
        .from = node_,
        .to = owner_of(s),
        .shard = world_.first_shard + s,
        .clock = clock,
        .version = above,
        .number = ++shard.pulls,
        .pushed = !standings_.empty() && standings_[s].is_new ? back_again : shard.pushes,
        .keys = batch_ ? batch_->local[s] : nullptr,
        .payload = batch_ ? batch_->local[s]->size() * world_.bytes_per_key() : 0,
        .samples = has_pushed ? 1 : 0,
        .epoch = epoch_of(s),
        .ahead = ahead_,
        .has = shard.has});
}

Timestamp KvClient::push(const ShardIds& shards, std::int64_t clock, const std::shared_ptr<Values>& gradient,
                         std::int64_t samples, KeyRange block) {
  const Timestamp task = ++last_;
  for (const std::uint32_t s : shards) {
    Connection& shard = connections_[s];
    if (shard.finished) continue;
    Encoded encoded = encode(s, part_of(s, gradient, block));
    if (world_.scenario.messages.acknowledge) {
      push_tasks_[{s, shard.pushes}] = task;
      ++open_[task];
    }
    send({.kind = MessageKind::push,
          .from = node_,
          .to = owner_of(s),
          .shard = world_.first_shard + s,
          .clock = clock,
          .version = shard.version,
          .number = shard.pushes++,
          .pushed = connections_.front().version,
          .values = std::move(encoded.values),
          .keys = std::move(encoded.keys),
          .payload = encoded.bytes,
          .samples = samples,
          .epoch = epoch_of(s)});
  }
  return task;
}

// The keys of a batch that lie in a block of features are consecutive, and so are a shard's among them.
KvClient::Part KvClient::part_of(std::uint32_t s, const std::shared_ptr<Values>& gradient,
                                 KeyRange block) const {
  const Slice weights = last_weights_.empty() ? Slice{} : last_weights_[s];
  if (!batch_) return {world_.part_of(s, gradient), nullptr, weights};
  const std::vector<std::uint32_t>& keys = batch_->keys;
  const auto first = static_cast<std::size_t>(std::ranges::lower_bound(keys, block.begin) - keys.begin());
  const auto last = static_cast<std::size_t>(std::ranges::lower_bound(keys, block.end) - keys.begin());
  const std::size_t all = batch_->local[s]->size();
  std::size_t skipped = 0;  // of the shard's keys, before the block
  std::vector<Range> pieces;
  std::size_t count = 0;
  for (const Range& place : batch_->places[s]) {
    const std::size_t begin = std::clamp(first, place.begin, place.begin + place.count);
    const std::size_t end = std::clamp(last, begin, place.begin + place.count);
    skipped += begin - place.begin;
    if (begin < end) pieces.push_back({begin, end - begin});
    count += end - begin;
  }
  Slice values{std::make_shared<Values>(world_.precision(), 0), 0, 0};
  if (pieces.size() == 1) values = {gradient, pieces[0].begin, count};
  if (pieces.size() > 1) values = {gathered(*gradient, pieces, count), 0, count};
  SharedKeys local = batch_->local[s];
  if (count < all) {
    const auto begin = local->begin() + static_cast<std::ptrdiff_t>(skipped);
    local =
        std::make_shared<const std::vector<std::uint32_t>>(begin, begin + static_cast<std::ptrdiff_t>(count));
  }
  Slice base = weights;
  if (base.values) base = {base.values, base.begin + skipped, count};
  return {std::move(values), std::move(local), std::move(base)};
}

// What the filters make of a shard's part, in the time that they cost.
Encoded KvClient::encode(std::uint32_t s, const Part& part) {
  FilterChain* filters = connections_[s].filters.get();
  if (filters == nullptr)
    return FilterChain::plain(part.values, part.keys, world_.precision(),
                              world_.scenario.messages.key_bytes());
  Encoded encoded =
      filters->encode(part.values, part.keys, part.weights, world_.scenario.training.optimizer.l1);
  if (encoded.flops > 0) {
    world_.record(EventKind::compute_resume, node_, 0);
    const World::Busy busy(world_, node_);
    simgrid::s4u::this_actor::execute(encoded.flops);
    world_.record(EventKind::compute_pause, node_, 0);
  }
  return encoded;
}

void KvClient::wait(Timestamp task) {
  while (!done(task)) wait_for_message();
}

void KvClient::answered_one(Timestamp task) {
  const auto it = open_.find(task);
  if (--it->second == 0) open_.erase(it);
}

void KvClient::handle(Message message) {
  switch (message.kind) {
    case MessageKind::weights:
    case MessageKind::finished: break;
    case MessageKind::ack: return on_ack(message);
    case MessageKind::view:
      return message.attached ? on_view(message.attached->view) : tell_view(world_, node_, view_);
    default: return other_(message);
  }
  Connection& shard = connections_[index_of(message)];
  // Perhaps the answer to a pull that a later one replaced, or that was sent twice.
  if (!is_expected(message) || message.epoch != epoch_of(index_of(message))) return;
  const bool set_back = message.version < shard.version || message.version <= shard.above;
  if (retries_) {
    retries_->answered(message.shard);
    commit(message);
    ahead_ = std::max(ahead_, message.ahead);
    if (std::exchange(standings_[index_of(message)].is_new, false)) shard.pushes = message.kept;
    shard.has_push = message.has_push;
  }
  shard.outstanding = false;
  shard.unused = true;
  shard.version = message.version;
  shard.finished = message.kind == MessageKind::finished;
  if (message.values.count > 0) shard.has = message.number;
  if (world_.workers_update() && message.version > 0 && message.values.values) update(shard, message);
  else shard.weights = std::move(message.values);
  if (!last_weights_.empty()) last_weights_[index_of(message)] = shard.weights;
  answered_one(shard.pull_task);
  if (retries_) settle(set_back);
}

// Servers only sum here, and under bsp a worker sees every sum: it runs the optimizer on its own copy.
void KvClient::update(Connection& shard, const Message& sum) {
  const Slice& sent = sum.values;
  if (!shard.parameters)
    shard.parameters =
        std::make_unique<Parameters>(world_.scenario.training.optimizer, world_.storage(),
                                     Values::copy_of(*shard.weights.values, shard.weights.begin, sent.count));
  shard.weights.values.reset();  // or the update would have to copy
  const double epochs = world_.epochs().after(
      static_cast<double>(sum.version - (mutant("workers-rate-is-an-update-ahead") ? 0 : 1)));
  shard.parameters->update(std::array{WeightedGradient{sent, 1.0}}, world_.learning_rate().at(epochs));
  shard.weights = {shard.parameters->weights(), 0, sent.count, sum.version};
}

bool KvClient::answered(const ShardIds& shards) const {
  return std::ranges::none_of(shards, [this](std::uint32_t s) { return connections_[s].outstanding; });
}

// Where the first shard decides for all and was set back, another may have the version already that its next
// decision is about. That shard does not wait for this step's pushes, and no later version of it makes the
// step useless.
bool KvClient::is_ahead_of_first(std::uint32_t s) const {
  return retries_ && world_.rule.first_decides && connections_[s].version > connections_.front().version;
}

void KvClient::use_all() {
  begun_on_ = connections_.front().version;
  for (Connection& shard : connections_) shard.unused = false;
}

bool KvClient::any_finished() const { return std::ranges::any_of(connections_, &Connection::finished); }
bool KvClient::all_finished() const {
  return std::ranges::all_of(all_, [this](std::uint32_t s) { return finished(s); });
}

std::int64_t KvClient::least_version() const {
  return std::ranges::min_element(connections_, {}, &Connection::version)->version;
}

std::int64_t KvClient::least_version_here() const {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const Connection& shard : connections_) {
    if (!shard.outstanding || mutant("clock-of-old-weights")) least = std::min(least, shard.version);
  }
  return least;
}

std::vector<Slice> KvClient::take_weights() {
  std::vector<Slice> parts;
  for (Connection& shard : connections_)
    parts.push_back(shard.finished || world_.workers_update() ? shard.weights
                                                              : std::exchange(shard.weights, {}));
  return parts;
}

}  // namespace psim
