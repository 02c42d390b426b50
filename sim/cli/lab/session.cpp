#include "sim/cli/lab/session.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <toml++/toml.h>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "model/mutant.hpp"
#include "sim/cli/see/target.hpp"
#include "sim/cli/talk.hpp"

namespace psim::cli {
namespace {

constexpr const char *state_file = "lab.json", *answers_file = "answers.toml", *session_format = "psim.lab/1";

std::string comment(const std::string& text) {
  std::string out = "# ";
  for (const char c : text) {
    out += c;
    if (c == '\n') out += "# ";
  }
  return out + "\n";
}

std::string answers_sheet(const Lab& lab, const Drawn& drawn) {
  std::string sheet = fmt::format("# Lab {}, {}. Write each answer after its name, then `psim lab check`.\n",
                                  lab.number, drawn.at("student"));
  int number = 0;
  for (const LabQuestion& one : lab.questions) {
    sheet += fmt::format(
        "\n{}",
        comment(fmt::format(
            "{}. {}{}", ++number,
            one.predict ? "Prediction, before you run anything: it is locked when you check it. " : "",
            filled(one.asks, drawn))));
    if (!one.choices.empty()) sheet += comment(fmt::format("One of: {}", fmt::join(one.choices, ", ")));
    if (!one.unit.empty()) sheet += comment(fmt::format("In {}.", one.unit));
    sheet += fmt::format("{} = \"\"\n", one.name);
  }
  return sheet;
}

// "3 %" and "0.03" are the same; so are "12,5" and "12.5", and "3.6" and "3.6 ms" where ms are asked for.
// "1,893" is none: some read it as a thousand and more.
std::optional<double> number_in(std::string text, const std::string& unit) {
  std::erase(text, ' ');
  if (!unit.empty() && text.ends_with(unit)) text.resize(text.size() - unit.size());
  const std::size_t comma = text.find(',');
  if (comma != std::string::npos) {
    constexpr std::size_t thousands = 4;  // a comma and three digits
    if ((text.size() - comma == thousands && !mutant("thousands-are-fractions")) ||
        text.find_first_of(",.", comma + 1) != std::string::npos)
      return {};
    text[comma] = '.';
  }
  double scale = 1;
  if (text.ends_with('%')) {
    text.pop_back();
    scale = 0.01;
  }
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(number)) return std::nullopt;
  return number * scale;
}

std::string plain(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '-' || c == '_'; });
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// The number of the choice that an answer names.
std::optional<std::size_t> chosen_in(const LabQuestion& question, const std::string& answer) {
  const auto chosen = std::ranges::find_if(
      question.choices, [&](const std::string& one) { return plain(one) == plain(answer); });
  if (chosen == question.choices.end()) return std::nullopt;
  return static_cast<std::size_t>(chosen - question.choices.begin());
}

bool fits_an_id(const std::string& student) {
  const auto fits = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-' || c == '@';
  };
  return !student.empty() && student.size() <= 64 && std::ranges::all_of(student, fits) &&
         student[0] != '-' && student[0] != '.';
}

// What is answered, by question; a number as a text, too.
std::map<std::string, std::string> answers_in(const fs::path& path) {
  std::map<std::string, std::string> answers;
  try {
    for (const auto& [name, node] : toml::parse(read_file(path), path.string())) {
      const std::string question(name.str());
      if (const auto number = node.value_exact<double>()) answers[question] = fmt::format("{}", *number);
      else if (const auto whole = node.value_exact<std::int64_t>())
        answers[question] = fmt::format("{}", *whole);
      else if (const auto text = node.value_exact<std::string>();
               text && text->find_first_not_of(' ') != std::string::npos)
        answers[question] = *text;
    }
  } catch (const toml::parse_error& error) {
    throw Refused(fmt::format("{}:{}: {}", path.string(), error.source().begin.line, error.description()),
                  "an answer is a number, or a text in quotes");
  }
  return answers;
}

}  // namespace

