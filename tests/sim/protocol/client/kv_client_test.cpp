// Goal: a client asks for what a step needs, knows when it has it, and finds its way when messages are lost,
// servers change and shards are set back.
// Method: a client without a network, whose messages the test reads and answers.
#include "sim/protocol/client/kv_client.hpp"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tests/sim/protocol/placed.hpp"
#include "tests/sim/protocol/server_driver.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;
using enum KvClient::Wanted;

namespace {

constexpr NodeId worker = 5;

struct Box final : ClientOutbox {
  double time = 0;
  std::vector<Message> sent, again, lent;
  std::vector<std::int64_t> safe;
  bool on_its_way = false, gave_up = false;

  double now() const override { return time; }
  void send(Message request) override { sent.push_back(std::move(request)); }
  void send_again(Message request, const Cause&) override { again.push_back(std::move(request)); }
  void lend(Message copy) override { lent.push_back(std::move(copy)); }
  Due due(const Message&) const override { return on_its_way ? Due::under_way : Due::repeated; }
  void give_up() override { gave_up = true; }
  void is_safe(const Message&, std::int64_t pushes) override { safe.push_back(pushes); }
};

// A worker of two servers with a shard each.
struct Client {
  explicit Client(const ConsistencySpec& spec, std::optional<RetrySpec> retry = {}, bool acknowledges = false)
      : client({.node = worker,
                .owners = {1, 2},
                .keys = &keys,
                .rule = test::shared_rule(spec, 2),
                .acknowledges = acknowledges,
                .retry = retry},
               box) {}

  std::vector<Message> take() {
    look();
    return std::exchange(box.sent, {});
  }
  // The numbers of the last pulls.
  void look() {
    for (const Message& request : box.sent) {
      if (request.is<Pull>() && request.shard < 2) numbers[request.shard] = request.as<Pull>()->number;
    }
  }
  // Answers the last pull of this shard.
  void answer(std::uint32_t shard, Answer answer, std::uint32_t epoch = 0) {
    look();
    answer.number = numbers[shard];
    client.on({.from = shard + 1, .to = worker, .shard = shard, .epoch = epoch, .body = answer});
  }
  void answer_all(std::int64_t version) {
    for (const std::uint32_t s : {0U, 1U}) answer(s, {.version = version});
    take();
  }
  Timestamp push(std::int64_t clock) {
    return client.push(client.all_shards(), clock, {},
                       [](std::uint32_t) { return KvClient::GradientPart{}; });
  }
  // Shard 0 has this owner in this epoch, and shard 1 what it had.
  void own(NodeId owner, std::uint32_t epoch) {
    View view{.number = epoch, .owners = {{.primary = owner, .epoch = epoch}, {.primary = 2}}};
    view.workers = {true, true};
    client.on_view(std::make_shared<const View>(std::move(view)));
  }

  KeySpace keys = placed_on({0, 1}, 1);
  Box box;
  KvClient client;
  std::int64_t numbers[2] = {};
};

const Pull& pull_in(const Message& message) { return *message.as<Pull>(); }

}  // namespace

TEST_CASE("client: a pull goes to every shard's owner and is done when all have answered", "[client]") {
  Client c({.model = "asp"});
  const Timestamp task = c.client.pull(c.client.all_shards(), 3, any);
  REQUIRE(c.box.sent.size() == 2);
  for (const std::uint32_t s : {0U, 1U}) {
    CHECK(c.box.sent[s].to == s + 1);
    CHECK(pull_in(c.box.sent[s]).clock == 3);
    CHECK(pull_in(c.box.sent[s]).above == -1);
    CHECK(pull_in(c.box.sent[s]).number == 1);
  }
  c.answer(0, {.version = 4});
  CHECK_FALSE(c.client.done(task));
  CHECK(c.client.least_version_here() == 4);
  CHECK_FALSE(c.client.answered({0, 1}));
  c.answer(1, {.version = 2, .sent_at = 7});
  CHECK(c.client.done(task));
  CHECK(c.client.least_version() == 2);
  CHECK(c.client.versions() == KvClient::Versions{4, 2});
  CHECK(c.client.oldest() == 0);
}

