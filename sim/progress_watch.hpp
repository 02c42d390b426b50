// Whether a run gets anywhere, and why it does not: it is quiet, nothing has come of anything for longer than
// recovery.patience, its workers compute the same again and again, or the machine works in vain.
//
// A quiet moment may just precede a retransmission. So where nodes may fail a run is stuck only after
// recovery.patience without any progress since the last planned fault began or ended; until then evaluations
// and planned changes of speed go on. Where messages are lost at random for ever, patience also has room for
// thirty of the longest retries. A run that goes in circles ends when thirty times as many steps as led to
// the last new version have led to none. The machine's work is bounded as well, whatever the simulated clock
// says: some million events in which no shard reaches a new version and no worker a new clock end the run
// with a diagnosis.
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
  // `end`: ends the run; called from the agenda.
  ProgressWatch(Parts parts, std::function<void()> end);

  // Nothing is on its way, and nobody computes who is not frozen: only entries of the agenda could change
  // that.
  bool is_quiet() const;
  // Nothing can happen any more. Where requests are repeated, a quiet moment may be one before a repetition.
  bool is_stuck();
  bool is_hopeless();
  void give_up(NodeId node);

  // The run ended without coming to its end: who waits for what.
  void note_stuck();
  const std::vector<std::string>& stuck() const { return stuck_; }

 private:
  bool computes() const;
  bool starts_nodes() const;
  bool waits_too_long() const;
  bool goes_in_circles() const;
  bool works_in_vain();
  std::uint64_t work() const {
    const RunStats& stats = parts_.recorder.stats();
    return stats.events - stats.events_beside + parts_.agenda.fired() + parts_.network.timeouts();
  }
  std::vector<std::string> who_waits() const;
  void end_as(std::vector<std::string> why);

  Parts parts_;
  std::function<void()> end_;
  std::vector<std::string> stuck_;
  // What has come of the work so far, how much work that was, and when it was done.
  std::int64_t advances_ = 0;
  std::uint64_t work_then_ = 0;
  double advanced_at_ = 0;
};

}  // namespace psim
