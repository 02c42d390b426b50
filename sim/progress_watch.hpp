// Decides whether a run still makes progress, and explains why not. There are five cases: the run is quiet,
// no progress happens for longer than recovery.patience, the workers compute the same steps again and again,
// faults come faster than the training recovers from them, or the machine works without effect.
//
// A quiet moment may come directly before a retransmission. So, where nodes may fail, a run is stuck only
// after recovery.patience without any progress since the last planned fault began or ended. Until then
// evaluations and planned changes of speed go on. Faults that repeat without end, and faults that lose
// messages at random, make the patience longer (FaultPlan::some_turns). A transfer that is on its way is
// progress; one on its way to its loss is none, but makes the patience longer. A run without a set duration
// is given up after a hundred dates of faults without a new version of a shard or a new clock of a worker,
// unless a computation or transfer has lasted for half of them. A run goes in circles if its steps since the
// last progress are more than twenty times the steps before. The watch also limits the machine's work,
// whatever the simulated clock shows: after some million events without a new version of a shard or a new
// clock of a worker (more while a transfer or a fault is going to end), it ends the run with a diagnosis.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "sim/cluster/agenda.hpp"
#include "sim/cluster/fault_plan.hpp"
#include "sim/cluster/network.hpp"
#include "sim/cluster/speed_control.hpp"
#include "sim/job.hpp"
#include "sim/record/recorder.hpp"

namespace psim {

class ProgressWatch final {
 public:
  struct Parts {
    const Scenario& scenario;
    const std::deque<Job>& jobs;
    const Network& network;
    const SpeedControl& speeds;
    const Recorder& recorder;
    Agenda& agenda;
    const FaultPlan* faults;  // null without faults
  };
  // `end`: ends the run; the watch calls it from the agenda.
  ProgressWatch(Parts parts, std::function<void()> end);

  // No message is on its way, and every node that computes is frozen: only entries of the agenda can change
  // this state.
  bool is_quiet() const;
  // No further event is possible. Where nodes repeat requests, a quiet moment may come before a repetition.
  bool is_stuck();
  bool is_hopeless();
  void give_up(NodeId node, std::string_view what);

  // The run ended before its goal: notes which node waits for which message.
  void note_stuck();
  const std::vector<std::string>& stuck() const { return stuck_; }

 private:
  bool computes() const;
  bool starts_nodes() const;
  bool waits_too_long() const;
  bool goes_in_circles() const;
  bool is_set_back_too_often();
  void look_for_advances();
  bool works_in_vain();
  bool views_pile_up() const;
  std::uint64_t work() const {
    const RunStats& stats = parts_.recorder.stats();
    return stats.events - stats.events_beside + parts_.agenda.fired();
  }
  std::vector<std::string> who_waits() const;
  void end_as(std::vector<std::string> why);

  Parts parts_;
  std::function<void()> end_;
  std::vector<std::string> stuck_;
  // Progress so far, the amount of work at the last progress, and the date of the last progress.
  std::int64_t advances_ = 0;
  std::uint64_t work_then_ = 0;
  std::uint64_t work_with_hope_ = 0;  // the amount when a transfer or a fault was last going to end
  double advanced_at_ = 0;
  std::int64_t turns_then_ = 0;  // dates of faults before the last progress
  double half_at_ = 0;           // the last date with less than half of the faults that end the run
};

}  // namespace psim
