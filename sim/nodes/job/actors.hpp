// Starts actors on nodes, and keeps an exception that one of them throws.
#pragma once

#include <simgrid/forward.h>

#include <exception>
#include <functional>
#include <string>
#include <utility>

#include "sim/cluster/cpu.hpp"
#include "sim/cluster/network.hpp"
#include "sim/cluster/platform.hpp"

namespace psim {

// The cause chain of the running actor; null if no actor runs, or the actor has none.
CauseChain* running_chain();
// Makes `chain` the cause chain of the running actor.
void follow(CauseChain& chain);
// The body of an actor with its own cause chain. The chain begins with the cause of the actor's start.
template <class Body>
auto on_own_chain(Recorder& recorder, Body body) {
  return [chain = recorder.causes(), body = std::move(body)]() mutable {
    chain.needs_nothing();
    follow(chain);
    body();
  };
}

class Actors {
 public:
  Actors(const Platform& platform, Cpus& cpus, const Network& network, Recorder& recorder)
      : platform_(platform), cpus_(cpus), network_(network), recorder_(recorder) {}

  // `daemon`: SimGrid kills the actor as soon as only daemons are left.
  simgrid::s4u::ActorPtr spawn(const std::string& name, NodeId node, bool daemon, std::function<void()> body);
  std::size_t nodes() const { return platform_.hosts.size(); }
  static void kill_all();
  // Throws the exception of an actor, if there was one. spawn() killed all other actors at that moment.
  void rethrow() const;

 private:
  const Platform& platform_;
  Cpus& cpus_;
  const Network& network_;
  Recorder& recorder_;
  std::exception_ptr failure_;
};

}  // namespace psim
