// Work by hand: a phantom's sample takes 1e6 operations, so 1 / s seconds on a machine of s Mf. Links take no
// time that shows, unless `network` says so.
#pragma once

#include <fmt/format.h>

#include <string>

namespace psim::test {

struct UnitWork {
  std::string training;           // fields of [training]
  std::string speed = "\"1Mf\"";  // of [cluster.worker]
  int workers = 4;
  std::string network = "latency = \"0s\"";  // more fields of [cluster.network]
  std::string more = {};                     // more tables
};

inline std::string toml(const UnitWork& s) {
  return fmt::format(R"([model]
kind = "phantom"
parameters = 1
flops_per_sample = 1e6
[training]
{}
[cluster]
workers = {}
[cluster.worker]
speed = {}
[cluster.network]
bandwidth = "1GBps"
share_spread = 0.0
simgrid_model = "cm02"
{}
{})",
                     s.training, s.workers, s.speed, s.network, s.more);
}

}  // namespace psim::test
