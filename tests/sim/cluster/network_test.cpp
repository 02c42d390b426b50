// How a node waits for mail until a date: who is late, who is held, and who is killed.
#include "sim/cluster/network.hpp"

#include <simgrid/s4u/Actor.hpp>

#include <algorithm>
#include <optional>
#include <string>

#include "sim/cluster/speed_control.hpp"
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

TEST_CASE("network: the ports of a new life are free", "[network]") {
  for (const std::string end : {"send", "receive"}) {
    INFO(end);
    const std::string slow = "[cluster.network.endpoint]\n" + end + "_overhead = \"10s\"\n";
    const Lines lines = on_stage(scenario + slow, [&](Stage& stage) {
      Network& network = stage.job().network;
      const NodeId busy = stage.worker(0), other = stage.job().plan.first_server();
      const NodeId from = end == "send" ? busy : other, to = end == "send" ? other : busy;
      const auto send = [&network, from, to] { network.send({.from = from, .to = to, .body = Ack{}}); };
      stage.at(0, send);
      stage.at(3, [&] {
        network.take_down(busy, [](const Message&) {});
        network.bring_up(busy);
        stage.act(to, [&stage, &network, to] {
          network.receive(to);
          stage.say(Agenda::now() < 15 ? "in time" : "late");
        });
      });
      stage.at(4, send);
      stage.run();
    });
    REQUIRE(lines.size() == 1);
    CHECK_THAT(lines.front(), Catch::EndsWith("in time"));
  }
}

TEST_CASE("network: when a machine goes on, each of its nodes takes its mail", "[network][colocation]") {
  const auto mail = [](bool both_freeze) {
    const std::string colocated =
        "[model]\nkind = \"phantom\"\nparameters = 10\nflops_per_sample = 1e6\n[training]\nsteps = 3\n"
        "[cluster]\nworkers = 2\nservers = 2\ncolocate = true\n";
    Lines lines = on_stage(colocated, [&](Stage& stage) {
      JobContext& job = stage.job();
      SpeedControl speeds(job.plan.cluster(), job.cpus, job.slowness, job.agenda, job.network, job.recorder);
      const NodeId server = 1, worker = stage.worker(0);
      for (const NodeId node : {server, worker}) {
        stage.act(node, [&, node] {
          job.network.receive(node);
          stage.say(node == server ? "server" : "worker");
        });
        stage.at(2, [&, node] { job.network.notify({.from = stage.worker(1), .to = node, .body = Ack{}}); });
      }
      stage.at(1, [&] {
        speeds.set_fault(worker, 0);
        if (both_freeze) speeds.set_fault(server, 0);
      });
      stage.at(3, [&] { speeds.set_fault(worker, 1); });
      stage.at(4, [&] { speeds.set_fault(server, 1); });
      stage.run();
    });
    std::ranges::sort(lines);
    return lines;
  };
  CHECK(mail(false) == Lines{"3 server", "3 worker"});
  CHECK(mail(true) == Lines{"4 server", "4 worker"});
}

TEST_CASE("network: the latencies of two profiles add up", "[network][profiles]") {
  const Lines lines = on_stage(scenario, [](Stage& stage) {
    JobContext& job = stage.job();
    Scenario profiled = job.plan.scenario;
    for (const double seconds : {10.0, 30.0})
      profiled.profiles.push_back({.of = ProfileOf::latency, .nodes = {"server 0"}, .rows = {{0, seconds}}});
    LinkControl links(profiled, job.network, job.agenda, job.recorder);
    links.start([] { return false; });
    stage.act(1, [&] {
      job.network.receive(1);
      stage.say(Agenda::now() < 40 ? "early" : "after both");
    });
    stage.at(0, [&] { job.network.send({.from = stage.worker(0), .to = 1, .body = Ack{}}); });
    stage.run();
  });
  REQUIRE(lines.size() == 1);
  CHECK(lines.front().ends_with("after both"));
}
