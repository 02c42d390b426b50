#include "sim/apps/course/check_answers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/target.hpp"
#include "sim/apps/course/answer.hpp"
#include "sim/apps/course/solver.hpp"
#include "sim/runs/files.hpp"
#include "sim/runs/process.hpp"

namespace psim::cli {
namespace {

std::string as_block(const std::string& text) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) out += fmt::format("    {}\n", line);
  return out;
}

// The score of each seed, with the further values that the lab shows.
std::string table_of(const LabDesign& design, const std::vector<Trial>& trials) {
  std::string table = "seed   score";
  for (const auto& [name, expression] : design.shows) table += "   " + name;
  for (const Trial& one : trials) {
    table += fmt::format("\n{:>4}{:>6.0f} %", one.seed, 100 * one.score);
    for (std::size_t i = 0; i < one.shown.size(); ++i)
      table +=
          fmt::format("   {:>{}}", std::isnan(one.shown[i]) ? "never" : fmt::format("{:.4g}", one.shown[i]),
                      design.shows[i].first.size());
    if (one.is_stuck) table += "   stuck";
    else if (!one.keeps_limit) table += fmt::format("   the limit `{}` is not met", design.within);
  }
  return table;
}

// The output for a question: its line, and further lines below.
struct Said {
  std::string line, more;
  bool is_settled = false;
};

// Checks the answers in order. Predictions come first, before any run shows the answer.
class Checker {
 public:
  Checker(const Lab& lab, LabSession& session)
      : lab_(lab),
        session_(session),
        drawn_(draw(lab, session.student())),
        solver_(lab, drawn_, scratch_.path()) {}

  int check() {
    lock_predictions();
    std::size_t right = 0;
    for (const LabQuestion& question : lab_.questions) {
      const Said said = check(question);
      fmt::print("{:<24}{}\n{}", question.name, said.line, as_block(said.more));
      right += said.is_settled ? 1 : 0;
    }
    if (lab_.design) check_design();
    warn();
    const bool all = right == lab_.questions.size();
    if (!locked_.empty())
      fmt::print("\nlocked until your own runs show the right answer: {}\n", fmt::join(locked_, ", "));
    fmt::print("\n{} of {} settled; next: {}\n", right, lab_.questions.size(),
               all ? "psim lab hand-in" : "answer the other questions in answers.toml, then psim lab check");
    return all ? done : answer_is_no;
  }

 private:
  // Locks predictions before any run can show the right answer.
  void lock_predictions() {
    for (const LabQuestion& question : lab_.questions) {
      if (!question.predict) continue;
      // If the author has changed the choices and made a prediction unreadable, the student predicts again.
      const auto locked = session_.locked(question.name);
      if (locked && is_readable(question, *locked)) continue;
      const auto answer = session_.answer(question);
      if (answer && is_readable(question, *answer)) session_.lock(question.name, *answer);
      else open_.push_back(question.name);
    }
  }

  Said check(const LabQuestion& question) {
    const auto answer = question.predict ? session_.locked(question.name) : session_.answer(question);
    if (!answer) return {question.predict && session_.answer(question) ? unreadable(question) : "open", {}};
    if (question.predict && !is_readable(question, *answer)) return {unreadable(question), {}};
    if (!open_.empty())
      return {question.predict ? fmt::format("locked: {}; psim compares it after all predictions",
                                             as_read(question, *answer))
                               : fmt::format("first predict {}", fmt::join(open_, ", ")),
              {}};
    if (question.predict) {
      if (const auto waits = observe(question, *answer)) return *waits;
    }
    const RightAnswer right = solver_.right(question);
    const Mark mark = mark_of(question, *answer, right);
    if (mark == Mark::unreadable) return {unreadable(question), {}};
    if (question.predict) return settle(question, *answer, right, mark);
    if (mark == Mark::right) return {"right", solver_.told(question.because), true};
    session_.miss(question.name, *answer);
    return {fmt::format("not right: {}", as_read(question, *answer)), hints(question) + why(question)};
  }

  // Prints the right answer to a prediction only after the student's own run has shown it. Returns nothing in
  // that case.
  std::optional<Said> observe(const LabQuestion& question, const std::string& prediction) {
    const LabQuestion observation = observation_of(question);
    const auto observed = session_.answer(observation);
    const std::string locked = fmt::format("locked: {}", as_read(question, prediction)),
                      how = filled(observation.asks, drawn_) + "\n" + commands(observation);
    if (observed && !is_readable(observation, *observed))
      return Said{fmt::format("{}; {} {}", locked, observation.name, unreadable(observation)), how};
    if (observed && mark_of(observation, *observed, solver_.right(observation)) == Mark::right) return {};
    locked_.push_back(question.name);
    if (!observed) return Said{fmt::format("{}; now run it and fill in {}", locked, observation.name), how};
    session_.miss(observation.name, *observed);
    return Said{fmt::format("{}; your runs do not show {}", locked, as_read(observation, *observed)),
                how + hints(observation)};
  }

