// One event as a row of its table in run.db.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "sim/record/event_names.hpp"

namespace psim::analysis {

// A type of events, or a kind of messages or faults. Any other name does not compile.
class Name {
 public:
  constexpr Name() = default;  // no name
  consteval Name(const char* text) : Name(of(text)) {
    if (*this == Name()) throw "no name of a run's events";
  }
  static constexpr Name of(std::string_view text) {
    Name found;
    const auto place = std::ranges::find(event_names, text);
    if (place != event_names.end())
      found.place_ = static_cast<std::uint8_t>(1 + (place - event_names.begin()));
    return found;
  }
  constexpr std::string_view text() const { return place_ == 0 ? "" : event_names[place_ - 1]; }
  constexpr bool operator==(const Name&) const = default;

 private:
  std::uint8_t place_ = 0;
};

// One event. Members have the names of docs/tables.md; a column that the event lacks is 0.
struct Row {
  std::int64_t number = 0;
  double at = 0;            // simulated seconds
  double since = 0;         // start of a wait; simulated seconds
  std::int64_t cause = -1;  // the event that caused it; -1: none
  std::string_view spent;   // the use of the time since the cause; empty: none
  Name type;                // phase of a computation, outcome of a push, otherwise the table
  std::string_view table, kind, role, work, reason;  // kind: of the message or of the fault
  bool is_detail = false;                            // only adds details to another event of the same moment
  std::int64_t task = 0, unit = -1;  // of a task: its [[task]], and its number within the clock
  std::uint32_t node = 0;
  std::uint32_t peer = 0;                  // the other node: receiver, sender, worker, replica, target, ...
  std::uint32_t shard = 0, new_shard = 0;  // new: of a cut
  std::int64_t sent = -1;                  // the message (number of its sending), or -1
  std::int64_t clock = 0, version = 0, epoch = 0, view = 0;
  std::int64_t pull = 0, push = 0, above = -1, pushes_before = 0;  // of messages; push: of outcomes too
  std::int64_t staleness = 0, samples = 0, samples_before = 0, part = 0, parts = 0;
  std::int64_t applied = 0, arrived = 0, skipped_clocks = 0, takes_part = 0, is_awaited = 0;  // membership
  std::int64_t safe_pushes = 0, waiting_pushes = 0, updated_in = 0, leaves = 0, begins = 0;
  std::uint32_t from = 0;        // of a move: a node
  std::uint32_t releaser = 0;    // of a release: the sender of the message that released the pull
  std::int64_t fault_table = 0;  // of a fault: index in Facts::fault_factors
  std::int64_t has_target = 0;   // of a fault: 1 if it hits `peer`; 0 if it hits all nodes or none
  std::uint64_t bytes = 0, weights_hash = 0, state_hash = 0;
  std::uint64_t values = 0, keys = 0, ids = 0;  // in a message; values: of a shard, too
  std::uint64_t new_values = 0;                 // of the new shard of a cut

  bool is(Name event) const { return type == event; }
  bool is(Name event, Name its_kind) const { return is(event) && kind == its_kind.text(); }
  bool is_message() const { return is("sent") || is("received") || is("lost"); }
  bool is_computation() const { return table == "computation"; }
  bool is_step() const { return work == "step"; }  // not a filter, and not samples of other workers
  // Whether the event is the outcome of a push.
  bool is_outcome() const { return table == "push_outcome"; }
  bool is_dropped() const { return is_outcome() && !is("applied"); }
  bool takes_away() const { return is("fault", "crash") || is("fault", "leave"); }
  bool is_crash() const { return is("fault", "crash") && begins != 0; }
  bool is_last_part() const { return part + 1 == parts; }
};

}  // namespace psim::analysis
