// The cluster of theory: an ideal network, servers that cost nothing, steps of mean 1 s.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>

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

inline std::string toml(const Ideal& s) {
  return fmt::format(R"(seed = {}
[model]
kind = "phantom"
parameters = 100
flops_per_sample = 1e9
[training]
batch_size = 1
duration = "{}s"
[consistency]
{}
[compute]
{}
{}
[cluster]
workers = {}
servers = {}
[cluster.network]
latency = "0s"
bandwidth = "1000Tbps"
share_spread = 0.0
{})",
                     s.seed, s.duration, s.consistency, s.time, s.compute, s.workers, s.servers, s.cluster);
}

// Sum of 1 / i^power over i = from ... to.
inline double sum_of_powers(int from, int to, int power) {
  double sum = 0;
  for (int i = from; i <= to; ++i) sum += 1 / std::pow(i, power);
  return sum;
}

}  // namespace psim::test
