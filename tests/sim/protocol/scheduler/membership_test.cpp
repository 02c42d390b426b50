// Goal: every shard has one owner, and goes from one to the next as it should. Method: a membership that
// hears our messages, and the view that it makes of them.

#include "sim/protocol/scheduler/membership.hpp"
#include "tests/sim/protocol/placed.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using psim::test::placed_on;

namespace {

// Three servers, 1 to 3, with a shard each, and a worker, all heard at date 1, and started.
Membership three(const Membership::Rules& more = {}) {
  Membership::Rules rules = more;
  rules.servers = 3;
  Membership membership(rules, placed_on({0, 1, 2}));
  for (NodeId node = 1; node <= 4; ++node) {
    if (!membership.is_absent(node)) membership.heard(node, 0, 1);
  }
  membership.start(1);
  return membership;
}

const Owner& owner_of(const Membership& membership, std::size_t shard) {
  return membership.view().owners[shard];
}

}  // namespace

TEST_CASE("a shard moves when its next owner has it, and not before", "[protocol]") {
  Membership membership = three();
  membership.leaves(2);
  CHECK(owner_of(membership, 1).primary == 2);
  CHECK(owner_of(membership, 1).next == 3);
  CHECK(owner_of(membership, 1).epoch == 0);
  membership.ready(1, 3, 7);  // of another epoch
  membership.ready(1, 1, 0);  // another node
  CHECK(owner_of(membership, 1).primary == 2);
  membership.ready(1, 3, 0);
  CHECK(owner_of(membership, 1).primary == 3);
  CHECK(owner_of(membership, 1).from == std::vector<NodeId>{2});
  CHECK(owner_of(membership, 1).next == 0);
  CHECK(owner_of(membership, 1).epoch == 1);
}

TEST_CASE("stop-and-copy moves it at once", "[protocol]") {
  Membership membership = three({.two_phase = false});
  membership.leaves(2);
  CHECK(owner_of(membership, 1).primary == 3);
  CHECK(owner_of(membership, 1).from == std::vector<NodeId>{2});
  CHECK(owner_of(membership, 1).epoch == 1);
}

// The next owner may have been asked for the shard before it had got it.
TEST_CASE("where shards move at once, all former owners are asked", "[protocol]") {
  Membership membership = three({.two_phase = false});
  membership.leaves(2);
  membership.leaves(3);
  CHECK(owner_of(membership, 1).primary == 1);
  CHECK(owner_of(membership, 1).from == std::vector<NodeId>{3, 2});
  membership.heard(2, 1, 2);  // it has joined again, with nothing
  CHECK(owner_of(membership, 1).primary == 2);
  CHECK(owner_of(membership, 1).from == std::vector<NodeId>{1, 3});
}

TEST_CASE("before the start who has not joined is suspected, and nobody else", "[protocol]") {
  Membership membership({.servers = 2, .workers = 1, .detector = {.timeout = 2}}, placed_on({0, 1}));
  membership.heard(1, 0, 0.5);
  membership.heard(3, 0, 0.5);
  CHECK(membership.next_suspicion() == 2.0);
  CHECK(membership.suspect(2) == std::vector<NodeId>{2});
  CHECK(owner_of(membership, 1).primary == 1);
  CHECK_FALSE(membership.next_suspicion());  // the others send no heartbeats yet
  membership.start(3);
  CHECK(membership.next_suspicion() == 5.0);
}

TEST_CASE("a server that crashes while it hands over gives what its next owner has so far", "[protocol]") {
  Membership membership = three({.detector = {.timeout = 2}});
  membership.leaves(2);
  for (const NodeId node : {1, 3, 4}) membership.heard(node, 0, 2.5);
  CHECK(membership.suspect(3.5) == std::vector<NodeId>{2});
  CHECK(owner_of(membership, 1).primary == 3);
  CHECK(owner_of(membership, 1).from.empty());  // nobody is to wait for its help
  CHECK(membership.suspect(3.6).empty());
}

