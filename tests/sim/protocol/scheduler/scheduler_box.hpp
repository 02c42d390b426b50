// Goal: a scheduler without a network and without a clock. Method: an outbox that keeps its messages and
// decisions as words: "start 3", "view 2 to 1".
#pragma once

#include <fmt/format.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/protocol/scheduler/failure_aware_scheduler.hpp"

namespace psim::test {

using Words = std::vector<std::string>;

class SchedulerBox final : public SchedulerOutbox {
 public:
  std::vector<Message> sent;
  SharedView told;  // the last view that went to anybody
  // What jobs answer.
  std::set<std::size_t> over;
  std::set<NodeId> completed, awaited, taken_out;

  Words take() { return std::exchange(words_, {}); }

  void send(Message message) override {
    words_.push_back(words_for(message));
    sent.push_back(std::move(message));
  }
  void send_once(Message message) override { send(std::move(message)); }
  bool is_over(std::size_t job) const override { return over.contains(job); }
  bool some_completed(std::size_t) const override { return !completed.empty(); }
  bool all_through(std::size_t) const override { return false; }
  bool has_completed(NodeId worker) const override { return completed.contains(worker); }
  bool awaits(NodeId worker) const override { return awaited.contains(worker); }
  void ends(std::size_t job) override { say("job {} ends", job); }
  void waits_no_longer(std::size_t job) override { say("nobody waits for job {}", job); }
  void takes_out(NodeId worker, bool is_out) override {
    if (is_out) taken_out.insert(worker);
    else taken_out.erase(worker);
  }
  void suspects(NodeId node, std::int64_t, const std::optional<Cause>& silence) override {
    if (silence) say("suspects {} since event {}", node, silence->event);
    else say("finds {} gone", node);
  }
  void announces(std::int64_t) override { say("announces"); }
  void is_slow(NodeId worker, const SlowWorkerPolicy::Verdict& verdict) override {
    say("{} is slow: {} s, median {} s", worker, verdict.found.seconds, verdict.found.median);
  }
  void start_spare(NodeId worker) override { say("spare {} starts", worker); }

 private:
  template <class... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) {
    words_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }
  std::string words_for(const Message& message) {
    if (const Start* start = message.as<Start>()) {
      told = start->view;
      return fmt::format("start {}{}", message.to, start->goes_on ? ", goes on" : "");
    }
    if (const NewView* view = message.as<NewView>()) {
      told = view->view;
      return fmt::format("view to {}", message.to);
    }
    if (const Assign* assign = message.as<Assign>())
      return fmt::format("{}: {} after {}", message.to, assign->batch_size, assign->samples_before);
    if (message.is<LeaveAck>()) return fmt::format("{} may go", message.to);
    if (message.is<Leave>()) return fmt::format("{} is to leave", message.to);
    if (message.is<AskView>()) return fmt::format("asks {}", message.to);
    return "another message";
  }

  Words words_;
};

}  // namespace psim::test
