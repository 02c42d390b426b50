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
  const bool is_back = !standings_.empty() && standings_[s].is_new;
  Pull pull{.clock = clock,
            .above = above,
            .number = ++shard.pulls,
            .skipped_clocks = ahead_,
            .answered = shard.has,
            .computes = !has_pushed,
            .keys = batch_ ? batch_->local[s] : nullptr,
            .bytes_per_key = world_.bytes_per_key()};
  pull.pushes_sent = is_back ? std::nullopt : std::optional(shard.pushes);
  send(message_for(s, std::move(pull)));
}

Message KvClient::message_for(std::uint32_t s, Body body) const {
  return {.from = node_,
          .to = owner_of(s),
          .shard = world_.first_shard + s,
          .epoch = epoch_of(s),
          .body = std::move(body)};
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
    send(message_for(s, Push{.worker = node_,
                             .number = shard.pushes++,
                             .clock = clock,
                             .version = shard.version,
                             .first_version = connections_.front().version,
                             .samples = samples,
                             .gradient = payload_of(std::move(encoded))}));
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
    world_.record(node_, Computation{.work = Work::filter});
    const World::Busy busy(world_, node_);
    simgrid::s4u::this_actor::execute(encoded.flops);
    world_.record(node_, Computation{.phase = ComputePhase::ended, .work = Work::filter});
  }
  return encoded;
}

void KvClient::wait_until(Awaited what, std::optional<std::int64_t> clock,
                          const std::function<bool()>& is_over) {
  const double since = Agenda::now();
  while (!is_over()) wait_for_message();
  record_wait(world_, node_, what, since, clock, heard_);
}

void KvClient::answered_one(Timestamp task) {
  const auto it = open_.find(task);
  if (--it->second == 0) open_.erase(it);
}

void KvClient::handle(Message message) {
  heard_ = Heard(message);
  using Others = Ignore<Join, Start, Leave, LeaveAck, Heartbeat, Ready, Report, Pull, Push, UpdateGroup,
                        Decide, Replicate, Replicated, State, Restore, Chunk, Activations, Errors, Fetch>;
  std::visit(Overloaded{[&](Answer& answer) { on_answer(message, std::move(answer)); },
                        [&](const Ack& ack) { on_ack(message, ack); },
                        [&](const NewView& news) { on_view(news.view); },
                        [&](const AskView&) { tell_view(world_, node_, view_); },
                        [&](const OneOf<Assign, Samples, Idle, Piece> auto&) { other_(message); }, Others{}},
             message.body);
}

void KvClient::on_answer(const Message& message, Answer answer) {
  const std::uint32_t s = index_of(message);
  Connection& shard = connections_[s];
  // Perhaps the answer to a pull that a later one replaced, or that was sent twice.
  if (!is_expected(message) || message.epoch != epoch_of(s)) return;
  const bool set_back = answer.version < shard.version || answer.version <= shard.above;
  if (retries_) {
    retries_->answered(message.shard);
    commit(message, answer.safe_pushes);
    ahead_ = std::max(ahead_, answer.skip_clocks);
    if (std::exchange(standings_[s].is_new, false)) shard.pushes = answer.pushes_here;
    shard.has_push = answer.has_push;
  }
  shard.outstanding = false;
  shard.unused = true;
  shard.version = answer.version;
  shard.finished = answer.finished;
  const Slice& values = answer.weights.values;
  if (values.count > 0) shard.has = answer.number;
  if (world_.workers_update() && answer.version > 0 && values.values) update(shard, values, answer.version);
  else shard.weights = std::move(answer.weights.values);
  if (!last_weights_.empty()) last_weights_[s] = shard.weights;
  answered_one(shard.pull_task);
  if (retries_) settle(set_back);
}

// Servers only sum here, and under bsp a worker sees every sum: it runs the optimizer on its own copy.
void KvClient::update(Connection& shard, const Slice& sum, std::int64_t version) {
  if (!shard.parameters)
    shard.parameters =
        std::make_unique<Parameters>(world_.scenario.training.optimizer, world_.storage(),
                                     Values::copy_of(*shard.weights.values, shard.weights.begin, sum.count));
  shard.weights.values.reset();  // or the update would have to copy
  const double epochs = world_.epochs().after(
      static_cast<double>(version - (mutant("workers-rate-is-an-update-ahead") ? 0 : 1)));
  shard.parameters->update(std::array{WeightedGradient{sum, 1.0}}, world_.learning_rate().at(epochs));
  shard.weights = {shard.parameters->weights(), 0, sum.count, version};
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
