
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>

#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/subcommand.hpp"
#include "sim/apps/cli/target.hpp"
#include "sim/apps/course/answer.hpp"
#include "sim/apps/course/session.hpp"
#include "sim/apps/course/solver.hpp"
#include "sim/runs/answer.hpp"
#include "sim/runs/files.hpp"
#include "sim/runs/process.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim::cli {

// The command line of the course.

namespace {

const Subcommand lab_table[] = {
    command<LabCommand>(
        "lab",
        [](CLI::App* app, LabCommand& a) {
          option(app, "words", a.words)
              ->type_name("list | start NUMBER | check | status | hand-in | try NUMBER | exam NUMBER");
          option(app, "--student", a.student)->check(not_empty("student"));
          option(app, "--in", a.folder)->check(not_empty("folder"));
          option(app, "-o,--out", a.out)->check(not_empty("folder"));
          option(app, "--course", a.course)->check(not_empty("folder"));
          option(app, "--answers", a.answers);
        },
        lab),
    command<GradeCommand>(
        "grade",
        [](CLI::App* app, GradeCommand& a) {
          option(app, "files", a.files)->required();
          option(app, "--csv", a.csv)->check(not_empty("file"));
          option(app, "--gradescope", a.gradescope)->check(not_empty("file"));
          option(app, "--junit", a.junit)->check(not_empty("file"));
          option(app, "--page", a.page)->check(not_empty("file"));
          option(app, "--pass", a.pass)->check(CLI::Range(0.0, 100.0));
          option(app, "--secret", a.secret)->check(not_empty("secret"));
          option(app, "--course", a.course)->check(not_empty("folder"));
          option(app, "-j,--jobs", a.jobs)->check(whole(0, 1024));
          option(app, "--answers", a.answers);
          option(app, "--json", a.json);
        },
        grade),
};

}  // namespace

Room lab_subcommands() { return lab_table; }

