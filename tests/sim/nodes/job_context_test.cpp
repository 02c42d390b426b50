// Who is awaited, when a job is through, and what is shared and recorded for all of a job's roles.
#include <fmt/format.h>
#include <simgrid/s4u/Actor.hpp>

#include <string>

#include "sim/nodes/job/job_context.hpp"
#include "tests/sim/nodes/stage.hpp"
#include "tests/sim/protocol/server_driver.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

// Nodes: scheduler 0, servers 1 and 2, workers 3, 4 and 5.
std::string scenario(const std::string& more = "") {
  return "[model]\nkind = \"phantom\"\nparameters = 7\n[training]\nsteps = 30\n[compute]\ntime = \"1s\"\n"
         "[cluster]\nworkers = 3\nservers = 2\n" +
         more;
}
std::string fails(const std::string& workers, const std::string& model = "ssp") {
  return scenario("[consistency]\nmodel = \"" + model + "\"\n[recovery]\nenabled = true\nworkers = \"" +
                  workers + "\"\n");
}

Lines play(const std::string& toml, const std::function<void(Stage&)>& part) {
  Lines lines = on_stage(toml, part);
  for (std::string& line : lines) line = line.substr(line.find(' ') + 1);
  return lines;
}

void say(Stage& stage) {
  std::string text;
  for (const NodeId worker : {3U, 4U, 5U})
    if (stage.job().awaits(worker)) text += fmt::format("{} ", worker);
  stage.say(text + (stage.job().is_through() ? "through" : "not through"));
}

void down(Stage& stage, NodeId node) {
  stage.job().network.take_down(node, [](const Message&) {});
}

}  // namespace

TEST_CASE("awaited: each worker that is there and has steps to do", "[roles][context]") {
  const Lines lines = play(scenario("[consistency]\nmodel = \"asp\"\n"), [](Stage& stage) {
    JobProgress& progress = stage.job().state.progress;
    say(stage);
    progress.finish(1, true, 0);
    say(stage);
    progress.finish(0, true, 0);
    progress.finish(2, true, 0);
    say(stage);
  });
  CHECK(lines == Lines{"3 4 5 not through", "3 5 not through", "through"});
}

TEST_CASE("awaited: who is down is awaited if it starts, or if a fault starts it", "[roles][context]") {
  const Lines lines = play(fails("wait"), [](Stage& stage) {
    down(stage, 4);
    say(stage);
    stage.job().state.progress.starts(4);
    say(stage);
    stage.job().state.progress.take_start(4);
    stage.coming_back = {4};
    say(stage);
    stage.job().state.progress.finish(0, true, 0);  // it has its steps to do all the same
    say(stage);
  });
  CHECK(lines == Lines{"3 5 not through", "3 4 5 not through", "3 4 5 not through", "4 5 not through"});
}

TEST_CASE("awaited: who takes no part finds nothing left when another has done all", "[roles][context]") {
  const Lines lines = play(fails("remove"), [](Stage& stage) {
    JobProgress& progress = stage.job().state.progress;
    down(stage, 4);
    stage.coming_back = {4, 5};
    progress.take_out(2, true);
    say(stage);
    progress.finish(0, true, 0);
    say(stage);
  });
  CHECK(lines == Lines{"3 4 5 not through", "through"});
  const Lines waits = play(fails("wait"), [](Stage& stage) {
    JobProgress& progress = stage.job().state.progress;
    stage.coming_back = {5};
    progress.finish(2, false, 0);
    say(stage);
    progress.take_out(1, true);
    progress.finish(0, true, 0);
    say(stage);
  });
  CHECK(waits == Lines{"3 4 5 not through", "4 not through"});
}

TEST_CASE("awaited: where only fresh pushes count all steps are done when one has done them",
          "[roles][context]") {
  for (const std::string model : {"model = \"k-sync\"\nk = 2\n", "model = \"bsp\"\n"}) {
    const Lines lines = play(scenario("[consistency]\n" + model), [](Stage& stage) {
      say(stage);
      stage.job().state.progress.finish(2, true, 0);
      say(stage);
    });
    CHECK(lines == Lines{"3 4 5 not through", "through"});
  }
}

TEST_CASE("through: nobody is awaited, and the steps are done or all have left of their own accord",
          "[roles][context]") {
  const Lines lines = play(fails("remove"), [](Stage& stage) {
    JobProgress& progress = stage.job().state.progress;
    for (const NodeId worker : {3U, 4U, 5U}) down(stage, worker);
    say(stage);  // all have crashed
    progress.finish(0, false, 0);
    progress.finish(1, false, 0);
    say(stage);
    progress.finish(2, false, 0);
    say(stage);
  });
  CHECK(lines == Lines{"not through", "not through", "through"});
}

TEST_CASE("workers that pulled the same version share one copy of the weights", "[roles][context]") {
  const Lines lines = play(scenario(), [](Stage& stage) {
    const auto three = values_of({1, 2, 3}), four = values_of({4, 5, 6, 7}),
               new_four = values_of({4, 5, 6, 8});
    const auto assemble = [&](const std::shared_ptr<Values>& second) {
      return stage.job().assemble({{three, 0, 3, 1}, {second, 0, 4, 1}});
    };
    const auto first = assemble(four), same = assemble(four), other = assemble(new_four);
    stage.say(first == same ? "shared" : "apart");
    stage.say(first == other ? "shared" : "apart");
    stage.say(date(other->get().as<double>()[6]));
  });
  CHECK(lines == Lines{"shared", "apart", "8"});
}

TEST_CASE("a wait is recorded if it took time and a message ended it", "[roles][context]") {
  const Lines lines = play(scenario(), [](Stage& stage) {
    stage.act(4, [&] {
      stage.sleep(3);
      const auto record = [&](double since, std::optional<std::uint64_t> sent) {
        Message message{.from = 2, .to = 4, .shard = 1, .body = Ack{}, .sent = sent};
        record_wait(stage.job(), 4, Awaited::weights, since, 6, Heard(message));
      };
      record(3, 17);  // no time
      record(1, {});  // no message
      record(1, 17);
    });
    stage.run();
    for (const Wait& wait : stage.recorded<Wait>())
      stage.say(fmt::format("since {} until {} of {}, shard {}", date(wait.since), wait.message, wait.sender,
                            wait.shard.value_or(99)));
  });
  CHECK(lines == Lines{"since 1 until 17 of 2, shard 1"});
}

TEST_CASE("a node computes as long as one of its computations lives", "[roles][context]") {
  const Lines lines = play(scenario(), [](Stage& stage) {
    const NodeUsage& usage = stage.job().state.usage;
    const auto actor = stage.act(5, [&] {
      const Busy step(stage.job(), 5);
      stage.sleep(2);
      const Busy piece(stage.job(), 5);
      stage.sleep(90);
    });
    stage.at(6, [&, actor] { actor->kill(); });
    stage.act(4, [&] {
      stage.sleep(3);
      stage.say(fmt::format("{} at once", usage.computations(5)));
      stage.sleep(7);
      stage.say(
          fmt::format("{} at once, busy for {}", usage.computations(5), date(usage.busy_seconds(5, 10))));
    });
    stage.run();
  });
  CHECK(lines == Lines{"2 at once", "0 at once, busy for 6"});
}
