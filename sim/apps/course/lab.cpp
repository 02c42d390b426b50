#include "sim/apps/course/lab.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <regex>
#include <set>
#include <utility>

#include "model/base/formula.hpp"
#include "model/base/random.hpp"
#include "model/base/unicode.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/course/answer.hpp"
#include "sim/apps/course/solver.hpp"
#include "sim/runs/files.hpp"
#include "sim/scenario/assignment.hpp"
#include "sim/scenario/fields/field_tables.hpp"
#include "sim/scenario/reading/reader.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim::cli {
namespace {

constexpr double most_points = 1'000'000;
constexpr const char* teaching = "docs/course/teaching.md describes lab.toml";

void describe_observation(FieldVisitor& v, LabQuestion::Observation& o) {
  v.field("asks", &o.asks, "The question about the student's own runs.", required);
  v.field("value", &o.value, "The number that they show, an expression.", required);
  v.field("unit", &o.unit, "Its unit.");
}

void describe_misconception(FieldVisitor& v, LabQuestion::Misconception& m) {
  v.field("value", &m.value, "The wrong answer, an expression.", required);
  v.field("says", &m.says, "What is wrong with the idea.", required);
}

void describe_run(FieldVisitor& v, LabRun& r) {
  v.field("name", &r.name, "Name of the run in expressions.", required);
  v.field("scenario", &r.scenario, "A scenario file next to lab.toml.", required);
  v.field("set", &r.sets, "Overrides, as in --set.");
}

void describe_question(FieldVisitor& v, LabQuestion& q) {
  v.field("name", &q.name, "Name of the question: small letters, digits and _.", required);
  v.field("asks", &q.asks, "The question.", required);
  v.field("predict", &q.predict, "Whether students answer before any run.");
  v.field("answer", &q.answer, "An expression, or one for each choice.", required, or_one);
  v.field("tolerance", &q.tolerance, "Allowed error, as a share of the answer.", within(0, 1));
  v.field("unit", &q.unit, "Unit of the answer.");
  v.field("choices", &q.choices, "The answers to choose from.", or_number);
  v.field("hints", &q.hints, "Hints, shown one after the other.", or_number);
  v.tables("misconceptions", "Wrong answers to which a wrong idea leads.", q.misconceptions,
           describe_misconception);
  v.field("because", &q.because, "Why the answer is right.", required);
  v.field("look", &q.look, "The run that explains the answer.");
  v.field("points", &q.points, "Points for the answer.", within(0, most_points));
  v.table("observe", "The number that the student's own runs show for a prediction.",
          [&] { describe_observation(v, q.observe); });
}

void describe_shown(FieldVisitor& v, std::pair<std::string, std::string>& shown) {
  v.field("name", &shown.first, "Name of the value.", required);
  v.field("value", &shown.second, "An expression.", required);
}

void describe_design(FieldVisitor& v, LabDesign& d) {
  v.field("file", &d.file, "The student's file.", required);
  v.field("base", &d.base, "The scenario whose fields it overrides.", required);
  v.field("may", &d.may, "Fields that it may set, or tables with a dot at the end.");
  v.field("score", &d.score, "The score, an expression from 0 to 1.", required);
  v.field("within", &d.within, "A condition that must hold.");
  v.field("seeds", &d.seeds, "Number of hidden seeds.", within(1, 100));
  v.field("points", &d.points, "Points for a score of 1.", within(0, most_points));
  v.tables("shows", "Further values that `psim lab check` shows.", d.shows, describe_shown);
}

// Every field of lab.toml, except the parameters, whose names are free.
void describe(FieldVisitor& v, Lab& lab) {
  v.field("lab", &lab.number, "Number of the lab.", within(1, 999), required);
  v.field("title", &lab.title, "Its title.", required);
  v.field("minutes", &lab.minutes, "How long it takes.", within(1, 10'000), required);
  v.tables("run", "A run of the lab.", lab.runs, describe_run);
  v.tables("question", "A question.", lab.questions, describe_question);
  LabDesign design;
  bool is_given = false;
  v.table(
      "design", "The student's own scenario.", [&] { describe_design(v, design); }, &is_given);
  if (is_given) lab.design = std::move(design);
}

// For a predicted number, this number. For a predicted choice, only the author knows which number shows it.
void settle_observation(LabQuestion& question) {
  if (question.predict && question.observe.asks.empty() && question.choices.empty())
    question.observe = {
        .asks = "What do your own runs show?", .value = question.answer.front(), .unit = question.unit};
}

// Throws Invalid, with all mistakes and their places.
Lab lab_in(const fs::path& path) {
  const std::string text = read_file(path);
  const Document document{.root = toml_in(text, path, teaching)};
  Diagnostics diagnostics;
  diagnostics.add_source({path.string(), text});
  Lab lab{
      .folder = path.parent_path(), .title = {}, .parameters = {}, .runs = {}, .questions = {}, .design = {}};
  Reader reader(document, diagnostics);
  describe(reader, lab);
  reader.finish({"parameters"});
  if (!diagnostics.empty()) throw Invalid{diagnostics.render()};
  if (const toml::table* parameters = document.root["parameters"].as_table()) {
    for (auto&& [name, values] : *parameters) {
      LabParameter& one = lab.parameters.emplace_back(LabParameter{std::string(name.str()), {}});
      // A number goes into a scenario exactly as it is written.
      if (const toml::array* list = values.as_array())
        for (const toml::node& value : *list) one.values.push_back(label_of(value));
    }
  }
  std::ranges::for_each(lab.questions, settle_observation);
  return lab;
}

fs::path course_folder() {
  const fs::path scenarios = scenario_folder();
  for (const fs::path& place :
       {scenarios.parent_path() / "docs/course", scenarios.parent_path() / "course"}) {
    if (fs::is_directory(place)) return place;
  }
  return "docs/course";
}

}  // namespace

LabQuestion observation_of(const LabQuestion& prediction) {
  constexpr double as_printed = 0.01;  // psim prints four digits, and a student may round
  return {.name = "observed." + prediction.name,
          .asks = prediction.observe.asks,
          .answer = {prediction.observe.value},
          .tolerance = as_printed,
          .unit = prediction.observe.unit,
          .hints = prediction.hints,
          .because = {},
          .look = {}};
}

double Lab::points() const {
  double all = design ? design->points : 0;
  for (const LabQuestion& question : questions) all += question.points;
  return all;
}

namespace {

std::vector<Lab> all_labs(const fs::path& folder) {
  std::vector<Lab> all;
  const fs::path course = folder.empty() ? course_folder() : folder;
  std::error_code error;
  if (fs::exists(course / "lab.toml", error)) all.push_back(lab_in(course / "lab.toml"));
  for (const fs::directory_entry& entry : fs::directory_iterator(course, error)) {
    if (fs::exists(entry.path() / "lab.toml")) all.push_back(lab_in(entry.path() / "lab.toml"));
  }
  if (all.empty())
    throw Refused(fmt::format("{} has no lab", course.string()), "--course takes a folder with a lab");
  std::ranges::sort(all, {}, &Lab::number);
  return all;
}

void refuse_mistakes(const Lab& lab) {
  if (const std::vector<std::string> mistakes = mistakes_in(lab); !mistakes.empty())
    throw Refused(fmt::format("{}: {}", (lab.folder / "lab.toml").string(), fmt::join(mistakes, "\n  ")),
                  teaching);
}

Lab as_written(std::int64_t number, const fs::path& folder) {
  std::vector<Lab> all = all_labs(folder);
  if (!folder.empty() && std::ranges::find(all, number, &Lab::number) == all.end())
    all = all_labs({});  // a class may use labs from both places
  const auto found = std::ranges::find(all, number, &Lab::number);
  if (found == all.end())
    throw Refused(
        fmt::format("no lab {} in {}", number, (folder.empty() ? course_folder() : folder).string()),
        "`psim lab list` lists all labs; --course takes another folder");
  refuse_mistakes(*found);
  return std::move(*found);
}

}  // namespace

toml::table toml_in(const std::string& text, const fs::path& file, const char* help) {
  ParsedText parsed = parse_text(text, 0);
  if (!parsed.problem) return std::move(parsed.root);
  const Diagnostic& problem = *parsed.problem;
  throw Refused(fmt::format("{}:{}:{}: {}: {}", file.string(), problem.place.line, problem.place.column,
                            problem.message, problem.label),
                problem.help.empty() ? help : problem.help);
}

std::int64_t lab_number_in(const std::string& word) {
  const auto number = number_in<std::int64_t>(word);
  if (!number)
    throw Refused(fmt::format("`{}` is not the number of a lab", word), "`psim lab list` shows them");
  return *number;
}

std::vector<Lab> labs(const fs::path& folder) {
  std::vector<Lab> all = all_labs(folder);
  for (const Lab& one : all) refuse_mistakes(one);
  return all;
}

Drawn draw(const Lab& lab, std::string_view student) {
  Drawn drawn{{"student", std::string(student)}};
  for (const LabParameter& one : lab.parameters) {
    Stream stream(static_cast<std::uint64_t>(lab.number), fmt::format("lab {} of {}", one.name, student));
    drawn[one.name] = one.values[stream.below(one.values.size())];
  }
  Stream stream(static_cast<std::uint64_t>(lab.number), fmt::format("lab seed of {}", student));
  drawn["seed"] = fmt::format("{}", 1 + stream.below(999'999));
  return drawn;
}

std::vector<std::string> scenario_files(const Lab& lab) {
  std::vector<std::string> files;
  for (const LabRun& run : lab.runs) {
    if (std::ranges::count(files, run.scenario) == 0) files.push_back(run.scenario);
  }
  return files;
}

std::string filled(std::string text, const Drawn& drawn) {
  for (const auto& [name, value] : drawn) {
    const std::string place = "{" + name + "}";
    for (std::size_t at = 0; (at = text.find(place, at)) != std::string::npos; at += value.size())
      text.replace(at, place.size(), value);
  }
  return text;
}

std::string given_out(const Lab& lab, const fs::path& file, const Drawn& drawn) {
  return filled(read_file(lab.folder / file), drawn);
}

std::string cluster_text(const Lab& lab, const Drawn& drawn) {
  std::error_code error;
  if (!fs::is_regular_file(lab.folder / "README.md", error)) return "";
  const std::string text = given_out(lab, "README.md", drawn);
  const std::size_t heading = text.find("\n## "),
                    from = text.find('\n', std::min(heading, text.size() - 1) + 1);
  if (heading == std::string::npos || from == std::string::npos) return "";
  return text.substr(from + 1, text.find("\n## ", from) - from);
}

Lab lab_of(std::int64_t number, const fs::path& folder, std::string_view student) {
  Lab lab = as_written(number, folder);
  const Drawn drawn = draw(lab, student);
  for (LabQuestion& question : lab.questions) {
    for (std::string& choice : question.choices) choice = filled(choice, drawn);
  }
  return lab;
}

namespace {

// A place for the value of a parameter in a text.
const std::regex& parameter_place() {
  static const std::regex form("\\{([a-z_][a-z_0-9]*)\\}");
  return form;
}

class LabCheck {
 public:
  explicit LabCheck(const Lab& lab) : lab_(lab) {
    for (const LabParameter& one : lab.parameters) {
      parameters_.insert(one.name);
      if (one.values.empty()) wrong("parameter `{}` has no values", one.name);
      if (one.name == "seed" || one.name == "student")
        wrong("the name of parameter `{}` is reserved", one.name);
    }
    for (const LabRun& one : lab.runs) {
      add(runs_, one.name, "run");
      if (!is_word(one.name)) wrong("run `{}`: a name has letters, digits and _", one.name);
    }
  }

  std::vector<std::string> mistakes() {
    std::set<std::string> questions;
    for (const LabQuestion& one : lab_.questions) {
      add(questions, one.name, "question");
      check(one);
    }
    for (const LabRun& one : lab_.runs) {
      for (const std::string& set : one.sets) check_text(set, fmt::format("run `{}`", one.name));
    }
    for (const std::string& file : scenario_files(lab_)) check_file(file);
    if (lab_.design) check(*lab_.design);
    check_file("README.md");
    return std::move(mistakes_);
  }

 private:
  template <class... Values>
  void wrong(fmt::format_string<Values...> text, Values&&... values) {
    mistakes_.push_back(fmt::format(text, std::forward<Values>(values)...));
  }

  void add(std::set<std::string>& names, const std::string& name, const char* what) {
    if (!names.insert(name).second) wrong("{} `{}` occurs twice", what, name);
  }

  void check(const LabQuestion& question) {
    const std::string where = fmt::format("question `{}`", question.name);
    if (question.name == "observed" || question.name == "reason")
      wrong("the question name `{}` is reserved", question.name);
    if (question.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789") != std::string::npos)
      wrong("`{}` is not a name of small letters, digits and _", question.name);
    const std::size_t answers = question.answer.size();
    if (answers > 1 && answers != question.choices.size())
      wrong("{}: `answer` has {} expressions for {} choices", where, answers, question.choices.size());
    if (question.predict && question.observe.asks.empty())
      wrong(
          "{} predicts a choice: `observe = {{ asks = ..., value = ... }}` must say which number of the "
          "student's own runs shows the right choice",
          where);
    if (!question.predict && !question.observe.asks.empty())
      wrong("{}: `observe` belongs to a prediction: predict = true", where);
    for (const std::string& answer : question.answer) check_expression(answer, where);
    if (question.predict && !question.observe.asks.empty()) {
      check_text(question.observe.asks, where);
      check_expression(question.observe.value, "`observe` of " + where);
      if (question.choices.empty() && question.observe.unit != question.unit)
        wrong("{}: `observe` asks for another unit than the question", where);
    }
    for (const std::string& told : computed_in(with_ones(question.because)))
      check_expression(told, "`because` of " + where);
    for (const LabQuestion::Misconception& one : question.misconceptions) {
      check_expression(one.value, "`misconceptions` of " + where);
      check_text(one.says, where);
      for (const std::string& told : computed_in(with_ones(one.says)))
        check_expression(told, "`misconceptions` of " + where);
    }
    if (!question.look.empty() && runs_.count(question.look) == 0)
      wrong("{}: unknown run `{}` in `look`", where, question.look);
    check_text(question.asks, where);
    check_text(question.because, where);
    for (const std::string& choice : question.choices) {
      check_text(choice, where);
      if (as_read(question, choice) != choice)
        wrong("{}: psim cannot tell `{}` from `{}`", where, as_read(question, choice), choice);
    }
    for (const std::string& hint : question.hints) check_text(hint, where);
  }

  void check(const LabDesign& design) {
    check_file(design.base);
    check_file(design.file);
    runs_.insert("design");
    check_expression(design.score, "`score` of [design]");
    check_expression(design.within, "`within` of [design]");
    for (const auto& [name, expression] : design.shows) check_expression(expression, "`shows` of [design]");
  }

  // A {name} without a parameter would stay in the text.
  void check_text(const std::string& text, const std::string& where) {
    for (std::sregex_iterator one(text.begin(), text.end(), parameter_place()), end; one != end; ++one) {
      const std::string name = one->str(1);
      if (parameters_.count(name) == 0 && name != "student" && name != "seed")
        wrong("{}: unknown parameter `{}`", where, name);
    }
  }

  // The name becomes the name of a file, and occurs in expressions.
  static bool is_word(const std::string& text) {
    return !text.empty() &&
           std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
  }

  void check_file(const std::string& name) {
    std::error_code error;
    if (!is_name(name)) return wrong("{} is not the name of a file next to lab.toml", name);
    if (fs::is_regular_file(lab_.folder / name, error)) check_text(read_file(lab_.folder / name), name);
    else wrong("the file {} does not exist", name);
  }

  // A drawn value is a number or part of a name; 1 can replace both.
  static std::string with_ones(const std::string& text) {
    return std::regex_replace(text, parameter_place(), "1");
  }

  void check_expression(const std::string& expression, const std::string& where) {
    check_text(expression, where);
    const std::string drawn = with_ones(expression);
    const std::vector<std::string> names = names_in(drawn);
    for (const std::string& name : names) {
      const std::string first = name.substr(0, name.find('.'));
      const bool is_known =
          first == name ? parameters_.count(name) > 0 || name == "seed" : runs_.count(first) > 0;
      if (!is_known) wrong("{}: `{}` is neither a parameter nor a value of a run", where, name);
    }
    try {
      const Formula parsed(drawn, names);
    } catch (const FormulaMistake& mistake) {
      wrong("{}: `{}`: {}", where, expression, mistake.message);
    }
  }

  const Lab& lab_;
  std::set<std::string> parameters_, runs_;
  std::vector<std::string> mistakes_;
};

}  // namespace

std::vector<std::string> mistakes_in(const Lab& lab) { return LabCheck(lab).mistakes(); }

}  // namespace psim::cli