namespace {

int list_labs(const fs::path& course) {
  const std::vector<Lab> all = labs(course);
  for (const Lab& one : all) {
    fmt::print("{}  {:<52}{:>3} min  {}, {} points{}\n", one.number, one.title, one.minutes,
               counted(std::ssize(one.questions), "question"), one.points(),
               one.design ? ", and a design" : "");
  }
  fmt::print("\nnext: psim lab start {} --student YOUR-ID{}\n", all.front().number,
             course.empty() ? "" : fmt::format(" --course {}", file_word(course.string())));
  return done;
}

// The ID of the command line. Throws Refused, with an example.
std::string student_of(const LabCommand& command, const std::string& example) {
  if (command.student.empty()) throw Refused("the ID of the student is missing", example);
  if (const auto student = id_in(command.student)) return *student;
  throw Refused(fmt::format("`{}` is not a valid ID of a student", command.student),
                "an ID has letters, digits and . _ - @, at most 64 in all");
}

std::int64_t number_of_lab(const LabCommand& command, const char* example) {
  if (command.words.size() != 2) throw Refused("the number of the lab is missing", example);
  return lab_number_in(command.words[1]);
}

int start_lab(const LabCommand& command) {
  Refusals wrong;
  std::int64_t number = 0;
  std::optional<Lab> read;
  const std::optional<std::string> student = id_in(command.student);
  wrong.check([&] {
    number = number_of_lab(command, "psim lab start 1 --student YOUR-ID");
    read = lab_of(number, command.course, student.value_or("nobody"));
  });
  wrong.check([&] {
    student_of(command,
               fmt::format("psim lab start {} --student YOUR-ID", std::max<std::int64_t>(number, 1)));
  });
  const fs::path folder =
      command.out.empty() ? fs::path(fmt::format("lab{}", number)) : fs::path(command.out);
  if (!command.out.empty() || number > 0) wrong.check([&] { LabSession::check_folder(folder); });
  wrong.throw_if_any();
  const Lab& lab = *read;
  LabSession::start(lab, *student, folder, command.course);
  fmt::print(
      "lab {}: {} ({} minutes), for {}\n\n  {}  what to do\n  {}  where your answers go\n\n"
      "next: read README.md, write your predictions, then `cd {} && psim lab check`\n",
      lab.number, lab.title, lab.minutes, *student, (folder / "README.md").string(),
      (folder / "answers.toml").string(), shell_word(folder.string()));
  return done;
}

int show_status(const Lab& lab, const LabSession& session) {
  fmt::print("lab {}: {}, for {}\n\n", lab.number, lab.title, session.student());
  for (const LabQuestion& one : lab.questions) {
    const std::vector<std::string> misses = session.misses(one.name);
    const auto answer = session.answer(one);
    const bool is_observed = one.predict && session.answer(observation_of(one));
    const char* state = session.locked(one.name) && is_observed && session.reason(one.name)
                            ? "locked, observed, explained"
                        : session.locked(one.name) && is_observed            ? "locked, observed"
                        : session.locked(one.name)                           ? "locked"
                        : !answer                                            ? "open"
                        : std::ranges::find(misses, *answer) != misses.end() ? "not right"
                                                                             : "answered";
    fmt::print(
        "{:<24}{}{}\n", one.name, state,
        misses.empty() ? "" : fmt::format(" ({} wrong so far: {})", misses.size(), fmt::join(misses, ", ")));
  }
  fmt::print("\nnext: psim lab check, and psim lab hand-in when all answers are right\n");
  return done;
}

// Warns of parts of a hand-in that look like answers but score 0.
void warn(const Lab& lab, const LabSession& session, LabSolver& solver) {
  std::vector<std::string> open, unchecked, unreadable, unobserved, unexplained;
  for (const LabQuestion& one : lab.questions) {
    const auto answer = session.answer(one);
    if (one.predict && session.locked(one.name)) {
      const auto observed = session.answer(observation_of(one));
      if (!observed || !is_readable(observation_of(one), *observed)) unobserved.push_back(one.name);
      else if (!session.reason(one.name)) unexplained.push_back(one.name);
      continue;
    }
    if (!answer) open.push_back(one.name);
    else if (!is_readable(one, *answer)) unreadable.push_back(one.name);
    else if (one.predict) unchecked.push_back(one.name);
  }
  const auto say_of = [](const std::vector<std::string>& names, const char* what) {
    if (!names.empty()) fmt::print("{}: {}\n", what, fmt::join(names, ", "));
  };
  say_of(open, "open");
  say_of(unreadable, "unreadable answers, which score 0 (`psim lab check` says why)");
  say_of(unchecked, "predictions that were never checked, which score 0 (`psim lab check` locks them)");
  say_of(unobserved, "predictions without the value from your own run (it gives half of their points)");
  say_of(unexplained,
         "predictions without a reason of one sentence (with the value, it gives half of their points)");
  say_of(session.answered_nowhere(lab), "names in answers.toml that this lab does not have");
  say_of(changed_files(lab, session),
         "changed files, which the grader sees (`psim lab start` with another --out writes the originals)");
  if (!lab.design) return;
  try {
    const auto design = session.design(*lab.design);
    if (!design) fmt::print("no design: {}\n", lab.design->file);
    else solver.judge(*design, {1});
  } catch (const Refused& refusal) {
    fmt::print("the design scores 0: {}\n", refusal.what());
  }
}

int hand_in(const Lab& lab, const LabSession& session, const std::string& out) {
  const fs::path path = out.empty()
                            ? session.folder() / fmt::format("lab{}-{}.json", lab.number, session.student())
                            : fs::path(out);
  check_own(path, {"\"psim.hand-in/2\"", "\"psim.hand-in/1\""}, "psim lab hand-in");
  const ScratchFolder scratch("psim-lab");
  LabSolver solver(lab, draw(lab, session.student()), scratch.path());
  const Json file = hand_in_of(lab, session, solver);
  const std::string text = file.dump(2) + "\n";
  hand_in_in(text, "this hand-in");
  put_file(path, text);
  fmt::print("wrote {}\n", path.string());
  warn(lab, session, solver);
  return done;
}

constexpr std::size_t most_trials = 20;  // IDs

std::string trial_id(std::size_t number) { return fmt::format("trial-{}", number); }

// A small set of IDs that draws each value of each parameter. It prefers IDs that cover many values, because
// runs take time and draws do not.
std::vector<std::string> trial_ids(const Lab& lab) {
  constexpr std::size_t candidates = 200;
  using Values = std::set<std::string>;
  std::vector<std::pair<std::string, Values>> all;
  Values left;
  for (std::size_t i = 1; i <= candidates; ++i) {
    Values values;
    for (const auto& [name, value] : draw(lab, trial_id(i))) values.insert(name + "=" + value);
    all.emplace_back(trial_id(i), std::move(values));
  }
  for (const LabParameter& one : lab.parameters) {
    for (const std::string& value : one.values) left.insert(one.name + "=" + value);
  }
  std::vector<std::string> ids;
  do {
    const auto covers = [&left](const auto& one) {
      return std::ranges::count_if(one.second,
                                   [&](const std::string& value) { return left.contains(value); });
    };
    const auto& [id, values] = *std::ranges::max_element(all, {}, covers);
    ids.push_back(id);
    for (const std::string& value : values) left.erase(value);
    const auto is_left = [&](const auto& one) { return covers(one) > 0; };
    if (std::ranges::none_of(all, is_left)) break;  // no ID draws the remaining values
  } while (!left.empty() && ids.size() < most_trials);
  return ids;
}

// Shows the right answers for some IDs, so that a teacher can try a lab before students see it.
class LabTrial {
 public:
  explicit LabTrial(const LabCommand& command)
      : course_(command.course), number_(number_of_lab(command, "psim lab try 7 --course FOLDER")) {}

