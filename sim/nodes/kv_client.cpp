#include "sim/nodes/kv_client.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "sim/nodes/attendance.hpp"

namespace psim {

KvClient::KvClient(JobContext& job, NodeId node, Requests* requests)
    : job_(job),
      node_(node),
      requests_(requests),
      connections_(job.plan.keys.shards.size()),
      all_(job.plan.keys.shards.size()),
      encoder_(job, node),
      cache_(job.plan) {
  std::iota(all_.begin(), all_.end(), 0U);
  caches_keys_ = job.plan.caches_keys(false);
  if (job.plan.scenario.may_fail()) {
    RetrySpec retry = job.plan.retry();
    if (only_reads()) retry.limit = 0;  // training does not depend on it
    retries_ = std::make_unique<RetryQueue>(retry);
    for (const std::uint32_t s : all_) standings_.push_back({.owner = job.plan.server_of(s)});
  }
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
    if (retries_ && job_.plan.rule.first_shard_decides && !begins)
      newer_than = std::min(newer_than, begun_on_);
    request(s, clock, newer_only ? newer_than : -1, task, !begins);
  }
  return task;
}

// A pull that was sent ahead, to hear of a newer version, does if only a newer version will do; its answer
// may have come while the worker waited for acknowledgements. Of a sparse model that pull asked for no
// weights, or those of the last step's keys are here: then any version will do of the shards that have given
// one already.
void KvClient::pull_for_step(std::int64_t clock) {
  ShardIds wanted = all_;
  if (job_.plan.rule.gate != Gate::version) {
    const auto is_asked = [this](std::uint32_t s) {
      return std::exchange(connections_[s].pulled_ahead, false);
    };
    std::erase_if(wanted, [&](std::uint32_t s) { return is_asked(s) || cache_.does(s, clock); });
    pull(wanted, clock, Wanted::any);
    return;
  }
  if (batch_) {
    ShardIds announced;
    const auto is_announced = [this](std::uint32_t s) { return unused(s); };
    std::ranges::copy_if(wanted, std::back_inserter(announced), is_announced);
    pull(announced, clock, Wanted::any);
    std::erase_if(wanted, is_announced);
  } else {
    const auto is_asked = [this](std::uint32_t s) { return outstanding(s) && !connections_[s].of_last_step; };
    std::erase_if(wanted, [&](std::uint32_t s) { return is_asked(s) || unused(s); });
  }
  pull(wanted, clock, Wanted::newer);
}

void KvClient::pull_ahead(const ShardIds& shards, std::int64_t clock) {
  if (job_.plan.rule.gate == Gate::version) {
    pull(shards, clock, Wanted::newer);
    return;
  }
  for (const std::uint32_t s : shards) connections_[s].pulled_ahead = true;
  pull(shards, clock, Wanted::any);
}

// The next batch of a sparse model needs other weights, which are not known yet: that pull asks for none.
void KvClient::watch_for_newer(std::int64_t clock) {
  const std::shared_ptr<const BatchKeys> keys = batch_;
  if (keys) batch_ = std::make_shared<const BatchKeys>(split({}, key_space()));
  pull(all_, clock, Wanted::next);
  batch_ = keys;
}

void KvClient::request(std::uint32_t s, std::int64_t clock, std::int64_t above, Timestamp task,
                       bool has_pushed) {
  Connection& shard = connections_[s];
  if (shard.outstanding) answered_one(shard.pull_task);  // a newer pull takes its place
  shard.outstanding = true;
  shard.of_last_step = false;
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
            .bytes_per_key = job_.plan.bytes_per_key()};
  pull.pushes_sent = is_back ? std::nullopt : std::optional(shard.pushes);
  if (retries_ && job_.plan.workers_sum()) pull.copy = shard.copy;
  if (caches_keys_) pull.list = shard.keys.list(pull.keys);
  send(message_for(s, std::move(pull)));
}

KvClient::Versions KvClient::versions() const {
  Versions versions;
  for (const Connection& shard : connections_) versions.push_back(shard.version);
  return versions;
}

Message KvClient::message_for(std::uint32_t s, Body&& body) const {
  return {.from = node_,
          .to = owner_of(s),
          .shard = job_.plan.first_shard + s,
          .epoch = epoch_of(s),
          .body = std::move(body)};
}

void KvClient::begin_with(const std::shared_ptr<Values>& weights) {
  weights_.resize(connections_.size());
  for (const std::uint32_t s : all_) {
    connections_[s].version = 0;
    weights_[s] = JobPlan::part_of(key_space().shards[s], weights);
    encoder_.received(s, weights_[s]);
  }
}

void KvClient::forget() {
  weights_.clear();
  for (Connection& shard : connections_) shard.version = -1;
}

Timestamp KvClient::push(const ShardIds& shards, std::int64_t clock, const std::shared_ptr<Values>& gradient,
                         std::int64_t samples, KeyRange block, const Versions* computed_on) {
  const Timestamp task = ++last_;
  for (const std::uint32_t s : shards) {
    Connection& shard = connections_[s];
    if (shard.finished) continue;
    Encoded encoded = encoder_.encode(s, gradient, batch_.get(), block, clock);
    if (cache_.is_on() && !weights_.empty())
      weights_[s] = cache_.with_own_push(key_space().shards[s], weights_[s], gradient, clock, samples);
    if (job_.plan.scenario.messages.acknowledge) {
      push_tasks_[{s, shard.pushes}] = task;
      ++open_[task];
    }
    send(message_for(s,
                     Push{.worker = node_,
                          .number = shard.pushes++,
                          .clock = clock,
                          .version = computed_on ? (*computed_on)[s] : shard.version,
                          .first_version = computed_on ? computed_on->front() : connections_.front().version,
                          .samples = samples,
                          .gradient = payload_of(std::move(encoded))}));
  }
  return task;
}

