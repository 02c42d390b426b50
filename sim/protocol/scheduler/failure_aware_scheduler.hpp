// The scheduler where nodes fail: it learns which nodes are alive, announces views, and starts all nodes. Its
// messages may get lost, so it sends a view to each node that reports an older one. All jobs of a run have
// one scheduler: its views have the owners of all shards and the members of all groups. Inference nodes are
// not members: they receive views, because they pull from the owners, but no node waits for them or suspects
// them. Pure: dates come from outside.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/protocol/scheduler/membership.hpp"
#include "sim/protocol/scheduler/scheduled_job.hpp"
#include "sim/protocol/scheduler/slow_worker_policy.hpp"

namespace psim {

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

}  // namespace psim
