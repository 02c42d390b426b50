// Why something happens when it does. Each actor is on a course: what it records comes of what it recorded
// last, or of what it was given since, whichever is later.
#pragma once

#include <cstdint>
#include <utility>

#include "sim/protocol/cause.hpp"

namespace psim {

class Course {
 public:
  const Cause& cause() const { return cause_; }
  // It has recorded this event.
  void did(double now, std::int64_t event) {
    goes_on(now, {.event = event});
    own_ = event;
  }
  // It has come to this at `now`, whatever it was at.
  void goes_on(double now, const Cause& cause) {
    cause_ = cause;
    at_ = now;
  }
  // It takes what has been there since `at`: that is what it waited for, unless it was still at something.
  void takes(double at, const Cause& cause) {
    if (cause.event < 0 || at < at_) return;
    needs(std::exchange(own_, -1));  // what comes next needs it once
    goes_on(at, cause);
  }
  // It has been at something until `now`.
  void spends(double now, Spent spent) {
    cause_.spent = spent;
    at_ = now;
  }

  // What it records next needs this as well.
  void needs(std::int64_t event) {
    if (event >= 0 && (needs_.empty() || needs_.back().event != event)) needs_.push_back({.event = event});
  }
  void needs_nothing() { needs_.clear(); }
  Dependencies take_needs() { return std::exchange(needs_, {}); }

 private:
  Cause cause_;
  double at_ = 0;          // since when
  std::int64_t own_ = -1;  // the last event that it recorded; none of the actor that made it
  Dependencies needs_;
};

}  // namespace psim
