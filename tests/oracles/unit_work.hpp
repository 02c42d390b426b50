// Work by hand: a phantom's sample takes 1e6 operations, so 1 / s seconds on a machine of s Mf. Links take no
// time that shows, unless `network` says so.
#pragma once

#include <string>

#include "tests/support/scenario.hpp"

namespace psim::test {

struct UnitWork {
  std::string training;           // fields of [training]
  std::string speed = "\"1Mf\"";  // of [cluster.worker]
  int workers = 4;
  std::string network = "latency = \"0s\"";  // more fields of [cluster.network]
  std::string more = {};                     // more tables
};

inline ScenarioBuilder toml(const UnitWork& s) {
  return phantom(1)
      .set({"model.flops_per_sample=1e6", "cluster.network.bandwidth=1GBps",
            "cluster.network.share_spread=0.0", "cluster.network.simgrid_model=cm02"})
      .with("training", s.training)
      .set("cluster.workers", s.workers)
      .set("cluster.worker.speed", s.speed)
      .with("cluster.network", s.network)
      .with(s.more);
}

}  // namespace psim::test
