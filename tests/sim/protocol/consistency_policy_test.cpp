// Goal: a policy of one's own decides: it holds, applies some pushes with weights, drops one, or closes an
// update at a date; its memory and its weights reach other shards, replicas and hashes.
// Method: a policy that counts, driven by hand.
#include "sim/protocol/consistency_policy.hpp"

#include "sim/protocol/server/shard_state.hpp"
#include "tests/sim/protocol/server_driver.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

// Takes pairs: the first two pushes that wait, the second for a quarter. It drops every fifth push, closes an
// update 3 s after the last one, and remembers how many pushes were in updates and the date of the last
// update, and as an estimate how many have come.
class Pairs final : public ConsistencyPolicy {
 public:
  explicit Pairs(Gate gate) : gate_(gate) {}
  PolicyShape shape() const override {
    return {.gate = gate_, .group = 2, .varies = true, .shrinks = true, .memory = 2, .estimates = 1};
  }
  bool may_start(const StartView& view, Memory) const override {
    return gate_ == Gate::none || view.applied() >= view.pushed;
  }
  Decision on_push(const ShardView& view, Memory memory) const override {
    if (view.came && static_cast<int>(memory[2]) % 5 == 0) return Decision::drop();
    if (view.pending.size() < 2) return Decision::hold();
    return Decision::apply({{.push = 1, .weight = 0.25}, {.push = 0}});
  }
  std::optional<double> closes_at(const ShardView&, Memory memory) const override { return memory[1] + 3; }
  Decision on_timer(const ShardView& view, Memory) const override {
    return view.now < 100 ? Decision::apply_all() : Decision::hold();
  }
  void note_push(const ShardView&, const Push&, OwnEstimates estimates) const override { estimates[0] += 1; }
  void note_update(const ShardView& view, const std::vector<Push>& pushes, OwnMemory memory) const override {
    memory[0] += static_cast<double>(pushes.size());
    memory[1] = view.now;
  }

 private:
  Gate gate_;
};

template <Gate gate>
std::shared_ptr<const ConsistencyPolicy> pairs_of(const ConsistencySpec&, std::int64_t) {
  return std::make_shared<const Pairs>(gate);
}

const Addition<ConsistencyRow> pairs{{.name = "pairs-of-a-test",
                                      .gate = Gate::none,
                                      .group = Group::own,
                                      .policy = pairs_of<Gate::none>,
                                      .fuzz = 0}},
    own_pairs{{.name = "own-pairs-of-a-test",
               .gate = Gate::own,
               .group = Group::own,
               .policy = pairs_of<Gate::own>,
               .fuzz = 0}};

ShardState::Options options_of(std::string_view model, std::uint32_t shard = 0, std::uint32_t shards = 1) {
  return {.shard = shard,
          .shards = shards,
          .first_worker = first_worker,
          .rule = test::shared_rule({.model = model}, 4),
          .steps = 100,
          .learning_rate = {.base = 1}};
}

Values zero() { return std::move(*values_of({0})); }
Driver::Setup setup() { return {.weights = {0}, .learning_rate = {.base = 1}}; }

}  // namespace

TEST_CASE("a policy's update has the pushes and the weights that it chose", "[policy]") {
  Driver d({.model = "pairs-of-a-test"}, 4, setup());
  d.pull_all();
  CHECK(d.server.version() == 0);
  d.push(0, {8});
  CHECK(d.server.version() == 0);
  d.push(1, {8});
  REQUIRE(d.server.version() == 1);
  // (8 + 8 / 4) / 2, and 2 of 4 pushes move by half of the rate.
  CHECK(-d.weights()[0] == 2.5);
}

TEST_CASE("a policy drops a push, which counts as arrived", "[policy]") {
  Driver d({.model = "pairs-of-a-test"}, 4, setup());
  for (int i = 0; i < 4; ++i) d.push(0, {0});
  CHECK(d.server.version() == 2);
  CHECK(d.push(1, {100}).front() == "drop w1");
  CHECK(d.server.pending().empty());
  CHECK(d.server.state().workers[1].arrived == 1);
  CHECK(d.server.state().workers[1].applied == 1);
  CHECK(d.weights()[0] == 0);
}

TEST_CASE("a policy's date closes an update, and a policy that holds then is not asked for ever",
          "[policy]") {
  Driver d({.model = "pairs-of-a-test"}, 4, setup());
  d.now = 1;
  CHECK_FALSE(d.server.closes_at(d.now));  // nothing waits
  d.push(0, {4});
  CHECK(d.server.closes_at(d.now) == 3.0);
  d.now = 3;
  d.close();
  CHECK(d.server.version() == 1);
  CHECK(-d.weights()[0] == 1);  // one push of four
  d.now = 200;
  d.push(0, {4});
  CHECK(d.server.version() == 1);
  CHECK_FALSE(d.server.closes_at(d.now));
}

