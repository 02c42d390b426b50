// Goal: what a message costs on the network follows from what is in it, and each body has its name. Method: a
// body of every type with something in each of its fields, with its size counted by hand.
#include "sim/protocol/message.hpp"

#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tests/support/catch.hpp"

using namespace psim;

namespace {

constexpr std::uint64_t id = 12, two_words = 16;

SharedKeys keys_of(std::vector<std::uint32_t> keys) {
  return std::make_shared<const std::vector<std::uint32_t>>(std::move(keys));
}
Payload payload(std::uint64_t bytes) {
  return {.values = {nullptr, 0, 1000}, .keys = keys_of({1, 2, 3}), .bytes = bytes};
}
// Its number, three workers' bits, and two shards: one with two replicas and a next owner, one with neither.
constexpr std::uint64_t view_bytes = 8 + 1 + (8 + 3 * 4) + 8;
SharedView some_view() {
  View view;
  view.number = 5;
  view.owners = {{.primary = 1, .epoch = 2, .replicas = {2, 3}, .next = 4}, {.primary = 2}};
  view.workers = {true, false, true};
  return std::make_shared<const View>(std::move(view));
}
Replicate entry_of(LogEntry entry) { return {std::make_shared<const LogEntry>(std::move(entry))}; }

struct Case {
  Body body;
  std::string_view kind;
  std::uint64_t bytes;
};

std::vector<Case> cases() {
  const SharedView view = some_view();
  const Activations activations{.clock = 1, .version = 2, .micro_batch = 3, .values = 10, .bytes = 40};
  return {
      {Join{.life = 3}, "join", 0},
      {Start{}, "start", 0},
      {Start{view}, "start", view_bytes},
      {Leave{.life = 2}, "leave", 0},                     // a worker's
      {Leave{.life = 2, .view = 7}, "leave", two_words},  // a server's
      {LeaveAck{}, "ack", 0},
      {Heartbeat{.life = 1, .view = 4, .is_through = true}, "heartbeat", two_words},
      {NewView{view}, "view", view_bytes},
      {AskView{}, "view", 0},
      {Ready{.next_owner = 3}, "ready", 0},
      {Report{.clock = 4, .seconds_per_sample = 0.5}, "report", 8},
      {Assign{.clock = 4, .batch_size = 32, .samples_before = 64}, "assign", two_words},
      {Pull{.clock = 4, .number = 5, .pushes_sent = 4, .bytes_per_key = 8}, "pull", 0},  // of all keys
      {Pull{.keys = keys_of({1, 5, 6}), .bytes_per_key = 8}, "pull", 3 * 8},
      {Push{.worker = 4, .number = 3, .samples = 9, .gradient = payload(4000)}, "push", 4000},
      {Answer{.version = 3, .weights = payload(5000)}, "weights", 5000},
      {Answer{.finished = true}, "finished", 0},
      {Answer{.finished = true, .weights = payload(70)}, "finished", 70},
      {Ack{.number = 3, .safe_pushes = 2}, "ack", 0},
      {UpdateGroup{.version = 2, .pushes = {{4, 1}, {5, 1}}}, "group", 2 * id},
      {Decide{.version = 2}, "decide", 0},
      {entry_of({.number = 3, .updates = true, .members = {true, false}}), "replicate", 0},
      {entry_of({.sum = LogEntry::Sum{.clock = 1, .version = 2, .gradient = payload(800)},
                 .pushes = {{4, 1}, {5, 1}}}),
       "replicate", 2 * id + 800},
      {entry_of({.push = Push{.worker = 4, .gradient = payload(300)}, .pushes = {{4, 1}}}), "replicate",
       id + 300},
      {entry_of({.dropped = {{4, 1}}}), "replicate", id},
      {entry_of({.skipped = {{4, 1}, {5, 1}}}), "replicate", 2 * id},
      {entry_of({.skipped_clocks = {{4, 1}, {5, 1}, {6, 1}}}), "replicate", 3 * id},
      {entry_of({.shown = {{.worker = 4}, {.worker = 5, .filtered = payload(90)}}}), "replicate",
       2 * id + 90},
      {Replicated{.entries = 4}, "replicated", 0},
      {Replicated{}, "replicated", 0},
      {State{.version = 2, .entries = 3, .view = 4, .bytes = 6000}, "state", 6000},
      {Restore{.log_epoch = 1, .entries = 4}, "restore", 0},
      {Chunk{.clock = 1, .round = 2, .sum = payload(900)}, "chunk", 900},
      {activations, "activation", 40},
      {Errors{activations}, "error", 40},
      {Standing{.version = 7}, "standing", 8},
      {Regroup{.version = 7, .holder = 2, .behind = {3, 4}}, "regroup", two_words + 2 * 4},
      {Fetch{.step = 2, .sample_bytes = 7000}, "fetch", 0},  // it asks for them
      {Samples{.step = 2, .sample_bytes = 7000}, "samples", 7000},
      {RunTask{.task = 5, .kind = TaskKind::push, .clock = 3, .source = 4}, "run", 2 * two_words},
      {TaskDone{.task = 5, .pushes = 2}, "done", two_words},
      {Call{.task = 6, .function = TaskKind::norm, .values = 100}, "call", two_words},
      {Call{.task = 7, .function = TaskKind::apply, .push = PushId{4, 1}}, "call", two_words + id},
      {Returned{.task = 6, .value = 2.5}, "returned", two_words},
      {Idle{.clock = 3, .leaves = true}, "idle", two_words},
      {Piece{.clock = 3, .count = 2, .samples = keys_of({8, 9}), .bytes = 120}, "piece", 120},
      {PieceGradient{.clock = 3, .samples = 2, .pieces = {1, 4}, .bytes = 900}, "gradient", 900},
  };
}

}  // namespace

TEST_CASE("a message is as large as what is in it, and is called what it is", "[protocol]") {
  std::set<std::size_t> types;
  std::set<std::string_view> kinds;
  for (const Case& c : cases()) {
    const Message message{.from = 1, .to = 2, .shard = 3, .epoch = 4, .body = c.body};
    INFO(c.kind << ", type " << c.body.index());
    CHECK(wire_size(message.body) == c.bytes);
    CHECK(name_of(kind_of(message)) == c.kind);
    types.insert(c.body.index());
    kinds.insert(c.kind);
  }
  CHECK(types.size() == std::variant_size_v<Body>);  // no type is left out,
  CHECK(kinds.size() == message_names.size());       // and no name
}

TEST_CASE("questions about two versions are not the same message", "[protocol]") {
  const auto number = [](std::int64_t version) { return facts_of(Decide{version}).number(); };
  CHECK(number(0) == 0);
  CHECK(number(2) == 2);
}

TEST_CASE("a record keeps of an entry what its sum or push is of", "[protocol]") {
  const MessageFacts sum =
      facts_of(entry_of({.number = 3,
                         .sum = LogEntry::Sum{.clock = 5, .version = 6, .gradient = payload(1)},
                         .dropped = {{4, 1}}}));
  CHECK(sum.number() == 3);
  CHECK(sum.clock == 5);
  CHECK(sum.version == 6);
  CHECK(sum.values == 1000);
  CHECK(sum.keys == 3);
  CHECK(sum.ids == 1);
  const MessageFacts push = facts_of(
      entry_of({.number = 4, .push = Push{.number = 9, .clock = 7, .version = 8, .gradient = payload(1)}}));
  CHECK(push.number() == 4);
  CHECK(push.clock == 7);
  CHECK(push.version == 8);
  CHECK(push.values == 1000);
}
