// Goal: replicas have what their owner has, and an owner counts on nothing else. Method: an owner and two
// replicas, with every message between them in our hands: late, lost, twice, in any order.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "model/base/random.hpp"
#include "tests/sim/protocol/server_driver.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

constexpr NodeId owner = 1, first_replica = 11, second_replica = 12;
constexpr NodeId replicas[] = {first_replica, second_replica};

struct Cluster {
  Cluster(const ConsistencySpec& spec, const ReplicationSpec& replication, std::uint32_t workers)
      : rule(make_rule(spec, workers)), pushes(workers), versions(workers), pulls(workers) {
    options = {.id = owner,
               .state = {.first_worker = 2,
                         .rule = test::shared_rule(rule),
                         .steps = 1000,
                         .learning_rate = {.base = 0.1},
                         .weights = {.ranges = {{0, 2}}, .parameters = 2}},
               .confirms = true,
               .replication = replication,
               .checked = true};
    servers.emplace(owner, fresh());
    servers.at(owner).lead(owner, {.primary = owner, .replicas = {first_replica, second_replica}}, 0, mail);
  }
  ShardServer fresh() const { return {options, std::move(*values_of({1.0, -2.0})), 2}; }
  ShardServer& at(NodeId node) { return servers.at(node); }

  // As ServerShards does.
  void deliver(const Message& message) {
    if (const State* state = message.as<State>()) {
      const auto here = servers.find(message.to);
      std::int64_t entries = here == servers.end() ? -1 : here->second.entries_in(message.epoch);
      if (entries < state->entries) {
        servers.erase(message.to);
        ShardServer& copy = servers.emplace(message.to, ShardServer(options, *state)).first->second;
        const bool passes_on =
            options.replication.layout == ReplicationLayout::chain && message.to == first_replica;
        copy.follow(message.to, message.epoch, message.from,
                    passes_on ? std::optional(second_replica) : std::nullopt);
        entries = state->entries;
      }
      mail.send({.from = message.to,
                 .to = message.from,
                 .epoch = message.epoch,
                 .body = Replicated{entries < 0 ? std::nullopt : std::optional(entries)}});
    } else if (servers.contains(message.to)) {
      servers.at(message.to).on(message, 0, mail);
    }
  }
  bool deliver_one(MessageKind kind, NodeId to) {
    const std::optional<Message> message = mail.take(kind, to);
    if (message) deliver(*message);
    return message.has_value();
  }
  // Until nobody has anything to say to another server.
  void settle() {
    for (double now = 1;; now += 100) {
      std::erase_if(mail.sent, [](const Message& m) { return m.to > owner && m.to < first_replica; });
      if (mail.sent.empty()) {
        if (!at(owner).next_resend()) return;
        at(owner).resend(now, mail);
      }
      for (const Message& message : std::exchange(mail.sent, {})) deliver(message);
    }
  }

  void push(std::uint32_t w, double x) {
    const Push push{.worker = first_worker + w,
                    .number = pushes[w],
                    .clock = pushes[w],
                    .version = versions[w],
                    .gradient = {.values = {values_of({x, -x}), 0, 2}}};
    at(owner).on(from_worker(w, push), 0, mail);
    ++pushes[w];
  }
  void pull(std::uint32_t w) {
    const Pull pull{.clock = pushes[w],
                    .above = rule.gate == Gate::version ? versions[w] : -1,
                    .number = ++pulls[w],
                    .pushes_sent = pushes[w],
                    .oldest_resendable = pushes[w]};
    at(owner).on(from_worker(w, pull), 0, mail);
    versions[w] = at(owner).version();
  }

  ConsistencyRule rule;
  ShardServer::Options options;
  std::map<NodeId, ShardServer> servers;
  Mail mail;
  std::vector<std::int64_t> pushes, versions, pulls;
};

}  // namespace

