// Starts actors on nodes, and keeps what one of them throws.
#pragma once

#include <simgrid/s4u/Actor.hpp>

#include <exception>
#include <functional>
#include <string>

#include "sim/cluster/network.hpp"
#include "sim/cluster/platform.hpp"

namespace psim {

class Actors {
 public:
  Actors(const Platform& platform, const Network& network) : platform_(platform), network_(network) {}

  // `daemon`: SimGrid kills it as soon as only daemons are left.
  simgrid::s4u::ActorPtr spawn(const std::string& name, NodeId node, bool daemon, std::function<void()> body);
  std::size_t nodes() const { return platform_.hosts.size(); }
  static void kill_all();
  // What an actor threw, if one did; the others were killed then.
  void rethrow() const;

 private:
  const Platform& platform_;
  const Network& network_;
  std::exception_ptr failure_;
};

}  // namespace psim