// It may have asked for the last entries, and never have got them.
TEST_CASE("who handed a shard over is there for the next but one owner as well", "[protocol]") {
  Membership membership = three({.detector = {.timeout = 2}});
  membership.leaves(2);
  membership.ready(1, 3, 0);
  for (const NodeId node : {1, 2, 4}) membership.heard(node, 0, 2.5);
  CHECK(membership.suspect(3.5) == std::vector<NodeId>{3});
  CHECK(owner_of(membership, 1).primary == 1);
  CHECK(owner_of(membership, 1).from == std::vector<NodeId>{2});
  for (const NodeId node : {1, 4}) membership.heard(node, 0, 4);
  CHECK(membership.suspect(5) == std::vector<NodeId>{2});
  CHECK(owner_of(membership, 1).from.empty());
}

TEST_CASE("a leaving server that was silent still hands over what only it has", "[protocol]") {
  Membership membership = three({.detector = {.timeout = 2}});
  for (const NodeId node : {1, 3}) membership.leaves(node);
  for (const NodeId node : {1, 3, 4}) membership.heard(node, 0, 2.5);
  CHECK(membership.suspect(3.5) == std::vector<NodeId>{2});  // the last one; nobody else can have its shard
  membership.heard(2, 0, 4);
  membership.leaves(2);
  for (const NodeId node : {1, 3, 4}) membership.heard(node, 0, 5.5);
  CHECK(membership.suspect(6.5) == std::vector<NodeId>{2});
  membership.heard(2, 0, 7);
  membership.heard(1, 1, 7.5);  // has joined again
  CHECK(owner_of(membership, 1).primary == 2);
  CHECK(owner_of(membership, 1).next == 1);
}

TEST_CASE("another one takes the place of a next owner that crashes", "[protocol]") {
  Membership membership = three({.detector = {.timeout = 2}});
  membership.leaves(2);
  CHECK(owner_of(membership, 1).next == 3);
  for (const NodeId node : {1, 2, 4}) membership.heard(node, 0, 2.5);
  CHECK(membership.suspect(3.5) == std::vector<NodeId>{3});
  CHECK(owner_of(membership, 1).primary == 2);
  CHECK(owner_of(membership, 1).next == 1);
  CHECK(owner_of(membership, 2).primary == 1);  // the one that crashed had a shard itself
}

TEST_CASE("a server that comes back is given what is its own, and nothing before it has it", "[protocol]") {
  Membership membership = three({.copies = 1, .detector = {.timeout = 2}});
  for (const NodeId node : {1, 3, 4}) membership.heard(node, 0, 2.5);
  membership.suspect(3.5);
  CHECK(owner_of(membership, 1).primary == 3);
  CHECK(owner_of(membership, 1).replicas == std::vector<NodeId>{1});
  const bool restarted = GENERATE(false, true);
  membership.heard(2, restarted ? 1 : 0, 4);
  CHECK(owner_of(membership, 1).primary == 3);
  CHECK(owner_of(membership, 1).next == 2);
  membership.ready(1, 2, 1);
  CHECK(owner_of(membership, 1).primary == 2);
  CHECK(owner_of(membership, 1).epoch == 2);
}

TEST_CASE("without rebalancing shards stay where they are", "[protocol]") {
  Membership membership = three({.detector = {.timeout = 2}, .rebalance = Rebalance::none});
  for (const NodeId node : {1, 3, 4}) membership.heard(node, 0, 2.5);
  membership.suspect(3.5);
  membership.heard(2, 0, 4);
  CHECK(owner_of(membership, 1).primary == 3);
  CHECK(owner_of(membership, 1).next == 0);
}

TEST_CASE("a shard that is awaited stays with its server, whoever is to have copies", "[protocol]") {
  Membership membership = three({.copies = 0, .detector = {.timeout = 2}, .takes_over = false});
  for (const NodeId node : {1, 3, 4}) membership.heard(node, 0, 2.5);
  membership.suspect(3.5);
  CHECK(owner_of(membership, 1).primary == 2);
  membership.heard(2, 1, 4);
  CHECK(owner_of(membership, 1).primary == 2);
  CHECK(owner_of(membership, 1).epoch == 1);  // it has nothing of what it had
}

