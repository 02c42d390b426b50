#include "sim/protocol/server/shard_state.hpp"

#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "sim/protocol/probe.hpp"

namespace psim {
namespace {

// The number of each push's worker.
std::vector<std::uint32_t> workers_of(const std::vector<Push>& pushes, NodeId first_worker) {
  std::vector<std::uint32_t> workers;
  for (const Push& push : pushes) workers.push_back(push.worker - first_worker);
  return workers;
}

}  // namespace

ShardState::ShardState(Options given, std::optional<Values> initial, std::size_t count)
    : options(std::move(given)),
      weights(options.weights, static_cast<std::size_t>(options.rule->workers), std::move(initial), count),
      aggregation(options.rule->aggregation, static_cast<std::size_t>(options.rule->workers), count),
      workers(static_cast<std::size_t>(options.rule->workers)),
      updates({.rule = options.rule, .decided = decided(), .first_worker = options.first_worker}),
      memory(policy().shape().memory + policy().shape().estimates),
      range_clock(count, workers.size()) {}

// State that belongs to no range goes to both parts unchanged.
ShardState ShardState::piece(Options given) const {
  const Range range = options.part.place_of(given.part);
  ShardState result = *this;
  result.options = std::move(given);
  const Options& own = result.options;
  result.weights = weights.part(own.weights, range);
  result.aggregation = aggregation.part(range);
  const UpdateRule::Options rule{
      .rule = own.rule, .decided = result.decided(), .first_worker = own.first_worker};
  result.updates = updates.part(rule, [&](Push push) {
    push.gradient = split(split(push.gradient, range.begin).second, range.count).first;
    return push;
  });
  result.range_clock = range_clock.part(range);
  return result;
}

ShardState::Update ShardState::prepare(WeighedPushes pushes) {
  expects(pushes.weights.empty() || pushes.weights.size() == pushes.pushes.size(), "a push has its weight");
  Update update{.pushes = std::move(pushes.pushes), .weights = std::move(pushes.weights)};
  const double mean = mean_samples(update.pushes);
  const double share = options.rule->push_weight(update.pushes.size());
  double shares = 0, sum = 0;
  std::vector<PushId> ids;
  for (std::size_t i = 0; i < update.pushes.size(); ++i) {
    const Push& push = update.pushes[i];
    const std::int64_t staleness = staleness_of(push);
    const double own = update.weights.empty() ? 1 : update.weights[i];
    // Where the first shard's age of a push counts, `own` contains its effect.
    const bool is_in_own = options.rule->one_age && decided() == UpdateRule::Decided::elsewhere;
    const double divisor = is_in_own ? 1 : options.rule->stale.divisor(staleness);
    const double full = share * (static_cast<double>(push.samples) / mean);
    const double weight = full / (divisor / own);
    shares += full;
    sum += weight;
    update.staleness.push_back(staleness);
    update.gradients.push_back(
        {weights.gradient_of(push, index_of(push.worker)), weight, push.gradient.keys.get()});
    ids.push_back(push.id());
    count_applied(push.id());
  }
  if (scales_rate() && sum > 0 && sum != shares) {
    update.rate_factor = sum / shares;
    for (WeightedGradient& gradient : update.gradients) gradient.weight /= update.rate_factor;
  }
  if (options.rule->aggregation.row->combine)
    aggregation.combine(update.gradients, workers_of(update.pushes, options.first_worker),
                        weights.precision(), [this](std::size_t w) { return !workers[w].gone; });
  updates.was_made_of(std::move(ids), update.weights);
  update.rate = rate() * options.rule->rate_factor(update.pushes.size()) * update.rate_factor;
  return update;
}

// For plain sgd both are equal. A mean of kept gradients has gradients of other updates too, and workers that
// run the optimizer know no factor.
bool ShardState::scales_rate() const {
  return !options.weights.optimizer.is_plain() && options.rule->stale.scales == StaleScales::rate &&
         !options.rule->aggregation.row->keeps && !weights.only_sums();
}

std::int64_t ShardState::staleness_of(const Push& push) const {
  return std::max<std::int64_t>(0, version - push.version);
}

LogEntry::Sum ShardState::sum_of(Update& update) const {
  const bool keeps = options.rule->aggregation.row->keeps;
  LogEntry::Sum sum = weights.sum_of(update.pushes, update.gradients, keeps);
  sum.version = version + 1;
  sum.rate_factor = update.rate_factor;
  if (!keeps) return sum;
  sum.kept = aggregation.kept_of(workers_of(update.pushes, options.first_worker));
  sum.kept_bytes = sum.kept.size() * weights.count() * bytes_per_value(weights.precision());
  return sum;
}

void ShardState::apply(const Update& update, std::uint32_t epoch) {
  weights.apply(update.gradients, update.rate, update.pushes.front().clock);
  applied += static_cast<std::int64_t>(update.pushes.size());
  ++version;
  updated_in = epoch;
}

void ShardState::change(TaskKind function, double amount, std::uint32_t epoch) {
  weights.change(function, amount);
  ++version;
  ++changes;
  updated_in = epoch;
}

void ShardState::apply(const LogEntry& entry, std::uint32_t epoch) {
  for (const LogEntry::Shown& shown : entry.shown)
    weights.was_sent(index_of(shown.worker),
                     shown.filtered.values.values ? shown.filtered.values : snapshot());
  PSIM_PROBE(!entry.skipped.empty(), "a replica skips lost pushes as its owner did");
  for (const PushId& id : entry.skipped) workers.skip_to(index_of(id.worker), id.number);
  for (const PushId& id : entry.skipped_clocks) {
    WorkerClocks::Worker& worker = workers[index_of(id.worker)];
    worker.skipped_clocks = std::max(worker.skipped_clocks, id.number);
    worker.rejoining = false;
  }
  mark_applied(entry.dropped);
  if (!entry.members.empty()) workers.set_members(entry.members);
  if (entry.push) {
    count_arrived(*entry.push);
    updates.add(*entry.push, 0);
    if (entry.drops_push) mark_applied({entry.push->id()});
  }
  if (entry.updates) apply(prepare({updates.take_all(entry.left), entry.weights}), epoch);
  if (entry.sum) {
    apply_sum(entry);
    updated_in = epoch;
  }
  std::ranges::copy(entry.memory, memory.begin());
  workers.find_slowest();
}

void ShardState::apply_sum(const LogEntry& entry) {
  expects(entry.sum->version == version + 1, "a replica applies the updates in order");
  mark_applied(entry.pushes);
  const double rate = this->rate() * options.rule->rate_factor(entry.pushes.size()) * entry.sum->rate_factor;
  weights.apply(*entry.sum, rate);
  aggregation.keep(entry.sum->kept);
  applied += static_cast<std::int64_t>(entry.pushes.size());
  ++version;
  updates.was_made_of(entry.pushes, entry.weights);
}

// Applied or dropped. An earlier push of the worker may still wait for its update, and be dropped after a
// later push. So the count is the number of arrived pushes that do not wait.
void ShardState::mark_applied(const std::vector<PushId>& ids) {
  for (const PushId& id : ids) {
    WorkerClocks::Worker& worker = workers[index_of(id.worker)];
    workers.raise_applied(index_of(id.worker), id.number);
    updates.remove(id);
    const std::int64_t waiting = updates.count_of(id.worker);
    if (options.exactly_once) worker.applied = worker.arrived - waiting;
  }
}

bool ShardState::count_arrived(const Push& push) {
  const std::uint32_t w = index_of(push.worker);
  range_splits += range_clock.set(weights.range_at(push.clock), w, push.number + 1);
  const bool is_next = push.number >= workers[w].arrived;
  if (is_next) workers[w].arrived = push.number + 1;
  return is_next;
}

// A push that is applied twice counts once.
void ShardState::count_applied(const PushId& push) {
  const std::uint32_t w = index_of(push.worker);
  if (!options.exactly_once && push.number < workers[w].applied) return;
  workers.count_applied(w);
}

std::int64_t ShardState::before_pending(std::uint32_t worker, std::int64_t pushes) const {
  return updates.least_of(node_of(worker), pushes);
}

void ShardState::forget_pending() {
  for (const Push& push : updates.pending()) workers.forget_from(index_of(push.worker), push.number);
  PSIM_PROBE(!updates.pending().empty(), "a copy forgets the pushes that wait");
  workers.forget_arrived();
  workers.find_slowest();
  updates.clear();
}

// The number of samples to which a push's own samples are compared, so that a clock's update is the mean over
// its samples. If only fresh pushes count, a group is a clock; otherwise a clock is the pushes of all
// workers.
double ShardState::mean_samples(const std::vector<Push>& group) const {
  if (!options.rule->drops_stale) return static_cast<double>(options.batch_size);
  return static_cast<double>(samples_of(group)) / static_cast<double>(group.size());
}

double ShardState::rate() const {
  const double clocks = options.rule->drops_stale ? static_cast<double>(version)
                                                  : static_cast<double>(applied) /
                                                        static_cast<double>(options.rule->pushes_per_clock());
  return options.learning_rate.at(options.epochs.after(clocks));
}

std::uint64_t ShardState::bytes() const {
  constexpr std::uint64_t per_count = 8;
  return weights.bytes(version) + aggregation.bytes(bytes_per_value(weights.precision())) + updates.bytes() +
         range_clock.ranges() * workers.size() * per_count + own_memory().size_bytes();
}

std::uint64_t ShardState::hash(std::uint64_t hash) const {
  const std::uint64_t of_values = aggregation.hash(weights.hash(hash));
  const std::span<const double> numbers = own_memory();
  return numbers.empty() ? of_values : XXH3_64bits_withSeed(numbers.data(), numbers.size_bytes(), of_values);
}

std::int64_t RangeClock::least(Range range, std::size_t worker) const {
  const std::size_t end = range.begin + range.count;
  auto part = std::prev(std::ranges::upper_bound(parts_, range.begin, {}, &ClockedRange::begin));
  std::int64_t result = part->clocks[worker];
  while (++part != parts_.end() && part->begin < end) result = std::min(result, part->clocks[worker]);
  return result;
}

RangeClock RangeClock::part(Range range) const {
  RangeClock result(range.count, parts_.front().clocks.size());
  result.parts_.clear();
  auto first = std::prev(std::ranges::upper_bound(parts_, range.begin, {}, &ClockedRange::begin));
  for (auto one = first; one != parts_.end() && one->begin < range.begin + range.count; ++one)
    result.parts_.push_back({std::max(one->begin, range.begin) - range.begin, one->clocks});
  return result;
}

// The number of the range that begins with `key`; splits a range if necessary.
std::size_t RangeClock::cut(std::size_t key) {
  const auto next = std::ranges::lower_bound(parts_, key, {}, &ClockedRange::begin);
  const auto number = static_cast<std::size_t>(next - parts_.begin());
  const bool is_there = next == parts_.end() ? key == keys_ : next->begin == key;
  if (!is_there) parts_.insert(next, ClockedRange{key, parts_[number - 1].clocks});
  return number;
}

// Keys with equal clocks have received the same pushes, so one clock is enough for them. Without merging, a
// range that was set once would stay separate for ever, even if later sets cover its neighbours as well.
std::size_t RangeClock::set(Range range, std::size_t worker, std::int64_t clock) {
  if (!is_new(range, worker, clock)) return 0;
  const std::size_t before = parts_.size();
  const std::size_t first = cut(range.begin), last = cut(range.begin + range.count);
  const std::size_t split_off = parts_.size() - before;
  for (std::size_t i = first; i < last; ++i)
    parts_[i].clocks[worker] = std::max(parts_[i].clocks[worker], clock);
  for (std::size_t i = std::min(last + 1, parts_.size()); i-- > std::max<std::size_t>(first, 1);) {
    if (parts_[i].clocks == parts_[i - 1].clocks)
      parts_.erase(parts_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return split_off;
}

}  // namespace psim