TEST_CASE("the first shard tells the others what its pushes weigh", "[policy]") {
  ShardState first(options_of("own-pairs-of-a-test", 0, 2), zero(), 1),
      second(options_of("own-pairs-of-a-test", 1, 2), zero(), 1);
  const auto push = [](ShardState& state, std::uint32_t w, std::int64_t number = 0) {
    const Push one{
        .worker = first_worker + w, .number = number, .gradient = {.values = {values_of({8}), 0, 1}}};
    state.count_arrived(one);
    state.updates.note_version(one);
    state.updates.add(one, 0);
  };
  const auto next = [](ShardState& state) {
    return state.updates.next(state.view(0), state.memory, [](std::uint32_t) { return false; });
  };
  for (const std::uint32_t w : {1U, 3U}) push(first, w);
  const UpdateRule::Next decided = next(first);
  CHECK(decided.update.weights == std::vector<double>{1, 0.25});
  REQUIRE(decided.decision);
  CHECK(decided.decision->weights == std::vector<double>{1, 0.25});
  CHECK(decided.decision->wire_bytes() == 2 * id_bytes + 16);
  push(second, 3);
  push(second, 2);
  second.updates.hear(*decided.decision, 0);
  CHECK(next(second).update.pushes.empty());
  push(second, 1);
  const UpdateRule::Next told = next(second);
  REQUIRE(told.update.pushes.size() == 2);
  CHECK(told.update.pushes[0].worker == first_worker + 1);
  CHECK(told.update.weights == std::vector<double>{1, 0.25});
  // The weights were of these pushes.
  second.updates.hear({.version = 1, .pushes = {{first_worker + 2, 0}}}, 0);
  CHECK(next(second).update.weights == std::vector<double>{1});
}

TEST_CASE("a policy's memory is in the state's hash and bytes, and its estimates are not", "[policy]") {
  ShardState state(options_of("pairs-of-a-test"), zero(), 1), other = state;
  ShardState without(options_of("asp"), zero(), 1);
  CHECK(state.bytes() == without.bytes() + 16);
  CHECK(state.hash(1) != without.hash(1));
  other.memory[2] = 7;
  CHECK(state.hash(1) == other.hash(1));
  other.memory[1] = 7;
  CHECK(state.hash(1) != other.hash(1));
}

TEST_CASE("a replica has a policy's memory and applies its weights", "[policy]") {
  constexpr NodeId replica = 9;
  for (const ReplicateWhen when : {ReplicateWhen::every_push, ReplicateWhen::after_aggregation}) {
    INFO(static_cast<int>(when));
    ShardServer owner({.id = server_node,
                       .state = options_of("pairs-of-a-test"),
                       .confirms = true,
                       .replication = {.copies = 1, .when = when},
                       .checked = true},
                      zero(), 1);
    Mail mail;
    owner.lead(server_node, {.primary = server_node, .epoch = 1, .replicas = {replica}}, 0, mail);
    ShardState copy = owner.state();
    owner.on({.from = replica, .to = server_node, .epoch = 1, .body = Replicated{0}}, 0, mail);
    for (const std::uint32_t w : {2U, 0U}) {
      const Push push{.worker = first_worker + w, .gradient = {.values = {values_of({8}), 0, 1}}};
      owner.on(from_worker(w, push, 1), 2, mail);
    }
    REQUIRE(owner.version() == 1);
    CHECK(numbers_of(owner.state().snapshot()) == Numbers{-2.5});
    while (const std::optional<Message> sent = mail.take(MessageKind::replicate, replica))
      copy.apply(*sent->as<Replicate>()->entry, 1);
    CHECK(copy.version == 1);
    CHECK(copy.memory == std::vector<double>{2, 2, 0});
    CHECK(copy.hash(1) == owner.state().hash(1));
    CHECK(numbers_of(copy.snapshot()) == Numbers{-2.5});
  }
}

