// Goal: an update has the pushes that the rule of consistency asks for, or those that the first shard took.
// Method: pushes by hand, and the names of those that come out.
#include "sim/protocol/server/update_rule.hpp"

#include <algorithm>

#include "tests/sim/protocol/shared_rule.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

namespace {

constexpr NodeId first_worker = 10;

struct Shard {
  Shard(const ConsistencySpec& spec, std::uint32_t shard, std::uint32_t shards, std::int64_t count = 3)
      : rule(make_rule(spec, count)),
        updates({.rule = test::shared_rule(rule),
                 .decided = UpdateRule::decided(rule, shard, shards),
                 .first_worker = first_worker}),
        workers(static_cast<std::size_t>(count)) {}

  // Computed on this version of the first shard.
  void push(std::uint32_t w, std::int64_t version = 0, std::int64_t number = 0) {
    const Push push{
        .worker = first_worker + w, .number = number, .version = version, .first_version = version};
    updates.note_version(push);
    updates.add(push, now);
    workers[w].arrived = std::max(workers[w].arrived, number + 1);
  }
  static std::vector<std::uint32_t> names(const std::vector<Push>& pushes) {
    std::vector<std::uint32_t> names;
    for (const Push& push : pushes) names.push_back(push.worker - first_worker);
    return names;
  }
  UpdateRule::Next next(std::int64_t version = 0, std::uint32_t waiting = 99) {
    return updates.next(view(version), {}, [waiting](std::uint32_t w) { return w == waiting; });
  }
  ShardView view(std::int64_t version = 0) const { return updates.view(workers, version, now); }
  std::optional<double> closes_at() const { return updates.closes_at(view(), {}); }

  double now = 0;
  ConsistencyRule rule;
  UpdateRule updates;
  WorkerClocks workers;
};

using Names = std::vector<std::uint32_t>;
const ConsistencySpec k_sync{.model = "k-sync", .k = 2};
const ConsistencySpec k_async{.model = "k-async", .k = 2};

UpdateGroup decision(std::int64_t version, const Names& workers) {
  UpdateGroup group{.version = version};
  for (const std::uint32_t w : workers) group.pushes.push_back({first_worker + w, 0});
  return group;
}

}  // namespace

TEST_CASE("the first shard decides for all only where the order of arrival matters", "[updates]") {
  using enum UpdateRule::Decided;
  const auto of = [](const ConsistencySpec& spec, std::uint32_t shard, std::uint32_t shards) {
    return UpdateRule::decided(make_rule(spec, 3), shard, shards);
  };
  CHECK(of(k_sync, 0, 2) == here_for_all);
  CHECK(of(k_sync, 1, 2) == elsewhere);
  CHECK(of(k_sync, 0, 1) == here);
  CHECK(of({.model = "bsp"}, 1, 2) == here);
  CHECK(of({.model = "k-sync", .k = 3}, 1, 2) == here);
}

TEST_CASE("an update waits for its k-th push and has them in worker order", "[updates]") {
  Shard shard(k_sync, 0, 2);
  shard.push(2);
  CHECK(shard.next().update.pushes.empty());
  shard.push(0);
  const UpdateRule::Next next = shard.next(7);
  CHECK(Shard::names(next.update.pushes) == Names{0, 2});
  REQUIRE(next.decision);
  CHECK(next.decision->version == 7);
  CHECK(next.decision->pushes == std::vector<PushId>{{first_worker, 0}, {first_worker + 2, 0}});
  CHECK(shard.updates.pending().empty());
}

TEST_CASE("another shard takes the same workers' pushes, and the rest comes too late", "[updates]") {
  Shard shard(k_sync, 1, 2);
  for (const std::uint32_t w : {0U, 1U}) shard.push(w);
  CHECK(shard.next().update.pushes.empty());
  CHECK(shard.updates.lacks_decision() == 0);
  shard.updates.hear(decision(0, {1, 2}), 0);
  CHECK(!shard.updates.lacks_decision());
  CHECK(shard.next().update.pushes.empty());  // worker 2's is on its way
  shard.push(2);
  const UpdateRule::Next next = shard.next();
  CHECK(Shard::names(next.update.pushes) == Names{1, 2});
  CHECK(Shard::names(next.late) == Names{0});
}

