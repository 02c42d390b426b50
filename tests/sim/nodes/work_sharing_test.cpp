// The scheduler's part in dynamic work: which reports it takes, and what it tells whom.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

#include "sim/nodes/work_sharing.hpp"
#include "tests/sim/nodes/stage.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

// Two servers; 10 samples of each worker.
std::string scenario(const std::string& training, const std::string& more = "", int workers = 3) {
  return fmt::format(
      "[model]\nkind = \"phantom\"\nparameters = 10\nflops_per_sample = 1e6\n[training]\nsteps = 30\n"
      "batch_size = 10\n{}\n[cluster]\nworkers = {}\nservers = 2\n[cluster.worker]\nspeed = \"1Mf\"\n{}",
      training, workers, more);
}
const std::string dynamic = "work = \"dynamic\"\nwork_every = 2\nwork_smoothing = 1.0";

Report report(std::int64_t clock, std::optional<double> seconds, std::optional<std::int64_t> known = {}) {
  return {.clock = clock, .seconds_per_sample = seconds, .decision = known};
}

// "NODE: SIZE after BEFORE, from CLOCK" of every assignment that is sent.
Lines play(const std::string& toml, const std::function<void(Stage&, WorkSharing&)>& part) {
  Lines lines = on_stage(toml, [&](Stage& stage) {
    WorkSharing sharing(stage.job());
    std::size_t said = 0;
    part(stage, sharing);
    for (const Event& event : stage.events) {
      const Sent* sent = event.as<Sent>();
      if (sent == nullptr) continue;
      ++said;
      stage.say(fmt::format("{}: {} after {}", sent->to, sent->samples.value_or(-1),
                            sent->samples_before.value_or(-1)));
    }
    if (said == 0) stage.say("nobody is told anything");
  });
  for (std::string& line : lines) line = line.substr(line.find(' ') + 1);
  return lines;
}

}  // namespace

TEST_CASE("work sharing: when all have reported each is told its share and what comes before it",
          "[roles][work]") {
  const Lines lines = play(scenario(dynamic), [](Stage&, WorkSharing& sharing) {
    sharing.on(3, report(2, 1.0));
    sharing.on(5, report(2, 2.0));
    sharing.on(4, report(2, 3.0));
  });
  // 30 samples in proportion to 6 : 2 : 3.
  CHECK(lines == Lines{"3: 16 after 0", "4: 6 after 16", "5: 8 after 22"});
}

TEST_CASE("work sharing: as long as one has not reported nobody is told anything", "[roles][work]") {
  CHECK(play(scenario(dynamic), [](Stage&, WorkSharing& sharing) {
          sharing.on(3, report(2, 1.0));
          sharing.on(4, report(2, 1.0));
          sharing.on(4, report(2, 1.0));
        }) == Lines{"nobody is told anything"});
}

TEST_CASE("work sharing: where work is not dynamic, and of nodes that are no workers, no report counts",
          "[roles][work]") {
  CHECK(play(scenario(""), [](Stage&, WorkSharing& sharing) {
          for (const NodeId worker : {3U, 4U, 5U}) sharing.on(worker, report(2, worker));
          sharing.set_members({true, false, true});
        }) == Lines{"nobody is told anything"});
  CHECK(play(scenario(dynamic, "", 1), [](Stage&, WorkSharing& sharing) {
          sharing.on(2, report(2, 1.0));  // a server
          sharing.on(4, report(2, 1.0));  // behind the workers
        }) == Lines{"nobody is told anything"});
}

TEST_CASE("work sharing: who takes no part any more is not waited for, and has no share", "[roles][work]") {
  CHECK(play(scenario(dynamic), [](Stage&, WorkSharing& sharing) {
          sharing.on(3, report(2, 1.0));
          sharing.on(5, report(2, 2.0));
          sharing.set_members({true, false, true});
        }) == Lines{"3: 20 after 0", "5: 10 after 20"});
}

TEST_CASE("work sharing: where workers do not wait for each other decisions go to all, by number",
          "[roles][work]") {
  const Lines lines =
      play(scenario(dynamic, "[consistency]\nmodel = \"asp\"\n"), [](Stage& stage, WorkSharing& sharing) {
        sharing.on(3, report(2, 1.0, 0));
        sharing.on(3, report(4, 1.0, 0));
        sharing.on(5, report(2, 2.0, 0));  // as many reports as workers
        const auto sent = stage.recorded<Sent>();
        for (const Sent& one : sent) stage.say(fmt::format("decision {}", one.part.value_or(-1)));
        sharing.on(4, report(2, {}, 0));  // it has not heard of that
        sharing.on(4, report(4, {}, 1));
      });
  // Of the second nothing is known: it counts as fast as the mean of 1 and 1/2.
  REQUIRE(lines.size() == 7);
  for (std::size_t i = 0; i < 3; ++i) CHECK(lines[i] == "decision 1");
  CHECK(lines[3].starts_with("3: "));
  CHECK(lines[4].starts_with("4: "));
  CHECK(lines[5].starts_with("5: "));
  CHECK(lines[6] == lines[4]);
}

TEST_CASE("work sharing: who has done its clocks keeps its share, unless all are in one clock",
          "[roles][work]") {
  for (const bool completed : {false, true}) {
    const Lines lines = play(scenario(dynamic, "[consistency]\nmodel = \"asp\"\n"),
                             [completed](Stage& stage, WorkSharing& sharing) {
                               stage.job().state.completed[1] = completed;
                               sharing.set_members({true, false, true});
                             });
    CHECK(lines == (completed ? Lines{"nobody is told anything"} : Lines{"3: 15 after 0", "5: 15 after 15"}));
  }
}

TEST_CASE("work sharing: where nodes may fail it decides without those who are late", "[roles][work]") {
  // 4 s, and ten times as long as the first report took, which came at once; no more than half of 200 s.
  const std::string fails =
      "[recovery]\nenabled = true\nheartbeat = \"1s\"\ntimeout = \"4s\"\npatience = \"200s\"\n";
  const Lines lines = play(scenario(dynamic, fails), [](Stage& stage, WorkSharing& sharing) {
    stage.say(sharing.next() ? "waits for a date" : "waits for no date");
    sharing.on(5, report(2, 1.0));
    stage.say("until " + date(*sharing.next()));
    sharing.decide_overdue(3.9);
    stage.say(fmt::format("{} messages", stage.recorded<Sent>().size()));
    sharing.decide_overdue(4);
    stage.say(sharing.next() ? "waits for a date" : "waits for no date");
    sharing.on(3, report(2, 1.0));  // too late: it is told what was decided
  });
  REQUIRE(lines.size() == 6);
  CHECK(Lines(lines.begin(), lines.begin() + 4) ==
        Lines{"waits for no date", "until 4", "0 messages", "waits for no date"});
  CHECK(lines[4] == "5: 10 after 20");
  CHECK(lines[5] == "3: 10 after 0");
}

TEST_CASE("work sharing: of several jobs each has its own workers and members", "[roles][work]") {
  const std::string groups =
      "[[group]]\nname = \"a\"\nworkers = 2\n[[group]]\nname = \"b\"\nworkers = 3\nset = [\"seed = 5\"]\n";
  Planned planned(scenario(dynamic, groups, 5));
  REQUIRE(planned.plans.size() == 2);
  const Lines lines = play(scenario(dynamic, groups, 5), [](Stage&, WorkSharing& sharing) {
    sharing.on(5, report(2, 1.0));  // the other job's first worker
    sharing.on(4, report(2, 1.0));
    sharing.set_members({false, true, true, true, true});
  });
  CHECK(lines == Lines{"4: 20 after 0"});
}
