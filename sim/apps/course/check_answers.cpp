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
#include "sim/runs/scratch.hpp"
#include "sim/runs/shell.hpp"

namespace psim::cli {
namespace {

std::string as_block(const std::string& text) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) out += fmt::format("    {}\n", line);
  return out;
}

// The score of each seed, with what the lab shows beside it.
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
    else if (!one.keeps_limit) table += fmt::format("   `{}` does not hold", design.within);
  }
  return table;
}

// What is done with a question: its line, and more below it.
struct Said {
  std::string line, more;
  bool is_settled = false;
};

// Checks answers one after the other, predictions before what a run would show.
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
      fmt::print("\nlocked until your own runs have shown what is right: {}\n", fmt::join(locked_, ", "));
    fmt::print("\n{} of {} are settled; next: {}\n", right, lab_.questions.size(),
               all ? "psim lab hand-in" : "answer the others in answers.toml, then psim lab check");
    return all ? done : answer_is_no;
  }

 private:
  // Before any run that would show what is right.
  void lock_predictions() {
    for (const LabQuestion& question : lab_.questions) {
      if (!question.predict) continue;
      // One that the lab's author made unreadable since, by other choices, is made anew.
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
      return {question.predict ? fmt::format("locked: {}; it is compared when all predictions are made",
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

  // What is right of a prediction is printed once the student's own run has shown it. Nothing: it has.
  std::optional<Said> observe(const LabQuestion& question, const std::string& prediction) {
    const LabQuestion observation = observation_of(question);
    const auto observed = session_.answer(observation);
    const std::string locked = fmt::format("locked: {}", as_read(question, prediction)),
                      how = filled(observation.asks, drawn_) + "\n" + commands(observation);
    if (observed && !is_readable(observation, *observed))
      return Said{fmt::format("{}; {} {}", locked, observation.name, unreadable(observation)), how};
    if (observed && mark_of(observation, *observed, solver_.right(observation)) == Mark::right) return {};
    locked_.push_back(question.name);
    if (!observed) return Said{fmt::format("{}; now run it, and write {}", locked, observation.name), how};
    session_.miss(observation.name, *observed);
    return Said{fmt::format("{}; your runs do not show {}", locked, as_read(observation, *observed)),
                how + hints(observation)};
  }

  static std::string unreadable(const LabQuestion& question) {
    return fmt::format("cannot be read: write {}", form_of(question));
  }

  // A prediction is over once it is compared, right or not.
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

  // Each wrong answer shows a hint more.
  std::string hints(const LabQuestion& question) const {
    const std::size_t misses = session_.misses(question.name).size();
    std::string shown;
    for (std::size_t i = 0; i < std::min(misses, question.hints.size()); ++i)
      shown += fmt::format("hint {}: {}\n", i + 1, filled(question.hints[i], drawn_));
    return shown;
  }

  // How a student makes a run of the lab.
  std::string command(const LabRun& run) const {
    std::string line = "psim run " + file_word(run.scenario);
    for (const std::string& set : run.sets) line += " --set " + shell_word(filled(set, drawn_));
    return line;
  }
  // Those of all runs that show the answer to a question, a line for each.
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

  // Which run says more, in the student's own words for it.
  std::string why(const LabQuestion& question) const {
    const auto run = std::ranges::find(lab_.runs, question.look, &LabRun::name);
    return run == lab_.runs.end() ? ""
                                  : fmt::format("to see why: {}, then psim why runs/latest\n", command(*run));
  }

  // Its runs are nowhere to be seen: one of them is the design that it is compared with.
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
      fmt::print("{:<24}{:.0f} % of the way, over seeds 1 to {} (it is judged on others)\n{}", design.file,
                 100 * mean_score(trials), design.seeds, as_block(table_of(design, trials)));
    } catch (const Refused& refusal) {
      fmt::print("{:<24}counts nothing as it is\n{}", design.file, as_block(refusal.what()));
    }
  }

  // Slips that no answer shows.
  void warn() const {
    if (const auto names = session_.answered_nowhere(lab_); !names.empty())
      fmt::print("\nanswers.toml has {}, which this lab does not ask\n", fmt::join(names, ", "));
    for (const std::string& file : changed_files(lab_, session_))
      fmt::print("\n{} is not as it was given out: try changes with --set, or in a copy\n", file);
  }

  const Lab& lab_;
  LabSession& session_;
  Drawn drawn_;
  ScratchFolder scratch_{"psim-lab"};  // the student's own runs are the student's
  LabSolver solver_;
  std::vector<std::string> open_, locked_;  // predictions: not made, and not observed
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
