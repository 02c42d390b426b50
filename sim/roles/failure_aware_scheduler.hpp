// The scheduler where nodes fail: hears who is there, announces views of that, and starts everybody. What it
// says may get lost, so a view is sent to whoever reports an older one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/protocol/membership.hpp"
#include "sim/roles/job_context.hpp"

namespace psim {

class FailureAwareScheduler {
 public:
  explicit FailureAwareScheduler(JobContext& job);
  // Until nobody has steps to do any more.
  void run();

 private:
  // What the scheduler learns from a message about its sender.
  struct News {
    std::int64_t life;                 // how often it was started before
    std::optional<std::int64_t> view;  // the last one that it knows
    bool says_leave, is_leaving;       // it says so with this message; or has said it before
  };
  static std::optional<News> news_of(const Message& message);
  void tell_job();
  bool is_over() const;
  void hear(const Message& message);
  void take_up();
  void on(const Message& message);
  void acknowledge_leave(NodeId node);
  void start(NodeId node);
  void suspect(double now);
  void announce();
  const SharedView& newest_view();
  void record(const View& view);
  void record_changes(const View& view);
  void tell_start(NodeId node);
  void tell_view(NodeId node);

  struct Member {
    bool joined = false, left = false;
    // While the scheduler looks around: how often it was started before, and which view it knows.
    std::int64_t life = -1, view = -1;
  };
  JobContext& job_;
  Manager manager_;
  std::vector<Member> here_;  // by node
  std::uint32_t lives_;       // before this one
  std::optional<double> looks_until_;
  bool started_ = false;
  std::int64_t first_view_ = -1;  // with which all were told to start
  SharedView view_;
  std::vector<NodeId> goals_;  // by shard: where the last view that was recorded has it, or sends it
};

}  // namespace psim
