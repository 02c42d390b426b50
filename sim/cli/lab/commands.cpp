#include "sim/cli/lab/commands.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "sim/cli/lab/hand_in.hpp"
#include "sim/cli/lab/session.hpp"
#include "sim/cli/lab/solver.hpp"
#include "sim/cli/scratch.hpp"
#include "sim/cli/see/target.hpp"
#include "sim/cli/talk.hpp"

namespace psim::cli {
namespace {

constexpr std::int64_t design_seeds_shown = 3;

int list_labs(const fs::path& course) {
  for (const Lab& one : labs(course)) {
    fmt::print("{}  {:<46}{:>3} min  {} questions, {} points{}\n", one.number, one.title, one.minutes,
               one.questions.size(), one.points(), one.design ? ", and a design" : "");
  }
  fmt::print("\nnext: psim lab start 1 --student YOUR-ID\n");
  return done;
}

int start_lab(const LabCommand& command) {
  if (command.words.size() != 2) throw Refused("which lab?", "psim lab start 1 --student YOUR-ID");
  std::int64_t number = 0;
  const std::string& word = command.words[1];
  if (std::from_chars(word.data(), word.data() + word.size(), number).ec != std::errc{})
    throw Refused(fmt::format("`{}` is no number of a lab", word), "`psim lab list` shows them");
  if (command.student.empty()) throw Refused("whose lab is it?", "psim lab start 1 --student YOUR-ID");
  const Lab lab = lab_of(number, command.course, command.student);
  const fs::path folder =
      command.out.empty() ? fs::path(fmt::format("lab{}", number)) : fs::path(command.out);
  LabSession::start(lab, command.student, folder, command.course);
  fmt::print(
      "lab {}: {} ({} minutes), for {}\n\n  {}  what to do\n  {}  where your answers go\n\n"
      "next: read README.md, write your predictions, then `cd {} && psim lab check`\n",
      lab.number, lab.title, lab.minutes, command.student, (folder / "README.md").string(),
      (folder / "answers.toml").string(), shell_word(folder.string()));
  return done;
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
        runs_(session.folder() / "runs"),
        solver_(lab, drawn_, (fs::create_directories(runs_), runs_), "events") {}

  int check() {
    lock_predictions();
    std::size_t right = 0;
    for (const LabQuestion& question : lab_.questions) {
      const Said said = check(question);
      fmt::print("{:<24}{}\n", question.name, said.line);
      if (!said.more.empty()) fmt::print("{}", indented(said.more));
      right += said.is_settled ? 1 : 0;
    }
    if (lab_.design) check_design();
    const bool all = right == lab_.questions.size();
    fmt::print("\n{} of {} are settled; next: {}\n", right, lab_.questions.size(),
               all ? "psim lab hand-in" : "answer the others in answers.toml, then psim lab check");
    return all ? done : answer_is_no;
  }

 private:
  static std::string indented(const std::string& text) {
    std::istringstream lines(text);
    std::string out;
    for (std::string line; std::getline(lines, line);) out += fmt::format("    {}\n", line);
    return out;
  }

  // Before any run that would show what is right.
  void lock_predictions() {
    for (const LabQuestion& question : lab_.questions) {
      if (!question.predict || session_.locked(question.name)) continue;
      const auto answer = session_.answer(question);
      if (answer && is_readable(question, *answer)) session_.lock(question.name, *answer);
      else open_.push_back(question.name);
    }
  }

  Said check(const LabQuestion& question) {
    const auto answer = question.predict ? session_.locked(question.name) : session_.answer(question);
    if (!answer) return {question.predict && session_.answer(question) ? unreadable(question) : "open", {}};
    if (!open_.empty())
      return {question.predict ? "locked; it is compared when all predictions are made"
                               : fmt::format("first predict {}", fmt::join(open_, ", ")),
              {}};
    const RightAnswer right = solver_.right(question);
    const Mark mark = mark_of(question, *answer, right);
    if (mark == Mark::unreadable) return {unreadable(question), {}};
    if (question.predict) return settle(question, *answer, right, mark);
    if (mark == Mark::right) {
      session_.solve(question.name);
      return {"right", filled(question.because, drawn_), true};
    }
    return miss(question, *answer);
  }

  static std::string unreadable(const LabQuestion& question) {
    if (!question.choices.empty()) return fmt::format("not one of: {}", fmt::join(question.choices, ", "));
    return fmt::format("no number: write 1893 or 3.625{}",
                       question.unit.empty() ? "" : fmt::format(", in {}", question.unit));
  }

  // A prediction is over once it is compared, right or not.
  Said settle(const LabQuestion& question, const std::string& answer, const RightAnswer& right, Mark mark) {
    session_.solve(question.name);
    const auto now = session_.answer(question);
    const std::string stays =
        now && *now != answer ? fmt::format(" (your first prediction counts: {})", answer) : "";
    if (mark == Mark::right)
      return {fmt::format("as you predicted: it is {}{}", answer_text(question, right), stays),
              filled(question.because, drawn_), true};
    return {fmt::format("you predicted {}; it is {}{}", answer, answer_text(question, right), stays),
            filled(question.because, drawn_) + "\n" + why(question), true};
  }

  // Each wrong answer shows a hint more.
  Said miss(const LabQuestion& question, const std::string& answer) {
    session_.miss(question.name, answer);
    const auto misses = static_cast<std::size_t>(session_.misses(question.name));
    std::string more;
    for (std::size_t i = 0; i < std::min(misses, question.hints.size()); ++i)
      more += fmt::format("hint {}: {}\n", i + 1, filled(question.hints[i], drawn_));
    return {"not right", more + why(question)};
  }

  // What the run says of itself.
  std::string why(const LabQuestion& question) {
    if (question.look.empty()) return {};
    solver_.run(question.look);
    const fs::path run = session_.folder() / "runs" / question.look;
    return fmt::format("to see why: psim why {}\n", file_word(fs::relative(run, session_.folder())));
  }

  void check_design() {
    const auto design = session_.design(*lab_.design);
    if (!design) {
      fmt::print("{:<24}open\n", lab_.design->file);
      return;
    }
    std::vector<std::int64_t> seeds;
    for (std::int64_t seed = 1; seed <= design_seeds_shown; ++seed) seeds.push_back(seed);
    fmt::print("{:<24}{:.0f} % of the way, over seeds 1 to {} (it is judged on others)\n", lab_.design->file,
               100 * solver_.judge(*design, seeds), design_seeds_shown);
  }

  const Lab& lab_;
  LabSession& session_;
  Drawn drawn_;
  fs::path runs_;
  LabSolver solver_;
  std::vector<std::string> open_;  // predictions
};

int show_status(const Lab& lab, const LabSession& session) {
  fmt::print("lab {}: {}, for {}\n\n", lab.number, lab.title, session.student());
  for (const LabQuestion& one : lab.questions) {
    const std::int64_t misses = session.misses(one.name);
    const char* state = session.is_solved(one.name) ? one.predict ? "compared" : "right"
                        : session.locked(one.name)  ? "locked"
                        : session.answer(one)       ? "answered, not checked"
                                                    : "open";
    fmt::print("{:<24}{}{}\n", one.name, state, misses > 0 ? fmt::format(", {} wrong before", misses) : "");
  }
  return done;
}

int hand_in(const Lab& lab, const LabSession& session, const std::string& out) {
  const ScratchFolder scratch("psim-lab");
  LabSolver solver(lab, draw(lab, session.student()), scratch.path());
  const Json file = hand_in_of(lab, session, solver);
  const fs::path path = out.empty()
                            ? session.folder() / fmt::format("lab{}-{}.json", lab.number, session.student())
                            : fs::path(out);
  put_file(path, file.dump(2) + "\n");
  std::size_t open = 0;
  for (const LabQuestion& one : lab.questions) open += session.answer(one) ? 0 : 1;
  fmt::print("wrote {}{}\n", path.string(),
             open > 0 ? fmt::format(" ({} of {} questions are open)", open, lab.questions.size()) : "");
  const auto is_unchecked = [&](const LabQuestion& one) {
    return one.predict && session.answer(one) && !session.locked(one.name);
  };
  if (const auto unchecked = std::ranges::count_if(lab.questions, is_unchecked); unchecked > 0)
    fmt::print("{} of your predictions were never checked, and count nothing: psim lab check\n", unchecked);
  return done;
}

}  // namespace

int lab(const LabCommand& command) {
  const std::string what = command.words.empty() ? "list" : command.words[0];
  if (what == "list") return list_labs(command.course);
  if (what == "start") return start_lab(command);
  if (what != "check" && what != "status" && what != "hand-in")
    throw Refused(fmt::format("`{}` is nothing that psim lab does", what),
                  "list, start, check, status or hand-in");
  LabSession session = LabSession::open(command.folder);
  const Lab lab =
      lab_of(session.lab(), command.course.empty() ? session.course() : command.course, session.student());
  if (what == "check") return Checker(lab, session).check();
  if (what == "status") return show_status(lab, session);
  return hand_in(lab, session, command.out);
}

}  // namespace psim::cli
