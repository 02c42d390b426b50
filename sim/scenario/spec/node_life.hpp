// What nodes are like over time: how long they take to come up, profiles of their speed and availability,
// what power they draw and what they cost, and when a slow one is replaced.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/settings.hpp"
#include "sim/protocol/scheduler/slow_worker_policy.hpp"
#include "sim/scenario/spec/distributions.hpp"
#include "sim/scenario/spec/units.hpp"

namespace psim {

// From the run's beginning, or from the decision that a spare is needed, until the node is up.
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

enum class ProfileOf : std::uint8_t { speed, availability };

// Dates and values of a file, for workers.
struct ProfileSpec {
  ProfileOf of = ProfileOf::speed;
  std::string file;
  std::vector<std::int64_t> workers;                 // empty: all
  std::optional<Seconds> every;                      // repeats it
  std::vector<std::pair<double, double>> rows = {};  // the file's content, filled in by the loader
};

bool concerns(const ProfileSpec& profile, std::int64_t worker);
// The value at a date: that of the last row before; 1 before the first.
double value_at(const ProfileSpec& profile, double now);
// The date of the next row after `now`.
std::optional<double> next_row(const ProfileSpec& profile, double now);

struct SlowSpec {
  bool given = false;  // without the table nobody looks
  double factor = 2;
  std::int64_t window = 5;
  SlowAction action = SlowAction::flag;
};

struct Scenario;

// Seconds that worker or server `index` takes to come up, drawn from a stream of its own.
enum class NodeRole : std::uint8_t { worker, server };
double startup_seconds(const Scenario& scenario, NodeRole role, std::uint32_t index);
// Whether power, prices or the network's energy are given.
bool has_economy(const Scenario& scenario);

}  // namespace psim
