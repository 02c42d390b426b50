#include "analysis/verify/verify.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/clock_progress.hpp"
#include "analysis/run_files.hpp"
#include "analysis/run_record.hpp"
#include "analysis/verify/checks.hpp"
#include "analysis/word_docs.hpp"
#include "model/base/formula.hpp"

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
  const Evidence evidence{record.facts, record.summary, whole.history, shards_at_first(record.summary),
                          &record};
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
  if (record.jobs.empty()) return record.facts.rule.model;
  std::vector<std::string> models;
  for (const Job& job : record.jobs) models.push_back(job.facts.rule.model);
  return fmt::format("{}", fmt::join(models, ", "));
}

CheckReport check_files(const std::filesystem::path& run) {
  CheckReport report{.name = "files", .promise = promise_of("files"), .examined = 1, .first = {}};
  if (const std::string broken = broken_seal(run); !broken.empty()) {
    report.violations = 1;
    report.first.push_back({.event = -1, .at = 0, .text = broken});
  }
  return report;
}

}  // namespace

std::string promise_of(std::string_view check) {
  const auto is_its = [check](const FieldDoc& doc) {
    return doc.name == check && doc.where == "psim verify";
  };
  return std::string(std::ranges::find_if(word_docs(), is_its)->doc);
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

// Checks the promises of a scenario for its consistency model (model/base/formula.hpp).

namespace {

class Promises final : public Check {
 public:
  explicit Promises(const Evidence& evidence) : Check(evidence, "promises"), progress_(facts_, history_) {
    for (const std::string& text : facts_.promises)
      promises_.emplace_back(
          text, Promise::Numbers{.workers = facts_.workers,
                                 .k = facts_.k,
                                 .staleness = std::max(facts_.rule.bound.staleness, facts_.rule.bound.most)});
    if (promises_.empty()) does_not_apply();
  }

  void on(const Row& row) override {
    const auto start = progress_.on(row);
    if (start)
      look_at(row, Promise::About::clock_gap, start->gap,
              fmt::format("{} starts clock {} with clock_gap", name(row.node), row.clock));
    if (row.is(Outcome::applied)) {
      if (!facts_.follows(row.shard))  // else the first shard's age has decided
        look_at(row, Promise::About::age, row.staleness,
                fmt::format("{} applies {} with age", name(row.node), push_of(row)));
      ++pushes_[{row.shard, row.node}];
    }
    if (row.is<ModelUpdate>() && facts_.is_server(row.node))
      look_at(
          row, Promise::About::pushes, std::exchange(pushes_[{row.shard, row.node}], 0),
          fmt::format("{} makes version {} of shard {} with pushes", name(row.node), row.version, row.shard));
  }

 private:
  void look_at(const Row& row, Promise::About about, std::int64_t value, const std::string& what) {
    for (const Promise& promise : promises_) {
      if (promise.about() != about) continue;
      examined();
      if (!promise.holds(value)) violated(row, "{} = {}; promised is `{}`", what, value, promise.text());
    }
  }

  std::vector<Promise> promises_;
  ClockProgress progress_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> pushes_;  // by shard and server
};

}  // namespace

void add_promise_check(const Evidence& evidence, Checks& checks) { add_checks<Promises>(evidence, checks); }

// Checks the recorded causes: some kinds of events can have only one kind of cause.

namespace {

class CausesCheck final : public Check {
 public:
  explicit CausesCheck(const Evidence& evidence) : Check(evidence, "causes") {}

  void on(const Row& row) override {
    examined();
    const auto [cause, spent] = row.event.cause;
    const bool is_of_none = cause < 0;
    if (!is_of_none && cause >= std::ssize(dates_)) {
      violated(row, "is caused by event {}, which is later", cause);
    } else if (!is_of_none && date(cause) > row.at) {
      violated(row, "is caused by event {} at {:.9g} s", cause, date(cause));
    } else if (row.is<Received, Lost>() && (cause != row.sent || spent != Spent::network)) {
      violated(row, "is caused by event {}, but was sent as {}", cause, row.sent);
    } else if (row.is_step(ComputePhase::ended) && cause < begun_[row.node]) {
      violated(row, "{} ends a step because of event {}, which was before it", name(row.node), cause);
    } else if (row.is<Wait>() && (is_of_none || date(cause) < row.since)) {
      violated(row, "{} waits from {:.9g} s on for event {}, which was before that", name(row.node),
               row.since, cause);
    } else if (is_of_none && active_.contains(row.node) &&
               (row.is<Sent>() || (row.is<Computation>() && !row.is(ComputePhase::killed)))) {
      violated(row, "{} {} for no reason", name(row.node), row.is<Sent>() ? "sends" : "computes");
    }
    // A message may wait for a worker that starts up; it is no reason before the worker says that it is
    // there.
    const bool is_there = !facts_.is_worker(row.node) || has_sent_.contains(row.node);
    if (row.is<Computation>() || (row.is<Received>() && is_there)) active_.insert(row.node);
    if (row.is<Sent>()) has_sent_.insert(row.node);
    if (row.is_step(ComputePhase::begun)) begun_[row.node] = row.number;
    dates_.resize(static_cast<std::size_t>(row.number) + 1, row.at);
  }

 private:
  double date(std::int64_t event) const { return dates_[static_cast<std::size_t>(event)]; }

  // Nodes that have received or computed anything, and nodes that have sent anything.
  std::set<std::uint32_t> active_, has_sent_;
  std::vector<double> dates_;                    // by event
  std::map<std::uint32_t, std::int64_t> begun_;  // by worker: its last step
};

}  // namespace

void add_cause_check(const Evidence& evidence, Checks& checks) { add_checks<CausesCheck>(evidence, checks); }

// Checks the memory of nodes.

namespace {

class Memory final : public Check {
 public:
  explicit Memory(const Evidence& evidence) : Check(evidence, "memory") {
    if (!summary_.contains("memory")) does_not_apply();
  }

  void on(const Row&) override {}

  void at_end(std::int64_t) override {
    if (!report().applies) return;
    for (const Json& node : summary_.at("memory")) {
      examined();
      const auto bytes = node.at("bytes").get<std::uint64_t>();
      std::uint64_t parts = 0;
      for (const Json& part : node.at("parts")) parts += part.get<std::uint64_t>();
      // Each part is rounded down to whole bytes.
      if (parts > bytes || bytes - parts > node.at("parts").size())
        violated("a {} holds {} bytes, but its parts are {}", node.at("node").get<std::string>(), bytes,
                 parts);
      const Json& limit = node.at("limit_bytes");
      if (!limit.is_null() && bytes > limit.get<std::uint64_t>())
        violated("a {} holds {} bytes of {}", node.at("node").get<std::string>(), bytes, limit.dump());
    }
  }
};

}  // namespace

void add_memory_check(const Evidence& evidence, Checks& checks) { add_checks<Memory>(evidence, checks); }

// Key caching: before a message with a signature instead of a list of keys, the receiver must have been sent
// the list.

namespace {

class Keys final : public Check {
 public:
  explicit Keys(const Evidence& evidence) : Check(evidence, "keys") {
    if (!facts_.plain_values || summary_.contains("groups")) does_not_apply();
  }

  void on(const Row& row) override {
    if (row.is_crash()) ++lives_[row.peer];
    if (row.is<ShardCut>()) cut_.insert({row.shard, row.part});
    const bool is_push = row.is<Sent>(MessageKind::push) && facts_.caches_keys != "pull",
               is_answer = row.is<Sent>(MessageKind::weights) && facts_.caches_keys != "push";
    if ((!is_push && !is_answer) || row.values == 0) return;
    examined();
    constexpr std::uint64_t signature = 8;
    const std::uint64_t values = facts_.header + signature + row.values * facts_.bytes_per_value;
    const std::uint64_t keys = row.values * facts_.bytes_per_listed_key;
    const Connection connection{row.shard, row.epoch, row.node, row.peer, lives_[row.node]};
    if (row.bytes == values + keys) known_.insert(connection);
    else if (row.bytes != values && cut_.contains(row.shard)) return;  // it may be a part of a message
    else if (row.bytes != values)
      violated(row, "a {} of {} values has {} bytes, not {} or, with its keys, {}", row.word(), row.values,
               row.bytes, values, values + keys);
    else if (!known_.contains(connection))
      violated(row, "{} sends {} a {} for shard {} without its keys, and has sent it none before",
               name(row.node), name(row.peer), row.word(), row.shard);
  }

 private:
  // Shard, epoch, sender, receiver, and the number of crashes of the sender. The sender may not know yet that
  // the receiver crashed; then its message counts as lost.
  using Connection = std::tuple<std::uint32_t, std::int64_t, std::uint32_t, std::uint32_t, int>;
  std::set<Connection> known_;
  std::set<std::uint32_t> cut_;  // shards
  std::map<std::uint32_t, int> lives_;
};

}  // namespace

void add_key_check(const Evidence& evidence, Checks& checks) {
  if (!evidence.facts.caches_keys.empty()) add_checks<Keys>(evidence, checks);
}

// Checks the weights with which inference nodes answer, and how stale they are.

namespace {

class Served final : public Check {
 public:
  explicit Served(const Evidence& evidence) : Check(evidence, "served"), shards_(evidence.shards) {}

  void on(const Row& row) override {
    history_.follow_versions(row, versions_);
    if (row.is<ShardCut>()) ++shards_;
    if ((row.is<ModelUpdate>() && facts_.is_server(row.node)) || row.is<Promotion>()) look_for_newest();
    if (row.is<Received>(MessageKind::weights)) received_[row.node].insert(row.version);
    if (!row.is<Prediction>()) return;
    examined();
    if (row.version > 0 && !received_[row.node].contains(row.version))
      violated(row, "{} answers with version {}, which no server has sent to it", name(row.node),
               row.version);
    if (row.staleness != most_ - row.version)
      violated(row, "{} answers with version {} and says that it is {} versions old; servers have had {}",
               name(row.node), row.version, row.staleness, most_);
  }

 private:
  void look_for_newest() {
    // All other shards have version 0. The first message about them may still wait in a queue.
    if (versions_.size() < shards_) return;
    const auto least = std::ranges::min_element(versions_, {}, [](const auto& one) { return one.second; });
    most_ = std::max(most_, least->second);
  }

  std::size_t shards_;  // number of shards
  std::map<std::uint32_t, std::int64_t>
      versions_;           // by shard; only shards that were updated, cut or taken over
  std::int64_t most_ = 0;  // the highest version that all shards have reached
  std::map<std::uint32_t, std::set<std::int64_t>> received_;  // versions, by node
};

}  // namespace

void add_serving_check(const Evidence& evidence, Checks& checks) { add_checks<Served>(evidence, checks); }

}  // namespace psim::analysis
