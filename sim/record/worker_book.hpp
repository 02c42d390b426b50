// The book of one worker: where its time goes, how many clocks it finishes, how many samples it computes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "sim/record/event.hpp"
#include "sim/record/spans.hpp"

namespace psim {

// Where one worker's time went, in simulated seconds, by Use; absent: down.
struct WorkerTime {
  double compute = 0, network = 0, wait = 0, absent = 0;
  double& of(Use use);
  double total() const { return compute + network + wait + absent; }
  double share(double part) const { return total() > 0 ? part / total() : 0; }
  WorkerTime& operator+=(const WorkerTime& other);
};

// Number of pushes by staleness in updates: of applied pushes, and of pushes dropped as too late or too
// stale.
struct StalenessCounts {
  std::map<std::int64_t, std::int64_t> applied = {}, dropped = {};
};

struct WorkerStats {
  WorkerTime time;
  bool here_at_first = true;
  double through = 0;              // date when its time ended: after its last clock, or with the run
  std::int64_t clocks = 0;         // finished; a clock that it computes again counts again
  std::int64_t updates = 0;        // of its own part of the model, without servers
  std::int64_t cancelled = 0;      // computations stopped before their end
  std::int64_t starts = 0;         // steps begun
  std::int64_t samples = 0;        // of the gradients computed to their end
  std::int64_t samples_used = 0;   // ... those that are in the model
  std::int64_t batch_size = 0;     // at the end
  StalenessCounts staleness = {};  // of its pushes
  double first_start = 0, last_start = 0;
  // Between two starts the worker was absent: how often, and how long from start to start.
  std::int64_t gaps = 0;
  double gap_seconds = 0;
  // Mean seconds from one step's start to the next, without the gaps.
  double mean_step() const;
};

class WorkerBook {
 public:
  // `last_work`: the date of the last event in the cluster that did some work. The run may have ended at this
  // date, although events follow. `least_clock`: kept at or below this worker's clock while it takes part.
  WorkerBook(WorkerStats& stats, const double& last_work, std::int64_t& least_clock)
      : stats_(&stats), last_work_(&last_work), least_clock_(&least_clock) {}

  // Cuts the time of `node`, this worker, into spans, too.
  void keep_spans(SpanBook& spans, NodeId node) {
    spans_ = &spans;
    node_ = node;
  }
  // Tells the spans the use of its time until `now`.
  void mark(double now) const {
    if (spans_ != nullptr && !closed_) spans_->on_time(node_, now, use(), through_);
  }
  void is_absent_at_first();
  // The worker computes tasks, and the scheduler may give the tasks of a clock to other workers. So the book
  // counts only the steps that this worker ends, not the clocks that it skips. Pushes of tasks have no order.
  void does_tasks() { counts_steps_ = true; }
  void has_no_servers() { pushes_ = false; }
  // A message from or to it leaves (1) or ends (-1).
  void on_message(double at, int change);
  // Its actor starts: it asks the scheduler to join.
  void on_join(double at);
  void on_crash(double at);
  void on_computation(double at, const Computation& what);
  void on_finish(double at, const Finish& what);
  // A server applies the worker's push of this clock to a shard, or drops it as too late. Only the first
  // server counts for a gradient. Returns the number of samples that the push adds to the model.
  std::int64_t on_applied(std::int64_t clock);
  void on_dropped(std::int64_t clock);
  // Without servers: the worker has added its gradients to its copy of the model, or to its stage.
  std::int64_t on_own_update();
  // A server starts or stops counting the worker as a participant.
  void on_member(bool takes_part);
  // Ends the worker's time at `at`, unless it has ended before.
  void close(double at);

  bool is_open() const { return !closed_ && !through_; }
  // The clock that it has reached.
  std::int64_t clock() const { return clock_; }
  // Whether other workers' lead is measured against its clock.
  bool takes_part() const { return !absent_ && !returned_ && member_; }

 private:
  void account(double now);
  Use use() const {
    return absent_                       ? Use::down
           : computing_                  ? Use::compute
           : in_flight_ > 0 && !through_ ? Use::network
                                         : Use::wait;
  }
  void go_away();
  void reach(std::int64_t clock);
  void note_clock() {
    if (takes_part()) *least_clock_ = std::min(*least_clock_, clock_);
  }
  void on_begin(double at, const Computation& step);
  void hold(std::int64_t clock, std::int64_t samples);

  WorkerStats* stats_;
  const double* last_work_;
  std::int64_t* least_clock_;
  SpanBook* spans_ = nullptr;
  NodeId node_ = 0;  // in the spans
  double since_ = 0;
  int in_flight_ = 0;
  bool computing_ = false, step_goes_on_ = false, in_step_ = false, closed_ = false;
  bool absent_ = false;
  bool returned_ = false;  // it was absent, and has begun no step since
  bool member_ = true;
  bool skips_ = false;  // the others may have gone on without it: it has not finished the clocks that it
                        // skips next
  bool counts_steps_ = false;
  bool pushes_ = true;    // to servers
  bool through_ = false;  // it has done its last clock; later time counts only if it continues
  WorkerTime later_;      // since then
  struct Mark {           // the state at last_work
    double at = -1;
    WorkerTime time = {};
    bool through = false;
  };
  Mark mark_;
  std::int64_t clock_ = 0;
  struct Held {
    std::int64_t clock = 0, samples = 0;
  };
  std::vector<Held> held_;  // computed gradients that are not in the model yet
};

}  // namespace psim
