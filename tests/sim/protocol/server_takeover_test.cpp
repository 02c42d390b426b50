// Goal: what a new owner has is what the last one had: optimizer, delay compensation, and nothing that a
// state transfer has not paid for. Method: an owner and a replica of which one takes the other's place.
#include <utility>
#include <vector>

#include "tests/sim/protocol/server_driver.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

constexpr NodeId owner_node = 1, replica_node = 11;
constexpr std::uint64_t id_bytes = 12;

// Two workers of three weights; the owner's log reaches the replica at once, as long as the owner lives.
struct Pair {
  explicit Pair(ShardServer::Options chosen) : options(std::move(chosen)), owner(fresh()), replica(fresh()) {
    owner.lead(owner_node, {.primary = owner_node, .replicas = {replica_node}}, 0, mail);
    const State state = owner.whole_state();
    replica = ShardServer(options, state);
    replica.follow(replica_node, 0, owner_node, {});
    owner.on(confirmation(state.entries), 0, mail);
    mail.sent.clear();
  }
  static ShardServer::Options options_of(ConsistencyModel model, ReplicateWhen when) {
    return {.id = owner_node,
            .state = {.first_worker = first_worker,
                      .rule = test::shared_rule({.model = model}, 2),
                      .steps = 1000,
                      .learning_rate = {.base = 0.1},
                      .weights = {.ranges = {{0, 3}}, .parameters = 3}},
            .confirms = true,
            .replication = {.copies = 1, .when = when},
            .checked = true};
  }
  ShardServer fresh() const { return {options, std::move(*values_of({1.0, -2.0, 0.5})), 3}; }
  static Message confirmation(std::int64_t entries) {
    return {.from = replica_node, .to = owner_node, .body = Replicated{entries}};
  }
  ShardServer& leader() { return has_crashed ? replica : owner; }

  void replicate() {
    for (const Message& message : std::exchange(mail.sent, {})) {
      const Answer* weights = message.as<Answer>();
      if (weights != nullptr && !weights->finished && message.to >= first_worker)
        versions[message.to - first_worker] = weights->version;
      if (has_crashed || !message.is<Replicate>()) continue;
      replica.on(message, 0, mail);
      for (const Message& answer : std::exchange(mail.sent, {})) owner.on(answer, 0, mail);
    }
    if (!mail.sent.empty()) replicate();
  }
  void push(std::uint32_t w, double x) {
    const Push push{.worker = first_worker + w,
                    .number = pushes[w],
                    .clock = pushes[w],
                    .version = versions[w],
                    .gradient = {.values = {values_of({x, -2 * x, 0.7 - x}), 0, 3}, .bytes = 24}};
    leader().on(from_worker(w, push, leader().epoch()), 0, mail);
    ++pushes[w];
    replicate();
  }
  void pull(std::uint32_t w) {
    const Pull pull{
        .clock = pushes[w], .number = ++pulls[w], .pushes_sent = pushes[w], .oldest_resendable = pushes[w]};
    leader().on(from_worker(w, pull, leader().epoch()), 0, mail);
    replicate();
  }
  void crash() {
    has_crashed = true;
    replica.lead(replica_node, {.primary = replica_node, .epoch = 1}, 0, mail);
    replicate();
  }

  ShardServer::Options options;
  Mail mail;
  ShardServer owner, replica;
  bool has_crashed = false;
  std::vector<std::int64_t> pushes{0, 0}, versions{0, 0}, pulls{0, 0};
};

// What is learned by a run of pushes and pulls, with or without a crash of the owner before step `crash`.
Numbers learned(const ShardServer::Options& options, int crash) {
  Pair pair(options);
  for (const std::uint32_t w : {0U, 1U}) pair.pull(w);
  const std::vector<std::uint32_t> order{0, 1, 1, 0, 1, 0, 0, 1, 1, 0};  // who is late, and how late, varies
  for (int step = 0; step < std::ssize(order); ++step) {
    if (step == crash) pair.crash();
    const std::uint32_t w = order[static_cast<std::size_t>(step)];
    pair.push(w, 0.1 + 0.05 * step);
    if (step % 3 != 1) pair.pull(w);
  }
  return numbers_of(pair.leader().state().snapshot());
}

}  // namespace

TEST_CASE("a new owner compensates late gradients as the last one would have", "[protocol]") {
  const auto when = GENERATE(ReplicateWhen::after_aggregation, ReplicateWhen::every_push);
  const double decay = GENERATE(0.0, 0.9);
  ShardServer::Options options = Pair::options_of("asp", when);
  const Numbers plain = learned(options, -1);
  options.state.weights.compensation = {2, decay};
  const Numbers expected = learned(options, -1);
  CHECK(expected != plain);
  for (int crash = 0; crash < 10; ++crash) {
    INFO("crash before step " << crash << ", decay " << decay);
    CHECK(learned(options, crash) == expected);
  }
}

TEST_CASE("a new owner goes on with the optimizer's state of the last one", "[protocol]") {
  const auto when = GENERATE(ReplicateWhen::after_aggregation, ReplicateWhen::every_push);
  const std::string_view kind = GENERATE("adam", "momentum", "adagrad");
  ShardServer::Options options = Pair::options_of("asp", when);
  options.state.weights.optimizer.kind = kind;
  const Numbers expected = learned(options, -1);
  for (int crash = 0; crash < 10; ++crash) CHECK(learned(options, crash) == expected);
}

