// A small training run of the shipped binary, and what it learned: the loss after every update.
#pragma once

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

namespace psim::test {

struct Training {
  std::string consistency = R"(model = "bsp")";
  int workers = 4, servers = 1, batch = 8;
  std::string optimizer = "learning_rate = 0.25";  // fields of [training]
  std::string model = "layers = [64, 16, 10]";     // fields of [model]
  std::string more = "[compute]\ndistribution = \"lognormal\"\ncv = 0.5\n";
  int steps = 25;
};

inline ScenarioBuilder toml(const Training& t) {
  return ScenarioBuilder({"training.evaluate_every=1 updates", "cluster.worker.speed=100Mf"})
      .with("model", t.model)
      .set("training.batch_size", t.batch)
      .set("training.steps", t.steps)
      .with("training", t.optimizer)
      .with("consistency", t.consistency)
      .set("cluster.workers", t.workers)
      .set("cluster.servers", t.servers)
      .with(t.more);
}

inline Json run(const Training& training) { return toml(training).run(); }

// The loss at every number of updates.
using Losses = std::map<std::int64_t, double>;

inline Losses losses_of(const Json& summary) {
  CHECK(summary["stuck"].empty());
  Losses result;
  for (const Json& point : summary["curve"])
    result.try_emplace(point["updates"].get<std::int64_t>(), point["loss"].get<double>());
  return result;
}

inline Losses losses(const Training& training) { return losses_of(run(training)); }

inline std::string digest(const Training& training) { return run(training)["digest"]; }

inline const std::vector<std::string> optimizers{
    "learning_rate = 0.25", "learning_rate = 0.01\noptimizer = \"adam\"",
    "learning_rate = 0.1\noptimizer = \"nesterov\"\nschedule = \"inverse-sqrt\"\nweight_decay = 0.001"};

inline Training with(Training training, std::string consistency) {
  training.consistency = std::move(consistency);
  return training;
}

inline void check_close(const Losses& a, const Losses& b, double relative) {
  REQUIRE(a.size() == b.size());
  for (const auto& [updates, loss] : a) {
    INFO("after " << updates << " updates");
    CHECK(b.at(updates) == Approx(loss).epsilon(relative));
  }
}

}  // namespace psim::test
