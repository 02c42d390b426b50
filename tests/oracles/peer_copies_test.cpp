// Whose copy of the model counts where there are no servers, and the scheduler was wrong about who is there.
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
