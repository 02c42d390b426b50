// Goal: a shard's state is a value that continues alike wherever it is: at its owner, which makes updates of
// pushes, and at a copy, which follows a log. Method: pushes by hand, weights by hand.
#include "sim/protocol/server/shard_state.hpp"

#include <cmath>

#include "tests/sim/protocol/server_driver.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using psim::test::first_worker;
using psim::test::Numbers;
using psim::test::numbers_of;
using psim::test::values_of;

namespace {

const ConsistencySpec bsp{.model = "bsp"};
const ConsistencySpec asp{.model = "asp"};

ShardState shard(const ConsistencySpec& spec, const Numbers& weights = {10, 20}, bool staleness_aware = false,
                 std::uint32_t shards = 1) {
  ConsistencyRule rule = make_rule(spec, 2);
  if (staleness_aware) rule.stale.function = "inverse";
  ShardState::Options options{.shards = shards,
                              .first_worker = first_worker,
                              .rule = test::shared_rule(rule),
                              .steps = 10,
                              .learning_rate = {.base = 1},
                              .epochs = {.per_clock = 1}};
  options.weights.ranges = {{0, weights.size()}};
  options.weights.parameters = static_cast<std::int64_t>(weights.size());
  return {std::move(options), std::move(*values_of(weights)), weights.size()};
}

Push push(std::uint32_t w, const Numbers& gradient, std::int64_t number = 0, std::int64_t version = 0) {
  return {.worker = first_worker + w,
          .number = number,
          .version = version,
          .gradient = {.values = {values_of(gradient), 0, gradient.size()}}};
}

Numbers weights_of(const ShardState& state) { return numbers_of(state.snapshot()); }

}  // namespace

TEST_CASE("an update subtracts the learning rate times the mean of its gradients", "[state]") {
  ShardState state = shard(bsp);
  ShardState::Update update = state.prepare({{push(0, {1, 2}), push(1, {3, 6})}});
  CHECK(state.version == 0);
  state.apply(update, 5);
  CHECK(weights_of(state) == Numbers{8, 16});
  CHECK(state.version == 1);
  CHECK(state.updated_in == 5);
  CHECK(state.applied == 2);
  CHECK(state.workers[0].applied == 1);
}

// Zhang et al., IJCAI 2016, equation 6.
TEST_CASE("a stale gradient is divided by its staleness", "[state]") {
  ShardState state = shard(asp, {10, 20}, true);
  state.version = 4;
  ShardState::Update update = state.prepare({{push(0, {4, 8}, 0, 0)}});
  CHECK(update.staleness == std::vector<std::int64_t>{4});
  state.apply(update, 0);  // an n-th of a clock each, and a quarter of that
  CHECK(weights_of(state) == Numbers{9.5, 19});
}

