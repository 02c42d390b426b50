// The heartbeats of servers and workers: when they leave, what they say, and when there are no more.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "model/base/random.hpp"
#include "sim/nodes/job/node_actors.hpp"
#include "tests/sim/nodes/stage.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

// Nodes: scheduler 0, server 1, workers 2 and 3. A heartbeat in 4 s.
std::string served(double seconds_of_a_message = 1) {
  return fmt::format(
      "seed = 5\n[model]\nkind = \"phantom\"\nparameters = 10\n[training]\nsteps = 3\n[compute]\ntime = "
      "\"1s\"\n[recovery]\nenabled = true\nheartbeat = \"4s\"\ntimeout = \"90s\"\n[cluster]\nworkers = 2\n"
      "servers = 1\nnetwork = {{latency = \"{}s\", bandwidth = \"10GBps\", share_spread = 0.0, "
      "simgrid_model = \"cm02\"}}\n",
      seconds_of_a_message / 2);
}
// The same without servers: workers 1 to 3.
const std::string quiet =
    "seed = 5\n[model]\nkind = \"phantom\"\nparameters = 10\n[training]\nsteps = 3\n[compute]\ntime = "
    "\"1s\"\n"
    "[recovery]\nenabled = true\nheartbeat = \"4s\"\ntimeout = \"90s\"\nworkers = "
    "\"remove\"\n[architecture]\n"
    "kind = \"all-reduce\"\n[cluster]\nworkers = 3\n";

double first_of(NodeId node) { return 4 * Stream(5, "heartbeat", node, 0).uniform(); }
std::string sent(double date, NodeId node, const std::string& kind = "heartbeat", int life = 0) {
  return fmt::format("{} {} {} > 0 #{}", psim::test::date(date), kind, node, life);
}

struct Play {
  Stage& stage;
  JobNodes nodes{stage.job()};
  Heartbeats heartbeats{stage.job(), nodes,
                        [this](NodeId node) { stage.say(fmt::format("restarts {}", node)); }};
};

void crash(Stage& stage, NodeId node) {
  stage.job().network.take_down(node, [](const Message&) {});
}

// The parts begin, and the play ends at that date, because nobody is there any more.
Lines play(const std::string& toml, double end, const std::function<void(Play&)>& parts) {
  return on_stage(toml, [&](Stage& stage) {
    stage.say_sent({MessageKind::heartbeat, MessageKind::leave});
    Play play{stage};
    play.nodes.make(nullptr);
    parts(play);
    stage.at(end, [&] {
      for (NodeId node = 1; node < stage.plan().past_workers(); ++node) crash(stage, node);
    });
    stage.run();
  });
}

}  // namespace

TEST_CASE("heartbeats: each node's come in every interval, from a date of its own on",
          "[roles][heartbeats]") {
  const double two = first_of(2), three = first_of(3);
  REQUIRE(std::abs(two - three) > 0.01);
  Lines expected;
  for (const double turn : {0.0, 4.0}) {
    const bool is_second_first = two < three;
    expected.push_back(is_second_first ? sent(two + turn, 2) : sent(three + turn, 3));
    expected.push_back(is_second_first ? sent(three + turn, 3) : sent(two + turn, 2));
  }
  CHECK(play(served(), 8, [](Play& play) {
          play.heartbeats.begin(3);
          play.heartbeats.begin(2);
        }) == expected);
}

TEST_CASE("heartbeats: a node that has crashed has none, and those of its next life begin when it does",
          "[roles][heartbeats]") {
  const double first = first_of(1);
  const Lines lines = play(served(), first + 17, [first](Play& play) {
    play.heartbeats.begin(1);
    play.stage.at(first + 3, [&] { crash(play.stage, 1); });
    play.stage.at(first + 3.5, [&] {  // before the date of the second one
      play.stage.job().network.bring_up(1);
      play.nodes.make_again(1);
    });
    play.stage.at(first + 9, [&] { play.heartbeats.begin(1); });
  });
  const double again = 2 * first + 9;
  Lines expected{sent(first, 1)};
  for (double turn = again; turn < first + 17; turn += 4) expected.push_back(sent(turn, 1, "heartbeat", 1));
  CHECK(lines == expected);
}