TEST_CASE("a policy that contradicts itself is refused", "[policy]") {
  const auto refused = [](const PolicyShape& shape, Gate gate, bool drops_stale) {
    static PolicyShape made;
    made = shape;
    class Any final : public ConsistencyPolicy {
      PolicyShape shape() const override { return made; }
      bool may_start(const StartView&, Memory) const override { return true; }
      Decision on_push(const ShardView&, Memory) const override { return Decision::hold(); }
    };
    const Addition<ConsistencyRow> added{
        {.name = "any",
         .gate = gate,
         .group = Group::own,
         .drops_stale = drops_stale,
         .policy = [](const ConsistencySpec&, std::int64_t) -> std::shared_ptr<const ConsistencyPolicy> {
           return std::make_shared<const Any>();
         }}};
    try {
      make_rule({.model = "any"}, 4);
      return false;
    } catch (const std::logic_error&) {
      return true;
    }
  };
  CHECK_FALSE(refused({.gate = Gate::own}, Gate::own, false));
  CHECK(refused({.gate = Gate::own}, Gate::none, false));
  CHECK(refused({.drops_stale = true}, Gate::none, false));
  CHECK(refused({.gate = Gate::version}, Gate::version, false));
  CHECK(refused({.gate = Gate::own, .drops_stale = true}, Gate::own, true));
  CHECK(refused({.group = 0}, Gate::none, false));
}

TEST_CASE("a policy's update keeps the order of a worker's pushes, and its indices and weights are checked",
          "[policy]") {
  static Decision next;
  class Told final : public ConsistencyPolicy {
    PolicyShape shape() const override { return {}; }
    bool may_start(const StartView&, Memory) const override { return true; }
    Decision on_push(const ShardView& view, Memory) const override {
      return view.pending.size() < 3 ? Decision::hold() : next;
    }
    Decision on_timer(const ShardView&, Memory) const override { return Decision::hold(); }
  };
  static const Addition<ConsistencyRow> told{
      {.name = "told-by-a-test",
       .gate = Gate::none,
       .group = Group::own,
       .policy = [](const ConsistencySpec&, std::int64_t) -> std::shared_ptr<const ConsistencyPolicy> {
         return std::make_shared<const Told>();
       },
       .fuzz = 0}};
  const auto outcome = [](Decision decision, std::uint32_t last = 1) {
    next = std::move(decision);
    Driver d({.model = "told-by-a-test"}, 4, setup());
    for (const std::uint32_t w : {0U, 0U, last}) d.push(w, {1});
    return d.server.version();
  };
  CHECK(outcome(Decision::apply({{.push = 0}, {.push = 2}})) == 1);
  CHECK(outcome(Decision::apply({})) == 0);
  CHECK_THROWS_AS(outcome(Decision::apply({{.push = 1}})), std::logic_error);  // before worker 0's first
  CHECK_THROWS_AS(outcome(Decision::apply({{.push = 3}})), std::logic_error);
  CHECK_THROWS_AS(outcome(Decision::apply({{.push = 2}, {.push = 2}})), std::logic_error);
  CHECK_THROWS_AS(outcome(Decision::apply({{.push = 0, .weight = -1}})), std::logic_error);
  CHECK_THROWS_AS(outcome(Decision::apply({{.push = 0, .weight = NAN}})), std::logic_error);
  CHECK(outcome(Decision::drop()) == 0);
  CHECK_THROWS_AS(outcome(Decision::drop(), 0), std::logic_error);  // an earlier one of its worker waits
}

TEST_CASE("a policy sees since when pushes wait: the first of them, or the update after which it was left",
          "[policy]") {
  class Window final : public ConsistencyPolicy {
    PolicyShape shape() const override { return {.varies = true}; }
    bool may_start(const StartView&, Memory) const override { return true; }
    Decision on_push(const ShardView& view, Memory) const override {
      return view.pending.size() < 3 ? Decision::hold() : Decision::apply({{.push = 0}});
    }
    std::optional<double> closes_at(const ShardView& view, Memory) const override {
      return view.waits_since + 2;
    }
  };
  const Addition<ConsistencyRow> row{
      {.name = "window-of-a-test",
       .gate = Gate::none,
       .group = Group::own,
       .policy = [](const ConsistencySpec&, std::int64_t) -> std::shared_ptr<const ConsistencyPolicy> {
         return std::make_shared<const Window>();
       }}};
  Driver d({.model = "window-of-a-test"}, 4, setup());
  d.now = 1;
  d.push(0, {1});
  d.now = 1.5;
  d.push(1, {1});
  CHECK(d.server.closes_at(d.now) == 3.0);
  d.now = 2;
  d.push(2, {1});
  CHECK(d.server.version() == 1);
  CHECK(d.server.closes_at(d.now) == 4.0);
  d.now = 4;
  d.close();
  CHECK(d.server.version() == 2);
  CHECK(d.server.pending().empty());
}