// Zhang et al. scale the rate, so that adaptive optimizers, which divide by the gradient's size, do not
// cancel the weight. By hand: adagrad's first step is rate * g / |g|, whatever g is.
TEST_CASE("the weight of a stale push scales the rate, or the gradient", "[state]") {
  const auto after = [](OptimizerSpec optimizer, StaleScales scales, const std::vector<Push>& pushes) {
    const ConsistencySpec two{.model = "k-batch-async", .k = 2};
    ConsistencyRule rule = make_rule(pushes.size() == 1 ? asp : two, 2);
    rule.stale.function = "inverse";
    rule.stale.scales = scales;
    ShardState::Options options{.first_worker = first_worker,
                                .rule = test::shared_rule(rule),
                                .steps = 10,
                                .learning_rate = {.base = 0.5},
                                .epochs = {.per_clock = 1}};
    options.weights.optimizer = optimizer;
    ShardState owner(options, std::move(*values_of({2, -4})), 2), copy = owner;
    owner.version = copy.version = 4;
    ShardState::Update update = owner.prepare({pushes});
    LogEntry entry{.pushes = {}};
    for (const Push& one : pushes) entry.pushes.push_back(one.id());
    ShardState::Update same = update;
    entry.sum = owner.sum_of(same);
    owner.apply(update, 0);
    copy.apply(entry, 0);
    CHECK(numbers_of(copy.snapshot()) == numbers_of(owner.snapshot()));
    return weights_of(owner);
  };
  const auto near = [](const Numbers& weights, double first, double second) {
    CHECK(weights[0] == Approx(first).epsilon(1e-7));
    CHECK(weights[1] == Approx(second).epsilon(1e-7));
  };
  // One of two workers: half of the rate, 0.25. The push is 4 updates old.
  const std::vector<Push> one{push(0, {3, -8}, 0, 0)};
  near(after({.kind = "adagrad"}, StaleScales::rate, one), 2 - 0.25 / 4, -4 + 0.25 / 4);
  near(after({.kind = "adagrad"}, StaleScales::gradient, one), 2 - 0.25, -4 + 0.25);
  near(after({.kind = "adam"}, StaleScales::rate, one), 2 - 0.25 / 4, -4 + 0.25 / 4);
  near(after({.kind = "rmsprop"}, StaleScales::gradient, one), 2 - 0.25 / std::sqrt(0.1),
       -4 + 0.25 / std::sqrt(0.1));
  // With decay the rate scales the decay too.
  const OptimizerSpec decays{.kind = "sgd", .weight_decay = 0.5};
  near(after(decays, StaleScales::rate, one), 2 - 0.25 / 4 * (3 + 1), -4 - 0.25 / 4 * (-8 - 2));
  near(after(decays, StaleScales::gradient, one), 2 - 0.25 * (3.0 / 4 + 1), -4 - 0.25 * (-8.0 / 4 - 2));
  near(after({.kind = "sgd"}, StaleScales::rate, one), 2 - 0.25 / 4 * 3, -4 + 0.25 / 4 * 8);
  // Of two pushes, 4 and 2 updates old, the weights are 1/4 and 1/2: the rate gets their mean, 3/8.
  const std::vector<Push> two{push(0, {3, -8}, 0, 0), push(1, {6, 2}, 0, 2)};
  near(after({.kind = "adagrad"}, StaleScales::rate, two), 2 - 0.5 * 3 / 8, -4 + 0.5 * 3 / 8);
  const Numbers sgd = after({.kind = "sgd"}, StaleScales::rate, two);
  near(after({.kind = "momentum"}, StaleScales::rate, two), sgd[0], sgd[1]);  // the first step of both
}

TEST_CASE("a copy that follows a log of sums, and one that follows a log of pushes, have the owner's weights",
          "[state]") {
  const std::vector<Push> pushes = {push(0, {0.1, 0.7}), push(1, {0.3, -0.2})};
  ShardState owner = shard(bsp), of_sums = owner, of_pushes = owner;
  ShardState::Update update = owner.prepare({pushes});
  LogEntry sum{.pushes = {pushes[0].id(), pushes[1].id()}};
  sum.sum = owner.sum_of(update);
  CHECK(sum.sum->version == 1);
  owner.apply(update, 3);

  of_sums.apply(sum, 3);
  of_pushes.apply(LogEntry{.push = pushes[1]}, 3);
  CHECK(of_pushes.updates.has(first_worker + 1));
  CHECK(of_pushes.version == 0);
  of_pushes.apply(LogEntry{.push = pushes[0], .updates = true}, 3);
  for (const ShardState* copy : {&of_sums, &of_pushes}) {
    CHECK(weights_of(*copy) == weights_of(owner));
    CHECK(copy->version == 1);
    CHECK(copy->updated_in == 3);
    CHECK(copy->applied == 2);
    CHECK(copy->workers[1].applied == 1);
  }
}

// Other shards ask for it, also after the first shard has another owner.
TEST_CASE("the first shard and its copies know what its last update was made of", "[state]") {
  ShardState owner = shard({.model = "k-sync", .k = 1}, {10, 20}, false, 2);
  ShardState copy = owner;
  ShardState::Update update = owner.prepare({{push(1, {1, 1}, 6)}});
  LogEntry entry{.pushes = {update.pushes.front().id()}};
  entry.sum = owner.sum_of(update);
  copy.apply(entry, 0);
  CHECK(owner.updates.last().pushes == std::vector<PushId>{{first_worker + 1, 6}});
  CHECK(copy.updates.last().pushes == owner.updates.last().pushes);
}