TEST_CASE("a server that is absent at first comes to its shards", "[protocol]") {
  Membership membership = three({.absent = {3}});
  CHECK(owner_of(membership, 2).primary == 1);
  membership.heard(3, 0, 2);
  CHECK(owner_of(membership, 2).primary == 1);
  CHECK(owner_of(membership, 2).next == 3);
}

// While nobody looked it was suspected, came back, and the scheduler crashed before it could send it home.
TEST_CASE("a scheduler that takes up a cluster sends shards home", "[protocol]") {
  Membership before = three({.detector = {.timeout = 2}});
  for (const NodeId node : {1, 3, 4}) before.heard(node, 0, 2.5);
  before.suspect(3.5);
  Membership after = three();
  CHECK(after.take_up(before.view(), {}, 1).empty());
  CHECK(owner_of(after, 1).primary == 3);
  CHECK(owner_of(after, 1).next == 2);
}

TEST_CASE("phi-accrual suspects when one gap of 10^threshold would be longer", "[protocol]") {
  // Equal gaps of 1 are taken to vary by 0.1; one in ten normal gaps is 1.2816 deviations longer.
  FailureDetector detector({.kind = DetectorKind::phi_accrual, .timeout = 9, .threshold = 1});
  for (const double date : {1.0, 2.0, 3.0, 4.0}) detector.heard(date);
  CHECK(detector.suspect_at() == Approx(4 + 1 + 0.12816).epsilon(1e-4));
}

TEST_CASE("a timeout counts from the last word", "[protocol]") {
  FailureDetector detector({.timeout = 9});
  for (const double date : {1.0, 2.0, 4.0}) detector.heard(date);
  CHECK(detector.suspect_at() == 13);
}

TEST_CASE("a replica takes over, not the next server", "[protocol]") {
  Membership membership = three({.copies = 1});
  REQUIRE(owner_of(membership, 0).replicas == std::vector<NodeId>{2});
  membership.heard(1, 0, 1.5);
  for (NodeId node : {1U, 3U, 4U}) membership.heard(node, 0, 2.9);
  REQUIRE(membership.suspect(3.5) == std::vector<NodeId>{2});
  REQUIRE(owner_of(membership, 0).replicas == std::vector<NodeId>{3});
  membership.heard(2, 1, 3.6);  // it comes back with nothing, and is the next server again
  for (NodeId node : {2U, 3U, 4U}) membership.heard(node, node == 2 ? 1 : 0, 4.5);
  REQUIRE(membership.suspect(5.5) == std::vector<NodeId>{1});
  CHECK(owner_of(membership, 0).primary == 3);
}

TEST_CASE("a server that a new scheduler did not hear in time has nothing of what it had", "[protocol]") {
  Membership before({.servers = 1}, placed_on({0}));
  before.heard(1, 0, 1);
  Membership after({.servers = 1}, placed_on({0}));
  after.take_up(before.view(), {}, 1);
  const std::uint32_t epoch = owner_of(after, 0).epoch;
  after.heard(1, 1, 2);
  CHECK(owner_of(after, 0).primary == 1);
  CHECK(owner_of(after, 0).epoch > epoch);
}

// It was down together with the scheduler. Nobody waits for its help; if nobody else is there it begins anew.
TEST_CASE("a server that leaves and knows no view has nothing of what it had", "[protocol]") {
  const bool is_alone = GENERATE(true, false);
  Membership after({.servers = 2}, placed_on({0, 1}));
  const View view = after.view();
  after.heard(1, 1, 1);
  after.leaves(1);
  if (!is_alone) after.heard(2, 0, 1);
  after.take_up(view, {1}, 1);
  CHECK(owner_of(after, 0).primary == (is_alone ? 1 : 2));
  CHECK(owner_of(after, 0).epoch > 0);
  CHECK(owner_of(after, 0).from.empty());
  CHECK(owner_of(after, 0).next == 0);
  CHECK_FALSE(after.is_up(1));
  after.heard(2, 0, 2);
  CHECK(owner_of(after, 0).next == (is_alone ? 2 : 0));
}

