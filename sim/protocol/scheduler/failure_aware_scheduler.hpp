// The scheduler where nodes fail: hears who is there, announces views of that, and starts everybody. What it
// says may get lost, so a view is sent to whoever reports an older one. All jobs of a run have one scheduler:
// its views have the owners of all shards and the members of all groups. Inference nodes are no members: they
// are told views, because they pull from the owners, and nobody waits for them or suspects them. Pure: dates
// come from outside.
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
    bool restarts_workers = false;              // who is lost takes all others back with it
    std::optional<SlowWorkerPolicy::Options> slow = {};
    std::uint32_t lives = 0;  // before this one
  };
  FailureAwareScheduler(Options options, SchedulerOutbox& out, double now);
  FailureAwareScheduler(const FailureAwareScheduler&) = delete;
  FailureAwareScheduler& operator=(const FailureAwareScheduler&) = delete;

  void on(const Message& message, double now);
  // When it decides although no message comes.
  std::optional<double> next_date() const;
  // That date has come; the clock may stop a rounding error before it.
  void on_date(double now);
  // Nobody has steps to do any more.
  bool is_over() const { return ended_jobs() == ended_.size(); }

  const View& view() const { return membership_.view(); }

 private:
  // What the scheduler learns from a message about its sender.
  struct News {
    std::int64_t life;                 // how often it was started before
    std::optional<std::int64_t> view;  // the last one that it knows
    bool says_leave, is_leaving;       // it says so with this message; or has said it before
  };
  static std::optional<News> news_of(const Message& message);
  bool is_server(NodeId node) const { return node > 0 && node <= options_.rules.servers; }
  NodeId members() const { return static_cast<NodeId>(here_.size()); }

  // What becomes of a change of the membership: who is told.
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

  // After a crash of its own.
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
    // While the scheduler looks around: how often it was started before, and which view it knows.
    std::int64_t life = -1, view = -1;
    std::int64_t heard = -1;  // the event of the last arrival of a message of its
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
  std::int64_t first_view_ = -1;  // with which all were told to start
  bool has_begun_ = false;        // before this scheduler, which knows no view of then: somebody has crashed
  SharedView view_;
  std::optional<SlowWorkerPolicy> slow_;
};

}  // namespace psim
