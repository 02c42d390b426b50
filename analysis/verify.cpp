#include "analysis/verify.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <optional>

#include "analysis/columns.hpp"
#include "analysis/run_events.hpp"
#include "analysis/run_files.hpp"
#include "analysis/verify_checks.hpp"

namespace psim::analysis {

bool Verdict::holds() const {
  return std::ranges::all_of(checks, [](const CheckReport& check) { return check.violations == 0; });
}

namespace {

// The checks of the whole run or of one job, with the history that they use.
struct Inspection {
  const Job* job = nullptr;  // the job whose events they see; null: all events
  History history;
  Checks checks = {};

  void on(const Row& row) {
    if (job == nullptr) return take(row);
    if (const std::optional<Row> own = job->own(row)) take(*own);
  }
  void take(const Row& row) {
    history.on(row);
    for (const std::unique_ptr<Check>& check : checks) {
      if (check->report().applies) check->on(row);
    }
  }
};

// The number of shards after the placement, before any cut.
std::size_t shards_at_first(const Json& summary) {
  std::size_t shards = 0;
  for (const Json& server : summary.at("servers")) shards += server.at("shards_at_first").get<std::size_t>();
  return shards;
}

void add_promises(const Evidence& evidence, Checks& checks) {
  add_end_check(evidence, checks);
  if (!evidence.facts.has_servers) return;
  for (AddChecks* add :
       {add_update_checks, add_read_checks, add_staleness_checks, add_promise_check, add_replica_checks})
    add(evidence, checks);
  if (evidence.facts.serves) add_serving_check(evidence, checks);
}

void add_checks_of_run(const Evidence& evidence, Checks& checks) {
  for (AddChecks* add :
       {add_conservation_check, add_time_checks, add_failure_checks, add_progress_checks, add_move_check,
        add_cause_check, add_memory_check, add_task_check, add_slow_check, add_key_check, add_repeat_check})
    add(evidence, checks);
}

std::deque<Inspection> inspections(const RunRecord& record) {
  std::deque<Inspection> all;  // a deque, so that histories never move
  // If messages may get lost, nodes repeat requests, even before the first heartbeat.
  const bool watched = record.summary.at("acknowledgement") == "repeats";
  Inspection& whole = all.emplace_back(Inspection{.history = History(record.facts, watched)});
  const Evidence evidence{record.facts, record.summary, whole.history, shards_at_first(record.summary)};
  add_checks_of_run(evidence, whole.checks);
  if (record.jobs.empty()) add_promises(evidence, whole.checks);
  for (std::size_t n = 0; n < record.jobs.size(); ++n) {
    const Job& job = record.jobs[n];
    Inspection& one = all.emplace_back(Inspection{.job = &job, .history = History(job.facts, watched)});
    add_promises({job.facts, job.summary, one.history, job.shards}, one.checks);
    for (const std::unique_ptr<Check>& check : one.checks) check->set_job(n);
  }
  return all;
}

std::string models_of(const RunRecord& record) {
  if (!record.facts.has_servers) return "none";
  if (record.jobs.empty()) return record.facts.model;
  std::vector<std::string> models;
  for (const Job& job : record.jobs) models.push_back(job.facts.model);
  return fmt::format("{}", fmt::join(models, ", "));
}

constexpr const char* files_promise = "no file of the run has changed since psim wrote it";

CheckReport check_files(const std::filesystem::path& run) {
  CheckReport report{.name = "files", .promise = files_promise, .examined = 1, .first = {}};
  if (const std::string broken = broken_seal(run); !broken.empty()) {
    report.violations = 1;
    report.first.push_back({.event = -1, .at = 0, .text = broken});
  }
  return report;
}

}  // namespace

std::vector<CheckReport> check_docs() {
  Facts facts;
  facts.has_servers = facts.serves = true;
  const Json summary = Json::object();
  const History history(facts, false);
  const Evidence evidence{facts, summary, history, 0};
  Checks checks;
  add_checks_of_run(evidence, checks);
  add_promises(evidence, checks);
  std::vector<CheckReport> docs{{.name = "files", .promise = files_promise, .first = {}}};
  for (const std::unique_ptr<Check>& check : checks) docs.push_back(check->report());
  return docs;
}

Verdict verify(const std::filesystem::path& run) try {
  const RunRecord record(run);
  std::deque<Inspection> all = inspections(record);
  Verdict verdict{.model = models_of(record), .checks = {check_files(run)}};
  verdict.events = each_event(record, [&](const Row& row) {
    for (Inspection& one : all) one.on(row);
  });
  for (Inspection& one : all) {
    for (const std::unique_ptr<Check>& check : one.checks) {
      if (check->report().applies) check->at_end(verdict.events);
      verdict.checks.push_back(check->report());
    }
  }
  return verdict;
} catch (const Json::exception& error) {
  throw unfit_summary(run, error);
}

namespace {

std::string_view word_of(const CheckReport& check) {
  if (!check.applies || check.examined == 0) return "-";
  return check.violations == 0 ? "holds" : "VIOLATED";
}

}  // namespace

std::string text(const Verdict& v) {
  std::size_t width = 15;
  for (const CheckReport& check : v.checks) width = std::max(width, check.name.size() + 1);
  std::string out =
      fmt::format("{:<{}}{:<9}{:>10}  {}\n", ColumnName("check").name(), width, ColumnName("verdict").name(),
                  ColumnName("examined").name(), ColumnName("what it means").name());
  for (const CheckReport& check : v.checks) {
    out += fmt::format("{:<{}}{:<9}{:>10}  {}\n", check.name, width, word_of(check),
                       check.applies ? check.examined : 0, check.promise);
    if (!check.note.empty()) out += fmt::format("{:<{}}note: {}\n", "", width + 21, check.note);
  }
  for (const CheckReport& check : v.checks) {
    if (check.violations == 0) continue;
    out +=
        fmt::format("\n{}: {} violation{}\n", check.name, check.violations, check.violations == 1 ? "" : "s");
    for (const Finding& finding : check.first) {
      out += finding.event < 0
                 ? fmt::format("  whole run: {}\n", finding.text)
                 : fmt::format("  event {}, {:.9g} s: {}\n", finding.event, finding.at, finding.text);
    }
    if (const auto more = check.violations - std::ssize(check.first); more > 0)
      out += fmt::format("  and {} more\n", more);
  }
  const auto broken = std::ranges::count_if(v.checks, [](const CheckReport& c) { return c.violations > 0; });
  out += broken == 0 ? fmt::format("\nholds: {} events keep every promise\n", v.events)
                     : fmt::format("\nviolated: {} of {} checks, over {} events\n", broken, v.checks.size(),
                                   v.events);
  if (std::ranges::any_of(v.checks, [](const CheckReport& check) { return word_of(check) == "-"; }))
    out += "`-`: the run has nothing for this check to examine\n";
  return out;
}

Json document(const Verdict& v) {
  Json checks = Json::array();
  for (const CheckReport& check : v.checks) {
    Json findings = Json::array();
    for (const Finding& f : check.first) {
      findings.push_back({{"event", f.event < 0 ? Json(nullptr) : Json(f.event)},
                          {"at_s", f.event < 0 ? Json(nullptr) : Json(f.at)},
                          {"text", f.text}});
    }
    checks.push_back({{"name", check.name},
                      {"promise", check.promise},
                      {"applies", check.applies && check.examined > 0},
                      {"examined", check.examined},
                      {"violations", check.violations},
                      {"first", findings},
                      {"note", check.note}});
  }
  return {{"schema", "psim.verify/1"},
          {"holds", v.holds()},
          {"consistency", v.model},
          {"events", v.events},
          {"checks", checks}};
}

}  // namespace psim::analysis