void LabSession::start(const Lab& lab, const std::string& student, const fs::path& folder,
                       const fs::path& course) {
  if (!fits_an_id(student))
    throw Refused(fmt::format("`{}` is no ID of a student", student),
                  "letters, digits and . _ - @, at most 64 of them");
  if (fs::exists(folder))
    throw Refused(fmt::format("{} is there already", folder.string()),
                  "go on there with `psim lab check`, or name another folder with --out");
  const Drawn drawn = draw(lab, student);
  fs::create_directories(folder);
  for (const fs::directory_entry& entry : fs::directory_iterator(lab.folder)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_regular_file() || name == "lab.toml" || name.ends_with("~")) continue;
    write_file(folder / name, filled(read_file(entry.path()), drawn));
  }
  write_file(folder / answers_file, answers_sheet(lab, drawn));
  const Json state{
      {"format", session_format}, {"lab", lab.number},
      {"student", student},       {"course", course.empty() ? "" : fs::absolute(course).string()},
      {"locked", Json::object()}, {"misses", Json::object()},
      {"solved", Json::object()}};
  LabSession(folder, state, {}).save();
}

LabSession LabSession::open(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(folder / state_file, error))
    throw Refused(fmt::format("{} is no folder of a lab", folder.string()),
                  "psim lab start NUMBER --student ID makes one");
  Json state = Json::parse(read_file(folder / state_file), nullptr, false);
  const bool fits = state.is_object() && state.contains("format") && state["format"] == session_format &&
                    state.contains("lab") && state["lab"].is_number_integer() && state.contains("student") &&
                    state["student"].is_string() && state.contains("course") && state["course"].is_string() &&
                    state.contains("locked") && state["locked"].is_object() && state.contains("misses") &&
                    state["misses"].is_object() && state.contains("solved") && state["solved"].is_object();
  if (!fits)
    throw Refused(fmt::format("{} is not as psim wrote it", (folder / state_file).string()),
                  "start the lab again in another folder, with the same ID");
  return {folder, std::move(state), answers_in(folder / answers_file)};
}

void LabSession::save() const { put_file(folder_ / state_file, state_.dump(2) + "\n"); }

std::optional<std::string> LabSession::answer(const LabQuestion& question) const {
  const auto found = answers_.find(question.name);
  return found == answers_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::string> LabSession::design(const LabDesign& design) const {
  std::error_code error;
  if (!fs::exists(folder_ / design.file, error)) return std::nullopt;
  return read_file(folder_ / design.file);
}

std::optional<std::string> LabSession::locked(const std::string& question) const {
  const auto found = state_["locked"].find(question);
  return found == state_["locked"].end() ? std::nullopt : std::optional(found->get<std::string>());
}

void LabSession::lock(const std::string& question, const std::string& answer) {
  state_["locked"][question] = answer;
  save();
}

std::int64_t LabSession::misses(const std::string& question) const {
  const auto found = state_["misses"].find(question);
  return found == state_["misses"].end() ? 0 : std::ssize(*found);
}

void LabSession::miss(const std::string& question, const std::string& answer) {
  Json& answers = state_["misses"][question];
  if (!answers.empty() && answers.back() == answer) return;
  answers.push_back(answer);
  save();
}

void LabSession::solve(const std::string& question) {
  state_["solved"][question] = true;
  save();
}

bool LabSession::is_solved(const std::string& question) const {
  return state_["solved"].value(question, false);
}

Mark mark_of(const LabQuestion& question, const std::string& answer, const RightAnswer& right) {
  if (!question.choices.empty()) {
    const auto chosen = chosen_in(question, answer);
    if (!chosen) return Mark::unreadable;
    return std::ranges::count(right.choices, *chosen) > 0 ? Mark::right : Mark::wrong;
  }
  const std::optional<double> number = number_in(answer, question.unit);
  if (!number) return Mark::unreadable;
  constexpr double rounding = 1e-9;
  const double size = std::abs(right.number),
               allowed = std::max(question.tolerance * size, rounding * (1 + size));
  return std::abs(*number - right.number) <= allowed ? Mark::right : Mark::wrong;
}

bool is_readable(const LabQuestion& question, const std::string& answer) {
  return question.choices.empty() ? number_in(answer, question.unit).has_value()
                                  : chosen_in(question, answer).has_value();
}

std::string answer_text(const LabQuestion& question, const RightAnswer& right) {
  if (question.choices.empty())
    return fmt::format("{:.4g}{}{}", right.number, question.unit.empty() ? "" : " ", question.unit);
  std::vector<std::string> names;
  for (const std::size_t choice : right.choices) names.push_back(question.choices[choice]);
  return fmt::format("{}", fmt::join(names, " or "));
}

}  // namespace psim::cli
