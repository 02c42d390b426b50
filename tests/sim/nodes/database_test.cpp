// The node that holds the training set. Messages take a second.
#include <string>

#include "sim/nodes/server/storage.hpp"
#include "tests/sim/nodes/stage.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

// Nodes: scheduler 0, server 1, workers 2 and 3, database 4.
const std::string scenario = R"([model]
kind = "phantom"
parameters = 10
[training]
steps = 3
[compute]
time = "1s"
[data]
delivery = "database"
bytes_per_sample = "8B"
[cluster]
workers = 2
servers = 1
network = {latency = "500ms", bandwidth = "1kBps", share_spread = 0.0, simgrid_model = "cm02"}
[recovery]
enabled = true
)";

void ask(Stage& stage, NodeId from, std::int64_t step, std::uint64_t bytes = 0) {
  stage.job().network.send({.from = from, .to = 4, .body = Fetch{.step = step, .sample_bytes = bytes}});
}

}  // namespace

TEST_CASE("database: each question is answered to its sender, with the bytes that it asks for",
          "[roles][database]") {
  const Lines lines = on_stage(scenario, [](Stage& stage) {
    stage.act(
        4, [&] { run_database(stage.job()); }, true);
    for (const NodeId worker : {3U, 2U}) {
      stage.act(worker, [&, worker] {
        const std::int64_t step = worker == 3 ? 7 : 5;
        ask(stage, worker, step, worker == 3 ? 2000 : 4000);
        const Message message = stage.job().network.receive(worker);
        const Samples& samples = *message.as<Samples>();
        stage.say(std::to_string(worker) + " has step " + std::to_string(samples.step) +
                  (samples.lacks ? ", not all" : ""));
      });
    }
    stage.run();
  });
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].find(" 3 has step 7") != std::string::npos);
  CHECK(lines[1].find(" 2 has step 5") != std::string::npos);
  CHECK(std::stod(lines[0]) > 4);  // 2 kB at 1 kB/s
  CHECK(std::stod(lines[1]) > 6);
}

TEST_CASE("database: a question that comes again while its answer is on its way is not answered twice",
          "[roles][database]") {
  const Lines lines = on_stage(scenario, [](Stage& stage) {
    stage.say_sent({MessageKind::samples});
    stage.act(
        4, [&] { run_database(stage.job()); }, true);
    stage.act(2, [&] {
      ask(stage, 2, 0);
      stage.sleep(0.5);
      ask(stage, 2, 0);  // is there when the answer has half of its way behind it
      ask(stage, 2, 1);  // another one
      stage.sleep(3);
      ask(stage, 2, 0);  // it remembers nothing
      stage.sleep(4);
    });
    stage.run();
  });
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].find("samples 4 > 2 #0") != std::string::npos);
  CHECK(lines[1].find("samples 4 > 2 #1") != std::string::npos);
  CHECK(lines[2].find("samples 4 > 2 #0") != std::string::npos);
  CHECK(std::stod(lines[2]) >= 4.5);
}
