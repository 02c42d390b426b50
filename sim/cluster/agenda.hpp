// Actions that psim plans for a date, and the date itself.
//
// SimGrid's own timers fire in no promised order at equal dates; these run in order of (date, number). At
// most one SimGrid timer is armed at a time. SimGrid's clock adds the differences of dates, so it may miss a
// date by one unit in the last place, and its releases miss different dates. psim's date is the one that was
// planned. Planned dates that lie one such unit apart count as one date, because SimGrid's clock may reach
// both at once.
#pragma once

#include <simgrid/forward.h>

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "sim/record/recorder.hpp"

namespace simgrid::kernel::timer {
class Timer;
}

namespace psim {

class Agenda {
 public:
  // The recorder notes the planner of an action as the cause of the action's events.
  explicit Agenda(Recorder& recorder) : recorder_(recorder) {}
  Agenda(const Agenda&) = delete;
  Agenda& operator=(const Agenda&) = delete;

  using Ticket = std::pair<double, std::uint64_t>;
  // `action` runs in the simulation kernel, outside every actor, at `date`, or now if `date` is past.
  Ticket at(double date, std::function<void()> action) { return add(date, std::move(action), true); }
  // The end of a node's own work or sleep: no work of psim, so fired() does not count it.
  Ticket end_of_work(double date, std::function<void()> action) {
    return add(date, std::move(action), false);
  }
  // Without effect if the action has run.
  void cancel(const Ticket& ticket);

  // In an actor: waits until `date`. Returns at once if it is past.
  void sleep_until(double date);

  // Calls `look` whenever the clock has advanced, before any actor acts at the new date.
  static void on_advance(const std::function<void(double now)>& look);

  // Drops everything. Pending entries keep the simulated clock running, so this belongs to a run's end.
  void clear();

  // Number of actions that have run, except ends of work: a measure of psim's own work.
  std::uint64_t fired() const { return fired_; }

  // The planned date if SimGrid's clock has come to one, else SimGrid's.
  static double now();

 private:
  struct Entry {
    Cause cause;
    std::function<void()> action;
    bool counts;
  };
  Ticket add(double date, std::function<void()> action, bool counts);
  double first_date() const { return entries_.begin()->first.first; }
  void arm();
  void fire();

  Recorder& recorder_;
  std::map<Ticket, Entry> entries_;
  std::uint64_t next_number_ = 0, fired_ = 0;
  simgrid::kernel::timer::Timer* armed_ = nullptr;
  bool firing_ = false;
};

// A planned action that does not run after the end of this object.
class Alarm {
 public:
  Alarm(Agenda& agenda, const Agenda::Ticket& ticket) : agenda_(agenda), ticket_(ticket) {}
  ~Alarm() { agenda_.cancel(ticket_); }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

 private:
  Agenda& agenda_;
  Agenda::Ticket ticket_;
};

}  // namespace psim
