// Goal: a shard that is cut goes on in two parts as the whole would have: same bits, same counts. Method: a
// whole and its two parts are driven alike, and compared; requests and filters likewise.
#include <algorithm>

#include "sim/protocol/key_space.hpp"
#include "sim/protocol/retry.hpp"
#include "sim/protocol/server/shard_state.hpp"
#include "tests/sim/protocol/filter_driver.hpp"
#include "tests/sim/protocol/placed.hpp"
#include "tests/sim/protocol/server_driver.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using psim::test::first_worker;
using psim::test::Numbers;
using psim::test::numbers_of;
using psim::test::placed_on;
using psim::test::values_of;

namespace {

struct Kind {
  const char* name;
  const char* optimizer;
  const char* model;
  DelayCompensation::Rule compensation = {};
};
std::vector<Kind> kinds() {
  return {{"sgd", "sgd", "bsp"},
          {"momentum", "momentum", "ssp"},
          {"adam", "adam", "asp"},
          {"adagrad", "adagrad", "k-sync"},
          {"compensated", "sgd", "asp", {.strength = 0.1, .decay = 0.9}}};
}

ShardState::Options options_of(const Kind& kind, const Part& part) {
  ConsistencySpec consistency{.model = kind.model};
  if (std::string(kind.model) == "k-sync") consistency.k = 2;
  ShardState::Options options{.first_worker = first_worker,
                              .rule = test::shared_rule(consistency, 3),
                              .steps = 100,
                              .learning_rate = {.base = 0.1},
                              .epochs = {.per_clock = 1}};
  options.weights.optimizer = {.kind = kind.optimizer};
  options.weights.compensation = kind.compensation;
  options.part = part;
  return options;
}

constexpr std::size_t count = 10, cut_at = 4;
const Part whole_part{.root = 0, .range = {0, count}}, lower_part{.root = 0, .range = {0, cut_at}},
    upper_part{.root = 0, .range = {cut_at, count - cut_at}};

ShardState whole_of(const Kind& kind) {
  Numbers weights;
  for (std::size_t i = 0; i < count; ++i) weights.push_back(0.3 * static_cast<double>(i) - 1);
  return {options_of(kind, whole_part), std::move(*values_of(weights)), count};
}

Push push_of(std::uint32_t w, std::int64_t number, std::int64_t version) {
  Numbers gradient;
  for (std::size_t i = 0; i < count; ++i)
    gradient.push_back(static_cast<double>((7 * i + 3 * w + 5 * static_cast<std::size_t>(number)) % 11) / 8);
  return {.worker = first_worker + w,
          .number = number,
          .clock = number,
          .version = version,
          .gradient = {.values = {values_of(gradient), 0, count}, .bytes = 8 * count}};
}

Push part_of_push(Push push, const Range& range) {
  push.gradient = split(split(push.gradient, range.begin).second, range.count).first;
  return push;
}

// One update of a push of each of two workers.
void step(ShardState& state, std::int64_t number, const Range& range) {
  std::vector<Push> group;
  for (const std::uint32_t w : {0U, 2U}) {
    group.push_back(part_of_push(push_of(w, number, state.version), range));
    state.count_arrived(group.back());
  }
  ShardState::Update update = state.prepare({std::move(group)});
  state.apply(update, 3);
}

Numbers joined(const ShardState& lower, const ShardState& upper) {
  Numbers all = numbers_of(lower.snapshot());
  const Numbers rest = numbers_of(upper.snapshot());
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

}  // namespace

TEST_CASE("parts of a shard go on as the whole would have, to the last bit", "[cut]") {
  for (const Kind& kind : kinds()) {
    INFO(kind.name);
    ShardState whole = whole_of(kind);
    for (std::int64_t n = 0; n < 3; ++n) {
      for (std::size_t w = 0; w < 3; ++w) whole.weights.was_sent(w, whole.snapshot());
      step(whole, n, {0, count});
    }
    ShardState lower = whole.piece(options_of(kind, lower_part));
    ShardState upper = whole.piece(options_of(kind, upper_part));
    CHECK(joined(lower, upper) == numbers_of(whole.snapshot()));
    for (std::int64_t n = 3; n < 6; ++n) {
      step(whole, n, {0, count});
      step(lower, n, {0, cut_at});
      step(upper, n, {cut_at, count - cut_at});
      CHECK(joined(lower, upper) == numbers_of(whole.snapshot()));
    }
    for (const ShardState* part : {&lower, &upper}) {
      CHECK(part->version == whole.version);
      CHECK(part->applied == whole.applied);
      CHECK(part->updated_in == whole.updated_in);
      CHECK(part->workers.slowest() == whole.workers.slowest());
      for (std::size_t w = 0; w < 3; ++w) {
        CHECK(part->workers[w].applied == whole.workers[w].applied);
        CHECK(part->workers[w].arrived == whole.workers[w].arrived);
      }
    }
  }
}

TEST_CASE("a part of a part is the same part of the whole", "[cut]") {
  const Kind kind = kinds()[2];
  ShardState whole = whole_of(kind);
  step(whole, 0, {0, count});
  const Part inner{.root = 0, .range = {cut_at + 1, 3}};
  ShardState at_once = whole.piece(options_of(kind, inner));
  ShardState in_two = whole.piece(options_of(kind, upper_part)).piece(options_of(kind, inner));
  CHECK(numbers_of(at_once.snapshot()) == numbers_of(in_two.snapshot()));
  step(at_once, 1, inner.range);
  step(in_two, 1, inner.range);
  CHECK(numbers_of(at_once.snapshot()) == numbers_of(in_two.snapshot()));
}

TEST_CASE("pushes that wait for their update are cut with their shard", "[cut]") {
  const Kind kind = kinds()[0];
  ShardState whole = whole_of(kind);
  for (const std::uint32_t w : {1U, 0U}) {
    whole.count_arrived(push_of(w, 0, 0));
    whole.updates.add(push_of(w, 0, 0), 0);
  }
  ShardState upper = whole.piece(options_of(kind, upper_part));
  REQUIRE(upper.updates.pending().size() == 2);
  const Push& first = upper.updates.pending().front();
  CHECK(first.worker == first_worker + 1);
  CHECK(first.gradient.bytes == 8 * (count - cut_at));
  const Numbers all = numbers_of(push_of(1, 0, 0).gradient.values);
  CHECK(numbers_of(first.gradient.values) == Numbers(all.begin() + cut_at, all.end()));
}

TEST_CASE("a sparse message is cut by its keys, which count from the part's beginning", "[cut]") {
  Payload payload{
      .values = {values_of({1, 2, 3, 4}), 0, 4}, .keys = filter_test::keys_of({0, 3, 4, 9}), .bytes = 4 * 12};
  const auto [lower, upper] = split(payload, 4);
  CHECK(*lower.keys == std::vector<std::uint32_t>{0, 3});
  CHECK(*upper.keys == std::vector<std::uint32_t>{0, 5});
  CHECK(numbers_of(lower.values) == Numbers{1, 2});
  CHECK(numbers_of(upper.values) == Numbers{3, 4});
  CHECK(lower.bytes == 24);
  CHECK(upper.bytes == 24);
  const auto [none, all] = split(payload, 0);
  CHECK(none.values.count == 0);
  CHECK(none.bytes == 0);
  CHECK(all.bytes == payload.bytes);
}

TEST_CASE("a message that has only its keys' signature is cut with its keys", "[cut]") {
  const Payload payload{.values = {values_of({1, 2, 3, 4}), 0, 4},
                        .keys = filter_test::keys_of({0, 3, 4, 9}),
                        .bytes = 40,
                        .list = {.signature = 7, .bytes_listed = 48}};
  const auto [lower, upper] = split(payload, 4);
  for (const Payload& part : {lower, upper}) {
    CHECK(part.bytes == 24);
    CHECK(part.list.signature == 0);
    CHECK(part.list.is_listed());
  }
}

TEST_CASE("every clock of a range is that of its part", "[cut]") {
  RangeClock whole(10, 2);
  whole.set({2, 5}, 0, 3);
  whole.set({0, 4}, 1, 2);
  for (const Range part : {Range{0, 4}, Range{4, 6}, Range{3, 1}}) {
    const RangeClock clock = whole.part(part);
    for (std::size_t key = 0; key < part.count; ++key) {
      for (const std::size_t w : {0U, 1U})
        CHECK(clock.least({key, 1}, w) == whole.least({part.begin + key, 1}, w));
    }
  }
}

TEST_CASE("requests that are not answered become two", "[cut]") {
  RetryQueue queue({.timeout = 1});
  for (const std::int64_t number : {5, 6}) {
    Push push = push_of(0, number, 0);
    queue.sent({.shard = 2, .body = push}, 0);
  }
  queue.sent({.shard = 2,
              .body = Pull{.number = 9,
                           .keys = filter_test::keys_of({1, 8}),
                           .list = {.signature = 7, .bytes_listed = 1}}},
             0);
  queue.sent({.shard = 3, .body = Push{.number = 7}}, 0);
  queue.cut(2, 4, cut_at);
  const std::vector<Message> lower = queue.again(2, 1, 1, 0), upper = queue.again(4, 1, 1, 0);
  REQUIRE(lower.size() == 3);
  REQUIRE(upper.size() == 3);
  CHECK(queue.again(3, 1, 1, 0).size() == 1);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(lower[i].as<Push>()->number == upper[i].as<Push>()->number);
    CHECK(lower[i].as<Push>()->gradient.values.count == cut_at);
    CHECK(upper[i].as<Push>()->gradient.values.count == count - cut_at);
    CHECK(upper[i].shard == 4);
  }
  CHECK(*lower[2].as<Pull>()->keys == std::vector<std::uint32_t>{1});
  CHECK(*upper[2].as<Pull>()->keys == std::vector<std::uint32_t>{8 - cut_at});
  for (const Message& pull : {lower[2], upper[2]}) CHECK(pull.as<Pull>()->list.signature == 0);
}

