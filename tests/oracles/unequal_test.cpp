// What symmetric set-ups hide: several shards, several outputs, workers of unequal speed in a group.
#include <fmt/format.h>

#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim::test;

TEST_CASE("a norm is of the whole model, on however many servers it is", "[tasks]") {
  const auto norm = [](int servers) {
    return run_file("scenarios/tasks.toml",
                    {fmt::format("cluster.servers={}", servers), "training.steps=5",
                     "training.target={accuracy=0.01, stop=false}"})["tasks"][4]["value"]
        .get<double>();
  };
  const double one = norm(1);
  CHECK(one > 0);
  for (const int servers : {2, 3, 5}) CHECK(norm(servers) == Approx(one).epsilon(1e-5));
}

TEST_CASE("a sample of a regression has all its targets", "[work]") {
  const auto bytes = [](int features, int outputs) {
    const Json summary = run_toml(fmt::format(R"([data]
source = "teacher"
samples = 200
features = {0}
classes = {1}
delivery = "database"
[model]
layers = [{0}, {1}]
loss = "half-sse"
[training]
batch_size = 5
steps = 10
[compute]
time = "10ms"
[cluster]
workers = 3
)",
                                              features, outputs));
    return summary["bytes_by_kind"]["samples"].get<double>();
  };
  constexpr double batches = 3 * 10, samples = 5, value = 4;
  for (const auto& [features, outputs] : {std::pair{12, 1}, std::pair{12, 8}, std::pair{2, 31}}) {
    INFO(features << " features, " << outputs << " outputs");
    const double payload = batches * samples * value * (features + outputs);
    const double all = bytes(features, outputs), other = bytes(features, outputs + 1);
    CHECK(other - all == Approx(batches * samples * value));  // whatever a message's head has
    CHECK(all >= payload);
    CHECK(all < payload + batches * 200);
  }
}

TEST_CASE("a group ends with its last worker", "[groups]") {
  const Json summary = run_toml(R"([model]
kind = "phantom"
parameters = 1000
[training]
batch_size = 4
steps = 20
[consistency]
model = "asp"
[compute]
time = "10ms"
[cluster]
workers = 5
servers = 1
[cluster.network]
latency = "0s"
bandwidth = "1000Tbps"
share_spread = 0.0
[[straggler]]
workers = [1]
slowdown = 4.0
[[straggler]]
workers = [3]
slowdown = 2.5
[[group]]
name = "first"
workers = 2
[[group]]
name = "second"
workers = 3
set = ["training.steps = 30"]
)");
  CHECK(summary["groups"][0]["finished_s"].get<double>() == Approx(20 * 0.04).epsilon(1e-3));
  CHECK(summary["groups"][1]["finished_s"].get<double>() == Approx(30 * 0.025).epsilon(1e-3));
  CHECK(summary["groups"][0]["samples_per_s"].get<double>() == Approx(2 * 4 * 20 / 0.8).epsilon(1e-3));
  CHECK(summary["groups"][1]["samples_per_s"].get<double>() == Approx(3 * 4 * 30 / 0.75).epsilon(1e-3));
}

TEST_CASE("a row of a schedule must come after the row before it", "[schedule]") {
  const auto code = [](const std::string& rows) {
    TemporaryFolder folder;
    return psim::test::psim({"check", (source_folder() / "scenarios/quickstart.toml").string(), "--set",
                             "consistency={model=\"ssp\", staleness_schedule=" + rows + "}"},
                            folder.path())
        .code;
  };
  CHECK(code("[[0, 0], [10, 1], [11, 2]]") == 0);
  CHECK(code("[[0, 0], [10, 1], [10, 2]]") != 0);
  CHECK(code("[[0, 0], [10, 1], [9, 2]]") != 0);
  CHECK(code("[[0, 0], [0, 1]]") != 0);
  CHECK(code("[[0, 1]]") == 0);
}