TEST_CASE("replicas have what their owner has, whatever becomes of messages", "[protocol]") {
  const ConsistencyModel model = GENERATE("bsp", "ssp", "k-batch-sync", "k-batch-async");
  const auto when = GENERATE(ReplicateWhen::after_aggregation, ReplicateWhen::every_push);
  const auto layout = GENERATE(ReplicationLayout::primary, ReplicationLayout::chain);
  for (std::uint64_t run = 0; run < 20; ++run) {
    Stream dice(7, "replication", model.index(), run);
    Cluster cluster({.model = model, .k = 2}, {.when = when, .layout = layout}, 3);
    std::vector<bool> members(3, true);
    for (int turn = 0; turn < 200; ++turn) {
      const auto w = static_cast<std::uint32_t>(dice.uniform() * 3);
      const double what = dice.uniform();
      if (what < 0.3 && members[w]) cluster.push(w, dice.uniform());
      else if (what < 0.5 && members[w]) cluster.pull(w);
      else if (what < 0.55) members[2] = !members[2], cluster.at(owner).set_members(members, 0, cluster.mail);
      else if (what < 0.6) cluster.at(owner).resend(turn, cluster.mail);
      if (cluster.mail.sent.empty()) continue;
      const auto which =
          static_cast<std::ptrdiff_t>(dice.uniform() * static_cast<double>(cluster.mail.sent.size()));
      const Message message = cluster.mail.sent[static_cast<std::size_t>(which)];
      if (dice.uniform() < 0.8) cluster.mail.sent.erase(cluster.mail.sent.begin() + which);  // else twice
      if (dice.uniform() < 0.8) cluster.deliver(message);                                    // else lost
    }
    cluster.settle();
    const ShardServer& here = cluster.at(owner);
    for (const NodeId node : replicas) {
      const ShardServer& copy = cluster.at(node);
      INFO("run " << run << " replica " << node);
      CHECK(copy.version() == here.version());
      CHECK(numbers_of(copy.state().snapshot()) == numbers_of(here.state().snapshot()));
      if (when == ReplicateWhen::every_push) CHECK(copy.pending().size() == here.pending().size());
    }
  }
}

TEST_CASE("a state that comes after later entries does not set a replica back", "[protocol]") {
  Cluster cluster({.model = "asp"}, {}, 2);
  const Message late = *cluster.mail.take(MessageKind::state, first_replica);
  cluster.deliver(late);
  cluster.settle();
  cluster.push(0, 1.0);
  cluster.settle();
  CHECK(cluster.at(first_replica).version() == 1);
  cluster.deliver(late);
  CHECK(cluster.at(first_replica).version() == 1);
  cluster.push(1, 1.0);
  cluster.settle();
  CHECK(cluster.at(first_replica).version() == 2);
}

// It may have heard more of the last owner than the new one did, and counted that.
TEST_CASE("a replica confirms nothing of an epoch before its owner's state is here", "[protocol]") {
  Cluster cluster({.model = "asp"}, {}, 2);
  cluster.settle();
  cluster.push(0, 1.0);
  CHECK(cluster.deliver_one(MessageKind::replicate, second_replica));  // the first one does not get it
  CHECK(cluster.at(second_replica).version() == 1);
  cluster.mail.sent.clear();

  ShardServer& next = cluster.at(first_replica);
  next.lead(first_replica, {.primary = first_replica, .epoch = 1, .replicas = {second_replica}}, 0,
            cluster.mail);
  cluster.at(second_replica).follow(second_replica, 1, first_replica, {});
  CHECK(cluster.at(second_replica).entries_in(1) == -1);
  const Push push{.worker = 3, .gradient = {.values = {values_of({5.0, 5.0}), 0, 2}}};
  next.on(from_worker(1, push, 1), 0, cluster.mail);
  CHECK(next.version() == 1);
  const Message early{.from = first_replica,
                      .to = second_replica,
                      .epoch = 1,
                      .body = Replicate{std::make_shared<const LogEntry>()}};
  cluster.deliver(early);  // it is on its way already when the owner learns who has copies, or repeats it
  CHECK_FALSE(cluster.mail.take(MessageKind::replicated, first_replica));
  CHECK(cluster.deliver_one(MessageKind::state, second_replica));
  while (cluster.deliver_one(MessageKind::replicated, first_replica)) {
    while (cluster.deliver_one(MessageKind::replicate, second_replica)) continue;
  }
  CHECK(cluster.at(second_replica).version() == 1);
  CHECK(numbers_of(cluster.at(second_replica).state().snapshot()) == numbers_of(next.state().snapshot()));
}

// Such an entry may be on its way when its shard is cut: it is about the whole.
TEST_CASE("a part of a copy takes no entries of the log of the whole", "[protocol]") {
  Cluster cluster({.model = "asp"}, {}, 2);
  cluster.settle();
  cluster.push(0, 1.0);
  const Message late = *cluster.mail.take(MessageKind::replicate, first_replica);
  cluster.mail.sent.clear();
  ShardServer& part = cluster.at(first_replica);
  part.leave_log();
  cluster.deliver(late);
  CHECK(part.version() == 0);
  CHECK(part.extent() == ShardServer::Extent{0, 0});
  CHECK(cluster.mail.sent.empty());  // the owner must not hear that it is here

  part.lead(first_replica, {.primary = first_replica, .epoch = 1}, 0, cluster.mail);
  CHECK(part.version() == 0);
}

