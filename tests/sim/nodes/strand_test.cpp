// A worker's computing beside its sending and receiving. A machine of a million operations a second.
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "sim/nodes/peers/all_reduce_worker.hpp"
#include "tests/sim/nodes/stage.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

const std::string scenario =
    "[model]\nkind = \"phantom\"\nparameters = 10\nflops_per_sample = 1e6\n[training]\nsteps = 3\n"
    "[architecture]\nkind = \"all-reduce\"\n[cluster]\nworkers = 2\n[cluster.worker]\nspeed = \"1Mf\"\n";

std::string_view name_of(ComputePhase phase) { return phase_names[static_cast<std::size_t>(phase)]; }

// `part` is played by worker 1, which is node 2.
Lines play(const std::function<void(Stage&, Strand&)>& part) {
  return on_stage(scenario, [&](Stage& stage) {
    Mailbox mailbox(stage.job(), 2, false);
    Strand strand(stage.job(), 2, mailbox);
    stage.act(2, [&] { part(stage, strand); });
    stage.run();
    for (const Event& event : stage.events) {
      const Computation* what = event.as<Computation>();
      if (what != nullptr && what->work == Work::filter)
        stage.say(fmt::format("filter {} at {}", name_of(what->phase), date(event.at)));
    }
  });
}

}  // namespace

TEST_CASE("strand: parts are computed one after the other, beside the worker", "[roles][strand]") {
  const Lines lines = play([](Stage& stage, Strand& strand) {
    strand.start({{1e6, 0.5}, {2e6, 0}, {1e6, 1}}, [&] { stage.say("the last one ends"); });
    stage.say("goes on");
    strand.wait_for(1, 0);
    stage.say(strand.is_running() ? "one is done" : "all are done");
    stage.sleep(0.25);  // what it does itself
    strand.wait_for(2, 0);
    stage.say("two are done");
    strand.wait_for(1, 0);
    stage.say("still");
    strand.wait_for(3, 0);
    stage.say(strand.is_running() ? "one is done" : "all are done");
  });
  CHECK(lines == Lines{"0 goes on", "1.5 one is done", "3.5 two are done", "3.5 still",
                       "5.5 the last one ends", "5.5 all are done"});
}

TEST_CASE("strand: of what is stopped the rest is not computed, and the next step begins anew",
          "[roles][strand]") {
  const Lines lines = play([](Stage& stage, Strand& strand) {
    strand.start({{1e6, 0}, {2e6, 0}}, [&] { stage.say("never"); });
    stage.sleep(1.5);
    strand.stop();
    stage.say(strand.is_running() ? "runs" : "does not run");
    strand.stop();
    strand.start({{1e6, 0}}, [&] { stage.say("ends"); });
    strand.wait_for(1, 0);
    stage.say("one is done");
  });
  CHECK(lines == Lines{"1.5 does not run", "2.5 ends", "2.5 one is done"});
}

TEST_CASE("strand: in the calling actor a part takes its copies and its operations", "[roles][strand]") {
  const Lines lines = play([](Stage& stage, Strand& strand) {
    strand.compute({2e6, 0.5});
    stage.say("done");
  });
  CHECK(lines == Lines{"2.5 done"});
}

TEST_CASE("strand: filters take time, and are recorded where no step is computed meanwhile",
          "[roles][strand]") {
  const Lines alone = play([](Stage& stage, Strand& strand) {
    strand.filter(0);
    strand.filter(2e6);
    stage.say("filtered");
  });
  CHECK(alone == Lines{"2 filtered", "2 filter begun at 0", "2 filter ended at 2"});
  // Both share the processor's one core from 1 s on, or each has its own: either way it is no filter's time
  // before the step is done.
  const Lines beside = play([](Stage& stage, Strand& strand) {
    strand.start({{2e6, 0}}, [&] { stage.say("the step ends"); });
    stage.sleep(1);
    strand.filter(4e6);
    stage.say("filtered");
  });
  REQUIRE(beside.size() == 4);
  const std::string end_of_step = beside[0].substr(0, beside[0].find(' '));
  const std::string end_of_filter = beside[1].substr(0, beside[1].find(' '));
  CHECK(beside[0].ends_with(" the step ends"));
  CHECK(beside[1].ends_with(" filtered"));
  CHECK(beside[2].ends_with("filter begun at " + end_of_step));
  CHECK(beside[3].ends_with("filter ended at " + end_of_filter));
}
