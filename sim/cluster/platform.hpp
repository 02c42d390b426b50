// SimGrid's hosts and links, built from a topology.
#pragma once

#include <simgrid/forward.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sim/scenario/spec/scenario.hpp"

namespace psim {

class RouteTable;

struct Platform {
  std::vector<simgrid::s4u::Host*> hosts;                   // by NodeId
  std::vector<std::vector<simgrid::s4u::Link*>> own_links;  // by NodeId; unknown for a platform file
  RouteTable* routes = nullptr;
};

// Engine options of the scenario's network model, such as "network/model:CM02".
std::vector<std::string> engine_options(const Scenario& scenario);

// Call once per process, after the Engine exists.
Platform build_platform(const Scenario& scenario);

}  // namespace psim
