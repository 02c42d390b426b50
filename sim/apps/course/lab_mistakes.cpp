#include "sim/apps/course/lab_mistakes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <regex>
#include <set>

#include "model/formula.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/course/answer.hpp"
#include "sim/apps/course/solver.hpp"
#include "sim/runs/files.hpp"

namespace psim::cli {
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
