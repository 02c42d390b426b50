// What a worker asks of others than servers. On links whose messages take a second each way.
#include <optional>
#include <string>

#include "sim/nodes/job/requests.hpp"
#include "tests/sim/nodes/stage.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

// Nodes: scheduler 0, server 1, workers 2 and 3, database 4. Repetitions after 3 s, 6 s and 8 s.
const std::string quiet = R"([model]
kind = "phantom"
parameters = 10
[training]
batch_size = 1
steps = 3
[compute]
time = "1s"
[data]
delivery = "database"
bytes_per_sample = "8B"
[cluster]
workers = 2
servers = 1
network = {latency = "500ms", bandwidth = "10GBps", share_spread = 0.0, simgrid_model = "cm02"}
)";
const std::string lossy = quiet + R"([recovery]
enabled = true
heartbeat = "1s"
timeout = "40s"
patience = "200s"
retry = "3s"
backoff = 2.0
longest_retry = "8s"
)";

Message fetch(NodeId from, NodeId to, std::int64_t step) {
  return {.from = from, .to = to, .body = Fetch{.step = step, .sample_bytes = 8}};
}

std::string due(const Requests& requests) {
  const std::optional<double> next = requests.next();
  return "next " + (next ? date(*next) : "never");
}

}  // namespace

TEST_CASE("requests: where nothing is lost none is remembered", "[roles][requests]") {
  const Lines lines = on_stage(quiet, [](Stage& stage) {
    stage.say_sent({MessageKind::fetch});
    Requests requests(stage.job(), stage.worker(0));
    requests.ask(0, fetch(stage.worker(0), 4, 0));
    stage.say(due(requests));
    stage.say(requests.is_open(MessageKind::fetch, 0) ? "open" : "not open");
    stage.say(requests.oldest() == nullptr ? "no oldest" : "an oldest");
  });
  CHECK(lines == Lines{"0 fetch 2 > 4 #0", "0 next never", "0 not open", "0 no oldest"});
}

TEST_CASE("requests: each is sent again after its own longer and longer waits, until it is answered",
          "[roles][requests]") {
  const Lines lines = on_stage(lossy, [](Stage& stage) {
    stage.say_sent({MessageKind::fetch});
    const NodeId me = stage.worker(1);
    Requests requests(stage.job(), me);
    stage.act(me, [&] {
      requests.ask(5, fetch(me, 4, 5));
      stage.say(due(requests));
      stage.sleep(1.5);
      requests.ask(6, fetch(me, 4, 6));
      stage.say(due(requests));
      for (int turn = 0; turn < 4; ++turn) {
        stage.sleep(*requests.next() - Agenda::now());
        requests.repeat(Agenda::now());
      }
      stage.say(due(requests));
      stage.say(requests.answered(MessageKind::fetch, 5) ? "answered" : "was not open");
      stage.say(requests.answered(MessageKind::fetch, 5) ? "answered" : "was not open");
      stage.say(due(requests));
    });
    stage.run();
  });
  CHECK(lines == Lines{"0 fetch 3 > 4 #5", "0 next 3", "1.5 fetch 3 > 4 #6", "1.5 next 3", "3 fetch 3 > 4 #5",
                       "4.5 fetch 3 > 4 #6", "9 fetch 3 > 4 #5", "10.5 fetch 3 > 4 #6", "10.5 next 17",
                       "10.5 answered", "10.5 was not open", "10.5 next 18.5"});
}

TEST_CASE("requests: only those that are due are sent again", "[roles][requests]") {
  const Lines lines = on_stage(lossy, [](Stage& stage) {
    stage.say_sent({MessageKind::fetch});
    const NodeId me = stage.worker(0);
    Requests requests(stage.job(), me);
    stage.act(me, [&] {
      requests.ask(1, fetch(me, 4, 1));
      stage.sleep(2.9);
      requests.repeat(Agenda::now());
      stage.sleep(0.1);
      requests.repeat(3);  // at the very date
      stage.say(due(requests));
    });
    stage.run();
    for (const Repetition& one : stage.recorded<Repetition>())
      stage.say("repetition to " + std::to_string(one.receiver));
  });
  CHECK(lines == Lines{"0 fetch 2 > 4 #1", "3 fetch 2 > 4 #1", "3 next 9", "4 repetition to 4"});
}