TEST_CASE("a replica counts a push that waits while a later one is dropped", "[protocol]") {
  Cluster cluster({.model = "bsp"}, {.when = ReplicateWhen::every_push}, 2);
  cluster.settle();
  cluster.push(0, 1.0);
  cluster.versions[0] = 5;
  cluster.push(0, 1.0);  // of no version that this shard has
  cluster.push(1, 1.0);
  cluster.settle();
  for (const NodeId node : {owner, first_replica}) {
    const WorkerClocks::Worker& worker = cluster.at(node).state().workers[0];
    CHECK(cluster.at(node).version() == 1);
    CHECK(worker.arrived == 2);
    CHECK(worker.applied == 2);
  }
}

TEST_CASE("a replica counts a push that has waited and is dropped after a later one", "[protocol]") {
  Cluster cluster({.model = "bsp"}, {.when = ReplicateWhen::every_push}, 2);
  cluster.settle();
  cluster.push(0, 1.0);
  cluster.versions[0] = 5;
  cluster.push(0, 1.0);  // of no version that this shard has
  cluster.versions[0] = 0;
  cluster.push(0, 2.0);  // takes the place of the first one
  cluster.push(1, 1.0);
  cluster.settle();
  for (const NodeId node : {owner, first_replica}) {
    const WorkerClocks::Worker& worker = cluster.at(node).state().workers[0];
    CHECK(cluster.at(node).version() == 1);
    CHECK(worker.arrived == 3);
    CHECK(worker.applied == 3);
  }
}

TEST_CASE("an answer does not wait for a copy that has lost its state", "[protocol]") {
  Cluster cluster({.model = "bsp"}, {}, 1);
  cluster.settle();
  cluster.push(0, 1.0);
  cluster.pull(0);
  CHECK_FALSE(cluster.mail.take(MessageKind::weights, first_worker));
  const auto lose = [&](NodeId node) {
    cluster.at(owner).on({.from = node, .to = owner, .body = Replicated{}}, 0, cluster.mail);
  };
  lose(first_replica);
  CHECK_FALSE(cluster.mail.take(MessageKind::weights, first_worker));
  lose(second_replica);
  CHECK(cluster.mail.take(MessageKind::weights, first_worker));
}

// The next owner gets the state while its owner goes on, then what has changed, and last the rest.
TEST_CASE("a shard changes its owner for the price of the last entries", "[protocol]") {
  constexpr NodeId heir = first_replica;
  Cluster cluster({.model = "asp"}, {}, 2);
  ShardServer& former = cluster.at(owner);
  former.lead(owner, {.primary = owner, .next = heir}, 0, cluster.mail);
  const Message state = *cluster.mail.take(MessageKind::state, heir);
  cluster.mail.sent.clear();
  cluster.push(0, 1.0);
  cluster.pull(0);
  // No answer waits for the next owner.
  CHECK(cluster.mail.take(MessageKind::weights, 2)->as<Answer>()->safe_pushes == 1);
  CHECK_FALSE(cluster.mail.take(MessageKind::replicate, heir));
  cluster.deliver(state);
  CHECK(cluster.deliver_one(MessageKind::replicated, owner));
  CHECK_FALSE(cluster.mail.take(MessageKind::ready, scheduler_node));  // it lacks an entry
  CHECK(cluster.deliver_one(MessageKind::replicate, heir));
  CHECK(cluster.deliver_one(MessageKind::replicated, owner));
  CHECK(cluster.mail.take(MessageKind::ready, scheduler_node)->as<Ready>()->next_owner == heir);
  former.resend(100, cluster.mail);  // the scheduler does not seem to have heard
  CHECK(cluster.mail.take(MessageKind::ready, scheduler_node));
  cluster.push(1, 2.0);
  cluster.push(0, 3.0);
  cluster.mail.sent.clear();  // on their way when the shard moves

  former.follow(owner, 1, heir, {});
  ShardServer& next = cluster.at(heir);
  CHECK(next.version() == 1);
  const State rest = former.log_suffix_after(next.extent());
  CHECK(rest.rest->size() == 2);
  CHECK(rest.bytes < state.as<State>()->bytes + 2 * 12 + 1);
  next.take_log_suffix(*rest.rest);
  next.take_log_suffix(*rest.rest);  // the answer comes twice
  next.lead(heir, {.primary = heir, .epoch = 1}, 0, cluster.mail);
  CHECK(next.version() == 3);
  CHECK(numbers_of(next.state().snapshot()) == numbers_of(former.state().snapshot()));
  CHECK(former.log_suffix_after({}).shard != nullptr);  // who has nothing gets all of it
}