TEST_CASE("in the place of a worker that is gone another's push is taken", "[updates]") {
  Shard shard(k_sync, 1, 2);
  for (const std::uint32_t w : {0U, 1U}) shard.push(w);
  shard.updates.hear(decision(0, {1, 2}), 0);
  shard.workers.set_members({true, true, false});
  const UpdateRule::Next next = shard.next();
  CHECK(Shard::names(next.update.pushes) == Names{0, 1});
  CHECK(next.late.empty());
}

TEST_CASE("the push of a worker that has gone on is not waited for", "[updates]") {
  Shard shard(k_sync, 1, 2);
  for (const std::uint32_t w : {0U, 1U}) shard.push(w);
  shard.updates.hear(decision(0, {1, 2}), 0);
  CHECK(shard.next(0, 1).update.pushes.empty());
  CHECK(Shard::names(shard.next(0, 2).update.pushes) == Names{0, 1});
}

TEST_CASE("a shard that is behind makes the first one's updates one after another", "[updates]") {
  Shard shard(k_sync, 1, 2);
  shard.updates.hear(decision(0, {0, 1}), 0);
  shard.updates.hear(decision(1, {1, 2}), 0);
  shard.push(1, 0);
  shard.push(1, 1, 1);
  shard.push(2, 0);
  shard.push(2, 1, 1);
  CHECK(shard.next().update.pushes.empty());  // worker 0's is still to come
  shard.push(0, 0);
  const UpdateRule::Next next = shard.next();
  CHECK(Shard::names(next.update.pushes) == Names{0, 1});
  CHECK(next.update.pushes[1].number == 0);
  CHECK(Shard::names(next.late) == Names{2});
  CHECK(Shard::names(shard.next(1).update.pushes) == Names{1, 2});
  CHECK(shard.updates.pending().empty());
}

TEST_CASE("no worker has two pushes in an update, though the one for the next is here", "[updates]") {
  Shard shard(k_sync, 1, 2);
  shard.updates.hear(decision(0, {0, 1}), 0);
  shard.push(1, 0);
  shard.push(1, 1, 1);
  shard.workers.set_members({false, true, true});
  CHECK(shard.next().update.pushes.empty());
  shard.push(2, 2);
  const UpdateRule::Next next = shard.next();
  CHECK(Shard::names(next.update.pushes) == Names{1, 2});
  CHECK(next.late.empty());
  CHECK(shard.updates.pending().size() == 1);
}

TEST_CASE("a worker's push takes the place of one for the same version, not of one before", "[updates]") {
  Shard shard(k_sync, 1, 2);
  shard.push(0, 3);
  const auto next = [](std::int64_t first_version) {
    return Push{.worker = first_worker, .number = 1, .first_version = first_version};
  };
  CHECK(!shard.updates.withdraw_for(next(4)));
  CHECK(shard.updates.withdraw_for(next(3)));
  shard.push(0, 3);
  CHECK(shard.updates.withdraw_for(next(2)));
}

TEST_CASE("where pushes of any version count, another shard takes just those that were announced",
          "[updates]") {
  Shard shard(k_async, 1, 2);
  for (const std::uint32_t w : {0U, 1U}) shard.push(w);
  shard.updates.hear(decision(0, {1, 2}), 0);
  CHECK(shard.next().update.pushes.empty());
  shard.push(2);
  const UpdateRule::Next next = shard.next();
  CHECK(Shard::names(next.update.pushes) == Names{1, 2});
  CHECK(next.late.empty());
  CHECK(Shard::names(shard.updates.pending()) == Names{0});
}

TEST_CASE("the last groups are as large as there are workers that will push", "[updates]") {
  Shard shard(k_async, 0, 1);
  shard.push(0);
  CHECK(shard.next().update.pushes.empty());
  shard.workers.finish(1);
  CHECK(shard.next().update.pushes.empty());  // worker 2 may push
  shard.workers.finish(2);
  CHECK(Shard::names(shard.next().update.pushes) == Names{0});
}

TEST_CASE("under bsp an update has a push of every worker that takes part, and of no other in its place",
          "[updates]") {
  Shard shard({.model = "bsp"}, 0, 1);
  shard.push(0);
  shard.push(2);
  CHECK(shard.next().update.pushes.empty());
  shard.workers.set_members({false, true, true});
  CHECK(shard.next().update.pushes.empty());  // worker 0's push does not stand for worker 1's
  shard.push(1);
  CHECK(Shard::names(shard.next().update.pushes) == Names{0, 1, 2});
}

