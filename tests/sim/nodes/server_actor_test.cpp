// What a server does with messages that come before it can use them.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "sim/nodes/server/server_actor.hpp"
#include "tests/sim/nodes/stage.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

TEST_CASE("server: every push that comes before the first view is kept, and each once", "[roles][server]") {
  const std::string scenario =
      "[model]\nkind = \"phantom\"\nparameters = 10\n[training]\nsteps = 9\n[compute]\ntime = \"1s\"\n"
      "[consistency]\nmodel = \"asp\"\n[recovery]\nenabled = true\n[cluster]\nworkers = 2\nservers = 1\n";
  const Lines lines = on_stage(scenario, [](Stage& stage) {
    JobContext& job = stage.job();
    ServerActor server(job, 0);
    server.shards().own(0, std::nullopt);
    stage.act(
        1, [&] { server.run(); }, true);
    stage.act(stage.worker(0), [&] {
      for (const std::int64_t number : {0, 1, 0})
        job.network.send({.from = stage.worker(0),
                          .to = 1,
                          .body = Push{.worker = stage.worker(0), .number = number, .clock = number}});
      stage.sleep(5);
      auto view =
          std::make_shared<View>(View{.number = 1, .owners = {{.primary = 1}}, .workers = {true, true}});
      job.network.send({.from = scheduler_node, .to = 1, .body = Start{view, false}});
      stage.sleep(5);
      for (const PushOutcome& one : stage.recorded<PushOutcome>())
        stage.say(fmt::format("push {}{}", one.push, one.outcome == Outcome::applied ? " applied" : ""));
    });
    stage.run();
  });
  CHECK(std::ranges::count_if(lines, [](const std::string& line) { return line.ends_with("applied"); }) == 2);
  CHECK(lines.size() == 3);
}
