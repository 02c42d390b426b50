#include "sim/protocol/client/kv_client.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "sim/protocol/probe.hpp"

namespace psim {

KvClient::KvClient(Options options, ClientOutbox& out)
    : options_(std::move(options)),
      out_(out),
      all_(options_.owners.size()),
      weights_(options_.owners.size()),
      cache_(options_.cache) {
  for (const NodeId owner : options_.owners) shards_.push_back({.owner = owner});
  std::iota(all_.begin(), all_.end(), 0U);
  if (options_.copies) copies_.emplace(*options_.copies, shards_.size());
  const auto pushes_to = [this](std::uint32_t of_run) {
    return shards_[of_run - options_.first_shard].pushes;
  };
  if (options_.retry) reliable_.emplace(*options_.retry, out_, pushes_to);
}

void KvClient::on(Message message) {
  if (Answer* answer = message.as<Answer>()) on_answer(message, std::move(*answer));
  else if (const Ack* ack = message.as<Ack>()) on_ack(message, *ack);
  else if (const NewView* news = message.as<NewView>()) on_view(news->view);
  else if (const Restore* request = message.as<Restore>()) lend(message, *request);
}

// ---- Pulls

Timestamp KvClient::pull(const ShardIds& shards, std::int64_t clock, Wanted wanted) {
  const Timestamp task = tasks_.begin();
  const bool newer_only = wanted != Wanted::any;
  for (const std::uint32_t s : shards) {
    const bool begins = wanted == Wanted::next;  // a step begins with the present weights
    // A finished shard's weights do not change any more; but another batch of a sparse model needs other
    // weights.
    if (shards_[s].finished && (!keys() || begins)) continue;
    if (begins && is_ahead_of_first(s)) continue;
    std::int64_t newer_than = shards_[s].version + (begins ? options_.rule->patience() : 0);
    if (reliable_ && options_.rule->first_shard_decides && !begins)
      newer_than = std::min(newer_than, begun_on_);
    request(s, clock, newer_only ? newer_than : -1, task, !begins);
  }
  return task;
}

// If only a newer version is allowed, an earlier pull for a newer version is enough; its answer may have come
// while the worker waited for acknowledgements. For a sparse model that pull asked for no weights, or the
// client has the weights of the last step's keys. Then any version is enough from the shards that have
// announced a newer version.
void KvClient::pull_for_step(std::int64_t clock) {
  ShardIds wanted = all_;
  if (options_.rule->gate != Gate::version) {  // a pull that still watches for a newer version is replaced
    const auto is_asked = [this](std::uint32_t s) { return std::exchange(shards_[s].pulled_ahead, false); };
    const auto is_here = [&](std::uint32_t s) { return cache_.does(s, clock) && !outstanding(s); };
    std::erase_if(wanted, [&](std::uint32_t s) { return is_asked(s) || is_here(s); });
    return void(pull(wanted, clock, Wanted::any));
  }
  if (keys()) {
    ShardIds announced;
    const auto is_announced = [this](std::uint32_t s) { return unused(s); };
    std::ranges::copy_if(wanted, std::back_inserter(announced), is_announced);
    pull(announced, clock, Wanted::any);
    std::erase_if(wanted, is_announced);
  } else {
    const auto is_asked = [this](std::uint32_t s) { return outstanding(s) && !shards_[s].of_last_step; };
    std::erase_if(wanted, [&](std::uint32_t s) { return is_asked(s) || unused(s); });
  }
  pull(wanted, clock, Wanted::newer);
}

void KvClient::pull_ahead(const ShardIds& shards, std::int64_t clock) {
  if (options_.rule->gate == Gate::version) {
    pull(shards, clock, Wanted::newer);
    return;
  }
  for (const std::uint32_t s : shards) shards_[s].pulled_ahead = true;
  pull(shards, clock, Wanted::any);
}

// If stale pushes count, and the first shard decides, only its age of a push matters.
void KvClient::watch_for_newer(std::int64_t clock) {
  const ConsistencyRule& rule = *options_.rule;
  pull(rule.first_shard_decides && !rule.drops_stale ? ShardIds{0} : all_, clock, Wanted::next);
}

// The next batch of a sparse model needs other weights, which are not known yet: a pull that only watches for
// a newer version asks for no weights.
void KvClient::request(std::uint32_t s, std::int64_t clock, std::int64_t above, Timestamp task,
                       bool has_pushed) {
  OfShard& shard = shards_[s];
  if (shard.outstanding) tasks_.answered(shard.pull_task);  // a newer pull replaces it
  shard.outstanding = true;
  shard.of_last_step = false;
  shard.clock = clock;
  shard.above = above;
  shard.pull_task = task;
  tasks_.expect(task);
  static const SharedKeys no_keys = std::make_shared<const std::vector<std::uint32_t>>();
  SharedKeys keys = has_pushed || !this->keys() ? weights_.keys_of(s) : no_keys;
  Pull pull{.clock = clock,
            .above = above,
            .number = ++shard.pulls,
            .skipped_clocks = ahead_,
            .answered = shard.has,
            .computes = !has_pushed,
            .keys = std::move(keys),
            .bytes_per_key = options_.bytes_per_key};
  pull.pushes_sent = shard.is_new ? std::nullopt : std::optional(shard.pushes);
  if (reliable_ && copies_) pull.copy = copies_->version(s);
  if (options_.caches_keys) pull.list = shard.keys.list(pull.keys);
  send(message_for(s, std::move(pull)));
}

// Where the first shard decides for all and was set back, another shard may already have the version of the
// first shard's next decision. That shard does not wait for this step's pushes, and a later version of it
// does not make the step useless.
bool KvClient::is_ahead_of_first(std::uint32_t s) const {
  return reliable_ && options_.rule->first_shard_decides && shards_[s].version > shards_.front().version;
}

KvClient::Versions KvClient::versions() const {
  Versions versions;
  for (const OfShard& shard : shards_) versions.push_back(shard.version);
  return versions;
}

Message KvClient::message_for(std::uint32_t s, Body&& body) const {
  return {.from = options_.node,
          .to = shards_[s].owner,
          .shard = options_.first_shard + s,
          .epoch = shards_[s].epoch,
          .body = std::move(body)};
}

void KvClient::pull_unfinished(std::int64_t clock) {
  ShardIds wanted = all_;
  std::erase_if(wanted, [this](std::uint32_t s) { return finished(s) || outstanding(s); });
  pull(wanted, clock, Wanted::newer);
}

// ---- Answers

void KvClient::on_answer(const Message& message, Answer answer) {
  const std::uint32_t s = index_of(message);
  OfShard& shard = shards_[s];
  // It may answer a pull that a later pull replaced, or a pull that was sent twice.
  if (PSIM_PROBE(!is_expected(message), "an answer comes late") || message.epoch != shard.epoch) return;
  // An answer with unknown keys counts as lost.
  if (reliable_ && answer.weights.values.count > 0 && !shard.keys.reads(answer.weights.list)) return;
  const bool set_back = answer.version < shard.version || answer.version <= shard.above;
  if (reliable_) {
    reliable_->queue().answered(message.shard);
    PSIM_PROBE(set_back, "a worker gets an older version than it had");
    commit(message, answer.safe_pushes);
    ahead_ = std::max(ahead_, answer.skip_clocks);
    if (std::exchange(shard.is_new, false)) shard.pushes = answer.pushes_here;
    shard.has_push = answer.has_push;
  }
  shard.outstanding = false;
  const bool is_known = std::exchange(shard.of_last_step, false) && answer.version == shard.version;
  shard.unused = !is_known;
  shard.version = answer.version;
  shard.left_at = answer.sent_at;
  shard.finished = answer.finished;
  const Slice& values = answer.weights.values;
  if (values.count > 0) {
    shard.has = answer.number;
    cache_.received(s, answer.slowest);
  }
  shard.keys.answered();
  Slice& here = weights_.of(s);
  if (copies_) copies_->take(s, std::move(answer), shard.epoch, key_space().shards[s].count, here);
  else here = std::move(answer.weights.values);
  out_.received(s, here);
  tasks_.answered(shard.pull_task);
  if (reliable_) settle(set_back);
}

void KvClient::on_ack(const Message& message, const Ack& ack) {
  if (message.epoch != shards_[index_of(message)].epoch) return;
  if (reliable_) {
    reliable_->queue().accepted(message.shard, ack.number);
    commit(message, ack.safe_pushes);
  }
  tasks_.pushes_answered(index_of(message), ack.number, ack.number + 1);
}

void KvClient::lend(const Message& message, const Restore& request) {
  const std::uint32_t s = index_of(message);
  out_.lend({.from = options_.node,
             .to = message.from,
             .shard = message.shard,
             .epoch = message.epoch,
             .body = copies_->lend(s, request, key_space().shards[s].count)});
}

// ---- Pushes

Timestamp KvClient::push(const ShardIds& shards, std::int64_t clock, const Work& work,
                         const std::function<GradientPart(std::uint32_t)>& part_of,
                         const Versions* computed_on) {
  const Timestamp task = tasks_.begin();
  for (const std::uint32_t s : shards) {
    OfShard& shard = shards_[s];
    if (shard.finished) continue;
    GradientPart part = part_of(s);
    if (cache_.is_on() && !weights_.empty())
      weights_.of(s) = cache_.with_own_push(weights_.of(s), part.values, clock, work.samples);
    if (options_.acknowledges) tasks_.expect_push(task, s, shard.pushes);
    send(message_for(s, Push{.worker = options_.node,
                             .number = shard.pushes++,
                             .clock = clock,
                             .version = computed_on ? (*computed_on)[s] : shard.version,
                             .first_version = computed_on ? computed_on->front() : shards_.front().version,
                             .samples = work.samples,
                             .batches = work.batches,
                             .seconds = work.seconds,
                             .gradient = std::move(part.payload)}));
  }
  return task;
}

void KvClient::begin_with(std::vector<Slice> weights) {
  for (const std::uint32_t s : all_) {
    shards_[s].version = 0;
    weights_.of(s) = std::move(weights[s]);
    out_.received(s, weights_.of(s));
  }
}

void KvClient::forget() {
  weights_.clear();
  for (OfShard& shard : shards_) shard.version = -1;
}

// ---- Steps

void KvClient::use_all() {
  begun_on_ = shards_.front().version;
  for (OfShard& shard : shards_) {
    shard.unused = false;
    shard.of_last_step = options_.rule->gate == Gate::version && shard.outstanding && shard.above < 0;
  }
}

// Where all servers apply the same pushes, a finished shard means that all are: each has, or will have, the
// pushes of the last update. Where each server forms its own groups, another shard may still need pushes.
bool KvClient::is_over() const {
  return options_.rule->shards_advance_independently ? all_finished()
                                                     : std::ranges::any_of(shards_, &OfShard::finished);
}

bool KvClient::all_finished() const {
  return std::ranges::all_of(all_, [this](std::uint32_t s) { return finished(s); });
}

std::int64_t KvClient::least_version_here() const {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const OfShard& shard : shards_) {
    if (!shard.outstanding) least = std::min(least, shard.version);
  }
  return least;
}

