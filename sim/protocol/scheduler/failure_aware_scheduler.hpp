// The scheduler where nodes fail: it learns which nodes are alive, announces views, and starts all nodes. Its
// messages may get lost, so it sends a view to each node that reports an older one. All jobs of a run have
// one scheduler: its views have the owners of all shards and the members of all groups. Inference nodes are
// not members: they receive views, because they pull from the owners, but no node waits for them or suspects
// them. Pure: dates come from outside.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/protocol/message.hpp"
#include "sim/protocol/scheduler/membership.hpp"
#include "sim/protocol/scheduler/slow_worker_policy.hpp"
#include "sim/protocol/work.hpp"

namespace psim {

// The interface between a scheduler and the network and run around it.
class ShardLoads;

// Receives a scheduler's messages and decisions. `job`: the number of a job in the run.
class SchedulerOutbox {
 public:
  virtual ~SchedulerOutbox() = default;
  virtual void send(Message message) = 0;
  // Sends an answer to a question that may come again, unless the same answer is on its way.
  virtual void send_once(Message message) = 0;

  // Facts that jobs know, and messages do not contain.
  virtual bool is_over(std::size_t job) const = 0;         // it has ended; other jobs may continue
  virtual bool some_completed(std::size_t job) const = 0;  // some worker has done all its steps
  virtual bool all_through(std::size_t job) const = 0;     // each has finished, has left, or has not joined
  virtual bool has_completed(NodeId worker) const = 0;
  virtual bool awaits(NodeId worker) const = 0;  // it is or will be present, with steps left

  // The job's workers have finished.
  virtual void ends(std::size_t /*job*/) {}
  // The last worker that the others waited for is gone for good.
  virtual void waits_no_longer(std::size_t /*job*/) {}
  // A view removes the worker, or includes it again.
  virtual void takes_out(NodeId /*worker*/, bool /*is_out*/) {}
  // `silence`: the cause; none if the node was gone before this scheduler started.
  virtual void suspects(NodeId /*node*/, std::int64_t /*view*/, const std::optional<Cause>& /*silence*/) {}
  virtual void announces(std::int64_t /*view*/) {}
  // No node has been told this view yet.
  virtual void has_new_view(const View& /*view*/, const ShardLoads& /*loads*/) {}
  virtual void is_slow(NodeId /*worker*/, const SlowWorkerPolicy::Verdict& /*verdict*/) {}
  virtual void start_spare(NodeId /*worker*/) {}
};

// The scheduler's part in dynamic work: it takes the reports of one job's workers, and tells them their
// shares. Pure.
class WorkSharing {
 public:
  struct Options {
    bool dynamic = false;  // otherwise reports have no effect
    NodeId first_worker = 1;
    std::uint32_t first_index = 0;  // of the run's workers
    std::uint32_t workers = 1;
    bool tells_sizes = false;  // a share goes with the sizes of all workers
    Balancer::Options balancer = {};
  };
  WorkSharing(Options options, SchedulerOutbox& out)
      : options_(std::move(options)), out_(out), balancer_(options_.balancer) {}

  void on(NodeId from, const Report& report, double now);
  // By worker of the run: whether it takes part.
  void set_members(const std::vector<bool>& members, double now);
  // The node has been started again.
  void is_new(NodeId node);
  // The date when the next decision stops waiting for reports.
  std::optional<double> next() const { return balancer_.next(); }
  void decide_overdue(double now);

 private:
  bool is_worker(NodeId node) const {
    return node >= options_.first_worker && node < options_.first_worker + options_.workers;
  }
  void tell(const Balancer::Assignments& assignments);

  Options options_;
  SchedulerOutbox& out_;
  Balancer balancer_;
};

// A job as the scheduler sees it.
struct ScheduledJob {
  NodeId first_worker = 1;
  std::uint32_t workers = 1;
  std::uint32_t first_shard = 0, shards = 0;
  bool served = false;  // other nodes read its shards, also after its end
  WorkSharing::Options sharing = {};

