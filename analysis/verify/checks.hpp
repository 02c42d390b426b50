// The checks of `psim verify`, each with its promise. Checks see every event once, after the history has
// processed it.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analysis/verify/history.hpp"
#include "analysis/verify/verify.hpp"

namespace psim::analysis {

// The input of a check: a whole run, or one of its jobs.
struct Evidence {
  const Facts& facts;
  const Json& summary;
  const History& history;             // up to the current event
  std::size_t shards = 0;             // before any cut
  const RunRecord* record = nullptr;  // of a whole run
};

class Check {
 public:
  // `promise`: as in word_docs.txt, unless it depends on the run.
  Check(const Evidence& evidence, const char* name, std::string promise = {})
      : facts_(evidence.facts),
        summary_(evidence.summary),
        history_(evidence.history),
        report_{
            .name = name, .promise = promise.empty() ? promise_of(name) : std::move(promise), .first = {}} {}
  virtual ~Check() = default;
  Check(const Check&) = delete;
  Check& operator=(const Check&) = delete;

  virtual void on(const Row& row) = 0;
  // Called after the last event, which has number `events` - 1.
  virtual void at_end(std::int64_t /*events*/) {}
  const CheckReport& report() const { return report_; }
  // Sets the job of the check, if there are several.
  void set_job(std::size_t number) { report_.name = std::to_string(number) + ": " + report_.name; }

 protected:
  void examined(std::int64_t number = 1) { report_.examined += number; }
  // A violation by an event, or by the whole run.
  template <class... Values>
  void violated(const Moment& row, fmt::format_string<Values...> format, Values&&... values) {
    add_finding({row.number, row.at, fmt::format(format, std::forward<Values>(values)...)});
  }
  template <class... Values>
  void violated(fmt::format_string<Values...> format, Values&&... values) {
    add_finding({.event = -1, .at = 0, .text = fmt::format(format, std::forward<Values>(values)...)});
  }
  template <class... Values>
  void set_note(fmt::format_string<Values...> format, Values&&... values) {
    report_.note = fmt::format(format, std::forward<Values>(values)...);
  }
  void does_not_apply() { report_.applies = false; }

  std::string name(std::uint32_t node) const { return facts_.name_of(node); }
  std::uint32_t worker(std::uint32_t node) const { return facts_.worker(node); }
  // "push 3 of worker 1 to shard 0"
  std::string push_of(const Row& row) const {
    return fmt::format("push {} of {} to shard {}", row.push, name(row.peer), row.shard);
  }

  const Facts& facts_;
  const Json& summary_;
  const History& history_;

 private:
  void add_finding(Finding finding) {
    constexpr std::size_t shown = 5;
    ++report_.violations;
    if (report_.first.size() < shown) report_.first.push_back(std::move(finding));
  }
  CheckReport report_;
};

using Checks = std::vector<std::unique_ptr<Check>>;

template <class... Kinds>
void add_checks(const Evidence& evidence, Checks& checks) {
  (checks.push_back(std::make_unique<Kinds>(evidence)), ...);
}

// Adds the checks of one subject.
using AddChecks = void(const Evidence& evidence, Checks& checks);
// For the whole run.
AddChecks add_conservation_check, add_memory_check, add_cause_check, add_task_check, add_slow_check,
    add_key_check, add_move_check, add_repeat_check;
AddChecks add_time_checks;      // end-date, time, samples, waits
AddChecks add_failure_checks;   // recovery, regrouping, snapshots, sizes
AddChecks add_progress_checks;  // groups, joiners
// For each job.
AddChecks add_end_check, add_promise_check, add_serving_check;
AddChecks add_update_checks;     // versions, updates, exactly-once, duplicates, shares
AddChecks add_read_checks;       // reads, clock-gap, read-my-writes
AddChecks add_staleness_checks;  // staleness, closings, copies, local-steps, given-up
AddChecks add_replica_checks;    // acknowledged, one-owner, replicas

}  // namespace psim::analysis