std::vector<Slice> KvClient::take_weights() {
  const bool all_stay = copies_ || cache_.is_on();
  return weights_.take([&](std::uint32_t s) { return all_stay || shards_[s].finished; });
}

// ---- Lost messages, and servers that change

void KvClient::send(Message&& request) {
  reliable_ ? reliable_->send(std::move(request)) : out_.send(std::move(request));
}

void KvClient::repeat(double now) {
  const std::optional<double> next = next_repetition();
  if (!next || *next > now) return;
  settle(true);
  reliable_->repeat(now);
}

void KvClient::commit(const Message& message, std::int64_t safe_pushes) {
  const std::uint32_t s = index_of(message);
  std::int64_t& safe = shards_[s].safe;
  if (PSIM_PROBE(safe_pushes <= safe, "a confirmation says nothing new")) return;
  safe = safe_pushes;
  reliable_->queue().committed(message.shard, safe);
  tasks_.pushes_answered(s, 0, safe);  // their acknowledgements may be lost
  out_.is_safe(message, safe);
}

// Shards may be set back, each to another version, and updates may be made without a worker that counted as
// lost. Workers could then wait for each other in a circle: each has the answer of a shard that needs its
// push, and waits for a newer version of another shard, which needs the next worker's push. So a worker that
// has waited for a long time, or computes an old version again, waits for a newer version only of some
// shards: those with a lower version than all shards that need its push. Along a chain of waiting workers the
// versions fall, so the chain cannot become a circle. From the other shards any version is enough; the
// worker's next push replaces the push that waits there.
void KvClient::settle(bool has_waited) {
  if (options_.rule->gate != Gate::version) return;
  const auto is_here = [](const OfShard& shard) {
    return shard.unused && !shard.outstanding && !shard.finished;
  };
  std::int64_t least = std::numeric_limits<std::int64_t>::max();  // of the shards that need its push
  for (const OfShard& shard : shards_) {
    if (is_here(shard) && !shard.has_push) least = std::min(least, shard.version);
  }
  for (const std::uint32_t s : all_) {
    const OfShard& shard = shards_[s];
    if (PSIM_PROBE(has_waited && shard.outstanding && shard.above >= least, "a circle of workers ends"))
      request(s, shard.clock, -1, shard.pull_task);
    if (is_here(shard) && shard.has_push && shard.version < least)
      request(s, shard.clock, shard.version, shard.pull_task);
  }
}

