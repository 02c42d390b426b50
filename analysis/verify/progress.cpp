#include <algorithm>
#include <map>
#include <set>

#include "analysis/verify/checks.hpp"

namespace psim::analysis {

// A participant computes: the others do not continue for long without it.

namespace {

// Without servers a group steps together. After a worker receives a view, it begins at most two steps before
// every other worker of that view has begun one: the step that it was about to begin when the view came, and
// the first step of the new group, which it cannot finish alone. The bound counts steps, so message times and
// faults do not change it.
class Groups final : public Check {
 public:
  explicit Groups(const Evidence& evidence) : Check(evidence, "groups") {
    if (facts_.has_servers || !history_.watched()) does_not_apply();
  }

  void on(const Row& row) override {
    if (row.is<Participant>()) members_[row.view].insert(row.peer);
    if (row.is<Received>(MessageKind::view, MessageKind::start) && facts_.is_worker(row.node)) hears(row);
    if (row.is<Finish>()) through_.insert(row.node);
    if (row.takes_away()) leaves(row.peer);
    if (row.is_step(ComputePhase::begun) && row.part == 0) begins(row);
  }

 private:
  struct Heard {
    std::int64_t view = -1;
    std::map<std::uint32_t, int> steps = {};  // steps begun since then without this worker
  };

  void hears(const Row& row) {
    if (row.is<Received>(MessageKind::start)) through_.erase(row.node);  // it has returned
    if (row.view > heard_[row.node].view) heard_[row.node] = {.view = row.view};
  }
  void leaves(std::uint32_t node) { heard_.erase(node); }
  void begins(const Row& row) {
    for (auto& [node, heard] : heard_) heard.steps.erase(row.node);
    const auto own = heard_.find(row.node);
    if (own == heard_.end()) return;
    Heard& heard = own->second;
    for (const std::uint32_t other : members_[heard.view]) {
      if (other == row.node || through_.contains(other)) continue;
      examined();
      constexpr int most = 2;
      if (++heard.steps[other] == most + 1)
        violated(row, "{} has heard of view {}, and begins step {} without {}, which has begun none since",
                 name(row.node), heard.view, row.clock, name(other));
    }
  }

  std::map<std::int64_t, std::set<std::uint32_t>> members_;  // by view
  std::map<std::uint32_t, Heard> heard_;                     // by worker
  std::set<std::uint32_t> through_;
};

// With servers each worker waits only for servers. A worker that has asked the scheduler to take part begins
// a step before another worker has begun a hundred, or before ten times the longest message plus the longest
// computation so far, whichever is later. Both limits restart at every crash, start, suspicion, new view and
// new owner, and when a lost message is sent again. If a fault makes links, messages or machines worse, a
// worker may wait longer: after the first such fault the check examines nothing.
class Joiners final : public Check {
 public:
  explicit Joiners(const Evidence& evidence) : Check(evidence, "joiners") {
    if (!history_.watched() || facts_.rule.own_logic || !facts_.tasks.empty()) does_not_apply();
  }

  void on(const Row& row) override {
    if (row.is<Sent>()) sent_[row.number] = row.at;
    if (row.is<Received>()) arrives(row);
    if (row.is<Finish>() || row.takes_away()) waiting_.erase(row.is<Finish>() ? row.node : row.peer);
    if (row.is<Suspicion, ViewChange, Promotion, FaultChange>()) anew(row.at);
    if (row.is<Lost>()) {
      sent_.erase(row.sent);
      anew(row.at + facts_.longest_retry);
    }
    if (row.is<FaultChange>() && !row.takes_away() && !row.starts_peer()) is_calm_ = false;
    if (row.is_step()) on_step(row);
  }

 private:
  struct Waiting {
    double since = 0;
    std::map<std::uint32_t, int> steps = {};  // steps that others have begun since
  };

  void anew(double at) {
    for (auto& [worker, waiting] : waiting_) waiting = {.since = std::max(waiting.since, at)};
  }
  void arrives(const Row& row) {
    const auto sent = sent_.find(row.sent);
    if (sent != sent_.end()) {
      longest_ = std::max(longest_, row.at - sent->second);
      sent_.erase(sent);
    }
    if (row.is<Received>(MessageKind::join) && facts_.is_worker(row.peer))
      waiting_.try_emplace(row.peer, Waiting{row.at});
  }
  void on_step(const Row& row) {
    if (!row.is(ComputePhase::begun)) {
      const auto begun = begun_.find(row.node);
      if (begun == begun_.end()) return;
      longest_ = std::max(longest_, row.at - begun->second);
      if (!row.is(ComputePhase::paused)) begun_.erase(begun);
      return;
    }
    begun_[row.node] = row.at;
    if (waiting_.erase(row.node) > 0) examined();
    if (!is_calm_) return;
    constexpr int most = 100;
    constexpr double times = 10;
    for (auto& [worker, waiting] : waiting_) {
      const bool is_long = row.at - waiting.since > times * longest_;
      int& steps = waiting.steps[row.node];
      if (++steps < most || !is_long) continue;
      violated(row, "{} has asked to take part, and has begun no step since {:.9g} s, while {} has begun {}",
               name(worker), waiting.since, name(row.node), steps);
      waiting = {.since = row.at};
    }
  }

  std::map<std::uint32_t, Waiting> waiting_;  // by worker
  std::map<std::uint32_t, double> begun_;     // by worker: start of its computation
  std::map<std::int64_t, double> sent_;       // dates, of messages on their way
  double longest_ = 0;                        // seconds, of messages and computations
  bool is_calm_ = true;
};

}  // namespace

void add_progress_checks(const Evidence& evidence, Checks& checks) {
  add_checks<Groups, Joiners>(evidence, checks);
}

}  // namespace psim::analysis
