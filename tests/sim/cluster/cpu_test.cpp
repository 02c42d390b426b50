// Processors: sharing, changes of the speed, frozen machines. Two machines of a million operations a second.
#include "sim/cluster/cpu.hpp"

#include <fmt/format.h>
#include <simgrid/s4u/Actor.hpp>

#include <string>

#include "tests/sim/nodes/stage.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

const std::string scenario =
    "[model]\nkind = \"phantom\"\nparameters = 10\nflops_per_sample = 1e6\n[training]\nsteps = 3\n"
    "[cluster]\nworkers = 2\nservers = 1\n[cluster.worker]\nspeed = \"1Mf\"\n";

// An actor on worker 0 that begins at `begin` and says when it has computed `flops`.
simgrid::s4u::ActorPtr computes(Stage& stage, const std::string& name, double begin, double flops) {
  return stage.act(stage.worker(0), [&stage, name, begin, flops] {
    stage.job().agenda.sleep_until(begin);
    stage.job().cpus.of(stage.worker(0)).compute(flops);
    stage.say(name);
  });
}

Lines play(const std::function<void(Stage&, Cpu&)>& parts) {
  return on_stage(scenario, [&](Stage& stage) {
    parts(stage, stage.job().cpus.of(stage.worker(0)));
    stage.run();
  });
}

}  // namespace

TEST_CASE("cpu: computations share the processor equally", "[cpu]") {
  const Lines lines = play([](Stage& stage, Cpu&) {
    computes(stage, "first", 0, 2e6);
    computes(stage, "second", 1, 0.5e6);
    stage.act(stage.worker(1), [&stage] {  // another machine
      stage.job().cpus.of(stage.worker(1)).compute(2e6);
      stage.say("other");
    });
  });
  CHECK(lines == Lines{"2 other", "2 second", "2.5 first"});
}

TEST_CASE("cpu: a sleep takes its time beside any computation, and slows none", "[cpu]") {
  const Lines lines = play([](Stage& stage, Cpu& cpu) {
    computes(stage, "computed", 0, 2e6);
    stage.act(stage.worker(0), [&stage, &cpu] {
      cpu.sleep(1.5);
      stage.say("slept");
    });
  });
  CHECK(lines == Lines{"1.5 slept", "2 computed"});
}

TEST_CASE("cpu: work adapts to another speed at once", "[cpu]") {
  const Lines lines = play([](Stage& stage, Cpu& cpu) {
    computes(stage, "computed", 0, 2e6);
    stage.at(1, [&cpu] { cpu.set_factor(0.25); });
    stage.at(3, [&cpu] { cpu.set_factor(2); });
    stage.at(3, [&stage, &cpu] { stage.say(date(cpu.speed())); });
  });
  CHECK(lines == Lines{"3 2e+06", "3.25 computed"});
}

TEST_CASE("cpu: on a frozen machine nothing goes on", "[cpu]") {
  const Lines lines = play([](Stage& stage, Cpu& cpu) {
    computes(stage, "computed", 0, 2e6);
    computes(stage, "began late", 1.5, 0.25e6);
    for (const double seconds : {1.25, 3.0}) {
      stage.act(stage.worker(0), [&stage, &cpu, seconds] {
        cpu.sleep(seconds);
        stage.say(fmt::format("slept {}", seconds));
      });
    }
    for (const double until : {1.5, 5.0}) {
      stage.act(stage.worker(0), [&stage, &cpu, until] {
        cpu.sleep_until(until);
        stage.say(fmt::format("slept until {}", until));
      });
    }
    stage.at(1, [&cpu] { cpu.freeze(); });
    stage.at(2, [&stage, &cpu] { stage.say(date(cpu.speed())); });
    stage.at(3, [&cpu] { cpu.set_factor(1); });
  });
  CHECK(lines == Lines{"2 1e+06", "3 slept until 1.5", "3.25 slept 1.25", "3.5 began late", "4.25 computed",
                       "5 slept until 5", "5 slept 3"});
}

TEST_CASE("cpu: a stopped or killed computation leaves the processor to the others", "[cpu]") {
  const Lines lines = play([](Stage& stage, Cpu& cpu) {
    computes(stage, "first", 0, 3e6);
    const simgrid::s4u::ActorPtr killed = computes(stage, "killed", 0, 3e6);
    stage.at(2, [killed] { killed->kill(); });
    stage.act(stage.worker(0), [&stage, &cpu] {
      Cpu::Work work(cpu, Cpu::Work::Kind::computes, 3e6);
      stage.at(1.5, [&] { work.stop(); });
      stage.at(2.5, [&] { work.stop(); });
      const bool is_done = work.wait();
      stage.say(fmt::format("{} left {}", is_done, date(work.left() / 1e6)));
      stage.sleep(3);
    });
  });
  // A third of 1.5 s, half of 0.5 s, then alone.
  CHECK(lines == Lines{"1.5 false left 2.5", "4.25 first"});
}

TEST_CASE("cpu: an end is the sum of the beginning and the time, to the last bit", "[cpu]") {
  const Lines lines = play([](Stage& stage, Cpu& cpu) {
    stage.act(stage.worker(0), [&stage, &cpu] {
      for (int step = 0; step < 1000; ++step) {
        const double flops = 1e5 + step, begin = Agenda::now();
        cpu.compute(flops);
        if (Agenda::now() != begin + flops / 1e6) stage.say(fmt::format("step {} is rounded", step));
      }
      stage.say("through");
    });
    stage.act(stage.worker(0), [&cpu] {  // changes nothing
      for (int i = 0; i < 1000; ++i) cpu.sleep(0.0123);
    });
  });
  CHECK(lines == Lines{"100.499 through"});
}