void KvClient::wait_until(Awaited what, std::optional<std::int64_t> clock,
                          const std::function<bool()>& is_over) {
  wait_until(what, clock, is_over, std::nullopt);
}

bool KvClient::wait_until(Awaited what, std::optional<std::int64_t> clock,
                          const std::function<bool()>& is_over, std::optional<double> date) {
  const double since = Agenda::now();
  bool over = is_over();
  for (; !over && !(date && Agenda::now() >= *date); over = is_over()) wait_for_message(date);
  record_wait(job_, node_, what, since, clock, heard_);
  return over;
}

void KvClient::wait_for(const ShardIds& shards, std::int64_t clock) {
  wait_until(Awaited::weights, clock, [&] { return answered(shards); });
}

void KvClient::wait_for_all(std::int64_t clock) {
  wait_until(Awaited::weights, clock, [this, clock] {
    if (all_finished()) return true;
    ShardIds wanted = all_;
    std::erase_if(wanted, [this](std::uint32_t s) { return finished(s) || outstanding(s); });
    pull(wanted, clock, Wanted::newer);
    return false;
  });
}

void KvClient::answered_one(Timestamp task) {
  const auto it = open_.find(task);
  if (--it->second == 0) open_.erase(it);
}

void KvClient::handle(Message message) {
  heard_ = Heard(message);
  if (!message.is<Samples>()) job_.recorder.course().needs(message.because.event);
  using Others =
      Ignore<Join, LeaveAck, Heartbeat, Ready, Report, Pull, Push, UpdateGroup, Decide, Replicate, Replicated,
             State, Chunk, Activations, Errors, psim::Standing, Regroup, Fetch, TaskDone, Call, Returned>;
  std::visit(
      Overloaded{[&](Answer& answer) { on_answer(message, std::move(answer)); },
                 [&](const Ack& ack) { on_ack(message, ack); },
                 [&](const NewView& news) { on_view(news.view); },
                 [&](const Restore& request) { lend(message, request); },
                 [&](const AskView&) { tell_view(job_, node_, view_); },
                 [&](const OneOf<Start, Leave, Assign, Samples, Idle, Piece, PieceGradient, RunTask> auto&) {
                   other_(message);
                 },
                 Others{}},
      message.body);
}

void KvClient::on_answer(const Message& message, Answer answer) {
  const std::uint32_t s = index_of(message);
  Connection& shard = connections_[s];
  // Perhaps the answer to a pull that a later one replaced, or that was sent twice.
  if (!is_expected(message) || message.epoch != epoch_of(s)) return;
  // With keys that are not known it counts as lost.
  if (retries_ && answer.weights.values.count > 0 && !shard.keys.reads(answer.weights.list)) return;
  const bool set_back = answer.version < shard.version || answer.version <= shard.above;
  if (retries_) {
    retries_->answered(message.shard);
    commit(message, answer.safe_pushes);
    ahead_ = std::max(ahead_, answer.skip_clocks);
    if (std::exchange(standings_[s].is_new, false)) shard.pushes = answer.pushes_here;
    shard.has_push = answer.has_push;
  }
  shard.outstanding = false;
  const bool is_known = std::exchange(shard.of_last_step, false) && answer.version == shard.version;
  shard.unused = !is_known;
  shard.version = answer.version;
  shard.left_at = answer.sent_at;
  shard.finished = answer.finished;
  if (weights_.empty()) weights_.resize(connections_.size());
  const Slice& values = answer.weights.values;
  if (values.count > 0) {
    shard.has = answer.number;
    cache_.received(s, answer.slowest);
  }
  shard.keys.answered();
  if (job_.plan.workers_sum()) take(s, std::move(answer));
  else weights_[s] = std::move(answer.weights.values);
  encoder_.received(s, weights_[s]);
  answered_one(shard.pull_task);
  if (retries_) settle(set_back);
}

// Where the first shard decides for all and was set back, another may have the version already that its next
// decision is about. That shard does not wait for this step's pushes, and no later version of it makes the
// step useless.
bool KvClient::is_ahead_of_first(std::uint32_t s) const {
  return retries_ && job_.plan.rule.first_shard_decides &&
         connections_[s].version > connections_.front().version;
}

void KvClient::use_all() {
  begun_on_ = connections_.front().version;
  for (Connection& shard : connections_) {
    shard.unused = false;
    shard.of_last_step = job_.plan.rule.gate == Gate::version && shard.outstanding && shard.above < 0;
  }
}

// Where all servers apply the same pushes, one that is through needs no more, and then no other does: each
// has, or will have, those that the last update takes. Where each server forms groups of its own, another
// may still need pushes.
bool KvClient::is_over() const {
  return job_.plan.rule.shards_advance_independently
             ? all_finished()
             : std::ranges::any_of(connections_, &Connection::finished);
}

bool KvClient::all_finished() const {
  return std::ranges::all_of(all_, [this](std::uint32_t s) { return finished(s); });
}

std::int64_t KvClient::least_version_here() const {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const Connection& shard : connections_) {
    if (!shard.outstanding) least = std::min(least, shard.version);
  }
  return least;
}

std::vector<Slice> KvClient::take_weights() {
  std::vector<Slice> parts = std::exchange(weights_, {});
  parts.resize(connections_.size());
  for (const std::uint32_t s : all_) {
    if (!connections_[s].finished && !job_.plan.workers_sum() && !cache_.is_on()) continue;
    weights_.resize(connections_.size());
    weights_[s] = parts[s];
  }
  return parts;
}

}  // namespace psim
