// psim what-if.
#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <limits>
#include <set>
#include <stdexcept>
#include <utility>

#include "analysis/causes/explain.hpp"
#include "analysis/whatif/report.hpp"
#include "sim/apps/cli/command.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/understand.hpp"
#include "sim/record/identity.hpp"
#include "sim/runs/again.hpp"
#include "sim/runs/answer.hpp"
#include "sim/runs/files.hpp"
#include "sim/runs/interrupt.hpp"
#include "sim/runs/process.hpp"
#include "sim/runs/request.hpp"

namespace psim::cli {
namespace {

using analysis::Change;
using analysis::Outcome;

// Makes runs with changes in separate processes, and reads them.
class Reruns {
 public:
  // Throws Refused if psim cannot repeat the run exactly.
  explicit Reruns(const fs::path& path) : path_(path), scratch_("psim-what-if") {
    const FinishedRun run = open_run(path);
    if (run.summary.at("scenario_hash") != scenario_hash(load_again(run)))
      throw Refused(fmt::format("psim cannot repeat {}: psim, or a file that the scenario names, has changed",
                                path.string()),
                    "with --predict-only psim needs no run");
    for (std::string& dir : data_dirs_of(run)) {
      if (fs::is_directory(dir)) data_dirs_.push_back(std::move(dir));
    }
  }

  // Throws Refused if the changed scenario cannot run.
  analysis::Rerun of(const Outcome& outcome) {
    const fs::path folder = scratch_.path() / fmt::format("run-{}", ++number_);
    std::vector<std::string> words{
        "run", (path_ / "scenario.toml").string(), "--trace", "events", "--out", folder.string()};
    for (const std::string& set : outcome.sets) words.insert(words.end(), {"--set", set});
    for (const std::string& dir : data_dirs_) words.insert(words.end(), {"--data-dir", dir});
    const fs::path log = folder.string() + ".log";
    const int status = run_to_end(std::move(words), log);
    if (WIFEXITED(status) && WEXITSTATUS(status) == our_fault)  // a full disk is not the change's fault
      throw std::runtime_error(fmt::format("cannot run {}: {}", outcome.change.text, read_file(log)));
    const bool is_made =
        WIFEXITED(status) && (WEXITSTATUS(status) == done || WEXITSTATUS(status) == answer_is_no);
    if (!is_made || !fs::exists(folder / "summary.json"))
      throw Refused(
          fmt::format("cannot run {}: {}\n{}", outcome.change.text, how_it_ended(status), read_file(log)),
          "with --predict-only psim needs no run");
    const analysis::RunRecord record(folder);
    analysis::Rerun rerun = analysis::rerun_of(record, analysis::causal_graph(record));
    remove_scratch(folder);
    return rerun;
  }

 private:
  int run_to_end(std::vector<std::string> words, const fs::path& log) const {
    const OpenFile file = open_for_writing(log);
    const pid_t child = start_psim(std::move(words), file, file);
    int status = 0;
    for (;;) {
      interrupts_.wait();
      if (const int signal = interrupts_.pending(); signal != 0) {
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        throw Interrupted{signal, "interrupted: nothing was kept"};
      }
      if (waitpid(child, &status, WNOHANG) == child) return status;
    }
  }

  InterruptsHeld interrupts_;  // until the temporary folder is removed
  fs::path path_;
  ScratchFolder scratch_;
  std::vector<std::string> data_dirs_;
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

// A requested change, and the prediction of the causal graph.
struct Question {
  Outcome outcome;
  std::optional<analysis::Prediction> prediction;
};

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
    if (change.what == Change::What::set && !command.predict_only)
      wrong.check([&] { check_loads(run, change.sets); });
  }
  wrong.throw_if_any();
  return changes;
}

// Throws Invalid with all changes that the user names and psim can neither predict nor run.
std::vector<Question> questions_of(const WhatIfCommand& command, const analysis::RunRecord& record,
                                   const analysis::CausalGraph& graph, const analysis::Predictor& predictor,
                                   const fs::path& run) {
  std::vector<Change> changes = changes_asked_for(command, record, run);
  const bool is_named = !changes.empty();
  if (!is_named)
    changes = analysis::usual_changes(record, graph, busiest_of(graph, record, predictor.original().end));
  std::vector<Question> questions;
  Refusals wrong;
  for (Change& change : changes) {
    Question question{.outcome = {}, .prediction = predictor.of(change)};
    if (question.prediction) question.outcome.predicted = question.prediction->end;
    try {
      question.outcome.sets = analysis::sets_of(change, run, record.facts);
    } catch (const analysis::Unverifiable& impossible) {
      if (!question.prediction && is_named) wrong.check([&] { throw impossible; });
      if (!question.prediction) continue;
      question.outcome.no_rerun = fmt::format("{}; {}", impossible.what(), impossible.help);
    }
    question.outcome.change = std::move(change);
    questions.push_back(std::move(question));
  }
  wrong.throw_if_any();
  return questions;
}

// Sorts changes by their predicted effect, the best first. Changes without a prediction come last, but
// no-faults is the first of these, because a stuck run needs it.
void rank(std::vector<Question>& questions) {
  std::ranges::stable_sort(questions, {}, [](const Question& one) {
    return std::pair(one.outcome.predicted.value_or(std::numeric_limits<double>::infinity()),
                     one.outcome.change.what != Change::What::no_fault);
  });
}

void run_again(const fs::path& run, const analysis::Predictor& predictor, std::vector<Question>& questions,
               bool only_the_first) {
  Reruns reruns(run);
  for (Question& question : questions) {
    Outcome& outcome = question.outcome;
    if (!outcome.no_rerun.empty()) continue;
    outcome.rerun = reruns.of(outcome);
    if (!predictor.is_stuck())
      outcome.same_steps = analysis::same_steps_of(predictor.original(), outcome.rerun->actual);
    if (question.prediction)
      outcome.error = analysis::error_of(*question.prediction, predictor.original(), outcome.rerun->actual);
    if (only_the_first) return;
  }
}

}  // namespace

int what_if(const WhatIfCommand& command) {
  const fs::path run = run_named(command.run);
  const analysis::RunRecord record = open_record(run);
  const analysis::CausalGraph graph = analysis::causal_graph(record);
  if (graph.size() == 0) throw analysis::Unverifiable("nothing happened in this run", "choose another run");
  const analysis::Predictor predictor(record, graph);
  std::vector<Question> questions = questions_of(command, record, graph, predictor, run);
  const bool is_ranked = command.rank || (command.changes.empty() && command.sets.empty());
  if (is_ranked) rank(questions);
  if (!command.predict_only) run_again(run, predictor, questions, is_ranked);
  analysis::WhatIf all{.original = predictor.original().end,
                       .as_it_was = analysis::rerun_of(record, graph),
                       .replay_error = predictor.replay_error(),
                       .outcomes = {},
                       .attribution = attribution_of(record, graph, predictor)};
  if (command.changes.empty() && command.sets.empty())
    all.unpredictable = analysis::unpredictable_changes(record);
  for (Question& question : questions) all.outcomes.push_back(std::move(question.outcome));
  if (command.json) fmt::print("{}\n", analysis::document(all).dump(2));
  else
    fmt::print("{}",
               analysis::text(all, record.facts, static_cast<std::size_t>(terminal_width().value_or(100))));
  return done;
}

}  // namespace psim::cli
