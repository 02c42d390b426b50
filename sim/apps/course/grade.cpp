#include "sim/apps/course/grade.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <exception>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "analysis/render/html.hpp"
#include "analysis/run_files.hpp"
#include "analysis/study/files.hpp"
#include "analysis/word_docs.hpp"
#include "model/base/input.hpp"
#include "model/base/random.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/target.hpp"
#include "sim/apps/course/answer.hpp"
#include "sim/apps/course/session.hpp"
#include "sim/apps/course/solver.hpp"
#include "sim/runs/answer.hpp"
#include "sim/runs/files.hpp"
#include "sim/runs/request.hpp"

namespace psim::cli {

namespace {

std::string text_at(const Json& object, const std::string& key) {
  const auto found = object.find(key);
  return found == object.end() || !found->is_string() ? std::string() : found->get<std::string>();
}

// The seeds that judge a design. They cannot be guessed without the secret.
std::vector<std::int64_t> hidden_seeds(const LabDesign& design, const std::string& secret) {
  Stream stream(0, "hidden seeds of " + secret);
  std::vector<std::int64_t> seeds;
  for (std::int64_t i = 0; i < design.seeds; ++i)
    seeds.push_back(static_cast<std::int64_t>(1 + stream.below(999'999'999)));
  return seeds;
}

// "score 66 %, over 3 hidden seeds; on one of them it gets stuck": the result of a design. It does not
// reveal the seeds.
std::string verdict_of(const LabDesign& design, const std::vector<Trial>& trials) {
  std::string text =
      fmt::format("score {:.0f} %, over {} hidden seeds", 100 * mean_score(trials), trials.size());
  for (const Trial& one : trials) {
    if (one.is_stuck) text += "; on one of them it gets stuck";
    if (one.is_stuck || one.keeps_limit) continue;
    text += fmt::format("; on one of them the limit `{}` is not met", design.within);
    for (std::size_t i = 0; i < one.shown.size(); ++i)
      text += fmt::format(", {} {:.4g}", design.shows[i].first, one.shown[i]);
  }
  return text;
}

Grade::Item judged(const Lab& lab, const Json& hand_in, LabSolver& solver, const std::string& secret) {
  Grade::Item item{.name = lab.design->file, .points = 0, .possible = lab.design->points, .note = {}};
  const std::string design = text_at(hand_in, "design");
  if (design.empty()) {
    item.note = "no design";
    return item;
  }
  try {
    const std::vector<Trial> trials = solver.judge(design, hidden_seeds(*lab.design, secret));
    item.points = std::round(100 * mean_score(trials) * item.possible) / 100;
    item.note = verdict_of(*lab.design, trials);
  } catch (const Refused& refusal) {
    item.note = refusal.what();
  }
  return item;
}

// Adds what does not match this student's numbers.
void add_findings(const Lab& lab, const Drawn& drawn, const Json& hand_in, LabSolver& solver,
                  std::vector<std::string>& findings) {
  std::vector<std::string> others;
  for (const LabRun& run : lab.runs) {
    try {
      const std::string digest = solver.run(run.name)["digest"];
      if (text_at(hand_in["digests"], run.name) != digest) others.push_back(run.name);
    } catch (const Refused& refusal) {
      findings.emplace_back(refusal.what());
    }
  }
  if (!others.empty())
    findings.push_back(fmt::format("wrong digest of {}: {} another student's, or from another build of psim",
                                   fmt::join(others, ", "), others.size() > 1 ? "they are" : "it is"));
  for (const std::string& file : scenario_files(lab)) {
    if (text_at(hand_in["files"], file) != given_out(lab, file, drawn))
      findings.push_back(fmt::format("{} differs from the original", file));
  }
}

// Whether a hand-in has the value that the student's own run showed for a prediction.
bool observes(const LabQuestion& question, const Json& hand_in, LabSolver& solver) {
  const LabQuestion observation = observation_of(question);
  const std::string given = text_at(hand_in["observed"], question.name);
  return !given.empty() && mark_of(observation, given, solver.right(observation)) == Mark::right;
}

// The wrong answers of earlier checks.
std::vector<std::string> misses_of(const Json& hand_in, const std::string& question) {
  std::vector<std::string> all;
  const auto found = hand_in["misses"].find(question);
  if (found == hand_in["misses"].end() || !found->is_array()) return all;
  for (const Json& one : *found)
    if (one.is_string()) all.push_back(one);
  return all;
}

// Adds the wrong answers of earlier checks, and `last` if it is not empty.
void add_wrong_answers(const LabQuestion& question, const Json& hand_in, LabSolver& solver,
                       const std::string& last, Grade::Item& item) {
  std::vector<std::string> given = misses_of(hand_in, question.name);
  item.attempts = given.size() + misses_of(hand_in, observation_of(question).name).size() + 1;
  if (!last.empty() && (given.empty() || given.back() != last)) given.push_back(last);
  const RightAnswer right = solver.right(question);
  for (const std::string& one : given) {
    if (!is_readable(question, one)) continue;
    Grade::Wrong wrong{.given = as_read(question, one), .misconception = {}, .told = {}, .ratio = {}};
    if (const auto which = solver.misconception(question, one)) {
      wrong.misconception = question.misconceptions[*which].says;
      wrong.told = solver.told(wrong.misconception);
    }
    if (question.choices.empty() && right.number != 0)
      wrong.ratio = amount_in(one, question).value() / right.number;
    item.wrong.push_back(std::move(wrong));
  }
}

Grade::Item marked(const LabQuestion& question, const Json& hand_in, LabSolver& solver) {
  const std::string counts = text_at(hand_in[question.predict ? "locked" : "answers"], question.name);
  Grade::Item item{
      .name = question.name, .points = 0, .possible = question.points, .note = {}, .given = counts};
  const RightAnswer right = solver.right(question);
  const Mark mark = counts.empty() ? Mark::unreadable : solver.mark(question, counts);
  item.right = answer_text(question, right);
  add_wrong_answers(question, hand_in, solver, mark == Mark::wrong ? counts : "", item);
  item.is_right = mark == Mark::right;
  item.asks = solver.told(question.asks);
  item.note = counts.empty()             ? "no answer"
              : mark == Mark::right      ? "right"
              : mark == Mark::unreadable ? fmt::format("cannot be read: {}", counts)
                                         : fmt::format("not right: {}", counts);
  const double each = question.predict ? item.possible / 2 : item.possible;
  if (mark == Mark::right) item.points = each;
  // Half of a prediction's points are for the value from the student's own run, with a reason.
  if (question.predict && mark != Mark::unreadable) {
    const bool is_observed = observes(question, hand_in, solver);
    item.reason = text_at(hand_in["reasons"], question.name);
    const bool is_explained = is_reason(item.reason);
    if (is_observed && is_explained) item.points += each;
    item.note += !is_observed ? ", not observed" : is_explained ? ", observed" : ", observed, no reason";
  }
  if (const std::size_t misses = misses_of(hand_in, question.name).size(); misses > 0)
    item.note += fmt::format(" ({} wrong before)", misses);
  return item;
}

// A hand-in that cannot be read must not disturb the others.
std::string content_of(const fs::path& file) {
  try {
    return read_input(file, most_hand_in);
  } catch (const InputError& error) {
    throw Refused(error.what(), "a hand-in is a readable file of less than a megabyte");
  }
}

// Adds all items of a hand-in with a valid seal.
void add_items(const Lab& lab, const Json& hand_in, LabSolver& solver, const std::string& secret,
               Grade& grade) {
  for (const LabQuestion& question : lab.questions) {
    try {
      grade.items.push_back(marked(question, hand_in, solver));
    } catch (const Refused& refusal) {  // a mistake of the lab, not of the student: the item does not count
      grade.findings.emplace_back(refusal.what());
    }
  }
  if (lab.design) grade.items.push_back(judged(lab, hand_in, solver, secret));
}

}  // namespace

// Grades a hand-in by the runs of its lab. Runs nothing if the hand-in was edited. Draws the hidden seeds of
// designs from `secret`. Throws Refused if the file is not a hand-in.
Grade grade_of(const fs::path& file, const fs::path& course, const fs::path& scratch,
               const std::string& secret) {
  const Json hand_in = hand_in_in(content_of(file), file.string());
  Grade grade{.file = file.string(),
              .student = id_in(hand_in["student"]).value_or(""),
              .answers = hand_in["answers"].dump() + hand_in["locked"].dump(),
              .lab = hand_in["lab"],
              .items = {},
              .findings = {}};
  if (grade.student.empty())
    throw Refused(fmt::format("{} has no ID of a student", file.string()), "`psim lab hand-in` writes one");
  const Lab lab = lab_of(grade.lab, course, grade.student);
  if (hand_in["seal"] != seal_of(hand_in)) {
    grade.possible = lab.points();
    grade.findings.emplace_back("it was edited after psim wrote it (the seal does not fit), so it scores 0");
    return grade;
  }
  const Drawn drawn = draw(lab, grade.student);
  LabSolver solver(lab, drawn, scratch);
  add_findings(lab, drawn, hand_in, solver, grade.findings);
  add_items(lab, hand_in, solver, secret, grade);
  for (const Grade::Item& item : grade.items) {
    grade.points += item.points;
    grade.possible += item.possible;
  }
  return grade;
}

namespace {

// The result for a file that cannot be graded: no student, no points, and the reason.
Grade ungraded(const std::string& file, const Refused& refusal) {
  const std::string why = refusal.what();
  return {.file = file,
          .student = {},
          .items = {},
          .findings = {fmt::format("{}{} ({})", why.find(file) == std::string::npos ? file + ": " : "", why,
                                   refusal.help)}};
}

void refuse_nothing(const std::vector<std::string>& files) {
  const auto is_missing = [](const std::string& file) {
    std::error_code error;
    return !fs::exists(file, error);
  };
  if (std::ranges::all_of(files, is_missing))
    throw Refused(fmt::format("{} not exist: {}", files.size() == 1 ? "this file does" : "these files do",
                              fmt::join(files, ", ")),
                  "`psim lab hand-in` writes a hand-in");
}

std::vector<Grade> grades_of(const GradeCommand& command) {
  const ScratchFolder scratch("psim-grade");
  std::vector<Grade> grades(command.files.size());
  std::atomic<std::size_t> next = 0;
  std::mutex talks;
  std::exception_ptr failure;
  const auto work = [&](unsigned thread) {
    const fs::path folder = scratch.path() / std::to_string(thread);
    fs::create_directories(folder);
    for (std::size_t i = next++; i < grades.size(); i = next++) {
      try {
        grades[i] = grade_of(command.files[i], command.course, folder, command.secret);
      } catch (const Refused& refusal) {
        grades[i] = ungraded(command.files[i], refusal);
      } catch (...) {
        const std::lock_guard lock(talks);
        failure = std::current_exception();
        next = grades.size();
      }
    }
  };
  std::vector<std::thread> threads;
  const auto count =
      std::min<std::size_t>(thread_count(command.jobs), std::max<std::size_t>(1, grades.size()));
  for (unsigned t = 0; t < count; ++t) threads.emplace_back(work, t);
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
  return grades;
}

// Whether `text` is a number with enough digits that a student could not guess it.
bool is_exact(const std::string& text) {
  constexpr int guessed = 3;
  return std::ranges::count_if(text, [](unsigned char c) { return std::isdigit(c) != 0; }) >= guessed &&
         (std::isdigit(static_cast<unsigned char>(text.front())) != 0 || text.front() == '-');
}

// Whether an exact number is right in `other` but not in `one`, for the same lab. An edited hand-in has no
// right answers.
bool knows_less(const Grade& one, const Grade& other) {
  for (std::size_t i = 0; i < other.items.size(); ++i) {
    const bool knows = i < one.items.size() && one.items[i].points >= one.items[i].possible;
    const bool is_right = other.items[i].points >= other.items[i].possible;
    if (!knows && is_right && is_exact(other.items[i].given)) return true;
  }
  return false;
}

// Finds IDs that occur twice, and answers that equal another student's word for word but are right only
// there. (Two students may have drawn the same numbers, or both may not know the answer.)
void find_copies(std::vector<Grade>& grades) {
  std::map<std::string, std::vector<std::size_t>> by_answers;
  std::map<std::string, std::size_t> by_student;
  for (std::size_t i = 0; i < grades.size(); ++i) {
    if (grades[i].possible <= 0) continue;
    const std::string of = fmt::format("lab {} ", grades[i].lab);
    std::vector<std::size_t>& alike = by_answers[of + grades[i].answers];
    for (const std::size_t other : alike) {
      for (const auto& [copy, source] : {std::pair(i, other), std::pair(other, i)}) {
        if (knows_less(grades[copy], grades[source]))
          grades[copy].findings.push_back(
              fmt::format("its answers are the same as those of {}", grades[source].student));
      }
    }
    alike.push_back(i);
    const auto [other, is_new] = by_student.try_emplace(of + grades[i].student, i);
    if (is_new) continue;
    for (const auto& [one, twin] : {std::pair(i, other->second), std::pair(other->second, i)})
      grades[one].findings.push_back(
          fmt::format("{} has also handed in {}", grades[one].student, grades[twin].file));
  }
}

// All findings in one line.
std::string findings_of(const Grade& grade) {
  std::string all = fmt::format("{}", fmt::join(grade.findings, "; "));
  std::ranges::replace(all, '\n', ' ');
  return all;
}

// The names of the items, if all grades belong to one lab.
std::vector<std::string> items_of(const std::vector<Grade>& grades) {
  const Grade* first = nullptr;
  for (const Grade& one : grades) {
    if (one.items.empty()) continue;
    if (first != nullptr && first->lab != one.lab) return {};
    if (first == nullptr || one.items.size() > first->items.size()) first = &one;
  }
  std::vector<std::string> names;
  if (first != nullptr) std::ranges::transform(first->items, std::back_inserter(names), &Grade::Item::name);
  return names;
}

constexpr const char* csv_begins = "student,lab,points,possible,file,findings";

// A file that cannot be graded has neither student nor lab nor points.
std::string csv_of(const std::vector<Grade>& grades) {
  const std::vector<std::string> items = items_of(grades);
  std::string out = csv_begins;
  for (const std::string& name : items) out += "," + analysis::csv_field(name);
  out += "\n";
  for (const Grade& one : grades) {
    const std::string numbers =
        one.possible > 0 ? fmt::format("{},{:g},{:g}", one.lab, one.points, one.possible) : ",,";
    out +=
        fmt::format("{},{},{},{}", analysis::csv_field(one.student), numbers,
                    analysis::csv_field(as_utf8(one.file)), analysis::csv_field(as_utf8(findings_of(one))));
    for (const std::string& name : items) {
      const auto item = std::ranges::find(one.items, name, &Grade::Item::name);
      out += item == one.items.end() ? "," : fmt::format(",{:g}", item->points);
    }
    out += "\n";
  }
  return out;
}

// `answers`: with the right answers, for teachers.
Json document_of(const std::vector<Grade>& grades, bool answers) {
  Json all = Json::array();
  for (const Grade& one : grades) {
    Json items = Json::array();
    for (const Grade::Item& item : one.items) {
      items.push_back(
          {{"name", item.name}, {"points", item.points}, {"possible", item.possible}, {"note", item.note}});
      if (answers) items.back()["right"] = item.right;
    }
    all.push_back({{"file", one.file},
                   {"student", one.student},
                   {"lab", one.lab},
                   {"points", one.points},
                   {"possible", one.possible},
                   {"items", std::move(items)},
                   {"findings", one.findings}});
  }
  Json document{{"schema", "psim.grade/1"}, {"grades", std::move(all)}};
  if (answers) document["questions"] = questions_json(grades);
  return document;
}

// https://gradescope-autograders.readthedocs.io/en/latest/specs/#output-format: for one hand-in.
Json gradescope_of(const Grade& grade) {
  Json tests = Json::array();
  for (const Grade::Item& item : grade.items)
    tests.push_back(
        {{"name", item.name}, {"score", item.points}, {"max_score", item.possible}, {"output", item.note}});
  return {{"score", grade.points},
          {"output", fmt::format("{}", fmt::join(grade.findings, "\n"))},
          {"tests", std::move(tests)}};
}

// The name of a file may not be valid UTF-8.
std::string json_text(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

// XML forbids control characters, and two further characters of UTF-8.
std::string xml_word(const std::string& given) {
  std::string text = as_utf8(given);
  for (const std::string_view none : {"\xef\xbf\xbe", "\xef\xbf\xbf"}) {
    for (std::size_t at = 0; (at = text.find(none, at)) != std::string::npos;)
      text.replace(at, none.size(), "?");
  }
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' '; }, ' ');
  return analysis::escaped(text);
}

std::string junit_of(const std::vector<Grade>& grades) {
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  for (const Grade& one : grades) {
    const auto failed =
        std::ranges::count_if(one.items, [](const Grade::Item& item) { return item.points < item.possible; });
    out += fmt::format("  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\">\n",
                       xml_word(one.student.empty() ? one.file : one.student),
                       one.items.size() + one.findings.size(), failed + std::ssize(one.findings));
    for (const Grade::Item& item : one.items) {
      const bool right = item.points >= item.possible;
      out += fmt::format(
          "    <testcase classname=\"lab {}\" name=\"{}\"{}\n", one.lab, xml_word(item.name),
          right ? "/>" : fmt::format("><failure message=\"{}\"/></testcase>", xml_word(item.note)));
    }
    for (const std::string& finding : one.findings)
      out += fmt::format(
          "    <testcase classname=\"lab {}\" name=\"file\"><failure message=\"{}\"/></testcase>\n", one.lab,
          xml_word(finding));
    out += "  </testsuite>\n";
  }
  return out + "</testsuites>\n";
}

void print_table(const std::vector<Grade>& grades, bool answers) {
  const auto name = [](analysis::ColumnName column) { return column.name(); };
  std::size_t width = 8;
  for (const Grade& one : grades) width = std::max(width, one.student.size() + 1);
  fmt::print("{:<{}}{:>4}{:>11}  {}\n", name("student"), width, name("lab"), name("points"),
             name("what is wrong with the file"));
  for (const Grade& one : grades) {
    const std::string points = one.possible > 0 ? fmt::format("{:g}/{:g}", one.points, one.possible) : "-";
    const bool is_known = one.possible > 0;
    fmt::print("{:<{}}{:>4}{:>11}  {}\n", is_known ? one.student : "-", width,
               is_known ? fmt::to_string(one.lab) : "-", points, findings_of(one));
  }
  if (grades.size() > 1) return;
  for (const Grade::Item& item : grades.front().items)
    fmt::print("  {:<24}{:>8}  {}{}\n", item.name, fmt::format("{:g}/{:g}", item.points, item.possible),
               item.note, answers && !item.right.empty() ? "; right is " + item.right : "");
}

struct GradeFile {
  const char* option;
  const std::string& path;
  const char* mark;
};

// Throws Invalid with all mistakes before grading, which takes minutes.
void check_before_grading(const GradeCommand& command) {
  Refusals wrong;
  wrong.check([&] {
    if (!command.gradescope.empty() && command.files.size() != 1)
      throw Refused("--gradescope takes one hand-in", "name one file, or use --csv");
  });
  wrong.check([&] { refuse_nothing(command.files); });
  if (!command.course.empty()) wrong.check([&] { labs(command.course); });
  const GradeFile files[] = {{"--csv", command.csv, csv_begins},
                             {"--gradescope", command.gradescope, "\"score\""},
                             {"--junit", command.junit, "<testsuites>"},
                             {"--page", command.page, grades_page_title}};
  std::map<fs::path, const char*> options;  // by path
  for (const GradeFile& one : files) {
    if (one.path.empty()) continue;
    wrong.check([&] {
      check_own(one.path, {one.mark}, "psim grade");
      check_distinct(one.path, one.option, options);
    });
  }
  wrong.throw_if_any();
}

}  // namespace

int grade(const GradeCommand& command) {
  check_before_grading(command);
  std::vector<Grade> grades = grades_of(command);
  find_copies(grades);
  if (!command.csv.empty()) put_file(command.csv, csv_of(grades));
  if (!command.gradescope.empty()) put_file(command.gradescope, json_text(gradescope_of(grades.front())));
  if (!command.junit.empty()) put_file(command.junit, junit_of(grades));
  if (!command.page.empty()) put_file(command.page, grades_page(grades));
  if (command.json) fmt::print("{}", json_text(document_of(grades, command.answers)));
  else print_table(grades, command.answers);
  const auto passes = [&](const Grade& one) {
    return one.findings.empty() && one.possible > 0 && 100 * one.points >= command.pass * one.possible - 1e-9;
  };
  return std::ranges::all_of(grades, passes) ? done : answer_is_no;
}

}  // namespace psim::cli