TEST_CASE("heartbeats: a server that leaves says that instead", "[roles][heartbeats]") {
  const double first = first_of(1);
  CHECK(play(served(), first + 9, [first](Play& play) {
          play.heartbeats.begin(1);
          play.stage.at(first + 2, [&] { play.nodes.server(1).leave_soon(); });
        }) == Lines{sent(first, 1), sent(first + 4, 1, "leave"), sent(first + 8, 1, "leave")});
}

TEST_CASE("heartbeats: none leaves while one is on its way, and of what is sent at once one is told",
          "[roles][heartbeats]") {
  const Lines lines = play(served(3), 7, [](Play& play) {
    for (const double date : {1.0, 3.5, 4.5}) {
      play.stage.at(date, [&] {
        play.stage.say(play.heartbeats.send(3) ? "is sent" : "one is on its way");
        if (Agenda::now() == 3.5) play.stage.say(play.heartbeats.send(2) ? "is sent" : "one is on its way");
      });
    }
  });
  CHECK(lines == Lines{sent(1, 3), "1 is sent", "3.5 one is on its way", sent(3.5, 2), "3.5 is sent",
                       sent(4.5, 3), "4.5 is sent"});
}

TEST_CASE("heartbeats: the longer one is on its way the less often the node looks", "[roles][heartbeats]") {
  // Nine looks after an interval each, and then after two, four and eight of them.
  const double first = first_of(2);
  CHECK(play(served(30), first + 34, [](Play& play) { play.heartbeats.begin(2); }) ==
        Lines{sent(first, 2), sent(first + 32, 2)});
  CHECK(play(served(61), first + 93, [](Play& play) { play.heartbeats.begin(2); }) ==
        Lines{sent(first, 2), sent(first + 92, 2)});
}

TEST_CASE("heartbeats: a frozen node sends none, and goes on in its turn", "[roles][heartbeats]") {
  const double first = first_of(3);
  CHECK(play(served(), first + 13, [first](Play& play) {
          play.heartbeats.begin(3);
          play.stage.at(first + 1, [&] { play.stage.job().network.hold(3); });
          play.stage.at(first + 10, [&] { play.stage.job().network.hand_out(3); });
        }) == Lines{sent(first, 3), sent(first + 12, 3)});
}

TEST_CASE("heartbeats: where nothing can happen any more there are no more", "[roles][heartbeats]") {
  const double first = first_of(3);
  CHECK(play(served(), first + 13, [first](Play& play) {
          play.heartbeats.begin(3);
          play.stage.at(first + 2, [&] { play.stage.hopeless = true; });
        }) == Lines{sent(first, 3), sent(first + 4, 3)});
}

TEST_CASE("heartbeats: without servers a worker has none once it has done its steps, or left before",
          "[roles][heartbeats]") {
  const double one = first_of(1), two = first_of(2), three = first_of(3);
  Lines lines = play(quiet, 10, [&](Play& play) {
    for (const NodeId node : {1U, 2U, 3U}) play.heartbeats.begin(node);
    play.stage.at(one + 2, [&] { play.stage.job().state.progress.finish(0, true, 0); });
    play.stage.at(three + 2, [&] { play.stage.job().state.progress.finish(2, false, 0); });
  });
  std::ranges::sort(lines);
  Lines expected{sent(one, 1), sent(two, 2), sent(two + 4, 2), sent(three, 3)};
  if (two + 8 < 10) expected.push_back(sent(two + 8, 2));
  std::ranges::sort(expected);
  CHECK(lines == expected);
}

TEST_CASE("heartbeats: a worker says whether it has done its steps", "[roles][heartbeats]") {
  const Lines lines = play(quiet, 3, [](Play& play) {
    play.stage.job().state.progress.finish(1, true, 0);
    play.stage.job().network.on_arrival([&](const Message& message) {
      const Heartbeat& beat = *message.as<Heartbeat>();
      play.stage.say(
          fmt::format("{}{}, view {}", message.from, beat.is_through ? " is through" : "", beat.view));
    });
    play.stage.at(0, [&] {
      play.heartbeats.send(1);
      play.heartbeats.send(2);
    });
  });
  REQUIRE(lines.size() == 4);
  CHECK(lines[2].ends_with(" 1, view -1"));
  CHECK(lines[3].ends_with(" 2 is through, view -1"));
}
