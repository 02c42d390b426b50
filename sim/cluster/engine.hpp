// SimGrid's engine with psim's arguments and without log output. Create it before any other SimGrid object.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/scenario/spec/scenario.hpp"

namespace simgrid::s4u {
class Engine;
}

namespace psim {

// SimGrid's context factories on this kind of processor, the fastest first. The raw one is written in the
// assembly language of x86.
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

}  // namespace psim
