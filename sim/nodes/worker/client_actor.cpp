#include "sim/nodes/worker/client_actor.hpp"

#include <algorithm>
#include <utility>

#include "sim/nodes/job/processor.hpp"
#include "sim/nodes/job/requests.hpp"

namespace psim {

PushEncoder::PushEncoder(JobContext& job, NodeId node) : job_(job), node_(node), keys_(&job.plan.keys) {
  const auto shards = static_cast<std::uint32_t>(job.plan.keys.shards.size());
  for (std::uint32_t s = 0; s < shards; ++s) {
    if (auto chain = job.make_chain(s, keys_->shards[s], node, true)) filters_.push_back(std::move(chain));
  }
  const auto needs_weights = [](const FilterSpec& filter) { return filter.kind->needs_weights; };
  if (std::ranges::any_of(job.plan.scenario.filters, needs_weights)) last_weights_.resize(shards);
}

void PushEncoder::cut(const Cut& cut, const KeySpace& keys) {
  keys_ = &keys;
  const auto upper = static_cast<std::uint32_t>(std::max(filters_.size(), last_weights_.size()));
  if (!filters_.empty())
    filters_.push_back(
        filters_[cut.shard]->cut(cut.at, job_.chain_of(upper, keys.shards[upper], node_, true)));
  if (last_weights_.empty()) return;
  const Slice whole = last_weights_[cut.shard];
  const std::size_t below = std::min(cut.at, whole.count);
  last_weights_[cut.shard] = psim::part_of(whole, {0, below});
  last_weights_.push_back(psim::part_of(whole, {below, whole.count - below}));
}

// The batch's keys in one block of features are consecutive, and so are each shard's keys among them.
PushEncoder::Content PushEncoder::part_of(std::uint32_t s, const std::shared_ptr<Values>& gradient,
                                          const BatchKeys* batch, KeyRange block) const {
  const Slice weights = last_weights_.empty() ? Slice{} : last_weights_[s];
  if (batch == nullptr) return {JobPlan::part_of(keys_->shards[s], gradient), nullptr, weights};
  const std::vector<std::uint32_t>& keys = batch->keys;
  const auto first = static_cast<std::size_t>(std::ranges::lower_bound(keys, block.begin) - keys.begin());
  const auto last = static_cast<std::size_t>(std::ranges::lower_bound(keys, block.end) - keys.begin());
  const std::size_t all = batch->local[s]->size();
  std::size_t skipped = 0;  // the shard's keys before the block
  std::vector<Range> pieces;
  std::size_t count = 0;
  for (const Range& place : batch->places[s]) {
    const std::size_t begin = std::clamp(first, place.begin, place.begin + place.count);
    const std::size_t end = std::clamp(last, begin, place.begin + place.count);
    skipped += begin - place.begin;
    if (begin < end) pieces.push_back({begin, end - begin});
    count += end - begin;
  }
  Slice values{std::make_shared<Values>(job_.plan.precision(), 0), 0, 0};
  if (pieces.size() == 1) values = {gradient, pieces[0].begin, count};
  if (pieces.size() > 1) values = {gathered(*gradient, pieces, count), 0, count};
  SharedKeys local = batch->local[s];
  if (count < all) {
    const auto begin = local->begin() + static_cast<std::ptrdiff_t>(skipped);
    local =
        std::make_shared<const std::vector<std::uint32_t>>(begin, begin + static_cast<std::ptrdiff_t>(count));
  }
  Slice base = weights;
  if (base.values) base = {base.values, base.begin + skipped, count};
  return {std::move(values), std::move(local), std::move(base)};
}

Encoded PushEncoder::encode(std::uint32_t s, const std::shared_ptr<Values>& gradient, const BatchKeys* batch,
                            KeyRange block) {
  Content part = part_of(s, gradient, batch, block);
  FilterChain* filters = filters_.empty() ? nullptr : filters_[s].get();
  if (filters == nullptr)
    return FilterChain::plain(part.values, part.keys, job_.plan.precision(), job_.plan.key_bytes());
  Encoded encoded =
      filters->encode(part.values, part.keys, part.weights, job_.plan.scenario.training.optimizer.l1);
  if (encoded.flops > 0) {
    job_.record(node_, Computation{.work = Work::filter});
    compute(job_, node_, encoded.flops);
    job_.record(node_, Computation{.phase = ComputePhase::ended, .work = Work::filter});
  }
  return encoded;
}

namespace {

CopyCache::Options cache_of(const JobPlan& plan) {
  CopyCache::Options options{.steps = plan.steps,
                             .share = plan.rule.push_weight(1) * plan.rule.rate_factor(1),
                             .batch_size = plan.scenario.training.batch_size,
                             .learning_rate = plan.update_rate(),
                             .epochs = plan.epochs()};
  if (!plan.scenario.consistency.cache || !plan.rule.has_bound()) return options;
  for (const Shard& shard : plan.keys.shards) options.bounds.push_back(plan.rule_of(shard)->bound);
  return options;
}

KvClient::Options options_of(const JobPlan& plan, NodeId node) {
  KvClient::Options options{.node = node,
                            .first_shard = plan.first_shard,
                            .keys = &plan.keys,
                            .first_index = plan.first_index,
                            .rule = plan.shared_rule,
                            .only_reads = !plan.is_worker(node),
                            .acknowledges = plan.scenario.messages.acknowledge,
                            .caches_keys = plan.caches_keys(false),
                            .bytes_per_key = plan.bytes_per_key(),
                            .cache = cache_of(plan)};
  for (std::uint32_t s = 0; s < plan.keys.shards.size(); ++s) options.owners.push_back(plan.server_of(s));
  if (plan.scenario.may_fail()) {
    options.retry = plan.retry();
    if (options.only_reads) options.retry->limit = 0;  // training does not depend on it
  }
  if (plan.workers_sum())
    options.copies = {.optimizer = plan.update_optimizer(),
                      .storage = plan.storage(),
                      .learning_rate = plan.update_rate(),
                      .epochs = plan.epochs()};
  return options;
}

}  // namespace

ClientActor::ClientActor(JobContext& job, NodeId node, Requests* requests)
    : KvClient(options_of(job.plan, node), *this),
      job_(job),
      node_(node),
      requests_(requests),
      encoder_(job, node) {}

Timestamp ClientActor::push(const ShardIds& shards, std::int64_t clock,
                            const std::shared_ptr<Values>& gradient, const Work& work, KeyRange block,
                            const Versions* computed_on) {
  const auto part_of = [&](std::uint32_t s) {
    return GradientPart{
        .payload = payload_of(encoder_.encode(s, gradient, keys().get(), block)),
        .values = caches_weights() ? JobPlan::part_of(key_space().shards[s], gradient) : Slice{}};
  };
  return KvClient::push(shards, clock, work, part_of, computed_on);
}

void ClientActor::begin_with(const std::shared_ptr<Values>& weights) {
  std::vector<Slice> parts;
  for (const Shard& shard : key_space().shards) parts.push_back(JobPlan::part_of(shard, weights));
  KvClient::begin_with(std::move(parts));
}

void ClientActor::wait_until(Awaited what, std::optional<std::int64_t> clock,
                             const std::function<bool()>& is_over) {
  wait_until(what, clock, is_over, std::nullopt);
}

bool ClientActor::wait_until(Awaited what, std::optional<std::int64_t> clock,
                             const std::function<bool()>& is_over, std::optional<double> date) {
  const double since = Agenda::now();
  bool over = is_over();
  for (; !over && !(date && Agenda::now() >= *date); over = is_over()) wait_for_message(date);
  record_wait(job_, node_, what, since, clock, heard_);
  return over;
}

void ClientActor::wait_for(const ShardIds& shards, std::int64_t clock) {
  wait_until(Awaited::weights, clock, [&] { return answered(shards); });
}

void ClientActor::wait_for_all(std::int64_t clock) {
  wait_until(Awaited::weights, clock, [this, clock] {
    if (all_finished()) return true;
    pull_unfinished(clock);
    return false;
  });
}

void ClientActor::wait_for_message(std::optional<double> date) {
  std::optional<double> next = date;
  const auto look_at = [&next](const std::optional<double>& other) {
    if (other) next = std::min(next.value_or(*other), *other);
  };
  look_at(next_repetition());
  if (requests_ != nullptr) look_at(requests_->next());
  std::optional<Message> message =
      next ? job_.network.receive_until(node_, *next) : job_.network.receive(node_);
  if (message) return handle(std::move(*message));
  KvClient::repeat(Agenda::now());
  if (requests_ != nullptr) requests_->repeat(Agenda::now());
}

void ClientActor::handle(Message message) {
  heard_ = Heard(message);
  if (!message.is<Samples>()) job_.recorder.causes().needs(message.because.event);
  if (message.is<AskView>()) return tell_view(job_, node_, last_view());
  const bool is_other = std::visit(
      [](const auto& body) {
        return OneOf<std::decay_t<decltype(body)>, Start, Leave, Assign, Samples, Idle, Piece, PieceGradient,
                     RunTask>;
      },
      message.body);
  is_other ? other_(message) : on(std::move(message));
}

std::int64_t ClientActor::resume() {
  const Timestamp asked = ask_where_to_resume();
  wait_until(Awaited::weights, {}, [this, asked] { return done(asked); });
  return KvClient::resume();
}

void ClientActor::send_again(Message request, const Cause& asked) {
  const MessageFacts facts = facts_of(request.body);
  job_.record(node_, Repetition{request.to, facts.kind, request.shard, facts.pull, facts.push}, asked);
  request.because = cause();
  job_.network.send_again(std::move(request));
}

void ClientActor::is_safe(const Message& message, std::int64_t pushes) {
  job_.record(node_, Acknowledgement{message.from, message.shard, message.epoch, pushes});
}

}  // namespace psim
