// What a node and the scheduler say to each other at the node's beginning and end. Messages take a second.
#include <simgrid/s4u/Actor.hpp>

#include <optional>
#include <string>

#include "sim/nodes/job/requests.hpp"
#include "tests/sim/nodes/stage.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

// Nodes: scheduler 0, server 1, workers 2 and 3.
std::string quiet(const std::string& more = "") {
  return "[model]\nkind = \"phantom\"\nparameters = 10\n[training]\nsteps = 3\n[compute]\ntime = \"1s\"\n"
         "[cluster]\nworkers = 2\nservers = 1\n"
         "network = {latency = \"500ms\", bandwidth = \"10GBps\", share_spread = 0.0, simgrid_model = "
         "\"cm02\"}\n" +
         more;
}
std::string lossy(const std::string& more = "retry = \"3s\"\n") {
  return quiet(
      "[recovery]\nenabled = true\nheartbeat = \"1s\"\ntimeout = \"40s\"\npatience = \"200s\"\n"
      "backoff = 2.0\nlongest_retry = \"8s\"\n" +
      more);
}

void answer(Stage& stage, Body body) {
  stage.job().network.send({.from = 0, .to = 2, .body = std::move(body)});
}

void join_and_say(Stage& stage) {
  const Start start = join(stage.job(), 2, [&](const Message& message) {
    stage.say("hears of " + std::string(name_of(kind_of(message))));
  });
  stage.say(start.goes_on ? "the others have begun" : "all begin");
}

}  // namespace

TEST_CASE("joining: without failures a node says it once and waits for as long as it takes",
          "[roles][attendance]") {
  const Lines lines = on_stage(quiet(), [](Stage& stage) {
    stage.say_sent({MessageKind::join});
    stage.act(2, [&] { join_and_say(stage); });
    stage.act(0, [&] {
      stage.job().network.receive(0);
      stage.sleep(99);
      answer(stage, Assign{});
      stage.sleep(1);
      answer(stage, Start{.goes_on = true});
    });
    stage.run();
  });
  CHECK(lines == Lines{"0 join 2 > 0 #0", "101 hears of assign", "102 the others have begun"});
}

TEST_CASE("joining: what a node does meanwhile comes after it has said that it is there",
          "[roles][attendance]") {
  const Lines lines = on_stage(quiet(), [](Stage& stage) {
    stage.say_sent({MessageKind::join});
    stage.act(2, [&] {
      const Start start = join(stage.job(), 2, {}, [&]() -> std::optional<Start> {
        stage.sleep(4);
        stage.say("warm");
        return Start{.goes_on = true};  // it came upon it
      });
      stage.say(start.goes_on ? "the others have begun" : "all begin");
    });
    stage.run();
  });
  CHECK(lines == Lines{"0 join 2 > 0 #0", "4 warm", "4 the others have begun"});
}

TEST_CASE("joining: where messages may get lost it is said again, and the job knows who waits",
          "[roles][attendance]") {
  const Lines lines = on_stage(lossy(), [](Stage& stage) {
    stage.say_sent({MessageKind::join});
    const auto say_who_joins = [&stage] {
      stage.say(std::string(stage.job().state.progress.is_joining(2) ? "joins" : "does not join") +
                (stage.job().state.progress.is_joining(3) ? ", another too" : ""));
    };
    stage.act(2, [&] { join_and_say(stage); });
    stage.at(5, say_who_joins);
    stage.at(13, say_who_joins);
    stage.act(0, [&] {
      stage.sleep(10.5);
      answer(stage, Start{});
    });
    stage.run();
  });
  CHECK(lines == Lines{"0 join 2 > 0 #0", "3 join 2 > 0 #0", "5 joins", "9 join 2 > 0 #0", "11.5 all begin",
                       "13 does not join"});
}

TEST_CASE("joining: it is not said again while it is on its way", "[roles][attendance]") {
  const Lines lines = on_stage(lossy("retry = \"500ms\"\n"), [](Stage& stage) {
    stage.say_sent({MessageKind::join});
    stage.act(2, [&] { join_and_say(stage); });
    stage.act(0, [&] {
      stage.sleep(2);
      answer(stage, Start{});
    });
    stage.run();
  });
  CHECK(lines == Lines{"0 join 2 > 0 #0", "1 join 2 > 0 #0", "2 join 2 > 0 #0", "3 all begin"});
}

TEST_CASE("joining: a node gives up after its last repetition, unless the run is hopeless by itself",
          "[roles][attendance]") {
  for (const bool hopeless : {false, true}) {
    const Lines lines = on_stage(lossy("retry = \"3s\"\nretry_limit = 1\n"), [hopeless](Stage& stage) {
      stage.hopeless = hopeless;
      stage.say_sent({MessageKind::join});
      const auto actor = stage.act(2, [&] { join_and_say(stage); });
      stage.at(10, [actor] { actor->kill(); });
      stage.run();
    });
    Lines expected{"0 join 2 > 0 #0", "3 join 2 > 0 #0", "9 gives up 2", "9 join 2 > 0 #0"};
    if (hopeless) expected.erase(expected.begin() + 2);
    CHECK(lines == expected);
  }
}

TEST_CASE("leaving: without failures a worker says it and goes", "[roles][attendance]") {
  const Lines lines = on_stage(quiet(), [](Stage& stage) {
    stage.say_sent({MessageKind::leave});
    stage.act(3, [&] {
      leave(stage.job(), 3);
      stage.say("gone");
    });
    stage.run();
  });
  CHECK(lines == Lines{"0 leave 3 > 0 #0", "0 gone"});
}

TEST_CASE("leaving: where messages may get lost a worker goes when the scheduler has heard it",
          "[roles][attendance]") {
  const Lines lines = on_stage(lossy(), [](Stage& stage) {
    stage.say_sent({MessageKind::leave});
    stage.act(2, [&] {
      leave(stage.job(), 2);
      stage.say("gone");
    });
    stage.act(0, [&] {
      stage.sleep(2);
      answer(stage, Start{});  // is no answer to that
      stage.sleep(2.5);
      answer(stage, LeaveAck{});
    });
    stage.run();
  });
  CHECK(lines == Lines{"0 leave 2 > 0 #0", "3 leave 2 > 0 #0", "5.5 gone"});
}

TEST_CASE("a node tells the view that it knows, and says nothing if it knows none", "[roles][attendance]") {
  const Lines lines = on_stage(lossy(), [](Stage& stage) {
    stage.act(3, [&] {
      tell_view(stage.job(), 3, nullptr);
      tell_view(stage.job(), 3, std::make_shared<const View>(View{.number = 17}));
    });
    stage.run();
    for (const Sent& sent : stage.recorded<Sent>()) stage.say("view " + std::to_string(*sent.view));
  });
  CHECK(lines == Lines{"1 view 17"});
}
