// The data that the roles of one job share: its plan, its machines, its progress, and its observers.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "sim/cluster/agenda.hpp"
#include "sim/cluster/cpu.hpp"
#include "sim/cluster/network.hpp"
#include "sim/cluster/pool.hpp"
#include "sim/cluster/speed_control.hpp"
#include "sim/nodes/job/job_plan.hpp"
#include "sim/nodes/job/job_state.hpp"
#include "sim/protocol/message.hpp"
#include "sim/record/event.hpp"
#include "sim/record/recorder.hpp"

namespace psim {

// The interfaces by which a job's nodes report to their job and to the run, and ask about the whole run.

// The run.
class RunWatch {
 public:
  virtual ~RunWatch() = default;
  virtual bool is_stuck() = 0;     // no further event is possible
  virtual bool is_hopeless() = 0;  // too long without progress; the run then ends
  // Ends the run: this node has tried too often. `what` it has done, after its name.
  virtual void give_up(NodeId node, std::string_view what =
                                        "has sent a request again as often as "
                                        "recovery.retry_limit allows") = 0;
  // Whether a planned fault starts this node again. A fault with a condition is planned only after its
  // condition holds.
  virtual bool comes_back(NodeId) const = 0;
  // The worker starts this clock, or has done its last clock.
  virtual void on_clock(NodeId worker, std::int64_t clock) = 0;
};

// The job.
class JobObserver {
 public:
  virtual ~JobObserver() = default;
  // A part of the model has another version: after an update, or because an older version has replaced a lost
  // one.
  virtual void on_version() = 0;
  virtual void on_applied(const PushOutcome& push) = 0;
  virtual void on_end() = 0;                    // every worker of the job has left
  virtual void start_spare(NodeId worker) = 0;  // called from an actor; the worker joins when it is up
};

class GradientProbe;

struct JobContext {
  const JobPlan& plan;
  Agenda& agenda;
  Cpus& cpus;
  Network& network;
  Recorder& recorder;
  Pool& pool;
  Slowness& slowness;  // of the workers' steps
  JobState& state;
  JobObserver& observer;
  RunWatch& run;
  GradientProbe* gradients;  // null without a probe

  // Whether a worker is there, or will be there, with steps to do. A worker that takes no part finds no more
  // steps when another worker has done all of them, because it would continue at the others' clock. A worker
  // takes no part if it has left. Where the job removes lost workers, it also takes no part if it is down or
  // not in the view.
  bool awaits(NodeId worker) const;
  // Whether the job awaits no worker, and either the steps are done or all workers have left by themselves.
  bool is_through() const;

  // Whether no message has been lost, no node has crashed, and the first view is still valid. Then every
  // request has arrived or will arrive, and its receiver will answer it.
  bool is_calm() const;
  // Whether the answer to this request is on its way.
  bool answers(const Message& request) const;
  // Whether the sender of an unanswered request should send it again: something may be lost, and neither the
  // request nor its answer is on its way. A connection works like TCP, so its ends know both.
  bool repeats(const Message& request) const { return !is_calm() && due(request) == Due::repeated; }
  Due due(const Message& request) const {
    if (network.carries(request) || answers(request)) return Due::under_way;
    return is_calm() ? Due::skipped : Due::repeated;
  }

  // One assembled copy of the weights for all workers that pulled the same version. `layout`: the layout of
  // the parts; null: that of the plan.
  std::shared_ptr<Assembly> assemble(std::vector<Slice> parts, const Layout* layout = nullptr);
  // The filters of one direction between a worker and shard number `shard`; make_chain() returns null if
  // there are no filters.
  FilterChain::Options chain_of(std::uint32_t shard, const Shard& part, NodeId worker, bool push) const;
  std::unique_ptr<FilterChain> make_chain(std::uint32_t shard, const Shard& part, NodeId worker,
                                          bool push) const;

  // Records an event and returns its number. Records number shards over all jobs.
  template <class T>
  std::int64_t record(NodeId node, const T& what, const std::optional<Cause>& cause = {},
                      const Dependencies& needs = {}) {
    if constexpr (std::is_same_v<T, Computation>) {
      if (what.phase == ComputePhase::begun && what.work == Work::step) run.on_clock(node, *what.clock);
    }
    if constexpr (std::is_same_v<T, Finish>) run.on_clock(node, what.clock);
    if constexpr (std::is_same_v<T, PushOutcome>) {
      if (what.outcome == Outcome::applied) observer.on_applied(what);
    }
    const auto number = static_cast<std::int64_t>(recorder.record({Agenda::now(), node, what}, cause, needs));
    if constexpr (std::is_same_v<T, Computation>) {
      if (what.phase == ComputePhase::begun) recorder.causes().works_from(Agenda::now());
    }
    return number;
  }
  // Records that a worker begins a step, or a part of one, and what this costs. `flops`: without slowness;
  // `copies`: seconds; `drawn`: the slowness of the step.
  void record_begun(NodeId node, const Computation& begun, double flops, double copies, double drawn) {
    const double speed = plan.scenario.cluster.worker.speed.of(node - plan.first_worker()).value;
    recorder.on_step({record(node, begun), flops / speed + copies, copies, drawn});
  }
};

// The facts that the record of a wait keeps about the message that ended it.
struct Heard {
  Heard() = default;
  explicit Heard(const Message& message) : from(message.from), sent(message.sent) {
    if (message.is<Answer>() || message.is<Ack>()) shard = message.shard;
  }
  NodeId from = 0;
  std::optional<std::uint32_t> shard = {};
  std::optional<std::uint64_t> sent = {};
};
// Records that worker `node` has waited from the date `since` until now, when message `last` came.
void record_wait(JobContext& job, NodeId node, Awaited what, double since, std::optional<std::int64_t> clock,
                 const Heard& last);

// A node's work for a message, during the life of this object. The record gets it even if the actor is killed
// during the work.
class Serving {
 public:
  Serving(JobContext& job, NodeId node, const std::optional<std::uint64_t>& message)
      : recorder_(job.recorder), work_{node, message, Agenda::now(), 0} {}
  ~Serving() {
    work_.end = Agenda::now();
    if (work_.begin < work_.end) recorder_.on_service(work_);
    recorder_.causes().spends(work_.end, Spent::service);
  }
  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;

 private:
  Recorder& recorder_;
  Service work_;
};

// Counts a computation of a node during the life of this object, even if the actor is killed during the work.
class Busy {
 public:
  Busy(JobContext& job, NodeId node) : usage_(job.state.usage), node_(node) {
    usage_.computes(node_, 1, Agenda::now());
  }
  ~Busy() { usage_.computes(node_, -1, Agenda::now()); }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  NodeUsage& usage_;
  NodeId node_;
};

}  // namespace psim
