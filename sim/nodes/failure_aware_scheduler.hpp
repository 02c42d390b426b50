// The scheduler where nodes fail: hears who is there, announces views of that, and starts everybody. What it
// says may get lost, so a view is sent to whoever reports an older one. All jobs of a run have one scheduler:
// its views have the owners of all shards and the members of all groups. Inference nodes are no members: they
// are told views, because they pull from the owners, and nobody waits for them or suspects them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "sim/nodes/job_context.hpp"
#include "sim/nodes/work_sharing.hpp"
#include "sim/protocol/membership.hpp"
#include "sim/protocol/slow_nodes.hpp"

namespace psim {

class FailureAwareScheduler {
 public:
  // `jobs`: all of the run.
  explicit FailureAwareScheduler(const std::vector<JobContext*>& jobs);
  // Until nobody has steps to do any more. Tells each job when that is so of its workers.
  void run();

 private:
  // What the scheduler learns from a message about its sender.
  struct News {
    std::int64_t life;                 // how often it was started before
    std::optional<std::int64_t> view;  // the last one that it knows
    bool says_leave, is_leaving;       // it says so with this message; or has said it before
  };
  static std::optional<News> news_of(const Message& message);
  void tell_jobs();
  bool is_over(const JobContext& job) const;
  void end_jobs();
  void retire(const JobContext& job);
  bool is_retired(NodeId node) const;
  NodeId members() const { return static_cast<NodeId>(here_.size()); }
  void on_reader(const Message& message);
  std::optional<double> next_date() const;
  void on_date(double now);
  void share_out();
  void hear(const Message& message);
  void take_up();
  void on(const Message& message);
  void on_report(NodeId node, const Report& report);
  void on_slow(NodeId node, const SlowNodes::Found& found);
  void acknowledge_leave(NodeId node) {
    job_.network.send({.from = scheduler_node, .to = node, .body = LeaveAck{}});
  }
  void ask_to_leave(NodeId worker);
  void start(NodeId node);
  void suspect(double now);
  void announce();
  const SharedView& newest_view();
  void record(const View& view);
  void record_changes(const View& view);
  void tell_start(NodeId node);
  void tell_view(NodeId node);
  void tell_readers();

  struct Member {
    bool joined = false, left = false;
    // While the scheduler looks around: how often it was started before, and which view it knows.
    std::int64_t life = -1, view = -1;
    std::int64_t heard = -1;  // the event of the last arrival of a message of its
  };
  const std::vector<JobContext*>& jobs_;
  std::vector<bool> ended_;  // by job
  JobContext& job_;          // the first one, for what belongs to all
  Manager manager_;
  std::vector<WorkSharing> sharing_;  // of dynamic work, by job
  std::vector<Member> here_;          // by node
  std::uint32_t lives_;               // before this one
  std::optional<double> looks_until_;
  bool started_ = false;
  std::int64_t first_view_ = -1;  // with which all were told to start
  bool has_begun_ = false;        // before this scheduler, which knows no view of then: somebody has crashed
  SharedView view_;
  std::optional<SlowNodes> slow_;
  std::size_t spares_used_ = 0;
  std::set<NodeId> unwanted_;  // slow workers that are to leave
  // By shard: where the last view that was recorded has it, or sends it, whichever scheduler's it was.
  std::vector<NodeId>& goals_ = job_.state.goals;
};

}  // namespace psim
