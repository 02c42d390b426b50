// A small run, and questions about what would have been.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

namespace psim::test {

// Steps of 10 ms, a model that takes 8 ms alone on a link, and a worker that is slow.
struct Plan {
  std::string consistency = R"(model = "bsp")";
  int steps = 20;
  std::string more = "[[straggler]]\nworkers = [2]\nslowdown = 4.0\n";
  std::string kind;         // of the architecture; empty: servers
  double mega_values = 10;  // of the model, in millions
  std::string compute = R"(distribution = "constant")";
};

inline ScenarioBuilder toml(const Plan& plan) {
  const bool has_servers = plan.kind.empty();
  return phantom(std::llround(plan.mega_values * 1e6))
      .set(
          {"training.batch_size=8", "compute.time=10ms", "cluster.workers=4", "cluster.network.share_cv=0.0"})
      .links("1GBps", "100us")
      .set("training.steps", plan.steps)
      .with(has_servers ? "[consistency]\n" + plan.consistency
                        : "[architecture]\nkind = \"" + plan.kind + "\"")
      .with("compute", plan.compute)
      .with("cluster", has_servers ? "servers = 2" : "")
      .with("cluster.network", plan.more);
}

// The plan's run in a folder of its own.
class Recorded {
 public:
  explicit Recorded(const Plan& plan, const FieldValues& more = {}) : run_(toml(plan).set(more)) {}
  Json what_if(const std::vector<std::string>& changes) const { return run_.told("what-if", changes); }
  Outcome answer(const std::vector<std::string>& changes) const { return run_.ask("what-if", changes); }

 private:
  KeptRun run_;
};

}  // namespace psim::test