TEST_CASE("client: a later pull takes the place of an earlier one, whose answer counts no more", "[client]") {
  Client c({.model = "asp"});
  const Timestamp first = c.client.pull({0}, 0, any), second = c.client.pull({0}, 1, any);
  CHECK(c.client.done(first));
  const Message old{.from = 1, .to = worker, .body = Answer{.number = 1, .version = 9}};
  CHECK_FALSE(c.client.is_expected(old));
  c.client.on(old);
  CHECK_FALSE(c.client.done(second));
  CHECK(c.client.version(0) == -1);
  c.answer(0, {.version = 3}, 1);  // of another epoch
  CHECK_FALSE(c.client.done(second));
  c.answer(0, {.version = 3});
  CHECK(c.client.done(second));
}

TEST_CASE("client: under bsp a step asks for a version above its own, once", "[client]") {
  Client c({.model = "bsp"});
  c.client.pull_for_step(0);
  CHECK(pull_in(c.box.sent[0]).above == -1);
  c.answer_all(0);
  c.client.use_all();
  c.push(0);
  c.take();
  c.client.pull_for_step(1);
  REQUIRE(c.box.sent.size() == 2);
  CHECK(pull_in(c.box.sent[1]).above == 0);
  CHECK(pull_in(c.box.sent[1]).pushes_sent == 1);
  CHECK_FALSE(pull_in(c.box.sent[1]).computes);
  c.answer(0, {.version = 1});
  c.take();
  c.client.pull_for_step(1);
  CHECK(c.take().empty());  // one is on its way, and the other's weights wait for their step
}

TEST_CASE("client: who watches for a newer version says that its push is still to come", "[client]") {
  Client c({.model = "k-sync", .k = 1});
  c.client.pull_for_step(0);
  c.answer_all(0);
  c.client.use_all();
  c.client.watch_for_newer(0);
  REQUIRE(c.box.sent.size() == 2);
  CHECK(pull_in(c.box.sent[0]).computes);
  CHECK(pull_in(c.box.sent[0]).above == 0);
}

TEST_CASE("client: a finished shard gets no more pulls and pushes", "[client]") {
  Client c({.model = "asp"});
  c.client.pull(c.client.all_shards(), 0, any);
  c.answer(0, {.finished = true, .version = 1});
  c.answer(1, {.version = 1});
  c.take();
  CHECK(c.client.is_over());
  CHECK_FALSE(c.client.all_finished());
  c.push(0);
  c.client.pull(c.client.all_shards(), 1, any);
  for (const Message& message : c.take()) CHECK(message.shard == 1);
  c.client.pull_unfinished(1);
  CHECK(c.take().empty());  // that one is on its way
}

TEST_CASE("client: a push is done when it is sent, or when all servers have acknowledged it", "[client]") {
  Client sends({.model = "asp"});
  CHECK(sends.client.done(sends.push(0)));
  Client waits({.model = "asp"}, {}, true);
  const Timestamp first = waits.push(0), second = waits.push(1);
  const auto acknowledge = [&](std::uint32_t shard, std::int64_t number) {
    waits.client.on({.from = shard + 1, .to = worker, .shard = shard, .body = Ack{.number = number}});
  };
  acknowledge(0, 0);
  CHECK_FALSE(waits.client.done(first));
  acknowledge(1, 1);
  acknowledge(1, 0);
  CHECK(waits.client.done(first));
  CHECK_FALSE(waits.client.done(second));
  acknowledge(0, 1);
  CHECK(waits.client.done(second));
}

