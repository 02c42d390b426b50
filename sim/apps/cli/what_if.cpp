// psim what-if.
#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <stdexcept>
#include <utility>

#include "analysis/causes/explain.hpp"
#include "analysis/whatif/report.hpp"
#include "sim/apps/cli/command.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/further.hpp"
#include "sim/apps/cli/progress.hpp"
#include "sim/apps/cli/understand.hpp"
#include "sim/record/identity.hpp"
#include "sim/runs/again.hpp"
#include "sim/runs/answer.hpp"
#include "sim/runs/files.hpp"
#include "sim/runs/interrupt.hpp"
#include "sim/runs/process.hpp"
#include "sim/runs/request.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim::cli {
namespace {

using analysis::Change;
using analysis::ChangeOutcome;

// Makes runs with changes in separate processes, several at once, and reads them.
class Reruns {
 public:
  // Throws Refused if psim cannot repeat the run exactly.
  Reruns(const fs::path& path, std::size_t jobs) : path_(path), scratch_("psim-what-if"), jobs_(jobs) {
    const FinishedRun run = open_run(path);
    if (run.summary.at("scenario_hash") != scenario_hash(load_again(run)))
      throw Refused(fmt::format("psim cannot repeat {}: psim, or a file that the scenario names, has changed",
                                path.string()),
                    "run the scenario again, and ask about the new run");
    for (std::string& dir : data_dirs_of(run)) {
      if (fs::is_directory(dir)) data_dirs_.push_back(std::move(dir));
    }
  }

  // Makes the re-run of each outcome that has no reason against it. Throws Refused if one cannot run.
  void make(std::vector<ChangeOutcome>& outcomes) {
    std::vector<ChangeOutcome*> waiting;
    for (ChangeOutcome& one : outcomes) {
      if (one.no_rerun.empty()) waiting.push_back(&one);
    }
    std::ranges::reverse(waiting);
    const std::size_t all = waiting.size();
    StudyProgress progress;
    while (!waiting.empty() || !running_.empty()) {
      for (; running_.size() < jobs_ && !waiting.empty(); waiting.pop_back()) start(*waiting.back());
      interrupts_.wait();
      if (const int signal = interrupts_.pending(); signal != 0) {
        running_.clear();
        throw Interrupted{signal, "interrupted: nothing was kept"};
      }
      std::erase_if(running_, [&](Running& one) {
        if (!one.child->ends_within(std::chrono::milliseconds(0))) return false;
        read(one);
        return true;
      });
      progress.on_progress(all - waiting.size() - running_.size(), all, 0);
    }
    progress.on_end();
  }

 private:
  struct Running {
    ChangeOutcome* outcome;
    fs::path folder, log;
    std::unique_ptr<Child> child;
  };

  void start(ChangeOutcome& outcome) {
    const fs::path folder = scratch_.path() / fmt::format("run-{}", ++number_);
    std::vector<std::string> words{
        "run",          (path_ / "scenario.toml").string(), "--threads", "1", "--trace", "events", "--out",
        folder.string()};
    for (const std::string& set : outcome.sets) words.insert(words.end(), {"--set", set});
    for (const std::string& dir : data_dirs_) words.insert(words.end(), {"--data-dir", dir});
    const fs::path log = folder.string() + ".log";
    running_.push_back(
        {&outcome, folder, log, std::make_unique<Child>(std::move(words), folder.string() + ".out", log)});
  }

  void read(Running& one) const {
    const int status = one.child->wait();
    if (WIFEXITED(status) && WEXITSTATUS(status) == our_fault)  // a full disk is not the change's fault
      throw std::runtime_error(
          fmt::format("cannot run {}: {}", one.outcome->change.text, read_file(one.log)));
    const bool is_made =
        WIFEXITED(status) && (WEXITSTATUS(status) == done || WEXITSTATUS(status) == answer_is_no);
    if (!is_made || !fs::exists(one.folder / "summary.json")) {
      one.outcome->no_rerun = fmt::format("{}\n{}", how_it_ended(status), read_file(one.log));
      return;
    }
    const analysis::RunRecord record(one.folder);
    one.outcome->rerun = analysis::rerun_of(record, analysis::causal_graph(record));
    remove_scratch(one.folder);
  }