  NodeId past_workers() const { return first_worker + workers; }
  bool has(NodeId node) const { return node >= first_worker && node < past_workers(); }
};

class FailureAwareScheduler {
 public:
  struct Options {
    Membership::Rules rules = {};
    KeySpace keys = {};  // all shards of the run
    std::vector<ScheduledJob> jobs = {};
    NodeId first_reader = 0, past_readers = 0;  // inference nodes
    bool restarts_workers = false;              // a lost worker sets all other workers back, too
    std::optional<SlowWorkerPolicy::Options> slow = {};
    std::uint32_t lives = 0;  // lives of the scheduler before this one
  };
  FailureAwareScheduler(Options options, SchedulerOutbox& out, double now);
  FailureAwareScheduler(const FailureAwareScheduler&) = delete;
  FailureAwareScheduler& operator=(const FailureAwareScheduler&) = delete;

  void on(const Message& message, double now);
  // The date of the next decision without a message.
  std::optional<double> next_date() const;
  // That date has come.
  void on_date(double now);
  // No node has steps left.
  bool is_over() const { return ended_jobs() == ended_.size(); }

  const View& view() const { return membership_.view(); }

 private:
  // The news about a sender in its message to the scheduler.
  struct News {
    std::int64_t life;                 // earlier starts of the sender
    std::optional<std::int64_t> view;  // the last view that it knows
    bool says_leave, is_leaving;       // this message says that it leaves; or an earlier one said so
  };
  static std::optional<News> news_of(const Message& message);
  bool is_server(NodeId node) const { return node > 0 && node <= options_.rules.servers; }
  NodeId members() const { return static_cast<NodeId>(here_.size()); }

  // The consequences of a change of the membership: the nodes that need the new view receive it.
  void spread(std::int64_t view_before);
  void take_out();
  void announce();
  void share_out();
  const SharedView& newest_view();
  void tell_start(NodeId node);
  void tell_view(NodeId node);
  void tell_readers();

  void take(const Message& message);
  void on_join(const Message& message, const Join& join);
  void on_reader(const Message& message);
  void on_report(NodeId node, const Report& report);
  void acknowledge_leave(NodeId node);
  void start(NodeId node);
  void suspect(double date);

  // After a crash of the scheduler.
  void hear(const Message& message);
  void take_up();

  // Jobs.
  bool is_over(std::size_t job) const;
  void end_jobs();
  void retire(const ScheduledJob& job);
  bool is_retired(NodeId node) const;
  std::size_t ended_jobs() const;

  struct Member {
    bool joined = false, left = false;
    // While a restarted scheduler asks around: the node's earlier starts, and the view that it knows.
    std::int64_t life = -1, view = -1;
    std::int64_t heard = -1;  // the event of the last arrival of a message from this node
  };
  Options options_;
  SchedulerOutbox& out_;
  double now_;
  Membership membership_;
  std::vector<bool> ended_;           // by job
  std::vector<WorkSharing> sharing_;  // of dynamic work, by job
  std::vector<Member> here_;          // by node
  std::optional<double> looks_until_;
  bool started_ = false;
  std::int64_t first_view_ = -1;  // the view of the start
  bool has_begun_ = false;        // before this scheduler, but no live node knows a view of that time
  SharedView view_;
  std::optional<SlowWorkerPolicy> slow_;
};

// The scheduler where no node fails: it starts all nodes when all have joined, shares out work, and notes
// which workers leave. Pure.
class SteadyScheduler {
 public:
  SteadyScheduler(std::uint32_t servers, const std::vector<ScheduledJob>& jobs, SchedulerOutbox& out);

  void on(const Message& message, double now);
  bool has_started() const { return joined_ == members_; }
  // Every job has ended, or its workers have left.
  bool is_over() const;

 private:
  struct Job {
    ScheduledJob plan;
    WorkSharing sharing;
    std::uint32_t left = 0;  // workers
  };

  SchedulerOutbox& out_;
  std::vector<Job> jobs_;
  std::uint32_t members_, joined_ = 0;
};

}  // namespace psim
