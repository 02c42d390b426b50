// The cause of each event, and the other events that it needs. Both follow from the cause chain of the actor
// that records the event, and from the faults.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "sim/record/cause_chain.hpp"
#include "sim/record/fault_causes.hpp"

namespace psim {

class CauseBook {
 public:
  // `running` finds the cause chain of the running actor; null: no actor runs. Without `running` all events
  // are on one chain.
  void follow(std::function<CauseChain*()> running) { running_ = std::move(running); }
  CauseChain& chain() {
    CauseChain* own = running_ ? running_() : nullptr;
    return own != nullptr ? *own : outside_;
  }
  // The chain of the simulation kernel.
  CauseChain& outside() { return outside_; }

  // `said`: the cause that the recorder of the event names; none: the cause of the running actor's chain.
  Cause of(Event& event, const std::optional<Cause>& said) {
    event.cause = said ? *said : chain().cause();
    return faults_.of(event).value_or(event.cause);
  }
  // Makes an event of type InChain::step the cause of its actor's next event. Other events (word, detail) are
  // not causes. `needs`: dependencies of this event alone. The sinks get each dependency of the event.
  void go_on(const Event& event, std::uint64_t number, const Dependencies& needs,
             std::span<EventSink* const> sinks);

 private:
  std::function<CauseChain*()> running_;
  CauseChain outside_;
  FaultCauses faults_;
};

}  // namespace psim
