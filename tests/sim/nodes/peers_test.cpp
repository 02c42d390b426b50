// Workers without servers: a copy of the model, or of a part of it, and how a group's workers meet.
#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>

#include "model/parameters.hpp"
#include "sim/nodes/peers/peers.hpp"
#include "tests/sim/nodes/stage.hpp"
#include "tests/sim/protocol/server_driver.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

// Nodes: scheduler 0, workers 1, 2 and 3. Messages take a second.
std::string scenario(const std::string& training = "", const std::string& more = "") {
  return "[model]\nkind = \"phantom\"\nparameters = 7\nprecision = \"float64\"\n[training]\nsteps = 30\n" +
         training +
         "[compute]\ntime = \"1s\"\n[architecture]\nkind = \"all-reduce\"\n[cluster]\nworkers = 3\n"
         "network = {latency = \"500ms\", bandwidth = \"10GBps\", share_spread = 0.0, simgrid_model = "
         "\"cm02\"}\n" +
         more;
}

Lines play(const std::string& toml, const std::function<void(Stage&)>& part) {
  Lines lines = on_stage(toml, part);
  for (std::string& line : lines) line = line.substr(line.find(' ') + 1);
  return lines;
}

void say(Stage& stage, const Replica& replica) {
  std::string text = fmt::format("{}:", replica.version());
  for (const double weight : numbers_of(replica.weights())) text += " " + date(weight);
  stage.say(text);
}

const Numbers first_weights{1, 2, 3, 4, 5, 6, 7};

}  // namespace

TEST_CASE("replica: an update is one step of the optimizer, at its version's rate, with the sum's weight",
          "[roles][peers]") {
  const std::string rate =
      "learning_rate = 1.0\nschedule = \"step\"\nschedule_every = 2.0\nschedule_factor = 0.1\n";
  const Lines lines = play(scenario(rate), [](Stage& stage) {
    const auto initial = values_of(first_weights);
    Replica replica(stage.job(), initial.get(), {2, 3});
    say(stage, replica);
    const auto gradient = values_of({9, 1, 2, -2, 9});
    for (int step = 0; step < 3; ++step) replica.update({gradient, 1, 3}, 0.5);
    say(stage, replica);
    stage.say(fmt::format("{} to {}", replica.range().begin, replica.range().begin + replica.range().count));
  });
  // Twice at rate 1, and once at 0.1.
  CHECK(lines == Lines{"0: 3 4 5", "3: 1.95 1.9 7.1", "2 to 5"});
}

TEST_CASE("replica: it adopts another's copy with its optimizer's state, and without one the first weights",
          "[roles][peers]") {
  const std::string momentum = "learning_rate = 1.0\noptimizer = \"momentum\"\nmomentum = 0.5\n";
  const Lines lines = play(scenario(momentum), [](Stage& stage) {
    const auto initial = values_of(first_weights);
    Replica one(stage.job(), initial.get(), {0, 2}), other(stage.job(), initial.get(), {0, 2});
    one.update({values_of({4, 0}), 0, 2}, 1);
    other.update({values_of({100, 100}), 0, 2}, 1);
    other.adopt({.version = 6, .replica = one.content()});
    say(stage, other);
    other.update({values_of({0, 0}), 0, 2}, 1);  // half of the last step
    say(stage, other);
    say(stage, one);  // has lost nothing
    other.adopt({.version = 0});
    say(stage, other);
    other.update({values_of({0, 0}), 0, 2}, 1);
    say(stage, other);
  });
  CHECK(lines == Lines{"6: -3 2", "7: -5 2", "1: -3 2", "0: 1 2", "1: 1 2"});
}

TEST_CASE("replica: its bytes are its weights and the optimizer's state, also of a phantom",
          "[roles][peers]") {
  for (const std::string optimizer : {"sgd", "momentum", "adam"}) {
    const Lines lines = play(scenario("optimizer = \"" + optimizer + "\"\n"), [](Stage& stage) {
      const auto initial = values_of(first_weights);
      Replica real(stage.job(), initial.get(), {1, 5}), phantom(stage.job(), nullptr, {1, 5});
      real.update({values_of({1, 1, 1, 1, 1}), 0, 5}, 1);
      phantom.update({nullptr, 0, 5}, 1);
      stage.say(fmt::format("{} {}", real.bytes(), phantom.bytes()));
      stage.say(fmt::format("version {} of {} values", phantom.version(), phantom.weights().count));
    });
    const int arrays = optimizer == "sgd" ? 1 : optimizer == "momentum" ? 2 : 3;
    REQUIRE(lines.size() == 2);
    CHECK(lines[0] == fmt::format("{0} {0}", arrays * 40));
    CHECK(lines[1] == "version 1 of 5 values");
  }
}

