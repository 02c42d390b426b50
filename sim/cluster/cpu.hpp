// The processors of the simulated machines. SimGrid could compute these times too, but its releases round
// them differently.
#pragma once

#include <simgrid/s4u/Semaphore.hpp>

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "sim/cluster/agenda.hpp"
#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// One processor. The computations on it share it equally: processor sharing, as in SimGrid.
class Cpu {
 public:
  // `speed`: operations per second.
  Cpu(Agenda& agenda, double speed) : agenda_(agenda), speed_(speed) {}
  Cpu(const Cpu&) = delete;
  Cpu& operator=(const Cpu&) = delete;

  // Sets the factor on the speed, and ends a freeze. Running computations adapt at once.
  void set_factor(double factor);
  // Nothing on a frozen machine goes on, sleeps included.
  void freeze();
  bool is_frozen() const { return is_frozen_; }
  // Operations per second of a computation that is alone, without a freeze.
  double speed() const { return speed_ * factor_; }

  // Work of one actor, from the object's construction until it is finished, stopped or destroyed.
  class Work {
   public:
    enum class Kind : std::uint8_t { computes, sleeps };
    // `amount`: operations of a computation, or seconds of a sleep.
    Work(Cpu& cpu, Kind kind, double amount);
    ~Work();
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

    // In the actor: waits for the end. Returns false if stop() ended the work.
    bool wait();
    // From the simulation kernel.
    void stop();
    // The amount that is not done yet.
    double left() const;

   private:
    friend class Cpu;
    void adapt();
    void plan();
    void leave();

    Cpu& cpu_;
    Kind kind_;
    double left_, since_, rate_ = 0;  // rate_ of the amount per second since the date since_
    std::optional<Alarm> end_;        // none on a frozen machine
    bool is_running_ = true, is_done_ = false;
    simgrid::s4u::SemaphorePtr over_;
  };

  // In an actor.
  void compute(double flops) { Work(*this, Work::Kind::computes, flops).wait(); }
  void sleep(double seconds) { Work(*this, Work::Kind::sleeps, seconds).wait(); }
  // Waits until `date`; on a frozen machine until it goes on.
  void sleep_until(double date);
  void wait_while_frozen();

 private:
  double rate_of(Work::Kind kind) const;
  void adapt();

  Agenda& agenda_;
  double speed_, factor_ = 1;
  bool is_frozen_ = false;
  std::vector<Work*> works_;  // in the order of their beginning
  int computations_ = 0;      // of them
};

// The processors of all machines.
class Cpus {
 public:
  // Nodes on one host share its processor.
  Cpus(Agenda& agenda, const ClusterSpec& cluster);
  Cpu& of(std::uint32_t node) { return *by_node_[node]; }

 private:
  std::deque<Cpu> cpus_;
  std::vector<Cpu*> by_node_;
};

}  // namespace psim