// A job has ended: its workers and its shard are nobody's any more, whatever is heard of them.
TEST_CASE("what a job had is gone with it", "[protocol]") {
  Membership membership = three();
  const std::int64_t before = membership.view().number;
  membership.retire({4}, 1, 1);
  CHECK(membership.view().number == before + 1);
  CHECK_FALSE(membership.view().workers[0]);
  CHECK(owner_of(membership, 1).primary == 0);
  membership.heard(4, 0, 2);
  membership.heard(4, 1, 2);
  CHECK_FALSE(membership.is_up(4));
  CHECK(owner_of(membership, 0).primary == 1);
  for (NodeId node = 1; node <= 3; ++node) membership.heard(node, 0, 2);
  CHECK(membership.suspect(3.9).empty());
  membership.leaves(2);  // it had nothing but that shard
  CHECK(owner_of(membership, 1).primary == 0);
  CHECK(owner_of(membership, 1).next == 0);
  // A scheduler that takes over hears of an older view, which still had it.
  View older = three().view();
  Membership next({.servers = 3}, placed_on({0, 1, 2}));
  next.retire({4}, 1, 1);
  for (NodeId node = 1; node <= 3; ++node) next.heard(node, 0, 5);
  CHECK(next.take_up(older, {}, 1).empty());
  CHECK_FALSE(next.view().workers[0]);
}

namespace {

// The servers that own the shards, or are to own them.
std::vector<NodeId> goals_of(const Membership& membership) {
  std::vector<NodeId> goals;
  for (const Owner& owner : membership.view().owners)
    goals.push_back(owner.next != 0 ? owner.next : owner.primary);
  return goals;
}

// On a ring of three servers; the third is absent at first.
KeySpace on_ring() {
  KeySpace keys = placed_on({0, 0, 1, 2, 2});
  keys.shards[0].order = {0, 2, 1};
  keys.shards[1].order = {0, 1, 2};
  keys.shards[2].order = {1, 2, 0};
  keys.shards[3].order = {2, 0, 1};
  keys.shards[4].order = {2, 1, 0};
  return keys;
}

Membership of_three(Membership::Rules rules, const KeySpace& keys) {
  rules.servers = 3;
  Membership membership(rules, keys);
  for (NodeId node = 1; node <= 4; ++node) {
    if (!membership.is_absent(node)) membership.heard(node, 0, 1);
  }
  membership.start(1);
  return membership;
}

}  // namespace

TEST_CASE("a leaver's ranges go to their own neighbours on the ring, and come back", "[protocol]") {
  Membership membership = of_three({.two_phase = false}, on_ring());
  membership.leaves(1);
  CHECK(goals_of(membership) == std::vector<NodeId>{3, 2, 2, 3, 3});
  membership.leaves(3);
  CHECK(goals_of(membership) == std::vector<NodeId>{2, 2, 2, 2, 2});
  membership.heard(3, 1, 2);
  CHECK(goals_of(membership) == std::vector<NodeId>{3, 2, 2, 3, 3});
  membership.heard(1, 1, 2);
  CHECK(goals_of(membership) == std::vector<NodeId>{1, 1, 2, 3, 3});
}

TEST_CASE("a joiner takes its ranges from several servers", "[protocol]") {
  Membership membership = of_three({.absent = {3}}, on_ring());
  CHECK(goals_of(membership) == std::vector<NodeId>{1, 1, 2, 1, 2});
  membership.heard(3, 1, 2);
  CHECK(goals_of(membership) == std::vector<NodeId>{1, 1, 2, 3, 3});
}