TEST_CASE("client: what is not answered goes again, unless it is on its way", "[client]") {
  Client c({.model = "asp"}, RetrySpec{.timeout = 1, .backoff = 2, .longest = 8, .limit = 2});
  c.client.pull({0}, 0, any);
  CHECK(c.client.next_repetition() == 1.0);
  c.box.on_its_way = true;
  c.client.repeat(1);
  CHECK(c.box.again.empty());
  c.box.on_its_way = false;
  c.push(0);
  c.client.repeat(3);
  REQUIRE(c.box.again.size() == 3);
  for (const Message& message : c.box.again) {
    if (const Pull* pull = message.as<Pull>()) CHECK(pull->pushes_sent == 1);
    else CHECK(message.as<Push>()->oldest_resendable == 0);
  }
  CHECK_FALSE(c.box.gave_up);
  for (int i = 0; i < 3; ++i) c.client.repeat(100.0 * (i + 1));
  CHECK(c.box.gave_up);
}

TEST_CASE("client: pushes that are safe on other servers need no acknowledgement", "[client]") {
  Client c({.model = "asp"}, RetrySpec{}, true);
  const Timestamp task = c.push(0);
  c.client.pull(c.client.all_shards(), 1, any);
  for (const std::uint32_t s : {0U, 1U}) c.answer(s, {.version = 1, .safe_pushes = 1});
  CHECK(c.client.done(task));
  CHECK(c.box.safe == std::vector<std::int64_t>{1, 1});
}

TEST_CASE("client: a new owner gets the requests that are open and the pushes that are not safe",
          "[client]") {
  Client c({.model = "asp"}, RetrySpec{});
  c.push(0);
  c.client.pull(c.client.all_shards(), 1, any);
  c.take();
  c.own(3, 1);
  const std::vector<Message> sent = c.take();
  REQUIRE(sent.size() == 2);
  for (const Message& message : sent) {
    CHECK(message.to == 3);
    CHECK(message.epoch == 1);
    CHECK(message.shard == 0);
  }
  c.own(4, 1);  // no news
  CHECK(c.take().empty());
  c.answer(0, {.version = 5});
  CHECK(c.client.version(0) == -1);  // of the former owner
  c.answer(0, {.version = 5}, 1);
  CHECK(c.client.version(0) == 5);
}

TEST_CASE("client: who has an answer asks a new owner again where others may wait for it", "[client]") {
  for (const auto& [model, asks] : {std::pair("ssp", true), std::pair("asp", false)}) {
    INFO(model);
    Client c({.model = model}, RetrySpec{});
    c.client.pull(c.client.all_shards(), 0, any);
    c.answer(0, {.version = 1});
    c.take();
    c.own(3, 1);
    CHECK(c.take().size() == (asks ? 1U : 0U));
  }
}

TEST_CASE("client: a shard that was finished is asked again when it has a new owner", "[client]") {
  Client c({.model = "bsp"}, RetrySpec{});
  c.client.pull_for_step(0);
  c.answer(0, {.finished = true, .version = 9});
  c.answer(1, {.finished = true, .version = 9});
  c.take();
  REQUIRE(c.client.all_finished());
  c.own(3, 1);
  CHECK_FALSE(c.client.all_finished());
  REQUIRE(c.box.sent.size() == 1);
  CHECK(pull_in(c.box.sent[0]).above == 9);
  c.answer(0, {.version = 7}, 1);  // it was set back
  CHECK_FALSE(c.client.all_finished());
}

TEST_CASE("client: who computes an old version again takes any version of a shard that is ahead",
          "[client]") {
  Client c({.model = "bsp"}, RetrySpec{.timeout = 1});
  c.client.pull_for_step(0);
  c.answer_all(4);
  c.client.use_all();
  c.push(4);
  c.client.pull_for_step(5);
  c.take();
  c.answer(0, {.version = 3});  // set back, and it needs the push of version 3 again
  const std::vector<Message> sent = c.take();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].shard == 1);
  CHECK(pull_in(sent[0]).above == -1);
}

TEST_CASE("client: a worker that comes back learns how many of its pushes there are", "[client]") {
  Client c({.model = "asp"}, RetrySpec{});
  const Timestamp task = c.client.ask_where_to_resume();
  for (const Message& message : c.box.sent) CHECK_FALSE(pull_in(message).pushes_sent);
  c.answer(0, {.version = 8, .pushes_here = 6, .skip_clocks = 2});
  c.answer(1, {.version = 8, .pushes_here = 5});
  REQUIRE(c.client.done(task));
  CHECK(c.client.resume() == 7);  // 5 pushes and 2 clocks that it skipped
  CHECK(c.client.clocks_to_skip() == 0);
  c.take();
  c.push(7);
  for (const Message& message : c.take()) CHECK(message.as<Push>()->number == 5);
}

