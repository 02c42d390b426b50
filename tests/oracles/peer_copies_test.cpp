// Whose copy of the model counts where there are no servers, and the scheduler was wrong about who is there.
#include <array>
#include <string>
#include <string_view>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

TEST_CASE("peers: who was falsely taken for lost takes the others' copy", "[oracle][failure][rings]") {
  // Worker 2 has done step 3 with all, the others do it again without it. psim breaks a run off whose copies
  // differ at its end.
  for (const char* steps : {"4", "5", "6", "8", "12"}) {
    INFO(steps);
    const Json run = run_file("tests/fuzz/ring_falsely_lost.toml", {std::string("training.steps=") + steps});
    CHECK(run["stuck"].empty());
    CHECK(run["failures"]["false_suspicions"] == 1);
    CHECK(run["updates"] == std::stoi(steps));
    // Worker 2 alone gets a copy, of 43 values of 4 bytes, unless the run is over before the others know it
    // again.
    CHECK(run["failures"]["state_bytes"] == (std::string_view(steps) == "4" ? 0 : 43 * 4));
  }
}

TEST_CASE("copies of a phantom model have the optimizer's state", "[oracle][failure][phantom]") {
  const std::array<const char*, 3> optimizers{"sgd", "momentum", "adam"};
  for (std::size_t arrays = 0; arrays < optimizers.size(); ++arrays) {
    INFO(optimizers[arrays]);
    const auto run = [&](const char* more, int parameters) {
      return ScenarioBuilder(
                 {"model.kind=phantom", "training.steps=40", "compute.time=500ms", "cluster.workers=2"})
          .links("10Gbps", "50us")
          .set("model.parameters", parameters)
          .set("training.optimizer", optimizers[arrays])
          .with(more)
          .run();
    };
    // Half of a million values of 4 bytes goes to server 0 and comes back.
    const Json handed =
        run("[cluster]\nservers = 2\n[[fault]]\nkind = \"leave\"\nnodes = [\"server 1\"]\nat = "
            "\"5s\"\n[[fault]]\n"
            "kind = \"join\"\nnodes = [\"server 1\"]\nat = \"10s\"\n",
            1'000'000);
    CHECK(handed["failures"]["state_bytes"].get<double>() ==
          Approx(4e6 * static_cast<double>(1 + arrays)).epsilon(1e-3));
    const Json peers =
        run("[architecture]\nkind = \"all-reduce\"\n[recovery]\nworkers = \"remove\"\n[[fault]]\nkind = "
            "\"crash\"\n"
            "nodes = [\"worker 1\"]\nat = \"5s\"\nrestart_after = \"3s\"\n",
            1'000'000);
    CHECK(peers["failures"]["state_bytes"] == 4'000'000 * (1 + arrays));
    const Json alone =
        run("[architecture]\nkind = \"all-reduce\"\n[training]\nlocal_steps = 2\n[recovery]\nworkers = "
            "\"remove\"\n"
            "[[fault]]\nkind = \"crash\"\nnodes = [\"worker 1\"]\nat = \"5s\"\nrestart_after = \"3s\"\n",
            1'000'000);
    CHECK(alone["failures"]["state_bytes"] == 4'000'000);  // each worker keeps its own state
  }
}
