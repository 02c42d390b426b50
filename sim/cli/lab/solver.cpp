#include "sim/cli/lab/solver.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>

#include <toml++/toml.h>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <regex>
#include <sstream>
#include <utility>

#include "model/formula.hpp"
#include "model/mutant.hpp"
#include "sim/cli/process.hpp"
#include "sim/cli/talk.hpp"

namespace psim::cli {
namespace {

// `psim WORDS...`, with what it prints in these files. Returns its exit code; 3 after a signal.
int run_child(std::vector<std::string> words, const fs::path& out, const fs::path& err) {
  const int status = Child(std::move(words), out, err).wait();
  return WIFEXITED(status) ? WEXITSTATUS(status) : static_cast<int>(our_fault);
}

std::optional<double> as_number(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

}  // namespace

std::vector<std::string> names_in(const std::string& expression) {
  static const std::regex name("[A-Za-z_][A-Za-z0-9_.]*");
  std::vector<std::string> names;
  for (std::sregex_iterator one(expression.begin(), expression.end(), name), end; one != end; ++one) {
    const std::size_t after =
        expression.find_first_not_of(' ', static_cast<std::size_t>(one->position()) + one->length());
    const auto at = static_cast<std::size_t>(one->position());
    if (at > 0 &&
        (std::isdigit(static_cast<unsigned char>(expression[at - 1])) != 0 || expression[at - 1] == '.'))
      continue;  // of a number: 1e-9
    const bool calls = after != std::string::npos && expression[after] == '(';
    if (!calls && one->str() != "true" && one->str() != "false" &&
        std::ranges::find(names, one->str()) == names.end())
      names.push_back(one->str());
  }
  return names;
}

LabSolver::LabSolver(const Lab& lab, Drawn drawn, fs::path folder, std::string trace)
    : lab_(lab), drawn_(std::move(drawn)), folder_(std::move(folder)), trace_(std::move(trace)) {}

Json LabSolver::made(const std::string& name, const std::string& scenario,
                     const std::vector<std::string>& sets) {
  const fs::path file = folder_ / (name + ".toml"), out = folder_ / (name + ".json"),
                 err = folder_ / (name + ".err");
  write_file(file, filled(read_file(lab_.folder / scenario), drawn_));
  std::vector<std::string> words{"run", file.string(), "--json",         "--threads",
                                 "1",   "--seed",      drawn_.at("seed")};
  if (trace_ != "none")
    words.insert(words.end(), {"--trace", trace_, "--force", "--out", (folder_ / name).string()});
  for (const std::string& set : sets) words.insert(words.end(), {"--set", filled(set, drawn_)});
  const int code = run_child(std::move(words), out, err);
  if (code != done && code != answer_is_no)
    throw Refused(fmt::format("run `{}` of lab {} does not work: {}", name, lab_.number, read_file(err)),
                  "`psim check` says more of its scenario");
  return Json::parse(read_file(out));
}

const Json& LabSolver::run(const std::string& name) {
  if (const auto known = runs_.find(name); known != runs_.end()) return known->second;
  const auto one = std::ranges::find(lab_.runs, name, &LabRun::name);
  if (one == lab_.runs.end())
    throw Refused(fmt::format("lab {} has no run `{}`", lab_.number, name),
                  "lab.toml names its runs in [[run]]");
  return runs_.emplace(name, made(name, one->scenario, one->sets)).first->second;
}

std::map<std::string, std::string> LabSolver::digests() {
  std::map<std::string, std::string> all;
  for (const LabRun& one : lab_.runs) all[one.name] = run(one.name)["digest"].get<std::string>();
  return all;
}

// A parameter, or a path into a run's summary: `bsp.workers.3.clocks`.
double LabSolver::number(const std::string& path) {
  if (const auto parameter = drawn_.find(path); parameter != drawn_.end()) {
    if (const auto found = as_number(parameter->second)) return *found;
    throw Refused(fmt::format("`{}` is {}, which is no number", path, parameter->second),
                  "use it in texts only");
  }
  const Json* at = nullptr;
  std::istringstream parts(path);
  for (std::string part; std::getline(parts, part, '.');) {
    if (at == nullptr) {
      at = &run(part);
      continue;
    }
    const auto index = as_number(part);
    if (at->is_array() && index && *index < static_cast<double>(at->size()))
      at = &(*at)[static_cast<std::size_t>(*index)];
    else if (at->is_object() && at->contains(part)) at = &(*at)[part];
    else throw Refused(fmt::format("no run has `{}`", path), "`psim run FILE --json` shows what there is");
  }
  if (at->is_boolean()) return at->get<bool>() ? 1 : 0;
  if (!at->is_number()) return std::nan("");
  return at->get<double>();
}

double LabSolver::value(const std::string& text) {
  const std::string expression = filled(text, drawn_);
  try {
    const std::vector<std::string> names = names_in(expression);
    std::vector<double> values;
    for (const std::string& name : names) values.push_back(number(name));
    return Formula(expression, names).of(values);
  } catch (const FormulaMistake& mistake) {
    throw Refused(fmt::format("`{}`: {}", expression, mistake.message), mistake.help);
  }
}

RightAnswer LabSolver::right(const LabQuestion& question) {
  if (question.choices.empty()) return {.number = value(question.answer.front())};
  if (question.answer.size() == 1) {
    const double choice = value(question.answer.front());
    if (!(choice >= 0 && choice < static_cast<double>(question.choices.size())))
      throw Refused(
          fmt::format("`{}` of lab {} is {}, which is no choice", question.name, lab_.number, choice),
          "`answer` gives the number of a choice, from 0");
    return {.choices = {static_cast<std::size_t>(choice)}};
  }
  std::vector<double> values;
  for (const std::string& one : question.answer) {
    values.push_back(value(one));
    if (std::isnan(values.back())) values.back() = std::numeric_limits<double>::infinity();  // never reached
  }
  RightAnswer right;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (mutant("one-least-is-right") && !right.choices.empty()) break;
    if (values[i] == std::ranges::min(values)) right.choices.push_back(i);
  }
  return right;
}

double LabSolver::judge(const std::string& design, const std::vector<std::int64_t>& seeds) {
  const std::vector<std::string> fields = design_sets(*lab_.design, design);
  const std::string own = drawn_.at("seed");
  double sum = 0;
  for (const std::int64_t seed : seeds) {
    drawn_["seed"] = fmt::format("{}", seed);
    runs_.clear();  // what a design is compared with has this seed, too
    runs_.emplace("design", made("design", lab_.design->base, fields));
    const double score = value(lab_.design->within) != 0 ? value(lab_.design->score) : 0;
    sum += std::isnan(score) ? 0 : std::clamp(score, 0.0, 1.0);
  }
  runs_.clear();
  drawn_["seed"] = own;
  return sum / static_cast<double>(seeds.size());
}

namespace {

void add_sets(const LabDesign& design, const toml::table& table, const std::string& path,
              std::vector<std::string>& sets) {
  for (const auto& [key, node] : table) {
    const std::string field = path + std::string(key.str());
    if (node.is_table()) {
      add_sets(design, *node.as_table(), field + ".", sets);
      continue;
    }
    const auto allows = [&field](const std::string& one) {
      return one.ends_with('.') ? field.starts_with(one) : field == one;
    };
    if (std::ranges::none_of(design.may, allows))
      throw Refused(
          fmt::format("{}:{}: `{}` is not yours to set", design.file, key.source().begin.line, field),
          fmt::format("a design may set {}", fmt::join(design.may, ", ")));
    std::ostringstream text;
    node.visit([&text](const auto& value) { text << toml::toml_formatter(value); });
    sets.push_back(field + "=" + text.str());
  }
}

}  // namespace

std::vector<std::string> design_sets(const LabDesign& design, const std::string& text) {
  try {
    std::vector<std::string> sets;
    add_sets(design, toml::parse(text, design.file), "", sets);
    return sets;
  } catch (const toml::parse_error& error) {
    throw Refused(fmt::format("{}:{}: {}", design.file, error.source().begin.line, error.description()),
                  "it is TOML");
  }
}

}  // namespace psim::cli
