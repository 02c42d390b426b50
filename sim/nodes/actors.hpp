// Starts actors on nodes, and keeps what one of them throws.
#pragma once

#include <simgrid/forward.h>

#include <exception>
#include <functional>
#include <string>
#include <utility>

#include "sim/cluster/network.hpp"
#include "sim/cluster/platform.hpp"

namespace psim {

// The cause chain of the actor that runs; null: no actor runs, or it has none.
CauseChain* running_chain();
// Makes `chain` the cause chain of the actor that runs.
void follow(CauseChain& chain);
// The body of an actor with a cause chain of its own. The chain begins with the cause of the actor's start.
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
  Actors(const Platform& platform, const Network& network, Recorder& recorder)
      : platform_(platform), network_(network), recorder_(recorder) {}

  // `daemon`: SimGrid kills it as soon as only daemons are left.
  simgrid::s4u::ActorPtr spawn(const std::string& name, NodeId node, bool daemon, std::function<void()> body);
  std::size_t nodes() const { return platform_.hosts.size(); }
  static void kill_all();
  // What an actor threw, if one did; the others were killed then.
  void rethrow() const;

 private:
  const Platform& platform_;
  const Network& network_;
  Recorder& recorder_;
  std::exception_ptr failure_;
};

}  // namespace psim