TEST_CASE("meeting: all go on when the last one is there", "[roles][peers]") {
  const Lines lines = on_stage(scenario(), [](Stage& stage) {
    std::array boxes{Mailbox{stage.job(), 1, false}, Mailbox{stage.job(), 2, false},
                     Mailbox{stage.job(), 3, false}};
    static constexpr std::array<NodeId, 3> nodes{2, 1, 3};  // the first of them hears from all
    for (const NodeId node : {1U, 2U, 3U}) {
      stage.act(node, [&, node] {
        stage.sleep(node == 3 ? 4 : 0);
        const bool agree = meet(boxes[node - 1], nodes, node, 5);
        stage.say(fmt::format("{} {}", node, agree ? "goes on" : "does not"));
      });
    }
    stage.run();
  });
  CHECK(lines == Lines{"5 2 goes on", "6 1 goes on", "6 3 goes on"});
}

TEST_CASE("meeting: where versions must agree and one differs, nobody goes on", "[roles][peers]") {
  for (const std::int64_t odd_one : {0, 1, 2, 3}) {
    Lines lines = play(scenario(), [odd_one](Stage& stage) {
      std::array boxes{Mailbox{stage.job(), 1, false}, Mailbox{stage.job(), 2, false},
                       Mailbox{stage.job(), 3, false}};
      static constexpr std::array<NodeId, 3> nodes{1, 2, 3};
      for (const NodeId node : {1U, 2U, 3U}) {
        stage.act(node, [&, node] {
          const bool agree = meet(boxes[node - 1], nodes, node == odd_one ? 8 : 7, 1, true);
          stage.say(agree ? "goes on" : "does not");
        });
      }
      stage.run();
    });
    CHECK(lines == Lines(3, odd_one == 0 ? "goes on" : "does not"));
  }
}

TEST_CASE("a group is whole when all workers are there or through with their steps", "[roles][peers]") {
  const Lines lines = play(scenario(), [](Stage& stage) {
    const auto say_whole = [&](const std::vector<bool>& workers) {
      const auto view = std::make_shared<const View>(View{.number = 3, .workers = workers});
      stage.say(is_whole(stage.job(), view) ? "whole" : "not whole");
    };
    stage.say(is_whole(stage.job(), nullptr) ? "whole" : "not whole");
    say_whole({true, true, true});
    say_whole({true, false, true});
    stage.job().state.progress.finish(1, true, 0);
    say_whole({true, false, true});
    say_whole({true, false, false});
  });
  CHECK(lines == Lines{"whole", "whole", "not whole", "whole", "not whole"});
}

TEST_CASE("a worker's life: it is let in, and leaves when all that it sent is there", "[roles][peers]") {
  for (const bool completes : {true, false}) {
    const Lines lines = on_stage(scenario(), [completes](Stage& stage) {
      stage.say_sent({MessageKind::join, MessageKind::leave});
      Mailbox box(stage.job(), 2, true);
      stage.job().network.on_arrival([&](const Message& message) {
        if (message.from == 2) box.arrived(message);
      });
      stage.act(0, [&] {
        stage.job().network.receive(0);
        stage.job().network.send({.from = 0, .to = 2, .body = Start{.goes_on = true}});
      });
      stage.act(2, [&] {
        stage.say(enter(stage.job(), 2, box).goes_on ? "comes late" : "begins");
        box.send(1, Chunk{});
        leave(stage.job(), 2, 17, box, completes);
        const JobProgress& progress = stage.job().state.progress;
        stage.say(fmt::format("{}{}, finished at {}", progress.has_completed(1) ? "through" : "",
                              progress.has_left(1) ? "left" : "", date(progress.last_finish())));
      });
      stage.run();
      for (const Finish& one : stage.recorded<Finish>())
        stage.say(fmt::format("clock {}{}", one.clock, one.leaves ? ", before its last" : ""));
    });
    CHECK(lines == Lines{"0 join 2 > 0 #0", "2 comes late", "3 leave 2 > 0 #0",
                         completes ? "3 through, finished at 3" : "3 left, finished at 3",
                         completes ? "4 clock 17" : "4 clock 17, before its last"});
  }
}
