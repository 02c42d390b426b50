// How often workers and servers meet: settings that say the same thing in other words learn the same.

#include "tests/properties/training.hpp"
#include "tests/support/catch.hpp"

using namespace psim::test;

namespace {

const std::string doubles = "layers = [64, 16, 10]\nprecision = \"float64\"";

std::vector<double> curve(const Training& training) {
  std::vector<double> result;
  for (const auto& [updates, loss] : losses(training)) result.push_back(loss);
  return result;
}

}  // namespace

TEST_CASE("one step between pull and push is bsp, however it is put", "[equivalence][rhythm][slow]") {
  for (const std::string& optimizer : optimizers) {
    const std::string bsp = digest({.servers = 2, .optimizer = optimizer});
    for (const char* same : {"local_steps = 1", "warmup_steps = 1", "accumulate = 1\npull_every = 1",
                             "delay_compensation = 0.0"}) {
      INFO(optimizer << "\n" << same);
      CHECK(digest({.servers = 2, .optimizer = optimizer + "\n" + same}) == bsp);
    }
  }
}

TEST_CASE("accumulating A batches of b is one batch of A b", "[equivalence][rhythm]") {
  // One worker takes its shard's samples in the same order, whatever the size of the batches.
  const std::string contiguous = "[data]\npartition = \"contiguous\"\n";
  for (const std::string& optimizer : optimizers) {
    const Losses whole =
        losses({.workers = 1, .batch = 24, .optimizer = optimizer, .model = doubles, .more = contiguous});
    for (const int parts : {2, 3, 8}) {
      INFO(optimizer << "\nA = " << parts);
      check_close(whole,
                  losses({.workers = 1,
                          .batch = 24 / parts,
                          .optimizer = optimizer + fmt::format("\naccumulate = {}", parts),
                          .model = doubles,
                          .more = contiguous}),
                  1e-12);
    }
  }
}

TEST_CASE("one worker's local steps are its steps", "[equivalence][rhythm]") {
  const std::vector<double> steps = curve({.workers = 1, .model = doubles, .steps = 24});
  REQUIRE(steps.size() == 25);
  for (const int local : {2, 4, 8}) {
    INFO("H = " << local);
    const std::vector<double> meetings =
        curve({.workers = 1,
               .optimizer = fmt::format("learning_rate = 0.25\nlocal_steps = {}", local),
               .model = doubles,
               .steps = 24 / local});
    REQUIRE(meetings.size() == steps.size() / static_cast<std::size_t>(local) + 1);
    for (std::size_t i = 0; i < meetings.size(); ++i)
      CHECK(meetings[i] == Approx(steps[i * static_cast<std::size_t>(local)]).epsilon(1e-12));
  }
}

TEST_CASE("warm-up: the first clock has steps of its own, the others have not", "[equivalence][rhythm]") {
  const std::vector<double> steps = curve({.workers = 1, .model = doubles, .steps = 24});
  const std::vector<double> warm = curve(
      {.workers = 1, .optimizer = "learning_rate = 0.25\nwarmup_steps = 6", .model = doubles, .steps = 19});
  REQUIRE(warm.size() == 20);
  CHECK(warm[0] == steps[0]);
  for (std::size_t i = 1; i < warm.size(); ++i) CHECK(warm[i] == Approx(steps[i + 5]).epsilon(1e-12));
}

TEST_CASE("one worker that pulls rarely goes on alone as with the server", "[equivalence][rhythm]") {
  for (const char* consistency : {"model = \"asp\"", "model = \"ssp\"\nstaleness = 9"}) {
    const Losses often = losses({.consistency = consistency, .workers = 1, .servers = 2, .model = doubles});
    for (const int every : {2, 5, 40}) {
      INFO(consistency << ", every " << every);
      check_close(often,
                  losses({.consistency = consistency,
                          .workers = 1,
                          .servers = 2,
                          .optimizer = fmt::format("learning_rate = 0.25\npull_every = {}", every),
                          .model = doubles}),
                  1e-12);
    }
  }
}

TEST_CASE("without compensation asp is asp, and with it late gradients differ", "[equivalence][rhythm]") {
  const auto asp = [](const std::string& more) {
    return run(
        {.consistency = "model = \"asp\"", .servers = 2, .optimizer = "learning_rate = 0.25\n" + more});
  };
  const Json plain = asp("");
  CHECK(asp("delay_compensation = 0.0")["digest"] == plain["digest"]);
  for (const char* more :
       {"delay_compensation = 0.5", "delay_compensation = 0.5\ndelay_compensation_decay = 0.9"}) {
    INFO(more);
    const Json compensated = asp(more);
    CHECK(compensated["final"]["loss"] != plain["final"]["loss"]);
    CHECK(compensated["sim_time_s"] == plain["sim_time_s"]);
    CHECK(compensated["bytes_sent"] == plain["bytes_sent"]);
  }
  // Nothing is late under bsp.
  CHECK(losses({.optimizer = "learning_rate = 0.25\ndelay_compensation = 2.0"}) == losses({}));
}
