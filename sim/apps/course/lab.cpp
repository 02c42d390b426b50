#include "sim/apps/course/lab.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
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

namespace psim::cli {
namespace {

constexpr double most_points = 1'000'000;
constexpr const char* teaching = "docs/course/teaching.md describes lab.toml";

// Reads one lab.toml. Mistakes are reported with their line.
class LabFile {
 public:
  explicit LabFile(fs::path path) : path_(std::move(path)) {}

  Lab read() {
    try {
      const std::string text = read_file(path_);
      refuse_deep(text, path_);
      return lab(toml::parse(text, path_.string()));
    } catch (const toml::parse_error& error) {
      refuse(error.source(), std::string(error.description()));
    }
  }

 private:
  [[noreturn]] void refuse(const toml::source_region& where, const std::string& what) const {
    throw Refused(fmt::format("{}:{}:{}: {}", path_.string(), where.begin.line, where.begin.column, what),
                  teaching);
  }

  // Refuses all other keys, because they are probably misspelt.
  void allow(const toml::table& table, const std::vector<std::string>& keys) const {
    for (const auto& [key, node] : table) {
      if (std::ranges::count(keys, key.str()) == 0)
        refuse(key.source(),
               fmt::format("`{}` is not allowed here; allowed: {}", key.str(), fmt::join(keys, ", ")));
    }
  }

  template <class T>
  T value(const toml::table& table, std::string_view key, std::optional<T> otherwise = {}) const {
    const toml::node* node = table.get(key);
    if (node == nullptr && otherwise) return *otherwise;
    if (node == nullptr) refuse(table.source(), fmt::format("`{}` is missing", key));
    const std::optional<T> found = node->value<T>();
    if (!found) refuse(node->source(), fmt::format("`{}` has the wrong type", key));
    return *found;
  }
  // A number in this range.
  template <class T>
  T within(const toml::table& table, std::string_view key, T least, T most,
           std::optional<T> otherwise = {}) const {
    const T number = value<T>(table, key, otherwise);
    if (!(number >= least && number <= most))
      refuse(table.get(key)->source(),
             fmt::format("`{}` is {}; it must be from {} to {}", key, number, least, most));
    return number;
  }
  std::vector<std::string> texts(const toml::table& table, std::string_view key) const {
    std::vector<std::string> all;
    const toml::node* node = table.get(key);
    if (node == nullptr) return all;
    if (!node->is_array()) refuse(node->source(), fmt::format("`{}` is not a list", key));
    for (const toml::node& one : *node->as_array()) all.push_back(as_text(one));
    return all;
  }
  // A number in a list goes into a scenario exactly as it is written.
  std::string as_text(const toml::node& node) const {
    if (const auto text = node.value_exact<std::string>()) return *text;
    if (const auto whole = node.value_exact<std::int64_t>()) return fmt::format("{}", *whole);
    if (const auto number = node.value_exact<double>()) return fmt::format("{}", *number);
    refuse(node.source(), "expected a text or a number");
  }
  template <class Read>
  void each(const toml::table& root, std::string_view key, Read read) const {
    const toml::node* node = root.get(key);
    if (node == nullptr) return;
    if (!node->is_array_of_tables()) refuse(node->source(), fmt::format("write [[{}]]", key));
    for (const toml::node& one : *node->as_array()) read(*one.as_table());
  }