TEST_CASE("a push is late when its version is over, at the first shard or here", "[updates]") {
  Shard shard(k_sync, 1, 2);
  CHECK(!shard.updates.is_late({.version = 3, .first_version = 3}, 3));
  CHECK(!shard.updates.is_late({.version = 2, .first_version = 3}, 3));  // this shard was behind
  CHECK(shard.updates.is_late({.version = 4, .first_version = 4}, 3));   // this shard was set back
  CHECK(shard.updates.is_late({.version = 3, .first_version = 2}, 3));
  CHECK(!Shard(k_sync, 0, 2).updates.is_late({.version = 3, .first_version = 2}, 3));
  CHECK(!Shard(k_async, 1, 2).updates.is_late({.version = 1, .first_version = 1}, 3));
}

TEST_CASE("an update closes when its window or its deadline is over, and not before a push is there",
          "[updates]") {
  ConsistencySpec spec{.model = "bsp", .window = Seconds{2}, .deadline = Seconds{5}};
  Shard shard(spec, 0, 1);
  shard.updates.begin(10);
  CHECK_FALSE(shard.closes_at());
  shard.now = 11;
  shard.push(0);
  CHECK(shard.closes_at() == 13.0);  // the window is over first
  shard.now = 12.5;
  CHECK(shard.next().update.pushes.empty());
  shard.push(2);
  shard.now = 13;
  CHECK(Shard::names(shard.next().update.pushes) == Names{0, 2});
  shard.updates.begin(13);
  shard.now = 17;
  shard.push(1);
  CHECK(shard.closes_at() == 18.0);  // the deadline is over first
  shard.now = 17.5;
  shard.push(0);
  shard.push(2);
  CHECK(shard.next().update.pushes.size() == 3);  // all are there
  shard.updates.begin(17.5);
  shard.now = 30;
  shard.push(1);
  CHECK(Shard::names(shard.next().update.pushes) == Names{1});  // the deadline is over already
}

TEST_CASE("another shard takes the pushes of an update that closed early, however few", "[updates]") {
  Shard shard({.model = "bsp", .window = Seconds{1}}, 1, 2);
  REQUIRE(UpdateRule::decided(shard.rule, 1, 2) == UpdateRule::Decided::elsewhere);
  shard.push(0);
  shard.push(1);
  CHECK_FALSE(shard.closes_at());
  shard.updates.hear(decision(0, {1}), 0);
  const UpdateRule::Next next = shard.next();
  CHECK(Shard::names(next.update.pushes) == Names{1});
  CHECK(Shard::names(next.late) == Names{0});
}

TEST_CASE("another shard drops the pushes that were too stale at the first one, in its order", "[updates]") {
  Shard shard({.model = "k-async", .k = 2, .max_staleness = 3}, 1, 2);
  shard.push(0);
  shard.push(1);
  UpdateGroup stale{.version = 0};
  stale.dropped.push_back({first_worker + 2, 0});
  shard.updates.hear(stale, 0);
  shard.updates.hear(decision(0, {0, 1}), 0);
  CHECK(shard.next().update.pushes.empty());  // the one that is to be dropped has not come
  shard.push(2);
  const UpdateRule::Next next = shard.next();
  CHECK(Shard::names(next.late) == Names{2});
  CHECK(Shard::names(next.update.pushes) == Names{0, 1});
}

TEST_CASE("one age for all shards: the first shard tells what a push of its age weighs", "[updates]") {
  const ConsistencySpec spec{
      .model = "asp", .max_staleness = 1, .too_stale = TooStale::damp, .age = AgeOf::gradient};
  Shard first(spec, 0, 2), second(spec, 1, 2);
  for (Shard* shard : {&first, &second}) shard->push(0);
  const UpdateRule::Next at_first = first.next(4);  // 3 updates beyond the limit
  REQUIRE(at_first.decision);
  CHECK(at_first.decision->weights == std::vector{0.25});
  CHECK(second.next(1).update.pushes.empty());
  second.updates.hear(*at_first.decision, 0);
  CHECK(second.next(1).update.weights == std::vector{0.25});
}

