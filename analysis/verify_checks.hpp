// The checks of `psim verify`, each with the promise that it looks after. They see every event once, after
// the history has taken it in.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analysis/verify.hpp"
#include "analysis/verify_history.hpp"

namespace psim::analysis {

class Check {
 public:
  Check(std::string name, std::string promise)
      : report_{.name = std::move(name), .promise = std::move(promise), .first = {}} {}
  virtual ~Check() = default;
  Check(const Check&) = delete;
  Check& operator=(const Check&) = delete;

  virtual void on(const Row& row, const History& history) = 0;
  // After the last event, which was number `events` - 1.
  virtual void at_end(const History&, const Json& /*summary*/, std::int64_t /*events*/) {}
  const CheckReport& report() const { return report_; }
  // Of which of several namespaces it is.
  void set_space(std::size_t number) { report_.name = std::to_string(number) + ": " + report_.name; }

 protected:
  static constexpr std::size_t shown = 5;
  void examined(std::int64_t number = 1) { report_.examined += number; }
  void violated(const Row& row, std::string what) { add({row.number, row.at, std::move(what)}); }
  void violated(std::string what) { add({.event = -1, .at = 0, .text = std::move(what)}); }
  void set_note(std::string note) { report_.note = std::move(note); }
  void does_not_apply() { report_.applies = false; }

 private:
  void add(Finding finding) {
    ++report_.violations;
    if (report_.first.size() < shown) report_.first.push_back(std::move(finding));
  }
  CheckReport report_;
};

using Checks = std::vector<std::unique_ptr<Check>>;

void add_conservation_check(Checks& checks);  // of the whole run
// end-date, time, samples: of the whole run
void add_time_checks(const Facts& facts, const Json& summary, Checks& checks);
void add_wait_check(Checks& checks);  // likewise
// recovery, snapshots, sizes: likewise
void add_failure_checks(bool has_groups, Checks& checks);
void add_end_check(Checks& checks);
void add_update_checks(const Facts& facts, Checks& checks);   // versions, updates, exactly-once, duplicates
void add_read_checks(const Facts& facts, Checks& checks);     // reads, clock-gap, read-my-writes
void add_replica_checks(const Facts& facts, Checks& checks);  // acknowledged, one-owner, replicas

}  // namespace psim::analysis
