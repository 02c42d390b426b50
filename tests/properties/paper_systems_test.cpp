// Groups of pushes on several shards, and optimizers on the workers, whatever crashes.
#include <fmt/format.h>

#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim::test;

namespace {

constexpr int servers = 3, workers = 4;

std::string toml(const std::string& training, const std::string& more) {
  return fmt::format(R"([model]
layers = [64, 16, 10]
precision = "float64"
[training]
steps = 60
batch_size = 16
{}
[cluster]
workers = {}
servers = {}
[cluster.worker]
speed = "100Mf"
[compute]
distribution = "lognormal"
cv = 0.2
[recovery]
heartbeat = "10ms"
timeout = "50ms"
retry = "50ms"
{})",
                     training, workers, servers, more);
}

std::string crash(const std::string& node, const std::string& more = "restart_after = \"30ms\"\n") {
  return fmt::format("[[fault]]\nkind = \"crash\"\nnodes = [\"{}\"]\nat = \"100ms\"\n{}", node, more);
}

const std::string copies = "[replication]\ncopies = 1\n";
const std::string lossy =
    "[[fault]]\nkind = \"drop\"\nnodes = [\"all\"]\nprobability = 0.03\n"
    "[[fault]]\nkind = \"reorder\"\nnodes = [\"all\"]\nprobability = 0.1\ndelay = \"3ms\"\n";

}  // namespace

TEST_CASE("k-async on several shards goes on whatever fails", "[paper][recovery]") {
  for (const std::string k : {"2", "3", "4"}) {
    const std::string model = "[consistency]\nmodel = \"k-async\"\nk = " + k + "\n";
    for (const std::string& faults :
         {copies, copies + crash("server 0"), crash("server 1"), crash("worker 2"), crash("worker 1", ""),
          lossy, crash("server 0") + lossy, copies + crash("worker 3") + lossy}) {
      INFO(model << faults);
      const Json run = run_toml(toml("", model + faults));
      CHECK(run["stuck"].empty());
      CHECK(run["final"]["accuracy"] > 0.5);
    }
  }
}

TEST_CASE("where workers push their own steps, one of them learns what a server would",
          "[paper][equivalence]") {
  for (const std::string model : {"asp", "ssp", "k-batch-async"}) {
    const std::string one = "[consistency]\nmodel = \"" + model + "\"\n";
    const auto final_loss = [&](const std::string& training) {
      const Json run = run_toml(toml(training, one), {"--set", "cluster.workers=1"});
      return run["final"]["loss"].get<double>();
    };
    for (const std::string optimizer :
         {"learning_rate = 0.25\n", "learning_rate = 0.01\noptimizer = \"adam\"\n"})
      CHECK(final_loss(optimizer + "update = \"worker\"\n") == Approx(final_loss(optimizer)).epsilon(1e-9));
  }
}

TEST_CASE("workers' own steps with failures: servers have the weights", "[paper][recovery]") {
  for (const std::string model : {"asp", "ssp", "k-sync\"\nk = 3 # \""}) {
    for (const std::string& faults : {copies + crash("server 1"), crash("worker 2"), lossy}) {
      const Json run = run_toml(toml("update = \"worker\"\noptimizer = \"momentum\"\nlearning_rate = 0.02",
                                     "[consistency]\nmodel = \"" + model + "\"\n" + faults));
      INFO(model << faults);
      CHECK(run["stuck"].empty());
      CHECK(run["final"]["accuracy"] > 0.5);
    }
  }
}