TEST_CASE("requests: none is repeated while it or its answer is on its way", "[roles][requests]") {
  // The answer leaves at 2.5 s, and the first repetition is due at 3 s. Without one, the wait does not grow.
  for (const bool answers : {true, false}) {
    const Lines lines = on_stage(lossy, [answers](Stage& stage) {
      stage.say_sent({MessageKind::fetch, MessageKind::samples});
      const NodeId me = stage.worker(0);
      Requests requests(stage.job(), me);
      stage.act(me, [&] {
        requests.ask(7, fetch(me, 4, 7));
        stage.sleep(3);
        requests.repeat(3);
        stage.say(due(requests));
      });
      stage.act(4, [&] {
        stage.sleep(2.5);
        stage.job().network.send({.from = 4, .to = me, .body = Samples{.step = answers ? 7 : 8}});
      });
      stage.run();
    });
    Lines expected{"0 fetch 2 > 4 #7", std::string("2.5 samples 4 > 2 #") + (answers ? "7" : "8")};
    if (!answers) expected.push_back("3 fetch 2 > 4 #7");
    expected.emplace_back(answers ? "3 next 6" : "3 next 9");
    CHECK(lines == expected);
  }
}

TEST_CASE("requests: repetitions go to another node where one is named, and to the same one else",
          "[roles][requests]") {
  const Lines lines = on_stage(lossy, [](Stage& stage) {
    stage.say_sent({MessageKind::fetch});
    const NodeId me = stage.worker(0);
    Requests requests(stage.job(), me);
    stage.act(me, [&] {
      requests.ask(0, fetch(me, 1, 0), 4);
      requests.ask(1, fetch(me, 1, 1));
      stage.sleep(3);
      requests.repeat(3);
    });
    stage.run();
  });
  CHECK(lines == Lines{"0 fetch 2 > 1 #0", "0 fetch 2 > 1 #1", "3 fetch 2 > 4 #0", "3 fetch 2 > 1 #1"});
}

TEST_CASE("requests: a kind is forgotten without the others, and numbers count within a kind",
          "[roles][requests]") {
  const Lines lines = on_stage(lossy, [](Stage& stage) {
    const NodeId me = stage.worker(0);
    Requests requests(stage.job(), me);
    requests.ask(2, fetch(me, 4, 2));
    requests.ask(2, {.from = me, .to = 0, .body = Report{.clock = 2}});
    stage.say(requests.answered(MessageKind::report, 3) ? "answered" : "was not open");
    requests.forget(MessageKind::fetch);
    stage.say(requests.is_open(MessageKind::fetch, 2) ? "open" : "not open");
    stage.say(requests.is_open(MessageKind::report, 2) ? "open" : "not open");
    stage.say(requests.oldest()->is<Report>() ? "the report waits" : "another one waits");
  });
  CHECK(lines == Lines{"0 was not open", "0 not open", "0 open", "0 the report waits"});
}

TEST_CASE("requests: a request is given up after as many repetitions as are allowed", "[roles][requests]") {
  const Lines lines = on_stage(lossy + "retry_limit = 2\n", [](Stage& stage) {
    stage.say_sent({MessageKind::fetch});
    const NodeId me = stage.worker(1);
    Requests requests(stage.job(), me);
    stage.act(me, [&] {
      requests.ask(0, fetch(me, 4, 0));
      for (int turn = 0; turn < 3; ++turn) {
        stage.sleep(*requests.next() - Agenda::now());
        requests.repeat(Agenda::now());
      }
    });
    stage.run();
  });
  CHECK(lines == Lines{"0 fetch 3 > 4 #0", "3 fetch 3 > 4 #0", "9 fetch 3 > 4 #0", "17 gives up 3",
                       "17 fetch 3 > 4 #0"});
}
