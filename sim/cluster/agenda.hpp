// Actions that psim plans for a date. SimGrid's own timers fire in no promised order at equal dates; these
// run in order of (date, sequence number). At most one SimGrid timer is armed at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

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

  // `action` runs in the simulation kernel, outside every actor, at `date`, or now if `date` is past.
  void at(double date, std::function<void()> action);

  // Calls `look` whenever the clock has advanced, before any actor acts at the new date.
  static void on_advance(const std::function<void(double now)>& look);

  // Drops everything. Pending entries keep the simulated clock running, so this belongs to a run's end.
  void clear();

  // Number of entries that have run: a measure of psim's own work.
  std::uint64_t fired() const { return fired_; }

  static double now();

 private:
  struct Entry {
    double date;
    std::uint64_t number;
    Cause cause;
    std::function<void()> action;
  };
  struct Later {
    bool operator()(const Entry& a, const Entry& b) const {
      return a.date > b.date || (a.date == b.date && a.number > b.number);
    }
  };
  void arm();
  void fire();

  Recorder& recorder_;
  std::priority_queue<Entry, std::vector<Entry>, Later> entries_;
  std::uint64_t next_number_ = 0, fired_ = 0;
  simgrid::kernel::timer::Timer* armed_ = nullptr;
  bool firing_ = false;
};

}  // namespace psim