// Returns the parts with present weights where it is unknown which weights belong to which part.
ShardIds KvClient::cut(const View& view) {
  ShardIds of_other_keys;
  if (view.cuts.empty() || all_.size() == view.owners.size()) return of_other_keys;
  const std::size_t planned = view.owners.size() - view.cuts.size();
  for (std::size_t i = all_.size() - planned; i < view.cuts.size(); ++i) {
    if (cut(view.cuts[i])) continue;
    for (const std::uint32_t s : {view.cuts[i].shard, all_.back()}) of_other_keys.push_back(s);
  }
  weights_.use_layout(view.layout->keys);
  return of_other_keys;
}

bool KvClient::cut(const Cut& cut) {
  const auto upper = static_cast<std::uint32_t>(all_.size());
  all_.push_back(upper);
  shards_[cut.shard].keys = {};  // the owner has no key lists of the parts
  shards_.push_back(OfShard(shards_[cut.shard]));
  if (shards_[upper].outstanding) tasks_.expect(shards_[upper].pull_task);
  tasks_.cut(cut.shard, upper);
  reliable_->queue().cut(options_.first_shard + cut.shard, options_.first_shard + upper, cut.at);
  out_.was_cut(cut, key_space());
  cache_.cut(cut.shard);
  if (copies_) copies_->cut(cut.shard);
  return weights_.cut(cut);
}

