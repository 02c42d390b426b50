// The causes of an actor's events. The cause of an event is the actor's last event, or the message, timer or
// result that the actor took since, whichever is later.
#pragma once

#include <cstdint>
#include <utility>

#include "sim/protocol/cause.hpp"

namespace psim {

class CauseChain {
 public:
  const Cause& cause() const { return cause_; }
  // The actor has recorded this event.
  void did(double now, std::int64_t event) {
    goes_on(now, {.event = event});
    own_ = event;
  }
  // From `now` on, `cause` is the cause of the next event.
  void goes_on(double now, const Cause& cause) {
    cause_ = cause;
    at_ = now;
  }
  // The actor takes a message, timer or result that has been ready since `at`. That is the next cause, unless
  // the actor was still busy at `at`. If its work began or ended at `at`, the later event counts.
  void takes(double at, const Cause& cause) {
    const bool is_later = at > at_ || (at == at_ && (busy_until_ < at || cause.event > cause_.event));
    if (cause.event < 0 || !is_later) return;
    needs(std::exchange(own_, -1));  // the next event needs it once
    goes_on(at, cause);
    busy_until_ = -1;
  }
  // The actor begins work that takes time.
  void works_from(double now) { busy_until_ = now; }
  // The actor has been busy until `now`.
  void spends(double now, Spent spent) {
    if (now > at_) busy_until_ = now;
    cause_.spent = spent;
    at_ = now;
  }

  // The next event needs this event, too.
  void needs(std::int64_t event) {
    if (event >= 0 && (needs_.empty() || needs_.back().event != event)) needs_.push_back({.event = event});
  }
  void needs_nothing() { needs_.clear(); }
  Dependencies take_needs() { return std::exchange(needs_, {}); }

 private:
  Cause cause_;
  double at_ = 0;           // since this date
  double busy_until_ = -1;  // the actor worked at this date, or began to
  std::int64_t own_ = -1;   // the last event that this actor recorded itself
  Dependencies needs_;
};

}  // namespace psim
