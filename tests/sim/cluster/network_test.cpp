// How a node waits for mail until a date: who is late, who is held, and who is killed.
#include "sim/cluster/network.hpp"

#include <simgrid/s4u/Actor.hpp>

#include <optional>
#include <string>

#include "tests/sim/nodes/stage.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

const std::string scenario =
    "[model]\nkind = \"phantom\"\nparameters = 10\nflops_per_sample = 1e6\n[training]\nsteps = 3\n"
    "[cluster]\nworkers = 2\nservers = 1\n";

void notify(Stage& stage, double date) {
  stage.at(date, [&stage] {
    stage.job().network.notify({.from = stage.worker(1), .to = stage.worker(0), .body = Ack{}});
  });
}

// Worker 0 waits until 2, and then for ever.
void wait_twice(Stage& stage) {
  const bool has_come = stage.job().network.receive_until(stage.worker(0), 2).has_value();
  stage.say(has_come ? "message" : "nothing");
  stage.job().network.receive(stage.worker(0));
  stage.say("next message");
}

Lines play(const std::function<void(Stage&, Network&)>& parts) {
  return on_stage(scenario, [&](Stage& stage) {
    stage.act(stage.worker(0), [&stage] { wait_twice(stage); });
    parts(stage, stage.job().network);
    stage.run();
  });
}

}  // namespace

TEST_CASE("network: a node waits for mail until a date", "[network]") {
  CHECK(play([](Stage& stage, Network&) { notify(stage, 3); }) == Lines{"2 nothing", "3 next message"});
  CHECK(play([](Stage& stage, Network&) {
          notify(stage, 1);
          notify(stage, 3);
        }) == Lines{"1 message", "3 next message"});
}

TEST_CASE("network: mail at the last date is in time", "[network]") {
  const auto twice = [](Stage& stage, Network&) {
    notify(stage, 2);
    notify(stage, 3);
  };
  CHECK(play(twice) == Lines{"2 message", "3 next message"});
  // Planned after the end of the wait.
  CHECK(play([&](Stage& stage, Network& network) { stage.at(1, [&] { twice(stage, network); }); }) ==
        Lines{"2 message", "3 next message"});
}

TEST_CASE("network: a held node sees the date and the mail when it goes on", "[network]") {
  const auto hold = [](Stage& stage, Network& network) {
    stage.at(1, [&] { network.hold(stage.worker(0)); });
    stage.at(3, [&] { network.hand_out(stage.worker(0)); });
    stage.at(3.5, [&] { network.hand_out(stage.worker(0)); });  // it is not held any more
    notify(stage, 4);
  };
  CHECK(play(hold) == Lines{"3 nothing", "4 next message"});
  CHECK(play([&](Stage& stage, Network& network) {
          hold(stage, network);
          notify(stage, 2.5);
        }) == Lines{"3 message", "4 next message"});
}

TEST_CASE("network: a new life of a node knows nothing of a date that has passed", "[network]") {
  const auto crash = [](double date, bool is_held) {
    return on_stage(scenario, [&](Stage& stage) {
      Network& network = stage.job().network;
      const simgrid::s4u::ActorPtr first = stage.act(stage.worker(0), [&stage] { wait_twice(stage); });
      if (is_held) {
        stage.at(1, [&] { network.hold(stage.worker(0)); });
        stage.at(3.5, [&] { network.hand_out(stage.worker(0)); });
      }
      stage.at(date, [&, first] {
        first->kill();
        network.take_down(stage.worker(0), [](const Message&) {});
        network.bring_up(stage.worker(0));
        stage.act(stage.worker(0), [&] {
          network.receive(stage.worker(0));
          stage.say("mail of the new life");
        });
      });
      notify(stage, 4);
      stage.run();
    });
  };
  for (const double date : {1.5, 2.0, 3.0}) {
    CHECK(crash(date, true) == Lines{"4 mail of the new life"});
    if (date <= 2) CHECK(crash(date, false) == Lines{"4 mail of the new life"});
  }
}

TEST_CASE("network: a node that crashes on a frozen machine stays held", "[network]") {
  const Lines lines = on_stage(scenario, [](Stage& stage) {
    Network& network = stage.job().network;
    stage.at(1, [&] { network.hold(stage.worker(0)); });
    stage.at(1.5, [&] {
      network.take_down(stage.worker(0), [](const Message&) {});
      network.bring_up(stage.worker(0));
      stage.act(stage.worker(0), [&] {
        network.receive(stage.worker(0));
        stage.say("mail");
      });
    });
    notify(stage, 2);
    stage.at(3, [&] { network.hand_out(stage.worker(0)); });
    stage.run();
  });
  CHECK(lines == Lines{"3 mail"});
}
