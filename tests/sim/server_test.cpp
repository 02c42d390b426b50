// Drives a server with messages, as a cluster would, in microseconds and without SimGrid.
#include <catch2/catch.hpp>

#include "sim/protocol/server.hpp"

using namespace psim;

namespace {

struct Log final : Outbox {
  std::vector<Message> sent;
  std::int64_t applied_count = 0, dropped_count = 0;
  void send(Message message) override { sent.push_back(std::move(message)); }
  void applied(const Message&, std::int64_t) override { ++applied_count; }
  void dropped(const Message&) override { ++dropped_count; }
  void updated(std::int64_t) override {}
};

Server phantom_server(const ConsistencySpec& spec, std::int64_t workers) {
  return Server({.id = 1, .first_worker = 2, .rule = make_rule(spec, workers), .steps = 100, .optimizer = {}, .learning_rate = {},
                 .staleness_aware = false, .epochs_per_clock = 1}, std::nullopt, 4);
}

}  // namespace

TEST_CASE("bsp answers a pull only when every worker's push of the clock before is in", "[protocol]") {
  Server server = phantom_server({.model = ConsistencyModel::bsp}, 2);
  Log log;
  server.on({.kind = MessageKind::push, .from = 2, .to = 1, .clock = 0, .version = 0}, 1.0, log);
  server.on({.kind = MessageKind::pull, .from = 2, .to = 1, .clock = 1, .version = 0, .number = 2, .pushed = 1}, 1.0, log);
  CHECK(log.sent.empty());
  server.on({.kind = MessageKind::push, .from = 3, .to = 1, .clock = 0, .version = 0}, 2.0, log);
  REQUIRE(log.sent.size() == 1);
  CHECK(log.sent[0].to == 2);
  CHECK(log.sent[0].version == 1);
  CHECK(log.applied_count == 2);
}