// A new owner has no requests. It gets all open requests, and the pushes that perhaps only the previous owner
// had. It may have less than the previous owner: a shard that had all its updates may need pushes again, and
// other workers may wait for this worker's pushes. A worker that has its answer, and waits for another
// shard's, also asks the new owner again. The new owner may have less than that answer, and need the worker's
// push again. Under ssp other workers may wait until the new owner knows this worker's clock. Where the first
// shard decides for all, they may wait for a lost decision.
void KvClient::on_view(const std::shared_ptr<const View>& view) {
  if (PSIM_PROBE(view_ && view->number <= view_->number, "a view comes twice, or after a newer one")) return;
  view_ = view;
  const auto first = view->workers.begin() + options_.first_index;
  members_.assign(first, first + options_.rule->workers);
  const ShardIds of_other_keys = cut(*view);
  for (const std::uint32_t s : ShardIds(all_)) {
    const Owner& owner = view->owners[options_.first_shard + s];
    if (owner.epoch != shards_[s].epoch) on_owner(s, owner);
  }
  for (const std::uint32_t s : of_other_keys) {
    if (!outstanding(s)) request(s, shards_[s].clock, -1, tasks_.begin());
  }
}

void KvClient::on_owner(std::uint32_t s, const Owner& owner) {
  OfShard& shard = shards_[s];
  shard.owner = owner.primary;
  shard.epoch = owner.epoch;
  shard.keys.forget();
  cache_.forget(s);
  out_.has_new_owner(s);
  reliable_->send_to(options_.first_shard + s, owner);
  if (options_.only_reads) return;
  const bool has_answer = shard.unused && !shard.outstanding;
  const bool matters = options_.rule->gate == Gate::staleness || options_.rule->waits_for_all() ||
                       (options_.rule->first_shard_decides && s == 0);
  if (finished(s)) request(s, shard.clock, shard.version, tasks_.begin());
  else if (matters && has_answer) request(s, shard.clock, -1, tasks_.begin());
}

