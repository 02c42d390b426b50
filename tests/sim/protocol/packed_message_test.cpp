// Goal: a message that was packed is the message that it was.
// Method: messages with small, large and negative numbers, with values and without, packed and unpacked.
#include "sim/protocol/packed_message.hpp"

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"

using namespace psim;

namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max(),
                       least = std::numeric_limits<std::int64_t>::min();

Message enveloped(Body body) {
  return {
      .from = 4'000'000'000, .to = 7, .shard = 3, .epoch = 200, .body = std::move(body), .sent = 1ULL << 60U};
}

Message there_and_back(const Message& message) {
  PackedMessage packed{Message(message)};
  const Message copy = packed.copy();
  Message back = std::move(packed).unpack();
  CHECK(copy.body.index() == back.body.index());
  CHECK(copy.sent == back.sent);
  CHECK(back.from == message.from);
  CHECK(back.to == message.to);
  CHECK(back.shard == message.shard);
  CHECK(back.epoch == message.epoch);
  CHECK(back.sent == message.sent);
  return back;
}

void check_same(const Payload& a, const Payload& b) {
  CHECK(a.values.values == b.values.values);
  CHECK(a.values.begin == b.values.begin);
  CHECK(a.values.count == b.values.count);
  CHECK(a.values.version == b.values.version);
  CHECK(a.keys == b.keys);
  CHECK(a.bytes == b.bytes);
}

const Payload phantom{.values = {.values = {}, .begin = 5, .count = 250'000, .version = -1},
                      .bytes = 1'000'000};

}  // namespace

TEST_CASE("a push is the same after it was packed", "[message]") {
  const SharedKeys keys = std::make_shared<const std::vector<std::uint32_t>>(3);
  const Payload sparse{.keys = keys, .bytes = 12};
  for (const Payload& payload : {phantom, sparse}) {
    const Push push{.worker = 10'100,
                    .number = 1,
                    .clock = -1,
                    .version = most,
                    .first_version = least,
                    .oldest_resendable = 127,
                    .samples = 128,
                    .gradient = payload};
    const Message back = there_and_back(enveloped(push));
    const Push* same = back.as<Push>();
    REQUIRE(same != nullptr);
    CHECK(same->id() == push.id());
    CHECK(same->clock == push.clock);
    CHECK(same->version == push.version);
    CHECK(same->first_version == push.first_version);
    CHECK(same->oldest_resendable == push.oldest_resendable);
    CHECK(same->samples == push.samples);
    check_same(same->gradient, push.gradient);
  }
}

TEST_CASE("a pull is the same after it was packed", "[message]") {
  for (const std::optional<std::int64_t> sent :
       {std::optional<std::int64_t>{}, std::optional<std::int64_t>{9}}) {
    const Pull pull{.clock = 1,
                    .above = -1,
                    .number = 3,
                    .pushes_sent = sent,
                    .oldest_resendable = 5,
                    .skipped_clocks = 6,
                    .answered = 7,
                    .computes = sent.has_value(),
                    .bytes_per_key = 8};
    const Message back = there_and_back(enveloped(pull));
    const Pull* same = back.as<Pull>();
    REQUIRE(same != nullptr);
    CHECK(same->clock == pull.clock);
    CHECK(same->above == pull.above);
    CHECK(same->number == pull.number);
    CHECK(same->pushes_sent == pull.pushes_sent);
    CHECK(same->oldest_resendable == pull.oldest_resendable);
    CHECK(same->skipped_clocks == pull.skipped_clocks);
    CHECK(same->answered == pull.answered);
    CHECK(same->computes == pull.computes);
    CHECK(same->keys == nullptr);
    CHECK(same->bytes_per_key == pull.bytes_per_key);
  }
}

TEST_CASE("an answer is the same after it was packed", "[message]") {
  const Answer answer{.finished = true,
                      .clock = 1,
                      .number = 2,
                      .answered = 3,
                      .version = 4,
                      .sent_at = 0.1,
                      .safe_pushes = 5,
                      .pushes_here = 6,
                      .skip_clocks = -1,
                      .has_push = true,
                      .slowest = 7,
                      .weights = phantom};
  const Message back = there_and_back(enveloped(answer));
  const Answer* same = back.as<Answer>();
  REQUIRE(same != nullptr);
  CHECK(same->finished == answer.finished);
  CHECK(same->clock == answer.clock);
  CHECK(same->number == answer.number);
  CHECK(same->answered == answer.answered);
  CHECK(same->version == answer.version);
  CHECK(same->sent_at == answer.sent_at);
  CHECK(same->safe_pushes == answer.safe_pushes);
  CHECK(same->pushes_here == answer.pushes_here);
  CHECK(same->skip_clocks == answer.skip_clocks);
  CHECK(same->has_push == answer.has_push);
  CHECK(same->slowest == answer.slowest);
  check_same(same->weights, answer.weights);
}

TEST_CASE("a message of another type is kept as it is", "[message]") {
  const Message back = there_and_back(enveloped(UpdateGroup{.version = 3, .pushes = {{4, 5}}}));
  REQUIRE(back.is<UpdateGroup>());
  CHECK(back.as<UpdateGroup>()->pushes == std::vector<PushId>{{4, 5}});
}
