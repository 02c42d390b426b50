// Statistics of the hand-ins of a class, for its teacher.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "analysis/page/page.hpp"
#include "analysis/render/html.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/course/grade.hpp"
#include "sim/apps/course/session.hpp"

namespace psim::cli {
namespace {

using analysis::escaped;

// The answers to one question.
using Answers = std::vector<std::pair<const Grade*, const Grade::Item*>>;

// The correlation of x and y; nothing if there are fewer than five pairs, or one of them does not vary.
std::optional<double> correlation(const std::vector<double>& x, const std::vector<double>& y) {
  constexpr std::size_t least = 5;
  if (x.size() < least) return {};
  const auto count = static_cast<double>(x.size());
  double mean_x = 0, mean_y = 0, xx = 0, yy = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mean_x += x[i] / count;
    mean_y += y[i] / count;
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  constexpr double rounding = 1e-12;
  if (xx < rounding || yy < rounding) return {};
  return xy / std::sqrt(xx * yy);
}

using Group = QuestionOfClass::Group;

// Adds a student to the group, once.
void join(std::vector<Group>& groups, const std::string& what, const std::string& student,
          const std::string& given) {
  auto group = std::ranges::find(groups, what, &Group::what);
  if (group == groups.end()) group = groups.insert(groups.end(), {what, {}});
  const auto is_same = [&](const auto& one) { return one.first == student; };
  if (std::ranges::none_of(group->given, is_same)) group->given.emplace_back(student, given);
}

struct Unexplained {
  double ratio;
  std::string student, given;
};

constexpr const char* unlike = "other answers";

// "3.9 to 4.1 times the right answer"; a power of ten is often another unit.
std::string name_of(double least, double most) {
  constexpr double near = 0.05;
  const double power = std::log10(std::abs(most));
  const bool is_unit = std::abs(power) > near && std::abs(power - std::round(power)) < near / 2;
  const std::string from = fmt::format("{:.3g}", least), to = fmt::format("{:.3g}", most);
  return fmt::format("{}{} times the right answer{}", from, from == to ? "" : " to " + to,
                     is_unit ? ", perhaps in another unit" : "");
}

// Numbers of neighbouring ratios are a group: each is at most 10 % larger than the one before.
void group_by_ratio(std::vector<Unexplained> all, std::vector<Group>& groups) {
  constexpr double step = 1.1;
  std::ranges::sort(all, {}, [](const Unexplained& one) {
    return std::pair(std::signbit(one.ratio), std::abs(one.ratio));
  });
  for (std::size_t from = 0, to = 0; from < all.size(); from = to) {
    const auto follows = [&](const Unexplained& one) {
      return std::signbit(one.ratio) == std::signbit(all[from].ratio) &&
             std::abs(one.ratio) <= step * std::abs(all[to - 1].ratio);
    };
    to = from + 1;
    while (to < all.size() && follows(all[to])) ++to;
    std::set<std::string> students;
    for (std::size_t i = from; i < to; ++i) students.insert(all[i].student);
    const std::string what = students.size() > 1 ? name_of(all[from].ratio, all[to - 1].ratio) : unlike;
    for (std::size_t i = from; i < to; ++i)
      join(groups, what, all[i].student, fmt::format("{} ({:.3g} times)", all[i].given, all[i].ratio));
  }
}

std::vector<Group> groups_of(const Answers& answers) {
  std::vector<Group> groups;
  std::vector<Unexplained> unexplained;
  std::map<std::string, std::string> told;  // with the numbers of the first student, by what lab.toml says
  for (const auto& [grade, item] : answers) {
    for (const Grade::Wrong& wrong : item->wrong) {
      if (!wrong.misconception.empty()) {
        join(groups, wrong.misconception, grade->student, wrong.given);
        told.try_emplace(wrong.misconception, wrong.told);
      } else if (wrong.ratio) {
        unexplained.push_back({*wrong.ratio, grade->student, wrong.given});
      } else {
        join(groups, wrong.given, grade->student, wrong.given);
      }
    }
  }
  for (Group& one : groups) {
    const auto text = told.find(one.what);
    if (text != told.end() && text->second != one.what)
      one.what = fmt::format("{} (for {})", text->second, one.given.front().first);
  }
  group_by_ratio(std::move(unexplained), groups);
  std::ranges::stable_sort(groups, std::ranges::greater(),
                           [](const Group& one) { return std::pair(one.what != unlike, one.given.size()); });
  return groups;
}

QuestionOfClass question_of(const Answers& answers) {
  QuestionOfClass question{.lab = answers.front().first->lab,
                           .name = answers.front().second->name,
                           .asks = answers.front().second->asks};
  std::vector<double> own, rest;
  for (const auto& [grade, item] : answers) {
    ++question.students;
    own.push_back(item->points);
    rest.push_back(grade->points - item->points);
    if (!item->reason.empty()) question.reasons.push_back({grade->student, item->reason, item->is_right});
    if (item->given.empty()) continue;
    ++question.answered;
    question.right += item->is_right ? 1 : 0;
    question.attempts += static_cast<double>(item->attempts);
  }
  if (question.answered > 0) question.attempts /= static_cast<double>(question.answered);
  question.discrimination = correlation(own, rest);
  question.wrong = groups_of(answers);
  return question;
}

}  // namespace

std::vector<QuestionOfClass> questions_of(const std::vector<Grade>& grades) {
  std::vector<std::pair<std::int64_t, std::string>> names;  // in the order of the labs
  std::map<std::pair<std::int64_t, std::string>, Answers> answers;
  for (const Grade& grade : grades) {
    for (const Grade::Item& item : grade.items) {
      const auto name = std::pair(grade.lab, item.name);
      if (!answers.contains(name)) names.push_back(name);
      answers[name].emplace_back(&grade, &item);
    }
  }
  std::ranges::stable_sort(names, {}, &std::pair<std::int64_t, std::string>::first);
  std::vector<QuestionOfClass> all;
  for (const auto& name : names) all.push_back(question_of(answers.at(name)));
  return all;
}

Json questions_json(const std::vector<Grade>& grades) {
  Json all = Json::array();
  for (const QuestionOfClass& one : questions_of(grades)) {
    Json wrong = Json::array(), reasons = Json::array();
    for (const Group& group : one.wrong) {
      Json given = Json::array();
      for (const auto& [student, answer] : group.given)
        given.push_back({{"student", student}, {"answer", answer}});
      wrong.push_back({{"what", group.what}, {"given", std::move(given)}});
    }
    for (const auto& [student, text, is_right] : one.reasons)
      reasons.push_back({{"student", student}, {"reason", text}, {"right", is_right}});
    all.push_back({{"lab", one.lab},
                   {"name", one.name},
                   {"asks", one.asks},
                   {"students", one.students},
                   {"answered", one.answered},
                   {"right", one.right},
                   {"attempts", one.attempts},
                   {"discrimination", one.discrimination ? Json(*one.discrimination) : Json()},
                   {"wrong", std::move(wrong)},
                   {"reasons", std::move(reasons)}});
  }
  return all;
}

namespace {

std::string id_of(const QuestionOfClass& one) { return fmt::format("lab{}-{}", one.lab, one.name); }

std::string row_of(const QuestionOfClass& one) {
  const double share = static_cast<double>(one.right) / static_cast<double>(one.students);
  const bool has_details = !one.wrong.empty() || !one.reasons.empty();
  const std::string name =
      has_details ? fmt::format("<a href=\"#{}\">{}</a>", id_of(one), escaped(one.name)) : escaped(one.name);
  return fmt::format(
      "<tr><th scope=\"row\">{} {}</th>"
      "<td class=\"sized\"><span style=\"width:{:.1f}%\"></span></td><td class=\"number\">{} of {}</td>"
      "<td class=\"number\">{:.1f}</td><td class=\"number\">{}</td><td>{}</td></tr>",
      one.lab, name, 100 * share, one.right, one.students, one.attempts,
      one.discrimination ? fmt::format("{:.2f}", std::round(100 * *one.discrimination) / 100 + 0.0) : "-",
      one.wrong.empty() || one.wrong.front().what == unlike ? "" : escaped(one.wrong.front().what));
}

std::string table_of(const std::vector<QuestionOfClass>& questions) {
  std::string rows;
  for (const QuestionOfClass& one : questions) rows += row_of(one);
  return fmt::format(
      "<div class=\"wide\"><table><thead><tr><th>lab and question</th><th colspan=\"2\">right</th>{}{}"
      "<th>most frequent wrong answer</th></tr></thead><tbody>{}</tbody></table></div>",
      analysis::head("attempts", "Checked answers and observations of a student who answered, mean.",
                     "number"),
      analysis::head("discrimination",
                     "Correlation of the points for this question with all other points of the lab. Below "
                     "about 0.2 the question does not tell strong from weak students.",
                     "number"),
      rows);
}

// Wrong answers and reasons of one question.
std::string details_of(const QuestionOfClass& one) {
  std::string wrong, reasons;
  for (const Group& group : one.wrong) {
    std::vector<std::string> given;
    for (const auto& [student, answer] : group.given) given.push_back(student + ": " + answer);
    wrong += fmt::format("<li><b>{}</b> {} <span class=\"hint\">{}</span></li>",
                         counted(std::ssize(group.given), "student"), escaped(group.what),
                         escaped(fmt::format("{}", fmt::join(given, "; "))));
  }
  for (const auto& [student, reason, is_right] : one.reasons)
    reasons += fmt::format("<li>{} <span class=\"hint\">{}, who predicted {}</span></li>", escaped(reason),
                           escaped(student), is_right ? "right" : "wrong");
  if (wrong.empty() && reasons.empty()) return "";
  return analysis::section(id_of(one).c_str(), fmt::format("Lab {}: {}", one.lab, escaped(one.name)),
                           escaped(one.asks),
                           (wrong.empty() ? "" : fmt::format("<h3>Wrong answers</h3><ul>{}</ul>", wrong)) +
                               (reasons.empty() ? "" : fmt::format("<h3>Reasons</h3><ul>{}</ul>", reasons)));
}

std::string students_of(const std::vector<Grade>& grades) {
  std::string rows;
  for (const Grade& one : grades)
    rows += fmt::format(
        "<tr><th scope=\"row\">{}</th><td class=\"number\">{}</td><td class=\"number\">{:g}</td>"
        "<td class=\"number\">{:g}</td><td>{}</td></tr>",
        escaped(as_utf8(one.student.empty() ? one.file : one.student)), one.lab, one.points, one.possible,
        escaped(as_utf8(fmt::format("{}", fmt::join(one.findings, "; ")))));
  return fmt::format(
      "<div class=\"wide\"><table><thead><tr><th>student</th><th class=\"number\">lab</th>"
      "<th class=\"number\">points</th><th class=\"number\">of</th><th>what is wrong with the file</th></tr>"
      "</thead><tbody>{}</tbody></table></div>",
      rows);
}

}  // namespace

std::string grades_page(const std::vector<Grade>& grades) {
  const std::vector<QuestionOfClass> questions = questions_of(grades);
  std::string details;
  for (const QuestionOfClass& one : questions) details += details_of(one);
  const std::string body =
      fmt::format("<h1>{}</h1><p class=\"lead\">{}</p>", grades_page_title,
                  counted(std::ssize(grades), "hand-in")) +
      analysis::section(
          "questions", "Questions",
          "For teachers: this page helps to find right answers. Wrong answers include those of "
          "earlier checks. If the lab knows the misconception behind a wrong answer, its sentence stands "
          "there.",
          questions.empty() ? "" : table_of(questions)) +
      details + analysis::section("students", "Students", "", students_of(grades));
  return analysis::html_of({.title = grades_page_title, .body = body, .data = {{"kind", "class"}}});
}

}  // namespace psim::cli
