// What each event comes of, and what else it needs: out of the courses of those who record them, and of the
// faults.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "sim/record/course.hpp"
#include "sim/record/fault_causes.hpp"

namespace psim {

class CauseBook {
 public:
  // How to find the course of the actor that runs; null: none runs. Without it all is on one course.
  void follow(std::function<Course*()> running) { running_ = std::move(running); }
  Course& course() {
    Course* own = running_ ? running_() : nullptr;
    return own != nullptr ? *own : outside_;
  }
  // That of the simulation kernel.
  Course& outside() { return outside_; }

  // `said`: by who records it; none: it comes of what the running actor is on.
  Cause of(Event& event, const std::optional<Cause>& said) {
    event.cause = said.value_or(course().cause());
    return faults_.of(event).value_or(event.cause);
  }
  // What comes of an event, if it is one that its actor goes on from. The others say something, or tell more
  // of what happens at the same date. `needs`: what no other event of the actor needs. `f`: is called with
  // all that the event needs.
  void go_on(const Event& event, std::uint64_t number, const Dependencies& needs,
             const std::function<void(const Dependency&)>& f);

 private:
  std::function<Course*()> running_;
  Course outside_;
  FaultCauses faults_;
};

}  // namespace psim
