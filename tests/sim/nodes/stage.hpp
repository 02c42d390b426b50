// A stage for roles: the machines, the plan and the context of a scenario's first job, but none of its
// actors. A test has actors of its own play the other parts. A play runs in a process of its own, because
// SimGrid's clock cannot be set back; what is said in it comes back as lines, with their dates: "1.5 worker 0
// is through".
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "sim/machines.hpp"
#include "sim/nodes/job/actors.hpp"
#include "sim/nodes/job/job_context.hpp"
#include "sim/scenario/load.hpp"

namespace psim::test {

using Lines = std::vector<std::string>;

// A scenario of this text, loaded; and the plans of its jobs.
struct Planned {
  explicit Planned(const std::string& toml);
  LoadedScenario loaded;
  std::vector<JobPlan> plans;
  const JobPlan& plan() const { return plans.front(); }
};

class Stage final : private JobObserver, private RunWatch, private EventSink {
 public:
  Stage(Planned& planned, std::function<void(const std::string&)> listener);
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  ~Stage() override { machines_.pool.stop(); }

  JobContext& job() { return job_; }
  const JobPlan& plan() const { return planned_.plan(); }
  const Platform& platform() const { return machines_.platform; }
  NodeId worker(std::uint32_t index) const { return plan().first_worker() + index; }

  // `body` on `node`, from the next date on; a daemon is stopped when all others are through.
  simgrid::s4u::ActorPtr act(NodeId node, std::function<void()> body, bool is_daemon = false);
  // At a date, outside every actor.
  void at(double date, std::function<void()> action) { machines_.agenda.at(date, std::move(action)); }
  // Until all actors are through. Says "stuck" when some wait for ever.
  void run();
  // In an actor: lets a time pass.
  void sleep(double seconds) { machines_.agenda.sleep_until(Agenda::now() + seconds); }

  void say(const std::string& words);
  // From now on every message of these kinds is said when it is sent: "0 fetch 3 > 5 #2".
  void say_sent(std::set<MessageKind> kinds) { said_ = std::move(kinds); }
  // Everything that is recorded.
  std::vector<Event> events;
  template <class T>
  std::vector<T> recorded() const {
    std::vector<T> result;
    for (const Event& event : events) {
      if (const T* what = event.as<T>()) result.push_back(*what);
    }
    return result;
  }

  // What the run would answer.
  bool hopeless = false;
  std::set<NodeId> coming_back;

 private:
  void on_version() override {}
  void on_clock(NodeId, std::int64_t) override {}
  void on_end() override { say("the job ends"); }
  void start_spare(NodeId worker) override { say("spare " + std::to_string(worker)); }
  void on_applied(const PushOutcome&) override {}
  bool is_stuck() override { return false; }
  bool is_hopeless() override { return hopeless; }
  void give_up(NodeId node, std::string_view) override { say("gives up " + std::to_string(node)); }
  bool comes_back(NodeId node) const override { return coming_back.contains(node); }
  void on(const Event& event, std::uint64_t hash) override;

  Planned& planned_;
  std::function<void(const std::string&)> listener_;
  std::set<MessageKind> said_;
  Machines machines_;
  Slowness slowness_;
  JobState state_;
  JobContext job_;
  Actors actors_;
};

// What is said in a play on the stage of this scenario. "died: 11": the process was ended by that signal.
Lines on_stage(const std::string& toml, const std::function<void(Stage&)>& play);

// A date as lines have it.
std::string date(double seconds);

}  // namespace psim::test