Timestamp KvClient::ask_where_to_resume() {
  for (OfShard& shard : shards_) shard.is_new = true;
  return pull(all_, 0, Wanted::any);
}

std::int64_t KvClient::resume() {
  const auto least = std::ranges::min_element(shards_, {}, &OfShard::pushes)->pushes;
  skipped_ = ahead_;
  cache_.forget_all();
  if (options_.rule->drops_stale) return least_version();
  for (OfShard& shard : shards_) shard.pushes = least;
  return least + ahead_;
}

void CopyCache::cut(std::uint32_t shard) {
  if (!is_on()) return;
  options_.bounds.push_back(StalenessBound(options_.bounds[shard]));
  clocks_.push_back(std::optional<std::int64_t>(clocks_[shard]));
}

bool CopyCache::does(std::uint32_t shard, std::int64_t clock) const {
  if (!is_on() || clock >= options_.steps) return false;
  const std::optional<std::int64_t>& has = clocks_[shard];
  return has && *has >= clock - options_.bounds[shard].at(clock);
}

Slice CopyCache::with_own_push(const Slice& weights, const Slice& gradient, std::int64_t clock,
                               std::int64_t samples) const {
  if (!gradient.values || !weights.values) return weights;
  const double share =
      options_.share * static_cast<double>(samples) / static_cast<double>(options_.batch_size);
  const double rate = options_.learning_rate.at(options_.epochs.after(static_cast<double>(clock))) * share;
  Values own = Values::copy_of(*weights.values, weights.begin, weights.count);
  with_scalar(own.precision(), [&](auto zero) {
    using Scalar = decltype(zero);
    const auto to = own.as<Scalar>();
    const auto from = gradient.as<Scalar>();
    for (std::size_t i = 0; i < to.size(); ++i) to[i] -= static_cast<Scalar>(rate) * from[i];
  });
  return {std::make_shared<Values>(std::move(own)), 0, weights.count, weights.version};
}

void OptimizerCopies::take(std::uint32_t shard, Answer&& answer, std::uint32_t epoch, std::size_t count,
                           Slice& weights) {
  WorkerCopy& copy = copies_[shard];
  const Slice values = std::move(answer.weights.values);
  if (answer.is_copy) {
    copy.parameters = answer.copy ? std::make_shared<Parameters>(*answer.copy) : nullptr;
    weights = {answer.copy ? copy.parameters->weights() : nullptr, 0, count, answer.version};
  } else if (values.count == 0) {
    return;
  } else if (answer.version > 0 && values.values) {
    update(copy, values, answer.version, weights);
  } else {
    if (answer.version == 0) copy.parameters.reset();
    weights = values;
  }
  copy.version = answer.version;
  copy.epoch = epoch;
}

