// The time that a worker's computing and copying take, and what stopping them does. A machine of a million
// operations a second.
#include <fmt/format.h>

#include <string>

#include "sim/nodes/job/processor.hpp"
#include "tests/sim/nodes/stage.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

const std::string scenario =
    "[model]\nkind = \"phantom\"\nparameters = 10\nflops_per_sample = 1e6\n[training]\nsteps = 3\n"
    "[cluster]\nworkers = 2\nservers = 1\n[cluster.worker]\nspeed = \"1Mf\"\n";

// `part` is played by worker 1, with its processor.
Lines play(const std::function<void(Stage&, Processor&)>& part) {
  return on_stage(scenario, [&](Stage& stage) {
    Processor processor(stage.job(), stage.worker(1));
    stage.act(stage.worker(1), [&] { part(stage, processor); });
    stage.run();
    stage.say(fmt::format("busy for {}, the other for {}",
                          date(stage.job().state.usage.busy_seconds(stage.worker(1), Agenda::now())),
                          date(stage.job().state.usage.busy_seconds(stage.worker(0), Agenda::now()))));
  });
}

void say(Stage& stage, bool done, const Processor& processor) {
  stage.say(fmt::format("{} after {}", done ? "done" : "stopped", date(processor.seconds())));
}

}  // namespace

TEST_CASE("processor: operations take the machine's time, and copies their own", "[roles][processor]") {
  const Lines lines = play([](Stage& stage, Processor& processor) {
    stage.say(date(processor.speed()));
    say(stage, processor.compute(2e6), processor);
    say(stage, processor.copy(0.5), processor);
    processor.start_timer();
    compute(stage.job(), stage.worker(1), 1e6);  // beside the timer
    say(stage, processor.compute(3e6), processor);
  });
  CHECK(lines == Lines{"0 1e+06", "2 done after 2", "2.5 done after 2.5", "6.5 done after 3",
                       "6.5 busy for 6.5, the other for 0"});
}

TEST_CASE("processor: a computation that is stopped takes the time until then", "[roles][processor]") {
  const Lines lines = play([](Stage& stage, Processor& processor) {
    stage.at(1.5, [&] { processor.stop(); });
    say(stage, processor.compute(4e6), processor);
    say(stage, processor.compute(1e6), processor);  // the next one is its own
  });
  CHECK(lines == Lines{"1.5 stopped after 1.5", "2.5 done after 2.5", "2.5 busy for 2.5, the other for 0"});
}

TEST_CASE("processor: what may not be stopped is not", "[roles][processor]") {
  const Lines lines = play([](Stage& stage, Processor& processor) {
    stage.at(1.5, [&] { processor.stop(); });
    stage.at(2, [&] { processor.pause(); });
    say(stage, processor.compute(4e6, false), processor);
  });
  CHECK(lines == Lines{"4 done after 4", "4 busy for 4, the other for 0"});
}

TEST_CASE("processor: a copy in hand is finished, and then the work stops", "[roles][processor]") {
  const Lines lines = play([](Stage& stage, Processor& processor) {
    stage.at(1, [&] { processor.stop(); });
    stage.at(2, [&] { processor.stop(); });
    say(stage, processor.copy(3), processor);
    say(stage, processor.copy(1), processor);
  });
  CHECK(lines == Lines{"3 stopped after 3", "4 done after 4", "4 busy for 4, the other for 0"});
}

TEST_CASE("processor: who is idle has nothing to stop", "[roles][processor]") {
  const Lines lines = play([](Stage& stage, Processor& processor) {
    processor.stop();
    processor.pause();
    say(stage, processor.compute(1e6), processor);
    processor.stop();
    say(stage, processor.copy(1), processor);
  });
  CHECK(lines == Lines{"1 done after 1", "2 done after 2", "2 busy for 2, the other for 0"});
}

TEST_CASE("processor: a pause leaves the operations that were not done yet", "[roles][processor]") {
  const Lines lines = play([](Stage& stage, Processor& processor) {
    stage.at(1.25, [&] { processor.pause(); });
    say(stage, processor.compute(4e6), processor);
    stage.say(fmt::format("left {}", date(processor.left() / 1e6)));
    stage.sleep(2);
    say(stage, processor.compute(processor.left()), processor);
  });
  CHECK(lines == Lines{"1.25 stopped after 1.25", "1.25 left 2.75", "6 done after 4",
                       "6 busy for 4, the other for 0"});
}

TEST_CASE("processor: who is paused at its end is through", "[roles][processor]") {
  const Lines lines = play([](Stage& stage, Processor& processor) {
    stage.at(3, [&] { processor.pause(); });
    say(stage, processor.compute(3e6), processor);
  });
  CHECK(lines == Lines{"3 done after 3", "3 busy for 3, the other for 0"});
}