// Whoever gets a shard's state continues it: the steps that Adam has made are a part of it.
TEST_CASE("a state that is handed over makes the same next update", "[protocol]") {
  ShardServer::Options options = Pair::options_of("asp", ReplicateWhen::after_aggregation);
  options.state.weights.optimizer.kind = "adam";
  Pair pair(options);
  for (int step = 0; step < 5; ++step) pair.push(0, 0.3 - 0.1 * step);
  ShardServer heir(options, pair.owner.whole_state());
  heir.follow(20, 1, 20, {});
  heir.lead(20, {.primary = 20, .epoch = 1}, 0, pair.mail);
  const Push push{.worker = first_worker,
                  .number = 5,
                  .clock = 5,
                  .version = 5,
                  .gradient = {.values = {values_of({0.2, 0.1, -0.4}), 0, 3}}};
  heir.on(from_worker(0, push, 1), 0, pair.mail);
  pair.owner.on(from_worker(0, push, 0), 0, pair.mail);
  CHECK(heir.version() == 6);
  CHECK(numbers_of(heir.state().snapshot()) == numbers_of(pair.owner.state().snapshot()));
}

TEST_CASE("a state's bytes are those of what is in it", "[protocol]") {
  constexpr std::uint64_t weights = 3 * 4, counts = 2 * 8;
  ShardServer::Options options = Pair::options_of("asp", ReplicateWhen::after_aggregation);
  CHECK(Pair(options).owner.whole_state().bytes == weights + counts);

  options.state.weights.compensation.strength = 1;
  Pair late(options);
  for (const std::uint32_t w : {0U, 1U}) late.pull(w);
  CHECK(late.owner.whole_state().bytes == weights + counts);  // they have what is here
  late.push(0, 0.5);
  CHECK(late.owner.whole_state().bytes == 2 * weights + counts);  // both have version 0
  late.pull(0);
  late.push(1, 0.5);
  CHECK(late.owner.whole_state().bytes == 3 * weights + counts);  // versions 0 and 1
  options.state.weights.compensation.decay = 0.5;
  CHECK(Pair(options).owner.whole_state().bytes == 2 * weights + counts);
}

// Where only updates are replicated the workers send pushes again that wait for their group.
TEST_CASE("pushes that wait travel with a state only where every push is replicated, and are paid for",
          "[protocol]") {
  for (const auto when : {ReplicateWhen::after_aggregation, ReplicateWhen::every_push}) {
    Pair pair(Pair::options_of("bsp", when));
    const std::uint64_t empty = pair.owner.whole_state().bytes;
    pair.push(0, 0.5);
    REQUIRE(pair.owner.pending().size() == 1);
    const State state = pair.owner.whole_state();
    const bool travels = when == ReplicateWhen::every_push;
    CHECK(state.shard->updates.pending().size() == (travels ? 1U : 0U));
    CHECK(state.bytes == empty + (travels ? 24 + id_bytes : 0));
  }
}

namespace {

// A shard that follows the first one's decisions, its workers' pushes, and a replica that hears of all.
struct Follower : Pair {
  Follower() : Pair(options_of_shard_1()) {}
  static ShardServer::Options options_of_shard_1() {
    ShardServer::Options options = options_of("k-sync", ReplicateWhen::every_push);
    options.state.rule = test::shared_rule({.model = "k-sync", .k = 1}, 2);
    options.state.shard = 1;
    options.state.shards = 2;
    return options;
  }
  void decide(std::int64_t version, std::uint32_t worker) {
    owner.on({.body = UpdateGroup{.version = version, .pushes = {{first_worker + worker, 0}}}}, 0, mail);
  }
  void send(std::uint32_t worker, std::int64_t first_version) {
    const Slice gradient{values_of({0.5 + worker, 0.25, -0.75}), 0, 3};
    const Push sent{
        .worker = first_worker + worker, .first_version = first_version, .gradient = {.values = gradient}};
    owner.on(from_worker(worker, sent), 0, mail);
  }
  void check_replica(std::int64_t version) {
    REQUIRE(owner.version() == version);
    for (const Message& message : std::exchange(mail.sent, {})) {
      if (message.is<Replicate>()) replica.on(message, 0, mail);
    }
    CHECK(replica.version() == version);
    CHECK(replica.pending().size() == owner.pending().size());
    CHECK(numbers_of(replica.state().snapshot()) == numbers_of(owner.state().snapshot()));
  }
};

}  // namespace

// Worker 0 is gone, and its push is left behind by the update that worker 1's brings about.
TEST_CASE("a push that its own update leaves behind is in no replica's sum", "[protocol]") {
  Follower shard;
  shard.decide(0, 1);
  shard.send(0, 0);
  shard.owner.set_members({false, true}, 0, shard.mail);
  CHECK(shard.owner.version() == 0);
  shard.send(1, 1);
  shard.check_replica(1);
  CHECK(shard.replica.pending().empty());
}

TEST_CASE("a push for a version to come waits at the replica, too", "[protocol]") {
  Follower shard;
  shard.decide(0, 0);
  shard.send(1, 1);
  shard.send(0, 0);
  shard.check_replica(1);
  CHECK(shard.replica.pending().size() == 1);
  shard.decide(1, 1);
  shard.check_replica(2);
}