TEST_CASE("what a filter has left out goes on in its part", "[cut]") {
  const FilterSpec top_k{.kind = "top-k", .settings = {{"fraction", 0.3}}};
  FilterChain whole = filter_test::chain_of({top_k}, count);
  whole.encode(filter_test::slice_of(filter_test::normal_numbers(count, 3)));
  REQUIRE(whole.residual() != nullptr);
  const auto before = filter_test::numbers_of<float>({std::make_shared<Values>(*whole.residual()), 0, count});
  const auto upper = whole.cut(cut_at, {.filters = {top_k}, .seed = 1});
  REQUIRE(whole.residual() != nullptr);
  REQUIRE(upper->residual() != nullptr);
  std::vector<float> after =
      filter_test::numbers_of<float>({std::make_shared<Values>(*whole.residual()), 0, cut_at});
  const auto rest =
      filter_test::numbers_of<float>({std::make_shared<Values>(*upper->residual()), 0, count - cut_at});
  after.insert(after.end(), rest.begin(), rest.end());
  CHECK(after == before);
  CHECK(upper->encode(filter_test::slice_of(std::vector<float>(count - cut_at, 1))).values.count ==
        count - cut_at);
}

TEST_CASE("a cut shard's ranges are its parts' ranges", "[cut]") {
  KeySpace space = placed_on({0, 1}, 10);
  space.shards[0].ranges = {{0, 3}, {20, 2}, {30, 5}};
  space.cut({0, 4});
  space.cut({2, 1});
  space.cut({0, 3});
  using Ranges = std::vector<Range>;
  CHECK(space.shards[0].ranges == Ranges{{0, 3}});
  CHECK(space.shards[2].ranges == Ranges{{21, 1}});
  CHECK(space.shards[3].ranges == Ranges{{30, 5}});
  CHECK(space.shards[4].ranges == Ranges{{20, 1}});
  CHECK(space.shards[2].part == Part{.root = 0, .range = {4, 1}});
  CHECK(space.shards[3].part == Part{.root = 0, .range = {5, 5}});
  CHECK(space.shards[4].part == Part{.root = 0, .range = {3, 1}});
  CHECK(space.shards[1].ranges == Ranges{{10, 10}});
}

TEST_CASE("a part that is cut again had more values before", "[cut]") {
  // Of 6 values one becomes shard 1, then of the 5 that are left one becomes shard 2.
  const std::vector<Cut> cuts{{.shard = 0, .at = 5}, {.shard = 0, .at = 4}};
  using Sizes = std::vector<std::pair<std::int64_t, std::int64_t>>;
  CHECK(sizes_when_cut(cuts, {4, 1, 1}) == Sizes{{5, 1}, {4, 1}});
  CHECK(sizes_when_cut({}, {4, 1, 1}).empty());
}
