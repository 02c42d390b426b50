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

// The course of the actor that runs; null: none runs, or it has none.
Course* running_course();
// The actor that runs follows this course from now on.
void follow(Course& course);
// What an actor does, on a course of its own that begins with what made it.
template <class Body>
auto on_own_course(Recorder& recorder, Body body) {
  return [course = recorder.course(), body = std::move(body)]() mutable {
    course.needs_nothing();
    follow(course);
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