TEST_CASE("replicas are the neighbours on the ring, so a crash moves ranges to where copies are",
          "[protocol]") {
  Membership membership = of_three({.copies = 1, .detector = {.timeout = 2}}, on_ring());
  CHECK(owner_of(membership, 0).replicas == std::vector<NodeId>{3});
  CHECK(owner_of(membership, 1).replicas == std::vector<NodeId>{2});
  for (const NodeId node : {2U, 3U, 4U}) membership.heard(node, 0, 3.5);
  CHECK(membership.suspect(3.6) == std::vector<NodeId>{1});
  CHECK(goals_of(membership) == std::vector<NodeId>{3, 2, 2, 3, 3});
}

TEST_CASE("a joiner takes its share of the load that owners have told", "[protocol]") {
  Membership membership = of_three({.rebalance = Rebalance::load, .absent = {3}}, placed_on({0, 0, 0, 1, 1}));
  for (const auto& [shard, values] : {std::pair{0U, 10U}, {1U, 20U}, {2U, 30U}, {3U, 30U}, {4U, 30U}})
    membership.carries(shard < 3 ? 1 : 2, {.shard = shard, .epoch = 0, .values = values});
  membership.carries(1, {.shard = 2, .epoch = 0, .values = 20});  // overtaken
  membership.heard(3, 1, 3);
  // 120 values in 2 s, so the mean is 20 a second. Both servers may give 10: shard 2 has 15.
  CHECK(membership.loads().rate(2) == Approx(15));
  REQUIRE(membership.view().cuts.size() == 1);
  CHECK(goals_of(membership) == std::vector<NodeId>{1, 3, 1, 2, 2, 3});
}

TEST_CASE("a cut begins an epoch of both parts, and the upper one moves", "[protocol]") {
  for (const bool two_phase : {true, false}) {
    INFO("two phases: " << two_phase);
    Membership membership =
        of_three({.copies = 0, .rebalance = Rebalance::load, .two_phase = two_phase, .absent = {2, 3}},
                 placed_on({0}));
    membership.heard(2, 1, 3);
    const View view = membership.view();
    REQUIRE(view.cuts == std::vector<Cut>{{.shard = 0, .at = 50}});
    REQUIRE(view.owners.size() == 2);
    CHECK(view.bytes() == 8 + 1 + 8 * 2 + 4 + 12);
    CHECK(view.owners[0].primary == 1);
    CHECK(view.owners[0].epoch == 1);
    CHECK(view.owners[1].epoch == 1);
    CHECK(view.owners[1].primary == (two_phase ? 1 : 2));
    CHECK(view.owners[1].next == (two_phase ? 2 : 0));
    CHECK(view.owners[1].from == (two_phase ? std::vector<NodeId>{} : std::vector<NodeId>{1}));
    CHECK(view.layout->keys.shards[1].ranges == std::vector<Range>{{50, 50}});
    membership.ready(1, 2, 1);
    CHECK(membership.view().owners[1].primary == 2);
    CHECK(membership.view().owners[0].primary == 1);
    CHECK(goals_of(membership) == std::vector<NodeId>{1, 2});
    membership.leaves(2);
    CHECK(goals_of(membership) == std::vector<NodeId>{1, 1});
  }
}

TEST_CASE("who has crashed and returns takes a share again, by size if no load is known", "[protocol]") {
  Membership membership =
      of_three({.detector = {.timeout = 2}, .rebalance = Rebalance::load}, placed_on({0, 1, 2}));
  for (const NodeId node : {2U, 3U, 4U}) membership.heard(node, 0, 3.5);
  CHECK(membership.suspect(3.6) == std::vector<NodeId>{1});
  CHECK(goals_of(membership) == std::vector<NodeId>{2, 2, 3});
  membership.heard(1, 1, 4);
  CHECK(goals_of(membership) == std::vector<NodeId>{1, 2, 3});
}

TEST_CASE("phi-accrual knows the last hundred gaps", "[protocol]") {
  FailureDetector detector({.kind = DetectorKind::phi_accrual, .timeout = 9, .threshold = 1});
  double date = 0;
  for (int i = 0; i < 50; ++i) detector.heard(date += 5);
  for (int i = 0; i < 100; ++i) detector.heard(date += 1);
  CHECK(detector.suspect_at() - date == Approx(1 + 0.12816).epsilon(1e-4));
}
