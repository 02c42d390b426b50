// A worker of an all-reduce: which copy of the model a new group goes on with, and who may be in it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/nodes/peers/all_reduce_worker.hpp"
#include "tests/sim/nodes/stage.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

// Nodes: scheduler 0, workers 1, 2 and 3. A message takes a second, a gradient a hundred.
std::string scenario(const std::string& workers, const std::string& more = "") {
  return "[model]\nkind = \"phantom\"\nparameters = 7\n[training]\nsteps = 30\n[compute]\ntime = \"100s\"\n"
         "[architecture]\nkind = \"all-reduce\"\n[cluster]\nworkers = 3\n"
         "network = {latency = \"500ms\", bandwidth = \"1000GBps\", share_spread = 0.0, simgrid_model = "
         "\"cm02\"}\n[recovery]\nenabled = true\nretry = \"1000s\"\nworkers = \"" +
         workers + "\"\n" + more;
}

SharedView view(std::int64_t number, const std::vector<bool>& workers) {
  return std::make_shared<const View>(View{.number = number, .workers = workers});
}

// Worker `index` is real. The scheduler lets it in to others that have begun, with `start`; a test plays
// these.
struct Play {
  Play(Stage& on, std::uint32_t index, const SharedView& start)
      : stage(on), network(on.job().network), all(on.job(), nullptr) {
    stage.say_sent({MessageKind::standing, MessageKind::regroup, MessageKind::state, MessageKind::restore});
    network.on_arrival([this](const Message& message) { all.on_arrival(message); });
    stage.act(
        scheduler_node,
        [this, start] {
          const NodeId node = network.receive(scheduler_node).from;
          network.send({.from = scheduler_node, .to = node, .body = Start{.view = start, .goes_on = true}});
        },
        true);
    stage.act(
        stage.worker(index), [this, index] { all.run(index); }, true);
  }
  // A message of the group of this view, so that it arrives at `date`.
  void arrives(double date, NodeId from, NodeId to, std::uint32_t view, Body body) {
    stage.at(date - 1, [this, from, to, view, body = std::move(body)]() mutable {
      network.send({.from = from, .to = to, .epoch = view, .body = std::move(body)});
    });
  }
  void run_until(double date) {
    stage.act(scheduler_node, [this, date] { stage.sleep(date); });
    stage.run();
    stage.say(fmt::format("version {}", all.version()));
  }

  Stage& stage;
  Network& network;
  AllReduce all;
};

std::string words(const Regroup& answer) {
  return fmt::format("version {} of view {} from {} to [{}]", answer.version, answer.made_in, answer.holder,
                     fmt::join(answer.behind, " "));
}

using Made = std::pair<std::int64_t, std::int64_t>;  // version, and the view that made it

// Worker 0 is the first of its group: what it makes of the others' standings.
Lines answers(const std::string& toml, Made second, Made third) {
  return on_stage(toml, [=](Stage& stage) {
    Play play(stage, 0, view(9, {true, true, true}));
    play.arrives(4, 2, 1, 9, Standing{.version = second.first, .made_in = second.second});
    play.arrives(4, 3, 1, 9, Standing{.version = third.first, .made_in = third.second});
    for (const NodeId node : {2U, 3U}) {
      stage.act(
          node,
          [&, node] {
            const Message message = play.network.receive(node);
            if (node == 3) stage.say(words(*message.as<Regroup>()));
          },
          true);
    }
    for (const NodeId node : {2U, 3U})
      play.arrives(8 + node, node, 1, 9, State{.version = node == 2 ? second.first : third.first});
    play.run_until(50);
  });
}

}  // namespace

TEST_CASE("all-reduce: the first of a new group chooses the copy that the newest group made, then the newest",
          "[roles][all-reduce]") {
  const std::string removes = scenario("remove");
  const auto said = [&](Made second, Made third) {
    const Lines lines = answers(removes, second, third);
    REQUIRE(lines.size() >= 3);
    return lines[lines.size() - 4] + "; " + lines.back();
  };
  CHECK(said({5, 3}, {7, 2}) == "5 version 5 of view 3 from 2 to [1 3]; 50 version 5");
  CHECK(said({5, 3}, {7, 3}) == "5 version 7 of view 3 from 3 to [1 2]; 50 version 7");
  CHECK(said({7, 3}, {7, 3}) == "5 version 7 of view 3 from 2 to [1]; 50 version 7");
  CHECK(said({-1, -1}, {7, 3}) == "5 version 7 of view 3 from 3 to [1 2]; 50 version 7");
  // Its own is as good as any: the others get it, if they have none.
  CHECK(said({0, 0}, {0, 0}) == "5 version 0 of view 0 from 1 to []; 50 version 0");
  CHECK(said({-1, -1}, {0, 0}) == "5 version 0 of view 0 from 1 to [2]; 50 version 0");
}

TEST_CASE("all-reduce: the holder of the chosen copy sends it to those behind, and to nobody else",
          "[roles][all-reduce]") {
  const Lines lines = answers(scenario("remove"), {-1, -1}, {0, 0});
  CHECK(lines == Lines{"3 standing 2 > 1", "3 standing 3 > 1", "4 regroup 1 > 2", "4 regroup 1 > 3",
                       "4 state 1 > 2 #0", "5 version 0 of view 0 from 1 to [2]", "9 state 2 > 1",
                       "10 state 3 > 1", "50 version 0"});
}

