// Computations that end by the worker's own clock: the batches that fit into a time (DropCompute: Giladi et
// al., arXiv 2306.10598, 2023), and attempts that are given up (MindFlayer SGD: Maranjyan et al., arXiv
// 2410.04285, 2024).
#include <vector>

#include "tests/oracles/two_workers.hpp"

using namespace psim::test;

TEST_CASE("a worker drops the batches that do not fit, and its gradient counts by its samples",
          "[oracle][stop]") {
  // Batches of 0.1 and 0.15 s: 3 and 2 of them in 0.35 s. Each worker's batches are equal.
  const double rate = 0.05;
  std::vector<double> weights{start};
  for (int t = 0; t < 8; ++t) {
    const double w = weights.back();
    weights.push_back(w - rate * (3 * gradient(0, w) + 2 * gradient(1, w)) / 5);
  }
  const ScenarioBuilder timed =
      of_two_workers({.training = "learning_rate = 0.05\naccumulate = 6\naccumulate_time = \"350ms\""})
          .straggler(1, 1.5);
  const Json run = timed.run();
  check_losses(run, weights);
  CHECK(run["workers"][0]["samples"] == 8 * 3 * 4);
  CHECK(run["workers"][1]["samples"] == 8 * 2 * 4);
  CHECK(run["sim_time_s"].get<double>() == Approx(8 * 0.3));
}

TEST_CASE("a time into which all batches fit changes nothing, and one that is too short leaves one batch",
          "[oracle][stop]") {
  const auto curve = [](const char* time, int accumulate) {
    std::string training = fmt::format("learning_rate = 0.05\naccumulate = {}", accumulate);
    if (*time != 0) training += fmt::format("\naccumulate_time = \"{}\"", time);
    return of_two_workers({.training = training}).straggler(1, 1.5).run();
  };
  const Json all = curve("1h", 6), plain = curve("", 6);
  CHECK(all["curve"] == plain["curve"]);
  CHECK(all["sim_time_s"] == plain["sim_time_s"]);
  CHECK(curve("10ms", 6)["curve"] == curve("", 1)["curve"]);
}

TEST_CASE("a worker gives a long computation up, and begins another one", "[oracle][stop]") {
  // Worker 0 is ten times as slow until 0.2 s. It gives its first step up then, and has its first gradient at
  // 0.3 s.
  const auto of = [](const std::string& training, const char* model) {
    return of_two_workers({.training = "learning_rate = 0.05" + training, .consistency = model})
        .straggler(0, 10, {"until=200ms"})
        .run();
  };
  const Json run = of("\ngive_up = \"200ms\"", "model = \"asp\"");
  CHECK(run["workers"][0]["cancelled"] == 1);
  CHECK(run["workers"][1]["cancelled"] == 0);
  CHECK(run["sim_time_s"].get<double>() == Approx(0.2 + 8 * 0.1));
  // Under bsp everybody waits for the second attempt, and the weights are those of a run without a limit.
  // There the first step has done a fifth of its work at 0.2 s.
  const Json bsp = of("\ngive_up = \"200ms\"", "model = \"bsp\""), plain = of("", "model = \"bsp\"");
  CHECK(bsp["sim_time_s"].get<double>() == Approx(0.2 + 8 * 0.1));
  CHECK(plain["sim_time_s"].get<double>() == Approx(0.2 + 0.08 + 7 * 0.1));
  REQUIRE(bsp["curve"].size() == plain["curve"].size());
  for (std::size_t i = 0; i < bsp["curve"].size(); ++i)
    CHECK(bsp["curve"][i]["loss"] == plain["curve"][i]["loss"]);
}

TEST_CASE("k fresh gradients of workers that give up are those of k-batch-sync", "[oracle][stop]") {
  const auto of = [](const char* training) {
    return of_two_workers({.training = training, .consistency = "model = \"k-batch-sync\"\nk = 2"}).run();
  };
  CHECK(of("learning_rate = 0.05\ngive_up = \"1s\"")["curve"] == of("learning_rate = 0.05")["curve"]);
}