TEST_CASE("an entry without an update does not change who updated last", "[state]") {
  ShardState state = shard(bsp);
  state.apply(LogEntry{.push = push(0, {1, 1})}, 7);
  CHECK(state.updated_in == 0);
  state.apply(LogEntry{.dropped = {{first_worker, 0}}}, 7);
  CHECK_FALSE(state.updates.has(first_worker));
  CHECK(state.workers[0].applied == 1);
  CHECK(state.version == 0);
}

TEST_CASE("a push that a decision drops as it comes waits at no copy", "[state]") {
  ShardState state = shard(asp);
  state.apply(LogEntry{.push = push(0, {1, 1}), .drops_push = true}, 7);
  CHECK_FALSE(state.updates.has(first_worker));
  CHECK(state.workers[0].arrived == 1);
  CHECK(state.workers[0].applied == 1);
  // One that comes again takes the place of the first, which was dropped before.
  state.apply(LogEntry{.push = push(1, {1, 1}), .dropped = {{first_worker + 1, 0}}}, 7);
  CHECK(state.updates.has(first_worker + 1));
}

TEST_CASE("a push that comes again counts as applied once, where it is applied again", "[state]") {
  ShardState state = shard(asp);
  state.options.exactly_once = false;
  state.count_arrived(push(0, {1, 1}));
  state.count_applied({first_worker, 0});
  CHECK_FALSE(state.count_arrived(push(0, {1, 1})));
  state.count_applied({first_worker, 0});
  CHECK(state.workers[0].arrived == 1);
  CHECK(state.workers[0].applied == 1);
}

TEST_CASE("what waits for its group comes again when it is forgotten", "[state]") {
  ShardState state = shard(bsp);
  for (std::int64_t number = 0; number < 3; ++number) {
    state.count_arrived(push(0, {1, 1}, number));
    if (number != 1) state.count_applied({first_worker, number});
  }
  state.updates.add(push(0, {1, 1}, 1), 0);
  CHECK(state.before_pending(0, 3) == 1);
  CHECK(state.before_pending(0, 1) == 1);
  CHECK(state.before_pending(1, 3) == 3);
  state.forget_pending();
  CHECK(state.workers[0].applied == 1);
  CHECK(state.workers[0].arrived == 1);
  CHECK_FALSE(state.updates.has(first_worker));
}

// 2 values of 8 bytes, a count of 8 for each of 2 workers; a push that waits adds its own.
TEST_CASE("a state takes the bytes of what is in it", "[state]") {
  ShardState state = shard(bsp);
  const std::uint64_t empty = state.bytes();
  CHECK(empty == state.weights.bytes(0) + 2 * 8);
  state.updates.add(push(0, {1, 1}), 0);
  CHECK(state.bytes() == empty + state.updates.bytes());
  CHECK(state.updates.bytes() > 0);
}

TEST_CASE("every aggregation weighs gradients by their samples, as the mean does", "[state]") {
  const auto weights = [](AggregationRule how) {
    ShardState state = shard({.model = "bsp", .aggregation = std::move(how)});
    std::vector<Push> pushes{push(0, {1, 2}), push(1, {3, 6})};
    pushes[0].samples = 3;
    pushes[1].samples = 1;
    ShardState::Update update = state.prepare({pushes});
    state.apply(update, 0);
    return weights_of(state);
  };
  const Numbers mean = weights({"mean", {}});
  CHECK(weights({"trimmed-mean", {{"trimmed_share", 0.0}}}) == mean);
  CHECK(weights({"median", {}}) == mean);  // of two
  CHECK(weights({"last", {}}) == mean);
}

TEST_CASE("the mean of all last gradients has none of workers that are gone", "[state]") {
  const ConsistencySpec spec{.model = "asp", .aggregation = {"last", {}}};
  const auto moved_by_worker_0 = [&](bool after_worker_1) {
    ShardState state = shard(spec);
    if (after_worker_1) {
      ShardState::Update update = state.prepare({{push(1, {80, 80})}});
      state.apply(update, 0);
      state.workers.set_members({true, false});
    }
    const Numbers before = weights_of(state);
    ShardState::Update update = state.prepare({{push(0, {4, 8}, 0, state.version)}});
    state.apply(update, 0);
    const Numbers after = weights_of(state);
    return Numbers{after[0] - before[0], after[1] - before[1]};
  };
  CHECK(moved_by_worker_0(true) == moved_by_worker_0(false));
}