TEST_CASE("client: a request of a shard that is cut becomes two", "[client]") {
  Client c({.model = "asp"}, RetrySpec{}, true);
  c.keys = placed_on({0, 1}, 4);
  const Timestamp pulled = c.client.pull(c.client.all_shards(), 0, any), pushed = c.push(0);
  c.answer(1, {.version = 1});
  c.take();
  KeySpace parts = placed_on({0, 1, 0}, 4);
  View view{.number = 1, .owners = {{.primary = 1}, {.primary = 2}, {.primary = 1}}};
  view.workers = {true, true};
  view.cuts = {{.shard = 0, .at = 1}};
  view.layout = std::make_shared<const Layout>(std::move(parts));
  c.client.on_view(std::make_shared<const View>(std::move(view)));
  CHECK(c.client.all_shards() == ShardIds{0, 1, 2});
  CHECK(c.client.key_space().shards.size() == 3);
  c.numbers[0] = 1;
  c.answer(0, {.version = 1});
  CHECK_FALSE(c.client.done(pulled));
  c.client.on({.from = 1, .to = worker, .shard = 2, .body = Answer{.number = 1, .version = 1}});
  CHECK(c.client.done(pulled));
  for (const std::uint32_t s : {0U, 1U}) c.client.on({.from = 1, .to = worker, .shard = s, .body = Ack{0}});
  CHECK_FALSE(c.client.done(pushed));
  c.client.on({.from = 1, .to = worker, .shard = 2, .body = Ack{0}});
  CHECK(c.client.done(pushed));
}

TEST_CASE("client: weights are taken once, but for those of finished shards", "[client]") {
  Client c({.model = "asp"});
  c.client.pull(c.client.all_shards(), 0, any);
  c.answer(0, {.finished = true, .version = 1, .weights = {.values = {values_of({3}), 0, 1}}});
  c.answer(1, {.version = 1, .weights = {.values = {values_of({4}), 0, 1}}});
  CHECK(numbers_of(c.client.take_weights()[1]) == Numbers{4});
  const std::vector<Slice> later = c.client.take_weights();
  CHECK(numbers_of(later[0]) == Numbers{3});
  CHECK(later[1].values == nullptr);
}

TEST_CASE("client: a worker that runs the optimizer lends its copy", "[client]") {
  Box box;
  const KeySpace keys = placed_on({0}, 1);
  KvClient client({.node = worker,
                   .owners = {1},
                   .keys = &keys,
                   .rule = test::shared_rule({.model = "bsp"}, 2),
                   .retry = RetrySpec{},
                   .copies = OptimizerCopies::Options{.storage = {Precision::float64, false},
                                                      .learning_rate = {.base = 0.5},
                                                      .epochs = {.per_clock = 1}}},
                  box);
  const auto answer = [&](std::int64_t number, std::int64_t version, double value) {
    const Answer body{
        .number = number, .version = version, .weights = {.values = {values_of({value}), 0, 1}}};
    client.on({.from = 1, .to = worker, .body = body});
  };
  client.pull_for_step(0);
  answer(1, 0, 10);
  client.use_all();
  client.pull_for_step(1);
  CHECK(pull_in(box.sent.back()).copy == 0);
  answer(2, 1, 4);  // the sum that makes version 1
  CHECK(numbers_of(client.take_weights()[0]) == Numbers{8});
  client.on({.from = 1, .to = worker, .body = Restore{.entries = 0}});
  REQUIRE(box.lent.size() == 1);
  CHECK(box.lent[0].as<State>()->version == 1);
  CHECK(box.lent[0].as<State>()->replica != nullptr);
  client.on({.from = 1, .to = worker, .body = Restore{.entries = 1}});
  CHECK(box.lent[1].as<State>()->replica == nullptr);
}
