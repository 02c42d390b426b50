// Start-up times of nodes, their power and price, and the replacement of slow workers.
#pragma once

#include <cstdint>

#include "model/base/settings.hpp"
#include "sim/protocol/scheduler/slow_worker_policy.hpp"
#include "sim/scenario/spec/distributions.hpp"
#include "sim/scenario/spec/units.hpp"

namespace psim {

// The time from the beginning of the run, or from the decision to start a spare, until the node is up.
struct StartupSpec {
  Seconds mean{0};
  Distribution distribution;
  Settings settings;  // of the distribution

  bool given() const { return mean.value > 0; }
};

// Power is linear in the load: idle + load * (full - idle), as in SimGrid's host energy plug-in (Heinrich et
// al., CLUSTER 2017) for a machine of one core. A node that computes or copies has load 1.
struct PowerSpec {
  Watts idle{0}, full{0};
};

struct EconomySpec {
  PowerSpec power;
  double price = 0;  // dollars for an hour of a node
};

// When workers do the local steps of the first clock.
enum class Warmup : std::uint8_t { after_pull, before_servers };

struct SlowSpec {
  bool given = false;  // false: no table, so no search
  double factor = 2;
  std::int64_t window = 5;
  SlowAction action = SlowAction::flag;
};

struct Scenario;

// Start-up time of worker or server `index` in seconds, from a separate random stream.
enum class NodeRole : std::uint8_t { worker, server };
double startup_seconds(const Scenario& scenario, NodeRole role, std::uint32_t index);
// Whether the scenario gives power, prices or the network's energy.
bool has_economy(const Scenario& scenario);

}  // namespace psim
