#include "sim/nodes/client_actor.hpp"

#include <algorithm>
#include <utility>

#include "sim/nodes/attendance.hpp"

namespace psim {
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
                            const std::shared_ptr<Values>& gradient, std::int64_t samples, KeyRange block,
                            const Versions* computed_on) {
  const auto part_of = [&](std::uint32_t s) {
    return GradientPart{
        .payload = payload_of(encoder_.encode(s, gradient, keys().get(), block)),
        .values = caches_weights() ? JobPlan::part_of(key_space().shards[s], gradient) : Slice{}};
  };
  return KvClient::push(shards, clock, samples, part_of, computed_on);
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
