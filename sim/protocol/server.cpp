#include "sim/protocol/server.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "model/learner.hpp"
#include "sim/protocol/mutant.hpp"

namespace psim {
namespace {

Values gather(const Values& values, const std::vector<std::uint32_t>& keys) {
  Values result(values.precision(), keys.size());
  with_scalar(values.precision(), [&](auto zero) {
    const auto from = values.as<decltype(zero)>();
    const auto to = result.template as<decltype(zero)>();
    for (std::size_t i = 0; i < keys.size(); ++i) to[i] = from[keys[i]];
  });
  return result;
}

PushId id_of(const Message& push) { return {push.from, push.number}; }

}  // namespace

Server::Server(Options options, std::optional<Values> weights, std::size_t count)
    : options_(std::move(options)),
      count_(count),
      workers_(static_cast<std::size_t>(options_.rule.workers)),
      active_(options_.rule.workers),
      at_slowest_(workers_.size()),
      members_(options_.rule.workers) {
  if (options_.delay_compensation > 0) sent_.resize(workers_.size());
  if (!weights) return;
  weights_ = std::make_shared<Values>(std::move(*weights));
  optimizer_ = Optimizer(options_.optimizer, weights_->precision(), count_);
}

void Server::on(const Message& message, double now, Outbox& out) {
  if (message.epoch != epoch_ && !mutant("no-fence"))
    return;  // from before the shard had this owner, or from after it
  switch (message.kind) {
    case MessageKind::push: return leads_ ? on_push(message, now, out) : void();
    case MessageKind::pull: return leads_ ? on_pull(message, now, out) : void();
    case MessageKind::group: return on_group(message, now, out);
    case MessageKind::replicate: return on_entry(message, now, out);
    case MessageKind::replicated: return on_replicated(message, now, out);
    default: return;
  }
}

void Server::on_push(const Message& push, double now, Outbox& out) {
  if (options_.retries && !is_new(push, out)) return;
  const std::uint32_t w = index_of(push.from);
  WorkerState& worker = workers_[w];
  ++arrived_;
  if (!options_.retries || push.number >= worker.arrived) ++worker.arrived;
  worker.interval = now - worker.last_push;
  worker.last_push = now;
  const bool forgotten = mutant("push-vanishes") && push.number % 7 == 3;
  if (forgotten) {
    count_applied(id_of(push));
  } else if (!is_late(push)) {
    if (options_.retries) supersede(push, out);
    group_.push_back(push);
  } else {
    drop(push, out);
    if (coordinated() && !follows()) late_.push_back(id_of(push));
  }
  if (options_.retries) accept(push, out);
  finish_if_through(worker);
  update_if_complete(out) ? answer_all(now, out) : answer(w, now, out);
}

void Server::on_pull(const Message& pull, double now, Outbox& out) {
  const std::uint32_t w = index_of(pull.from);
  WorkerState& worker = workers_[w];
  const bool is_back = pull.pushed < 0;  // from a crash: it counts its pulls anew
  if (!is_back && worker.waiting && worker.waiting->number > pull.number) return;  // overtaken on the way
  worker.waiting = {pull.from,   pull.clock,  pull.version,
                    pull.number, pull.pushed, pull.keys};  // a newer pull takes the place of an older one
  if (options_.retries) meet(pull, out);
  waiting_.insert(w);
  finish_if_through(worker);
  update_if_complete(out) ? answer_all(now, out) : answer(w, now, out);
}

// A worker whose pull is for a clock that there is no more, and whose pushes are all in, will not push again.
void Server::finish_if_through(WorkerState& worker) {
  if (options_.rule.fresh || worker.finished || !worker.waiting) return;
  if (worker.waiting->clock < options_.steps || worker.arrived < worker.waiting->pushed) return;
  worker.finished = true;
  --active_;
}

// A push that is applied again counts once.
void Server::count_applied(const PushId& push) {
  WorkerState& worker = workers_[index_of(push.worker)];
  if (!options_.exactly_once && push.number < worker.applied) return;
  const bool was_slowest = worker.applied++ == slowest_;
  if (was_slowest && --at_slowest_ == 0) find_slowest();
}

// Of those that take part.
void Server::find_slowest() {
  std::optional<std::int64_t> least;
  for (const WorkerState& worker : workers_) {
    if (worker.gone) continue;
    if (worker.applied == least) ++at_slowest_;
    if (least && worker.applied >= *least) continue;
    least = worker.applied;
    at_slowest_ = 1;
  }
  slowest_ = least.value_or(slowest_);
}

// The last groups are smaller: a group is complete as well when nobody is left who could push into it,
// because a worker is through, or waits for its own push to be applied.
bool Server::is_complete() const {
  const std::int64_t wanted = options_.rule.group - (mutant("small-group") ? 1 : 0);
  if (std::ssize(group_) >= wanted) return true;
  const auto of_members = std::ranges::count_if(
      group_, [this](const Message& push) { return !workers_[index_of(push.from)].gone; });
  const bool some_are_gone = members_ < options_.rule.workers;
  if (some_are_gone && members_ < wanted && of_members >= members_) return true;
  if (group_.empty() || options_.rule.fresh) return false;
  std::int64_t may_push = active_;
  if (options_.rule.gate == Gate::own) {
    may_push -= std::ranges::count_if(
        group_, [this](const Message& push) { return !workers_[index_of(push.from)].finished; });
  }
  return may_push == 0;
}

// Pushes of the next update, when they are all in, in worker order.
std::vector<Message> Server::take_group(Outbox& out) {
  if (follows()) return take_announced();
  if (!is_complete()) return {};
  std::vector<Message> group = std::exchange(group_, {});
  // Sums run in worker order, never in order of arrival.
  std::ranges::stable_sort(group, {}, [](const Message& m) { return std::tuple(m.from, m.number); });
  if (coordinated()) announce(group, out);
  return group;
}

void Server::announce(const std::vector<Message>& group, Outbox& out) {
  Message announcement{.kind = MessageKind::group, .from = options_.id, .version = version_, .epoch = epoch_};
  Attachment ids{.late = std::exchange(late_, {})};
  for (const Message& push : group) ids.group.push_back(id_of(push));
  announcement.attached = std::make_shared<const Attachment>(std::move(ids));
  out.announce(std::move(announcement));
}

std::vector<Message> Server::take_announced() {
  if (announced_.empty()) return {};
  std::vector<Message> group;
  for (const PushId& id : announced_.front()) {
    const auto push = std::ranges::find(group_, id, id_of);
    if (push == group_.end()) return {};
    group.push_back(*push);
  }
  std::erase_if(group_, [&](const Message& m) {
    return std::ranges::find(announced_.front(), id_of(m)) != announced_.front().end();
  });
  announced_.pop_front();
  return group;
}

void Server::on_group(const Message& group, double now, Outbox& out) {
  announced_.push_back(group.attached->group);
  for (const PushId& id : group.attached->late) {
    const auto push = std::ranges::find(group_, id, id_of);
    if (push == group_.end()) {
      late_.push_back(id);
    } else {
      drop(*push, out);
      group_.erase(push);
    }
  }
  if (update_if_complete(out)) answer_all(now, out);
}

bool Server::is_late(const Message& push) {
  if (follows()) return std::erase(late_, id_of(push)) > 0;
  return options_.rule.fresh && push.version != version_ && !mutant("late-push-counts");
}

void Server::drop(const Message& push, Outbox& out) {
  count_applied(id_of(push));
  if (!copies_.empty()) dropped_.push_back(id_of(push));
  out.dropped(push);
}

bool Server::update_if_complete(Outbox& out) {
  bool updated = false;
  while (update_once(out)) updated = true;  // several groups may have waited for one push
  return updated;
}

bool Server::update_once(Outbox& out) {
  const std::vector<Message> group = take_group(out);
  if (group.empty()) return false;
  std::vector<WeightedGradient> gradients;
  const double mean = mean_samples(group);
  for (const Message& push : group) {
    const std::int64_t staleness = std::max<std::int64_t>(0, version_ - push.version);
    double weight = options_.rule.push_weight(group.size()) * (static_cast<double>(push.samples) / mean);
    if (options_.staleness_aware && staleness > 1) weight /= static_cast<double>(staleness);
    gradients.push_back({compensated(push), weight, push.keys.get()});
    count_applied(id_of(push));
    out.applied(push, staleness);
  }
  const double rate = this->rate() * options_.rule.rate_factor(group.size());
  if (replicates_updates()) log_update(group, gradients, out);
  if (weights_) apply(gradients, rate, group.front().clock);
  applied_ += static_cast<std::int64_t>(group.size());
  version_ += mutant("version-jump") && version_ % 5 == 4 ? 2 : 1;
  updated_in_ = epoch_;
  out.updated(version_);
  return true;
}

// The part of the shard's values that clock `clock` changes.
std::vector<Range> Server::block_at(std::int64_t clock) const {
  const KeyRange block = feature_block(options_.parameters, options_.feature_blocks, clock);
  std::vector<Range> result;
  std::size_t offset = 0;
  for (const Range& range : options_.ranges) {
    const std::size_t end_of_range = range.begin + range.count;
    const std::size_t begin = std::clamp<std::size_t>(block.begin, range.begin, end_of_range);
    const std::size_t end = std::clamp<std::size_t>(block.end, begin, end_of_range);
    if (begin < end) result.push_back({begin - range.begin + offset, end - begin});
    offset += range.count;
  }
  return result;
}

// What a push's samples are measured against, so that a clock's update is the mean over its samples: a group
// is a clock where only fresh pushes count; elsewhere a clock is all workers' pushes.
double Server::mean_samples(const std::vector<Message>& group) const {
  if (!options_.rule.fresh) return static_cast<double>(options_.batch_size);
  std::int64_t samples = 0;
  for (const Message& push : group) samples += push.samples;
  return static_cast<double>(samples) / static_cast<double>(group.size());
}

void Server::apply(const std::vector<WeightedGradient>& gradients, double rate, std::int64_t clock) {
  make_own(weights_);
  if (!options_.sum_only) return optimizer_.apply(*weights_, gradients, rate, block_at(clock));
  sum_ = std::make_shared<Values>(weighted_sum(gradients, weights_->precision(), count_));
  optimizer_.apply(*weights_, std::vector<WeightedGradient>{{{sum_, 0, count_}, 1.0}}, rate);
}

// Zheng et al., ICML 2017, equations 10 and 14: a first-order step from where the gradient was computed to
// where the weights are now, with g * g for the diagonal of the Hessian.
Slice Server::compensated(const Message& push) {
  if (sent_.empty() || !weights_) return push.values;
  const Slice& sent = sent_[index_of(push.from)];
  if (!sent.values) return push.values;
  const double decay = options_.delay_compensation_decay;
  if (decay > 0 && mean_square_.size() == 0) mean_square_ = Values::zeros(weights_->precision(), count_);
  auto result = std::make_shared<Values>(weights_->precision(), count_);
  with_scalar(weights_->precision(), [&](auto zero) {
    using Scalar = decltype(zero);
    constexpr auto epsilon = Scalar(1e-7);
    const auto g = push.values.as<Scalar>();
    const auto then = sent.as<Scalar>();
    const auto now = std::as_const(*weights_).as<Scalar>();
    const auto square = mean_square_.as<Scalar>();
    const auto to = result->as<Scalar>();
    for (std::size_t i = 0; i < count_; ++i) {
      auto lambda = static_cast<Scalar>(options_.delay_compensation);
      if (decay > 0) {
        square[i] = static_cast<Scalar>(decay) * square[i] + static_cast<Scalar>(1 - decay) * g[i] * g[i];
        lambda /= std::sqrt(square[i] + epsilon);
      }
      to[i] = g[i] + lambda * g[i] * g[i] * (now[i] - then[i]);
    }
  });
  return {std::move(result), 0, count_};
}

// What a worker is sent: at first weights, then, where workers update, the last update's sum.
Slice Server::reply(const SharedKeys& keys) const {
  if (keys && weights_)
    return {std::make_shared<Values>(gather(*weights_, *keys)), 0, keys->size(), version_};
  if (options_.sum_only && sum_) return {sum_, 0, count_, version_};
  return snapshot();
}

double Server::rate() const {
  const double clocks = options_.rule.fresh
                            ? static_cast<double>(version_)
                            : static_cast<double>(applied_) / static_cast<double>(options_.rule.workers);
  return options_.learning_rate.at(clocks * options_.epochs_per_clock);
}

bool Server::is_over(const Pull& pull) const {
  return options_.rule.fresh ? version_ >= options_.steps : pull.clock >= options_.steps;
}

void Server::answer_all(double now, Outbox& out) {
  for (auto w = waiting_.begin(); w != waiting_.end();) answer(*w++, now, out);
}

void Server::answer(std::uint32_t w, double now, Outbox& out) {
  WorkerState& worker = workers_[w];
  if (!leads_ || !worker.waiting) return;
  if (worker.arrived < worker.waiting->pushed && !mutant("writes-unseen")) return;  // read-my-writes
  if (!is_safe(worker)) return;
  const Pull& pull = *worker.waiting;
  const bool over = is_over(pull);
  // The others' last updates wait for word from the first server.
  if (over && !options_.rule.fresh && coordinated() && worker.applied < pull.pushed) return;
  if (!over && !may_start(w, pull, now)) return;
  Message reply{.kind = over ? MessageKind::finished : MessageKind::weights,
                .from = options_.id,
                .to = pull.from,
                .shard = options_.shard,
                .clock = pull.clock,
                .version = version_,
                .number = pull.number,
                .pushed = options_.retries ? committed_of(worker) : 0,
                .values = {},
                .kept = worker.arrived,
                .epoch = epoch_};
  const bool needed = !over || (options_.rule.servers_apart && has_peers());
  if (needed) reply.values = this->reply(pull.keys);
  reply.keys = pull.keys;
  if (!sent_.empty()) sent_[w] = reply.values;
  worker.waiting.reset();
  waiting_.erase(w);
  out.send(std::move(reply));
}

std::vector<Server::Pull> Server::waiting() const {
  std::vector<Pull> pulls;
  for (const std::uint32_t w : waiting_) pulls.push_back(*workers_[w].waiting);
  return pulls;
}

bool Server::may_start(std::size_t w, const Pull& pull, double now) {
  if (version_ <= pull.version && !pull.redo && !mutant("old-version")) return false;
  switch (options_.rule.gate) {
    case Gate::none:
    case Gate::version: return true;
    case Gate::own: return workers_[w].applied >= pull.pushed;
    case Gate::staleness: return within_staleness(w, pull.clock, now);
  }
  return false;
}

bool Server::within_staleness(std::size_t w, std::int64_t clock, double now) {
  const std::int64_t gap = clock - slowest_;
  if (gap <= options_.rule.staleness_at(clock) + (mutant("one-clock-further") ? 1 : 0)) return true;
  if (!options_.rule.dynamic || gap > options_.rule.staleness_max) return false;
  WorkerState& worker = workers_[w];
  if (clock > worker.granted &&
      worker.applied >= std::ranges::max(workers_, {}, &WorkerState::applied).applied) {
    const auto slowest = std::ranges::find(workers_, slowest_, &WorkerState::applied);
    worker.granted = clock - 1 + extra_clocks(w, static_cast<std::size_t>(slowest - workers_.begin()), now);
  }
  return clock <= worker.granted;
}

// Zhao et al. 2019, algorithm 2: how many more clocks the fastest worker should run before it waits, so
// that one of its predicted ends falls nearest before a predicted push of the slowest.
std::int64_t Server::extra_clocks(std::size_t w, std::size_t slowest, double now) const {
  const WorkerState &fast = workers_[w], &slow = workers_[slowest];
  if (!(fast.interval > 0) || !(slow.interval > 0)) return 0;
  const std::int64_t most = options_.rule.staleness_max - options_.rule.staleness;
  std::int64_t best = 0;
  double least_wait = HUGE_VAL;
  for (std::int64_t r = 0; r <= most; ++r) {
    const double mine = now + static_cast<double>(r) * fast.interval;
    const double turns = std::max(1.0, std::ceil((mine - slow.last_push) / slow.interval));
    const double wait = slow.last_push + turns * slow.interval - mine;
    if (wait < least_wait) {
      least_wait = wait;
      best = r;
    }
  }
  return best;
}

}  // namespace psim