  int answer() {
    const std::vector<std::string> ids = trial_ids(lab_of(number_, course_, trial_id(1)));
    for (const std::string& id : ids) try_all(id);
    for (const auto& [name, is_wrong] : is_wrong_) {
      if (!is_wrong) mistakes_.push_back(fmt::format("the misconception {}, which is always right", name));
    }
    if (!mistakes_.empty()) fmt::print("\n{} wrong: {}\n", mistakes_.size(), fmt::join(mistakes_, ", "));
    std::size_t tried = ids.size();
    std::vector<std::string> same = alike(tried);
    // A few IDs may agree by chance. Further IDs check this, only for the questions where all agree.
    for (std::size_t i = 1; tried > 1 && tried < most_trials && !same.empty(); ++i) {
      if (std::ranges::find(ids, trial_id(i)) != ids.end()) continue;
      try_again(trial_id(i), same);
      same = alike(++tried);
    }
    if (!same.empty()) fmt::print("\none answer is right for all {} IDs: {}\n", tried, fmt::join(same, ", "));
    return mistakes_.empty() && same.empty() ? done : answer_is_no;
  }

 private:
  void try_all(const std::string& id) {
    const Lab lab = lab_of(number_, course_, id);
    const Drawn drawn = draw(lab, id);
    fmt::print("{}", id);
    for (const auto& [name, value] : drawn) {
      if (name != "student") fmt::print("  {} = {}", name, value.substr(0, value.find('\n')));
    }
    fmt::print("\n");
    LabSolver solver(lab, drawn, scratch_.path());
    const auto show = [&](const std::string& name, const auto& worth) {
      try {
        fmt::print("  {:<24}{}\n", name, worth());
      } catch (const Refused& refusal) {
        fmt::print("  {:<24}wrong: {}\n", name, refusal.what());
        mistakes_.push_back(fmt::format("{} of {}", name, id));
      }
    };
    for (const LabQuestion& question : lab.questions) {
      show(question.name, [&] {
        right_[question.name].push_back(solver.right(question));
        if (question.predict) solver.right(observation_of(question));
        solver.told(question.because);
        try_misconceptions(question, solver);
        return answer_text(question, right_[question.name].back());
      });
    }
    if (!lab.design) return;
    show(lab.design->file, [&] {
      const auto trials = solver.judge(given_out(lab, lab.design->file, drawn), {1});
      return fmt::format("score {:.0f} % without changes", 100 * mean_score(trials));
    });
  }

  // Throws Refused if a misconception has no value or text. For some IDs it may be right by chance.
  void try_misconceptions(const LabQuestion& question, LabSolver& solver) {
    for (const LabQuestion::Misconception& one : question.misconceptions) {
      const std::string name = fmt::format("{} of {}", one.value, question.name);
      const std::optional<RightAnswer> given = solver.given_by(question, one.value);
      if (!given) throw Refused("no value of the misconception " + name, "a choice is its number, from 0");
      solver.told(one.says);
      is_wrong_[name] |= solver.mark(question, answer_text(question, *given)) == Mark::wrong;
    }
  }

  // Adds one ID, for these questions only.
  void try_again(const std::string& id, const std::vector<std::string>& names) {
    const Lab lab = lab_of(number_, course_, id);
    LabSolver solver(lab, draw(lab, id), scratch_.path());
    for (const LabQuestion& question : lab.questions) {
      if (std::ranges::find(names, question.name) != names.end())
        right_[question.name].push_back(solver.right(question));
    }
  }

  // The questions where one answer is right for all `tried` IDs.
  std::vector<std::string> alike(std::size_t tried) {
    std::vector<std::string> same;
    for (const LabQuestion& question : lab_of(number_, course_, trial_id(1)).questions) {
      const std::vector<RightAnswer>& its = right_[question.name];
      if (tried > 1 && its.size() == tried && suits_all(question, its)) same.push_back(question.name);
    }
    return same;
  }