  Lab lab(const toml::table& root) const {
    allow(root, {"lab", "title", "minutes", "parameters", "run", "question", "design"});
    Lab result{.folder = path_.parent_path(),
               .number = within<std::int64_t>(root, "lab", 1, 999),
               .minutes = within<std::int64_t>(root, "minutes", 1, 10'000),
               .title = value<std::string>(root, "title"),
               .parameters = {},
               .runs = {},
               .questions = {},
               .design = {}};
    if (const toml::table* table = root["parameters"].as_table()) {
      for (const auto& [name, node] : *table)
        result.parameters.push_back({std::string(name.str()), texts(*table, name.str())});
      for (const LabParameter& one : result.parameters)
        if (one.values.empty()) refuse(table->source(), fmt::format("`{}` has no values", one.name));
    }
    each(root, "run", [&](const toml::table& t) {
      allow(t, {"name", "scenario", "set"});
      result.runs.push_back(
          {value<std::string>(t, "name"), value<std::string>(t, "scenario"), texts(t, "set")});
    });
    each(root, "question", [&](const toml::table& t) { result.questions.push_back(question(t)); });
    if (const toml::table* t = root["design"].as_table()) {
      allow(*t, {"file", "base", "may", "score", "within", "seeds", "points", "shows"});
      result.design = {.file = value<std::string>(*t, "file"),
                       .base = value<std::string>(*t, "base"),
                       .may = texts(*t, "may"),
                       .score = value<std::string>(*t, "score"),
                       .within = value<std::string>(*t, "within", "true"),
                       .seeds = within<std::int64_t>(*t, "seeds", 1, 100, 3),
                       .shows = {},
                       .points = within<double>(*t, "points", 0, most_points, 10.0)};
      each(*t, "shows", [&](const toml::table& one) {
        allow(one, {"name", "value"});
        result.design->shows.emplace_back(value<std::string>(one, "name"), value<std::string>(one, "value"));
      });
    }
    return result;
  }

  LabQuestion question(const toml::table& t) const {
    allow(t, {"name", "asks", "predict", "answer", "tolerance", "unit", "choices", "hints", "because", "look",
              "points", "observe"});
    LabQuestion one{.name = value<std::string>(t, "name"),
                    .asks = value<std::string>(t, "asks"),
                    .predict = value<bool>(t, "predict", false),
                    .answer = {},
                    .tolerance = within<double>(t, "tolerance", 0, 1, 0.0),
                    .unit = value<std::string>(t, "unit", std::string()),
                    .choices = texts(t, "choices"),
                    .hints = texts(t, "hints"),
                    .because = value<std::string>(t, "because"),
                    .look = value<std::string>(t, "look", std::string()),
                    .points = within<double>(t, "points", 0, most_points, 1.0)};
    if (one.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789") != std::string::npos)
      refuse(t.source(), fmt::format("`{}` is not a name of letters, digits and _", one.name));
    const toml::node* answer = t.get("answer");
    const bool is_list = answer != nullptr && answer->is_array();
    one.answer = is_list ? texts(t, "answer") : std::vector<std::string>{value<std::string>(t, "answer")};
    if (is_list && (one.answer.empty() || one.answer.size() != one.choices.size()))
      refuse(answer->source(), fmt::format("`answer` has {} expressions for {} choices", one.answer.size(),
                                           one.choices.size()));
    if (one.predict) one.observe = observation(t, one);
    else if (const toml::node* observe = t.get("observe"))
      refuse(observe->source(), "`observe` belongs to a prediction: predict = true");
    return one;
  }

  // For a predicted number, this number. For a predicted choice, only the author knows which number shows it.
  LabQuestion::Observation observation(const toml::table& t, const LabQuestion& one) const {
    const toml::table* observe = t["observe"].as_table();
    if (observe == nullptr) {
      if (one.choices.empty())
        return {.asks = "What do your own runs show?", .value = one.answer.front(), .unit = one.unit};
      refuse(t.source(), fmt::format("`{}` predicts a choice: `observe = {{ asks = ..., value = ... }}` must "
                                     "say which number of the student's own runs shows the right choice",
                                     one.name));
    }
    allow(*observe, {"asks", "value", "unit"});
    return {.asks = value<std::string>(*observe, "asks"),
            .value = value<std::string>(*observe, "value"),
            .unit = value<std::string>(*observe, "unit", std::string())};
  }

  fs::path path_;
};

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
  if (fs::exists(course / "lab.toml", error)) all.push_back(LabFile(course / "lab.toml").read());
  for (const fs::directory_entry& entry : fs::directory_iterator(course, error)) {
    if (fs::exists(entry.path() / "lab.toml")) all.push_back(LabFile(entry.path() / "lab.toml").read());
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

void refuse_deep(const std::string& text, const fs::path& file) {
  if (const auto deep = first_too_deep(text))
    throw Refused(fmt::format("{}: {}", file.string(),
                              deep->key ? "a key has too many parts" : "brackets are nested too deeply"),
                  "use fewer of them");
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
    if (question.name == "observed") wrong("the question name `observed` is reserved");
    for (const std::string& answer : question.answer) check_expression(answer, where);
    if (question.predict) {
      check_text(question.observe.asks, where);
      check_expression(question.observe.value, "`observe` of " + where);
      if (question.choices.empty() && question.observe.unit != question.unit)
        wrong("{}: `observe` asks for another unit than the question", where);
    }
    for (const std::string& told : computed_in(with_ones(question.because)))
      check_expression(told, "`because` of " + where);
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