TEST_CASE("all-reduce: where the group restarts and one has lost its copy, nobody goes on with another's",
          "[roles][all-reduce]") {
  // Without a snapshot all begin anew.
  const std::string restarts = scenario("restart");
  const Lines lost = answers(restarts, {-1, -1}, {7, 3});
  CHECK(lost[4] == "5 version -1 of view 3 from 3 to [1 2]");
  CHECK(lost.back() == "50 version 0");
  CHECK(answers(restarts, {6, 3}, {7, 3}).back() == "50 version 7");
}

TEST_CASE("all-reduce: another worker tells the first what it has, and does what that says",
          "[roles][all-reduce]") {
  const auto hears = [](const Regroup& answer) {
    return on_stage(scenario("remove"), [&](Stage& stage) {
      Play play(stage, 1, view(9, {true, true, true}));
      play.arrives(4, 1, 2, 9, Regroup(answer));
      play.arrives(6, 1, 2, 9, State{.version = 4});
      play.arrives(7, 3, 2, 9, State{.version = 6});
      play.run_until(50);
    });
  };
  const auto said = [](const Lines& lines) { return fmt::format("{}; {}", lines.front(), lines.back()); };
  // Its copy is the one that `holder` sends, whoever else sends one.
  CHECK(said(hears({.version = 6, .made_in = 3, .holder = 3, .behind = {1, 2}})) ==
        "2 standing 2 > 1; 50 version 6");
  CHECK(said(hears({.version = 4, .made_in = 3, .holder = 1, .behind = {3, 2}})) ==
        "2 standing 2 > 1; 50 version 4");
  CHECK(said(hears({.version = 0, .made_in = 0, .holder = 1, .behind = {3}})) ==
        "2 standing 2 > 1; 50 version 0");
  const Lines holds = hears({.version = 0, .made_in = 0, .holder = 2, .behind = {1, 3}});
  CHECK(holds[1] == "3 regroup 1 > 2");
  CHECK(holds[2] == "4 state 2 > 1 #0");
  CHECK(holds[3] == "4 state 2 > 3 #0");
}

TEST_CASE("all-reduce: messages of an older group are nothing to a new one", "[roles][all-reduce]") {
  const Lines lines = on_stage(scenario("remove"), [](Stage& stage) {
    Play play(stage, 0, view(9, {true, true, false}));
    play.arrives(4, 2, 1, 8, Standing{.version = 30, .made_in = 8});
    play.arrives(6, 2, 1, 9, Standing{.version = 3, .made_in = 2});
    play.arrives(8, 2, 1, 9, State{.version = 3});
    play.run_until(50);
  });
  CHECK(lines[2] == "6 regroup 1 > 2");
  CHECK(lines.back() == "50 version 3");
}

TEST_CASE("all-reduce: a view that comes in the middle of a step makes a group of those that are in it",
          "[roles][all-reduce]") {
  // Worker 0 takes part until worker 1 is gone; then it is alone, needs nobody, and works for itself.
  const Lines lines = on_stage(scenario("remove"), [](Stage& stage) {
    Play play(stage, 0, view(9, {true, true, false}));
    play.arrives(4, 2, 1, 9, Standing{.version = 0, .made_in = 0});
    play.arrives(60, 0, 1, 0, NewView{view(10, {true, false, false})});
    play.arrives(170, 0, 1, 0, NewView{view(11, {true, false, true})});
    play.arrives(270, 3, 1, 11, Standing{.version = -1, .made_in = -1});
    play.run_until(300);
    for (const ModelUpdate& update : stage.recorded<ModelUpdate>())
      stage.say(fmt::format("update {}", update.version));
  });
  // It gives up the gradient of 4 s at 60 s, and that of 160 s at 170 s. At 270 s it sends what it has.
  CHECK(Lines(lines.end() - 5, lines.end()) == Lines{"269 standing 3 > 1", "270 regroup 1 > 3",
                                                     "270 state 1 > 3 #0", "300 version 0", "300 update 1"});
}

TEST_CASE("all-reduce: who has no place in the view waits for one that has", "[roles][all-reduce]") {
  const Lines lines = on_stage(scenario("remove"), [](Stage& stage) {
    Play play(stage, 0, view(9, {false, true, true}));
    play.arrives(4, 2, 1, 9, Standing{.version = 3, .made_in = 2});
    play.arrives(20, 0, 1, 0, NewView{view(10, {true, true, false})});
    play.arrives(22, 2, 1, 10, Standing{.version = 3, .made_in = 2});
    stage.at(10, [&] {
      for (const std::string& line : play.all.who_waits()) stage.say(line);
    });
    play.run_until(30);
  });
  CHECK(lines == Lines{"3 standing 2 > 1", "10 at 10 s worker 0 waits for a group that it can work in",
                       "21 standing 2 > 1", "22 regroup 1 > 2", "30 version 0"});
}
