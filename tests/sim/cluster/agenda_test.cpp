// The agenda: the order of actions, and dates to the last bit.
#include "sim/cluster/agenda.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>

#include "tests/sim/nodes/stage.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

const std::string scenario =
    "[model]\nkind = \"phantom\"\nparameters = 10\nflops_per_sample = 1e6\n[training]\nsteps = 3\n"
    "[cluster]\nworkers = 2\nservers = 1\n";

Lines play(const std::function<void(Stage&, Agenda&)>& parts) {
  return on_stage(scenario, [&](Stage& stage) {
    parts(stage, stage.job().agenda);
    stage.run();
  });
}

double after(double date) { return std::nextafter(date, std::numeric_limits<double>::infinity()); }

}  // namespace

TEST_CASE("agenda: actions run in the order of dates, and of planning at equal dates", "[agenda]") {
  const Lines lines = play([](Stage& stage, Agenda& agenda) {
    stage.act(stage.worker(0), [&] { agenda.sleep_until(3); });
    agenda.at(2, [&] { stage.say("a"); });
    agenda.at(1, [&] {
      stage.say("b");
      agenda.at(0.5, [&] { stage.say("past, so now"); });
      agenda.at(2, [&] { stage.say("c"); });
    });
    const Agenda::Ticket ticket = agenda.at(2, [&] { stage.say("cancelled"); });
    agenda.at(2, [&] { stage.say("d"); });
    agenda.at(1.5, [&agenda, ticket] { agenda.cancel(ticket); });
  });
  CHECK(lines == Lines{"1 b", "1 past, so now", "2 a", "2 d", "2 c"});
}

TEST_CASE("agenda: a cancelled action keeps no clock running", "[agenda]") {
  const Lines lines = play([](Stage& stage, Agenda& agenda) {
    const Agenda::Ticket first = agenda.at(1, [] {}), last = agenda.at(5, [] {});
    agenda.at(2, [&agenda, first, last] {
      agenda.cancel(first);  // it has run
      agenda.cancel(last);
    });
    stage.act(stage.worker(0), [&] { stage.job().network.receive(stage.worker(0)); });
  });
  CHECK(lines == Lines{"2 stuck"});
}

TEST_CASE("agenda: ends of sleeps and computations are no work of psim", "[agenda]") {
  const Lines lines = play([](Stage& stage, Agenda& agenda) {
    stage.act(stage.worker(0), [&] {
      Cpu& cpu = stage.job().cpus.of(stage.worker(0));
      for (int i = 0; i < 10; ++i) cpu.sleep_until(i);
      cpu.compute(1e9);
      cpu.sleep(1);
      stage.say(fmt::format("{} actions", agenda.fired()));
    });
    for (const int date : {1, 2, 3}) agenda.at(date, [] {});
  });
  CHECK(lines == Lines{"10.1 3 actions"});
}

TEST_CASE("agenda: an alarm rings during its object's life only", "[agenda]") {
  const Lines lines = play([](Stage& stage, Agenda& agenda) {
    stage.act(stage.worker(0), [&] {
      {
        const Alarm rings(agenda, agenda.at(1, [&] { stage.say("rings"); }));
        const Alarm silent(agenda, agenda.at(3, [&] { stage.say("too late"); }));
        agenda.sleep_until(2);
      }
      agenda.sleep_until(1);
      stage.say("at once");
      agenda.sleep_until(4);
    });
  });
  CHECK(lines == Lines{"1 rings", "2 at once"});
}

TEST_CASE("agenda: the date of an action is the planned one, to the last bit", "[agenda]") {
  const Lines lines = play([](Stage& stage, Agenda& agenda) {
    for (int i = 1; i <= 20'000; ++i) {
      const double date = std::sqrt(static_cast<double>(i)) / 7;
      agenda.at(date, [&stage, date] {
        if (Agenda::now() != date) stage.say("action at another date");
      });
    }
    stage.act(stage.worker(0), [&] {
      for (int i = 1; i <= 20'000; ++i) {
        const double date = std::sqrt(static_cast<double>(i)) / 7;
        agenda.sleep_until(date);
        if (Agenda::now() != date) stage.say("actor at another date");
      }
      stage.say("through");
    });
  });
  CHECK(lines == Lines{"20.2031 through"});
}

// SimGrid's clock can be one unit in the last place late, or not, so psim counts these dates as one.
TEST_CASE("agenda: dates one unit in the last place apart are one date", "[agenda]") {
  const Lines lines = play([](Stage& stage, Agenda& agenda) {
    const double first = 0.1 + 0.2, second = after(first), third = after(second);
    stage.act(stage.worker(0), [&stage, &agenda, first] {
      agenda.sleep_until(first);
      stage.say("the actor");
    });
    stage.act(stage.worker(1), [&stage, &agenda, third] { agenda.sleep_until(after(third)); });
    agenda.at(0, [&stage, &agenda, second, third] {
      agenda.at(third, [&stage, third] { stage.say(Agenda::now() == third ? "third" : "rounded"); });
      agenda.at(second, [&stage, second] { stage.say(Agenda::now() == second ? "second" : "rounded"); });
    });
  });
  CHECK(lines == Lines{"0.3 second", "0.3 the actor", "0.3 third"});
}
