// Runs with all their events, for tests of what is made of them.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

namespace psim::test {

// Makes a run of `toml` in `folder`, and returns its folder.
inline std::filesystem::path recorded(const TemporaryFolder& folder, const std::string& toml,
                                      const std::string& trace = "events") {
  std::ofstream(folder.path() / "one.toml") << toml;
  const Outcome outcome =
      psim({"run", "one.toml", "--trace", trace, "--out", "one", "--force"}, folder.path());
  INFO(outcome.err);
  REQUIRE((outcome.code == 0 || outcome.code == 1));
  return folder.path() / "one";
}

// Two workers that compute for 1 s, on a network whose messages take next to no time (4e-9 s for the
// weights). Worker 1 is three times slower.
inline const std::string slow_pair = R"(model = {kind = "phantom", parameters = 10}
training = {batch_size = 1, steps = 2}
consistency = {model = "bsp"}
compute = {time = "1s"}
straggler = [{workers = [1], slowdown = 3}]
[cluster]
workers = 2
servers = 1
network = {latency = "0s", bandwidth = "10GBps", share_spread = 0.0, simgrid_model = "cm02"}
)";

}  // namespace psim::test
