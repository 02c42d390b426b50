#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <exception>
#include <iterator>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "analysis/columns.hpp"
#include "analysis/render/html.hpp"
#include "analysis/study/csv.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/target.hpp"
#include "sim/apps/course/commands.hpp"
#include "sim/apps/course/grading.hpp"
#include "sim/runs/refusals.hpp"
#include "sim/runs/request.hpp"
#include "sim/runs/scratch.hpp"

namespace psim::cli {
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
  return {{"schema", "psim.grade/1"}, {"grades", std::move(all)}};
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
                             {"--junit", command.junit, "<testsuites>"}};
  std::map<fs::path, const char*> options;  // by path
  for (const GradeFile& one : files) {
    if (one.path.empty()) continue;
    wrong.check([&] {
      check_own(one.path, {one.mark}, "psim grade");
      const auto [first, is_new] =
          options.try_emplace(fs::weakly_canonical(fs::absolute(one.path)), one.option);
      if (!is_new)
        throw Refused(fmt::format("{} and {} name the same file, {}", first->second, one.option, one.path),
                      "name two files");
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
  if (command.json) fmt::print("{}", json_text(document_of(grades, command.answers)));
  else print_table(grades, command.answers);
  const auto passes = [&](const Grade& one) {
    return one.findings.empty() && one.possible > 0 && 100 * one.points >= command.pass * one.possible - 1e-9;
  };
  return std::ranges::all_of(grades, passes) ? done : answer_is_no;
}

}  // namespace psim::cli