  fs::path course_;
  std::int64_t number_;
  ScratchFolder scratch_{"psim-lab"};
  std::vector<std::string> mistakes_;
  std::map<std::string, std::vector<RightAnswer>> right_;  // by question, of each ID
  std::map<std::string, bool> is_wrong_;                   // by misconception: for at least one ID
};

// A sheet for an exam: the questions that need no run, with the numbers of this ID.
int print_exam(const LabCommand& command) {
  constexpr const char* example = "psim lab exam 2 --student exam-1 --answers";
  const std::string id = student_of(command, example);
  const Lab lab = lab_of(number_of_lab(command, example), command.course, id);
  const Drawn drawn = draw(lab, id);
  const ScratchFolder scratch("psim-lab");
  LabSolver solver(lab, drawn, scratch.path());
  std::string sheet =
      fmt::format("# Lab {}: {} ({})\n{}", lab.number, lab.title, id, cluster_text(lab, drawn));
  int number = 0;
  for (const LabQuestion& question : lab.questions) {
    if (!question.predict) continue;
    sheet += fmt::format("\n{}. {} Write {}, and why.{} ({:g} {})\n", ++number, filled(question.asks, drawn),
                         form_of(question), right_within(question), question.points,
                         question.points == 1 ? "point" : "points");
    if (!command.answers) continue;
    sheet += fmt::format("\n   Answer: {}. {}\n", answer_text(question, solver.right(question)),
                         solver.told(question.because));
    for (const LabQuestion::Misconception& one : question.misconceptions) {
      const std::optional<RightAnswer> given = solver.given_by(question, one.value);
      const std::string wrong = given ? answer_text(question, *given) : "";
      if (given && solver.mark(question, wrong) == Mark::wrong)
        sheet += fmt::format("   Wrong: {}. {}\n", wrong, solver.told(one.says));
    }
  }
  fmt::print("{}", sheet);
  if (number == 0) throw Refused(fmt::format("lab {} has no predictions", lab.number), "name another lab");
  return done;
}

}  // namespace

int lab(const LabCommand& command) {
  const std::string what = command.words.empty() ? "list" : command.words[0];
  if (what == "list") return list_labs(command.course);
  if (what == "start") return start_lab(command);
  if (what == "try") return LabTrial(command).answer();
  if (what == "exam") return print_exam(command);
  if (what != "check" && what != "status" && what != "hand-in")
    throw Refused(fmt::format("unknown command `{}` of psim lab", what),
                  did_you_mean(what, {"list", "start", "check", "status", "hand-in", "try", "exam"},
                               "the commands are list, start, check, status, hand-in, try and exam"));
  LabSession session = LabSession::open(command.folder);
  const Lab lab =
      lab_of(session.lab(), command.course.empty() ? session.course() : command.course, session.student());
  if (what == "check") return check_answers(lab, session);
  if (what == "status") return show_status(lab, session);
  return hand_in(lab, session, command.out);
}

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
      fmt::print("\nlocked until your own runs show the right answer, and you write why: {}\n",
                 fmt::join(locked_, ", "));
    fmt::print("\n{} of {} settled; next: {}\n", right, lab_.questions.size(),
               all ? "psim lab hand-in" : "finish the others in answers.toml, then psim lab check");
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
    const Mark mark = solver_.mark(question, *answer);
    if (mark == Mark::unreadable) return {unreadable(question), {}};
    if (question.predict) return settle(question, *answer, right, mark);
    if (mark == Mark::right) return {"right", solver_.told(question.because), true};
    session_.miss(question.name, *answer);
    return {fmt::format("not right: {}", as_read(question, *answer)),
            misconception(question, *answer) + hints(question) + why(question)};
  }

  // Prints the right answer to a prediction only after the student's own run has shown it and the student has
  // given a reason. Returns nothing in that case.
  std::optional<Said> observe(const LabQuestion& question, const std::string& prediction) {
    const LabQuestion observation = observation_of(question);
    const auto observed = session_.answer(observation);
    const std::string locked = fmt::format("locked: {}", as_read(question, prediction)),
                      how = filled(observation.asks, drawn_) + "\n" + commands(observation);
    if (observed && !is_readable(observation, *observed))
      return Said{fmt::format("{}; {} {}", locked, observation.name, unreadable(observation)), how};
    const bool is_shown =
        observed && mark_of(observation, *observed, solver_.right(observation)) == Mark::right;
    if (is_shown && session_.reason(question.name)) return {};
    locked_.push_back(question.name);
    if (is_shown)
      return Said{fmt::format("{}; your run shows {}", locked, as_read(observation, *observed)),
                  fmt::format("why is it so? Write one sentence, of {} words or more, after reason.{}\n",
                              words_of_a_reason, question.name)};
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
            misconception(question, answer) + solver_.told(question.because) + "\n" + why(question), true};
  }

  // The mistake behind a wrong answer, if the lab knows it.
  std::string misconception(const LabQuestion& question, const std::string& answer) {
    const std::optional<std::size_t> which = solver_.misconception(question, answer);
    return which ? solver_.told(question.misconceptions[*which].says) + "\n" : "";
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
