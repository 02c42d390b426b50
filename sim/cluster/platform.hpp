// SimGrid's hosts and links, built from a topology.
#pragma once

#include <simgrid/forward.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/scenario/spec/scenario.hpp"

namespace simgrid::s4u {
class Engine;
}

namespace psim {

// SimGrid's engine with psim's arguments and without log output. Create it before any other SimGrid object.

// SimGrid's context factories on this kind of processor, the fastest first. The raw one is assembly of
// x86-64.
const std::vector<std::string>& context_factories();

class Engine {
 public:
  // `context`: one of the context factories; empty: the fastest, with a sanitizer the one of threads.
  Engine(const Scenario& scenario, const std::string& context);
  ~Engine();
  // `on_deadlock`: actors exist, but no event can happen any more.
  void run(const std::function<void()>& on_deadlock);

 private:
  std::vector<std::string> words_;
  std::vector<char*> argv_;
  int argc_ = 0;
  std::unique_ptr<simgrid::s4u::Engine> engine_;
};

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