  static std::string unreadable(const LabQuestion& question) {
    return fmt::format("psim cannot read this: write {}", form_of(question));
  }

  // A prediction is finished once it is compared, right or wrong.
  Said settle(const LabQuestion& question, const std::string& answer, const RightAnswer& right, Mark mark) {
    const auto now = session_.answer(question);
    const std::string counts = as_read(question, answer),
                      stays = now && *now != answer
                                  ? fmt::format(" (your first prediction counts: {})", counts)
                                  : "";
    if (mark == Mark::right)
      return {fmt::format("as you predicted: it is {}{}", answer_text(question, right), stays),
              solver_.told(question.because), true};
    return {fmt::format("you predicted {}; it is {}{}", counts, answer_text(question, right), stays),
            solver_.told(question.because) + "\n" + why(question), true};
  }

  // Each wrong answer shows one more hint.
  std::string hints(const LabQuestion& question) const {
    const std::size_t misses = session_.misses(question.name).size();
    std::string shown;
    for (std::size_t i = 0; i < std::min(misses, question.hints.size()); ++i)
      shown += fmt::format("hint {}: {}\n", i + 1, filled(question.hints[i], drawn_));
    return shown;
  }

  // The command for a run of the lab.
  std::string command(const LabRun& run) const {
    std::string line = "psim run " + file_word(run.scenario);
    for (const std::string& set : run.sets) line += " --set " + shell_word(filled(set, drawn_));
    return line;
  }
  // The commands for all runs that show the answer to a question, one per line.
  std::string commands(const LabQuestion& question) const {
    std::string lines;
    for (const LabRun& run : lab_.runs) {
      const auto shows = [&run](const std::string& name) { return name.starts_with(run.name + "."); };
      const bool is_used = std::ranges::any_of(question.answer, [&](const std::string& expression) {
        return std::ranges::any_of(names_in(filled(expression, drawn_)), shows);
      });
      if (is_used) lines += "  " + command(run) + "\n";
    }
    return lines;
  }

  // The command for the run that explains the answer.
  std::string why(const LabQuestion& question) const {
    const auto run = std::ranges::find(lab_.runs, question.look, &LabRun::name);
    return run == lab_.runs.end() ? ""
                                  : fmt::format("to see why: {}, then psim why runs/latest\n", command(*run));
  }

  // Does not show the runs, because one of them is the reference design.
  void check_design() {
    const LabDesign& design = *lab_.design;
    const auto text = session_.design(design);
    if (!text || text->empty()) {
      fmt::print("{:<24}open\n", design.file);
      return;
    }
    if (!open_.empty()) {
      fmt::print("{:<24}first predict {}\n", design.file, fmt::join(open_, ", "));
      return;
    }
    LabSolver solver(lab_, drawn_, scratch_.path());
    std::vector<std::int64_t> seeds(static_cast<std::size_t>(design.seeds));
    std::iota(seeds.begin(), seeds.end(), 1);
    try {
      const std::vector<Trial> trials = solver.judge(*text, seeds);
      fmt::print("{:<24}score {:.0f} %, over seeds 1 to {} (grading uses other seeds)\n{}", design.file,
                 100 * mean_score(trials), design.seeds, as_block(table_of(design, trials)));
    } catch (const Refused& refusal) {
      fmt::print("{:<24}scores 0 until it is fixed\n{}", design.file, as_block(refusal.what()));
    }
  }

  // Mistakes that the answers do not show.
  void warn() const {
    if (const auto names = session_.answered_nowhere(lab_); !names.empty())
      fmt::print("\nanswers.toml has {}, but this lab has no such question\n", fmt::join(names, ", "));
    for (const std::string& file : changed_files(lab_, session_))
      fmt::print("\n{} has changed: to try other values use --set or a copy\n", file);
  }

  const Lab& lab_;
  LabSession& session_;
  Drawn drawn_;
  ScratchFolder scratch_{"psim-lab"};  // psim's runs stay apart from the student's runs
  LabSolver solver_;
  std::vector<std::string> open_, locked_;  // predictions: not yet made, and not yet observed
};

}  // namespace

int check_answers(const Lab& lab, LabSession& session) { return Checker(lab, session).check(); }

std::vector<std::string> changed_files(const Lab& lab, const LabSession& session) {
  const Drawn drawn = draw(lab, session.student());
  std::vector<std::string> changed;
  std::error_code error;
  for (const std::string& name : scenario_files(lab)) {
    const fs::path file = session.folder() / name;
    if (!fs::is_regular_file(file, error) || read_file(file) != given_out(lab, name, drawn))
      changed.push_back(name);
  }
  return changed;
}

}  // namespace psim::cli
