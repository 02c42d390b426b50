// A small run, and questions about what would have been.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

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

inline std::string toml(const Plan& plan) {
  const bool has_servers = plan.kind.empty();
  return fmt::format(
      R"([model]
kind = "phantom"
parameters = {}
[training]
batch_size = 8
steps = {}
{}
[compute]
time = "10ms"
{}
[cluster]
workers = 4
{}
[cluster.network]
bandwidth = "1GBps"
latency = "100us"
simgrid_model = "cm02"
share_spread = 0.0
{})",
      std::llround(plan.mega_values * 1e6), plan.steps,
      has_servers ? "[consistency]\n" + plan.consistency : "[architecture]\nkind = \"" + plan.kind + "\"",
      plan.compute, has_servers ? "servers = 2" : "", plan.more);
}

// The plan's run in a folder of its own.
class Recorded {
 public:
  explicit Recorded(const Plan& plan, const std::vector<std::string>& more = {}) {
    std::ofstream(folder_.path() / "plan.toml") << toml(plan);
    std::vector<std::string> words{"run", "plan.toml", "--trace", "events", "--out", "run"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome run = psim::test::psim(words, folder_.path());
    INFO(run.err);
    REQUIRE(run.code <= 1);
  }
  Json what_if(std::vector<std::string> words) const {
    words.insert(words.begin(), {"what-if", "run"});
    words.emplace_back("--json");
    const Outcome asked = psim::test::psim(words, folder_.path());
    INFO(asked.err);
    REQUIRE(asked.code == 0);
    return Json::parse(asked.out);
  }
  Outcome answer(std::vector<std::string> words) const {
    words.insert(words.begin(), {"what-if", "run"});
    return psim::test::psim(words, folder_.path());
  }

 private:
  TemporaryFolder folder_;
};

inline void check_exact(const Json& answer) {
  CHECK(answer["replay_error"] <= 1e-9);
  for (const Json& change : answer["changes"]) {
    INFO(change.dump());
    CHECK(std::abs(change["error"].get<double>()) <= 1e-9);
    CHECK(change["same_steps_measured"] == true);
    CHECK(change["same_steps_s"].get<double>() == Approx(change["predicted_s"].get<double>()));
  }
}

}  // namespace psim::test