  InterruptsHeld interrupts_;  // until the temporary folder is removed
  fs::path path_;
  ScratchFolder scratch_;
  std::size_t jobs_;
  std::vector<std::string> data_dirs_;
  std::vector<Running> running_;
  int number_ = 0;
};

// The worker with the most computing on the critical path; the scheduler if no worker has any.
std::uint32_t busiest_of(const analysis::CausalGraph& graph, const analysis::RunRecord& record, double end) {
  const std::uint32_t last = analysis::end_of(graph, end, record.summary, {}, analysis::Until::What::end);
  std::vector<double> seconds(1 + record.facts.servers + record.facts.workers, 0);
  if (last == analysis::CausalGraph::none) return 0;
  for (const analysis::PathPiece& piece : analysis::path_to(graph, last, end)) {
    if (piece.kind == analysis::Kind::compute && piece.node < seconds.size())
      seconds[piece.node] += piece.seconds();
  }
  return static_cast<std::uint32_t>(std::ranges::max_element(seconds) - seconds.begin());
}

// Several --set are one change, as in `psim run`.
Change set_change(const std::vector<std::string>& sets) {
  Change change{.what = Change::What::set, .nodes = {}, .text = {}, .sets = sets};
  std::set<std::string> keys;
  for (const std::string& set : sets) {
    const std::optional<Override> one = override_of(set);
    if (!one)
      throw Refused(fmt::format("--set {}: an override needs a key and a value", set),
                    "for example --set cluster.workers=16");
    if (!keys.insert(one->key).second)
      throw Refused(fmt::format("--set {}: {} has a value already", set, one->key),
                    "several --set are one change; use one command for each value");
    change.text += (change.text.empty() ? "" : " ") + set;
  }
  return change;
}

// Throws Invalid if the run's scenario does not load with these settings.
void check_loads(const fs::path& run, const std::vector<std::string>& sets) {
  Diagnostics diagnostics;
  Command command;
  command.scenario = (run / "scenario.toml").string();
  command.sets = sets;
  for (const std::string& dir : data_dirs_of(open_run(run))) {
    if (fs::is_directory(dir)) command.data_dirs.push_back(dir);
  }
  const LoadRequest request = load_request(command, diagnostics);
  if (!load_scenario(request, diagnostics) || !diagnostics.empty()) throw Invalid{diagnostics.render()};
}

std::vector<Change> changes_asked_for(const WhatIfCommand& command, const analysis::RunRecord& record,
                                      const fs::path& run) {
  std::vector<Change> changes;
  Refusals wrong;
  for (const std::string& text : command.changes) {
    wrong.check([&] {
      for (Change& change : analysis::changes_of(text, record.facts)) changes.push_back(std::move(change));
    });
  }
  if (!command.sets.empty()) wrong.check([&] { changes.push_back(set_change(command.sets)); });
  for (const Change& change : changes) {
    if (change.what == Change::What::set) wrong.check([&] { check_loads(run, change.sets); });
  }
  wrong.throw_if_any();
  return changes;
}

// Throws Invalid with all changes that the user names and no fields express. Leaves out other such changes.
std::vector<ChangeOutcome> outcomes_of(const WhatIfCommand& command, const analysis::RunRecord& record,
                                       const analysis::CausalGraph& graph, const fs::path& run) {
  std::vector<Change> changes = changes_asked_for(command, record, run);
  const bool is_named = !changes.empty();
  if (!is_named)
    changes =
        analysis::usual_changes(record, graph, busiest_of(graph, record, record.summary.at("sim_time_s")));
  std::vector<ChangeOutcome> outcomes;
  Refusals wrong;
  for (Change& change : changes) {
    try {
      std::vector<std::string> sets = analysis::sets_of(change, run, record.facts);
      outcomes.push_back({.change = std::move(change), .sets = std::move(sets)});
    } catch (const analysis::Unverifiable& impossible) {
      if (is_named) wrong.check([&] { throw impossible; });
    }
  }
  wrong.throw_if_any();
  return outcomes;
}

// Asks before re-runs that take longer than a minute, by the time that the run took.
void check_patience(const WhatIfCommand& command, const analysis::RunRecord& record, std::size_t runs,
                    std::size_t jobs) {
  double seconds = 0;
  query(record.database(), "SELECT value FROM host WHERE key = 'wall_s'",
        [&](sqlite3_stmt* row) { seconds = sqlite3_column_double(row, 0); });
  const double all = seconds * std::ceil(static_cast<double>(runs) / static_cast<double>(jobs));
  constexpr double long_time = 60;
  if (all > long_time && !command.yes)
    throw Refused(
        fmt::format("{} take about {}", counted(static_cast<std::int64_t>(runs), "re-run"), time_text(all)),
        "--yes makes them; or name fewer changes");
}

}  // namespace

int what_if(const WhatIfCommand& command) {
  const fs::path run = run_named(command.run);
  const analysis::RunRecord record = open_record(run);
  const analysis::CausalGraph graph = analysis::causal_graph(record);
  if (graph.size() == 0) throw analysis::Unverifiable("nothing happened in this run", "choose another run");
  analysis::WhatIf all{.original = analysis::rerun_of(record, graph),
                       .outcomes = outcomes_of(command, record, graph, run)};
  const std::size_t jobs = thread_count(command.jobs);
  check_patience(command, record, all.outcomes.size(), jobs);
  Reruns(run, jobs).make(all.outcomes);
  const bool is_named = !command.changes.empty() || !command.sets.empty();
  for (ChangeOutcome& one : all.outcomes) {
    if (is_named && !one.no_rerun.empty())
      throw Refused(fmt::format("cannot run {}: {}", one.change.text, one.no_rerun), "");
    if (one.rerun && !one.rerun->is_stuck && !all.original.is_stuck)
      one.same_steps = analysis::same_steps_of(all.original, *one.rerun);
  }
  if (!is_named)  // the best first
    std::ranges::stable_sort(all.outcomes, {}, [](const ChangeOutcome& one) {
      return one.same_steps ? one.same_steps->seconds : std::numeric_limits<double>::infinity();
    });
  if (command.json) fmt::print("{}\n", analysis::document(all).dump(2));
  else
    fmt::print("{}",
               analysis::text(all, record.facts, static_cast<std::size_t>(terminal_width().value_or(100))));
  return done;
}

}  // namespace psim::cli