// Servers only sum, and under bsp a worker sees every sum.
void OptimizerCopies::update(WorkerCopy& copy, const Slice& sum, std::int64_t version, Slice& weights) {
  if (!copy.parameters)
    copy.parameters = std::make_shared<Parameters>(
        options_.optimizer, options_.storage, Values::copy_of(*weights.values, weights.begin, sum.count));
  weights.values.reset();  // otherwise the update would have to copy
  const double epochs = options_.epochs.after(static_cast<double>(version - 1));
  copy.parameters->update(std::array{WeightedGradient{sum, 1.0}}, options_.learning_rate.at(epochs));
  weights = {copy.parameters->weights(), 0, sum.count, version};
}

State OptimizerCopies::lend(std::uint32_t shard, const Restore& request, std::size_t count) const {
  const WorkerCopy& copy = copies_[shard];
  State answer{.version = copy.version, .log_epoch = copy.epoch};
  if (copy.version <= request.entries) return answer;
  answer.entries = copy.version;
  answer.bytes = count * bytes_per_value(options_.storage.precision);
  if (copy.version > 0) answer.bytes += state_bytes(options_.optimizer, options_.storage, count);
  if (copy.parameters) answer.replica = std::make_shared<const Parameters>(*copy.parameters);
  return answer;
}

std::vector<Slice> PulledWeights::take(const std::function<bool(std::uint32_t)>& stays) {
  std::vector<Slice> taken = std::exchange(slices_, {});
  taken.resize(shards_);
  for (std::uint32_t s = 0; s < shards_; ++s) {
    if (stays(s)) of(s) = taken[s];
  }
  return taken;
}

bool PulledWeights::cut(const Cut& cut) {
  ++shards_;
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
  if (slices_.empty()) return true;
  Slice& lower = slices_[cut.shard];
  const bool is_known =
      !keys_below || lower.count == 0 || lower.count == *keys_below + batch_->local.back()->size();
  if (!is_known) lower = {};
  const std::size_t below = std::min(keys_below.value_or(cut.at), lower.count);
  Slice upper = part_of(lower, {below, lower.count - below});
  lower = part_of(lower, {0, below});
  slices_.push_back(std::move(upper));
  return is_known;
}

void ReliableRequests::send(Message request) {
  request.because = out_.cause();  // also for the time without an answer
  queue_.sent(request, out_.now());
  out_.send(with_oldest(std::move(request)));
}

void ReliableRequests::repeat(double now) {
  const auto how = [this](const Message& request) {
    const Due due = out_.due(request);
    PSIM_PROBE(due != Due::repeated, "a request is not repeated, because it is under way");
    return due;
  };
  for (Message& due : queue_.due(now, how)) {
    PSIM_PROBE(due.is<Push>(), "a push is repeated");
    const Cause asked{due.because.event, Spent::timeout};
    out_.send_again(again(std::move(due)), asked);
  }
  if (PSIM_PROBE(queue_.gave_up(), "a client gives up")) out_.give_up();
}

void ReliableRequests::send_to(std::uint32_t shard, const Owner& owner) {
  for (Message& request : queue_.again(shard, owner.primary, owner.epoch, out_.now())) {
    PSIM_PROBE(request.is<Push>(), "an open push goes to a new owner");
    out_.send(again(std::move(request)));
  }
}

Message ReliableRequests::with_oldest(Message request) const {
  const std::optional<std::int64_t> kept = queue_.oldest(request.shard);
  if (Pull* pull = request.as<Pull>())
    pull->oldest_resendable = kept.value_or(pull->pushes_sent.value_or(-1));
  if (Push* push = request.as<Push>()) push->oldest_resendable = kept.value_or(push->number);
  return request;
}

// A worker that repeats a pull is not computing; its pushes since the first request may be on their way. It
// is unknown which key lists of earlier pushes the receiver has.
Message ReliableRequests::again(Message request) const {
  request.because = out_.cause();
  if (Push* push = request.as<Push>()) push->gradient.list_keys();
  if (Pull* pull = request.as<Pull>()) {
    pull->computes = false;
    pull->list_keys();
    if (pull->pushes_sent) pull->pushes_sent = pushes_to_(request.shard);
  }
  return with_oldest(std::move(request));
}

}  // namespace psim