TEST_CASE("where late pushes count, a group does not wait for who is gone, nor for ever", "[updates]") {
  Shard shard(k_async, 1, 2);
  shard.push(1);
  shard.updates.hear(decision(0, {0, 1}), 1);
  CHECK(shard.next().update.pushes.empty());
  SECTION("the other one is gone") {
    shard.workers.set_members({false, true, true});
    CHECK(Shard::names(shard.next().update.pushes) == Names{1});
  }
  SECTION("its push does not come, and then it does") {
    CHECK(!shard.updates.stop_waiting(0.5));  // not so soon
    CHECK(shard.updates.stop_waiting(1));
    CHECK(Shard::names(shard.next().update.pushes) == Names{1});
    shard.push(0);
    CHECK(Shard::names(shard.next().update.pushes) == Names{0});
  }
  SECTION("a later decision tells of those before it") {
    shard.push(0);
    shard.push(0, 0, 1);
    UpdateGroup all{.version = 3, .pushes = {{first_worker, 1}, {first_worker + 1, 0}}};
    shard.updates.forget_others();
    CHECK(shard.next().update.pushes.empty());
    CHECK(shard.updates.lacks_decision() == 0);
    shard.updates.hear(all, 2);
    CHECK(Shard::names(shard.next().update.pushes) == Names{0, 0, 1});
    CHECK(!shard.updates.lacks_decision());
  }
}

TEST_CASE("a model of one's own makes an update as its expression says, whoever is gone", "[updates]") {
  const auto model = [](const std::string& update, const std::string& start = "true") {
    return ConsistencySpec{.model = "custom", .k = 2, .custom = {.start = start, .update = update}};
  };
  Shard three(model("pushes >= 3"), 0, 1, 4);
  three.workers.set_members({true, true, false, false});
  three.push(0);
  three.push(1);
  CHECK(three.next().update.pushes.empty());  // as many as take part, and not three
  three.push(0, 0, 1);
  CHECK(Shard::names(three.next().update.pushes) == Names{0, 0, 1});

  Shard members(model("pushes >= members"), 0, 1, 4);
  members.workers.set_members({true, true, false, true});
  members.push(0);
  members.push(1);
  CHECK(members.next().update.pushes.empty());
  members.push(3);
  CHECK(Shard::names(members.next().update.pushes) == Names{0, 1, 3});

  // Who waits for its own push pushes no more: those that are gone may come back.
  Shard own(model("pushes >= 3", "applied >= pushed"), 0, 1, 4);
  own.push(0);
  own.push(1);
  own.workers.set_members({true, true, false, false});
  CHECK(own.next().update.pushes.empty());
  own.workers.set_members({true, true, true, false});
  own.push(2);
  CHECK(Shard::names(own.next().update.pushes) == Names{0, 1, 2});
}

TEST_CASE("the last pushes of a model of one's own make an update when no worker is left", "[updates]") {
  Shard shard({.model = "custom", .k = 2, .custom = {.update = "pushes >= 3"}}, 0, 1, 4);
  shard.workers.set_members({true, true, false, true});
  shard.push(0);
  shard.workers.finish(0);
  shard.workers.finish(1);
  CHECK(shard.next().update.pushes.empty());  // worker 3 goes on
  shard.workers.finish(3);
  CHECK(Shard::names(shard.next().update.pushes) == Names{0});
}

TEST_CASE("of two decisions about one version the later one counts", "[updates]") {
  Shard shard(k_sync, 1, 2);
  for (const std::uint32_t w : {0U, 1U, 2U}) shard.push(w);
  shard.updates.hear(decision(0, {0, 1}), 0);
  shard.updates.hear(decision(0, {1, 2}), 0);  // of a first shard that was set back
  CHECK(Shard::names(shard.next().update.pushes) == Names{1, 2});
}

TEST_CASE("an update waits for a worker that is gone, but not if that worker has finished", "[updates]") {
  Shard shard({.model = "custom", .k = 3, .custom = {.start = "applied >= pushed", .update = "pushes >= k"}},
              0, 1);
  shard.push(0);
  shard.workers.set_members({true, false, true});
  shard.workers.finish(2);
  CHECK(shard.next().update.pushes.empty());  // worker 1 may come back
  shard.workers.finish(1);
  CHECK(Shard::names(shard.next().update.pushes) == Names{0});
}
