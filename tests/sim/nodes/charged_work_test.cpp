// What a worker's step is charged for.
#include <fmt/format.h>

#include <string>

#include "sim/nodes/job/processor.hpp"
#include "tests/sim/nodes/stage.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

// Three workers, of which the second is three times as fast.
std::string scenario(const std::string& model, const std::string& training, const std::string& more = "") {
  return fmt::format(
      "[model]\nkind = \"phantom\"\nparameters = 1000\n{}\n[training]\nbatch_size = 10\nsteps = "
      "3\n{}\n[cluster]\n"
      "workers = 3\nservers = 2\n[cluster.worker]\nspeed = [\"1Mf\", \"3Mf\", \"1Mf\"]\n{}",
      model, training, more);
}

std::string flops(const std::string& toml, std::uint32_t worker, std::int64_t local_steps, double scale) {
  const Lines lines = on_stage(toml, [&](Stage& stage) {
    stage.say(date(flops_of_samples(stage.job(), worker, local_steps, scale) / 1e6));
  });
  REQUIRE(lines.size() == 1);
  return lines[0];
}

}  // namespace

TEST_CASE("charged work: a sample's operations are the same on every machine", "[roles][charged]") {
  const std::string toml = scenario("flops_per_sample = 1e6", "");
  for (const std::uint32_t worker : {0U, 1U, 2U}) CHECK(flops(toml, worker, 1, 1) == "0 10");
  CHECK(flops(toml, 1, 1, 1.5) == "0 15");
}

TEST_CASE("charged work: it goes by the local steps that a step has, whatever the scenario says",
          "[roles][charged]") {
  const std::string toml = scenario("flops_per_sample = 1e6", "local_steps = 4\naccumulate = 2");
  CHECK(flops(toml, 0, 4, 1) == "0 80");
  CHECK(flops(toml, 2, 1, 1) == "0 20");
  CHECK(flops(toml, 1, 6, 0.5) == "0 60");
}

TEST_CASE("charged work: a step's time is that of the first worker, so every machine does its operations",
          "[roles][charged]") {
  const std::string toml = scenario("", "", "[compute]\ntime = \"2s\"\n");
  CHECK(flops(toml, 0, 1, 1) == "0 2");
  CHECK(flops(toml, 1, 1, 1) == "0 2");
}

TEST_CASE("charged work: copies go over the bus both ways, in every local step, and nowhere without one",
          "[roles][charged]") {
  const auto seconds = [](const std::string& toml, std::size_t values, std::int64_t local_steps) {
    const Lines lines =
        on_stage(toml, [&](Stage& stage) { stage.say(date(all_copies(stage.job(), values, local_steps))); });
    return lines.at(0);
  };
  const std::string behind_bus =
      scenario("flops_per_sample = 1e6", "",
               "[cluster.worker.device]\nbus_bandwidth = \"1kBps\"\nbus_latency = \"0s\"\n");
  CHECK(seconds(behind_bus, 500, 1) == "0 4");  // 500 values of 4 bytes, down and up
  CHECK(seconds(behind_bus, 500, 3) == "0 12");
  CHECK(seconds(behind_bus, 0, 3) == "0 0");
  CHECK(seconds(scenario("flops_per_sample = 1e6", ""), 500, 1) == "0 0");
}
