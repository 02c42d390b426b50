// The cluster of theory: an ideal network, servers that cost nothing, steps of mean 1 s.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "tests/support/scenario.hpp"

namespace psim::test {

struct Ideal {
  std::string consistency;  // fields of [consistency]
  int workers = 8;
  double duration = 1000;  // of the run, in seconds; all workers stay busy until then
  std::string compute = R"(distribution = "exponential")";  // fields of [compute] beside `time`
  std::string time = R"(time = "1s")";
  std::string cluster = "";  // more fields of [cluster] and tables below it
  int servers = 1;
  int seed = 1;
};

inline ScenarioBuilder toml(const Ideal& s) {
  return phantom(100)
      .set({"model.flops_per_sample=1e9", "training.batch_size=1", "cluster.network.latency=0s",
            "cluster.network.bandwidth=1000Tbps", "cluster.network.share_spread=0.0"})
      .set("seed", s.seed)
      .set("training.duration", fmt::format("{}s", s.duration))
      .with("consistency", s.consistency)
      .with("compute", s.time)
      .with("compute", s.compute)
      .set("cluster.workers", s.workers)
      .set("cluster.servers", s.servers)
      .with(s.cluster);
}

// Sum of 1 / i^power over i = from ... to.
inline double sum_of_powers(int from, int to, int power) {
  double sum = 0;
  for (int i = from; i <= to; ++i) sum += 1 / std::pow(i, power);
  return sum;
}

}  // namespace psim::test
