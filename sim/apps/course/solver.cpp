#include "sim/apps/course/solver.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <limits>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "model/base/formula.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/runs/answer.hpp"
#include "sim/runs/files.hpp"
#include "sim/runs/process.hpp"
#include "sim/runs/request.hpp"
#include "sim/scenario/assignment.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim::cli {
namespace {

// A run of a lab takes seconds. A run that reaches these limits would hold up a class.
constexpr Limits run_limits{.cpu_seconds = 60, .address_space = 4'000'000'000};

constexpr std::string_view computed = "{=";  // EXPRESSION }

bool is_stuck(const Json& run) { return !run["stuck"].empty(); }

}  // namespace

std::vector<std::string> computed_in(const std::string& text) {
  std::vector<std::string> all;
  const auto end = std::string::npos;
  for (std::size_t at = text.find(computed); at != end; at = text.find(computed, at + 1)) {
    const std::size_t from = at + computed.size();
    all.push_back(text.substr(from, text.find('}', from) - from));
  }
  return all;
}

std::vector<std::string> names_in(const std::string& expression) {
  static const std::regex name("[A-Za-z_][A-Za-z0-9_.]*");
  std::vector<std::string> names;
  for (std::sregex_iterator one(expression.begin(), expression.end(), name), end; one != end; ++one) {
    const std::size_t after =
        expression.find_first_not_of(' ', static_cast<std::size_t>(one->position()) + one->length());
    const auto at = static_cast<std::size_t>(one->position());
    if (at > 0 &&
        (std::isdigit(static_cast<unsigned char>(expression[at - 1])) != 0 || expression[at - 1] == '.'))
      continue;  // part of a number: 1e-9
    const bool calls = after != std::string::npos && expression[after] == '(';
    if (!calls && one->str() != "true" && one->str() != "false" &&
        std::ranges::find(names, one->str()) == names.end())
      names.push_back(one->str());
  }
  return names;
}

LabSolver::LabSolver(const Lab& lab, Drawn drawn, fs::path folder, std::stop_token stop)
    : lab_(lab), drawn_(std::move(drawn)), folder_(std::move(folder)), stop_(std::move(stop)) {}

// Throws Refused, with psim's message on the run.
Json LabSolver::made(const std::string& name, const std::string& scenario,
                     const std::vector<std::string>& sets) {
  const fs::path file = folder_ / (name + ".toml"), out = folder_ / (name + ".json"),
                 err = folder_ / (name + ".err");
  write_file(file, given_out(lab_, scenario, drawn_));
  std::vector<std::string> words{"run", file.string(), "--answer",       "--threads",
                                 "1",   "--seed",      drawn_.at("seed")};
  for (const std::string& set : sets) words.insert(words.end(), {"--set", set});
  Child child(std::move(words), out, err, run_limits);
  while (!child.ends_within(std::chrono::milliseconds(50)))
    if (stop_.stop_requested()) throw Refused("nobody waits for it", "");
  const int status = child.wait();
  const RunAnswer answer = answer_of(status, read_file(out), read_file(err));
  switch (answer.status) {
    case RunStatus::done: return Json::parse(answer.summary);
    case RunStatus::too_long:
      throw Refused(fmt::format("it takes more than {} s of processor time", run_limits.cpu_seconds),
                    "use fewer nodes or epochs");
    case RunStatus::no_memory:
      throw Refused(
          fmt::format("it needs more than {} GB of memory", run_limits.address_space / 1'000'000'000),
          "use fewer or smaller nodes");
    case RunStatus::failed:  // a full disk is not the author's mistake
      throw std::runtime_error(fmt::format("run `{}`: {}", name, answer.why));
    case RunStatus::refused:
    case RunStatus::killed:
    case RunStatus::crashed: break;
  }
  throw Refused(answer.why, "`psim check` says more about its scenario");
}

const Json& LabSolver::run(const std::string& name) {
  if (const auto known = runs_.find(name); known != runs_.end()) return known->second;
  const auto one = std::ranges::find(lab_.runs, name, &LabRun::name);
  if (one == lab_.runs.end())
    throw Refused(fmt::format("lab {} has no run `{}`", lab_.number, name),
                  "lab.toml lists its runs in [[run]]");
  std::vector<std::string> sets;  // a design's texts are not filled, because they could show a hidden {seed}
  for (const std::string& set : one->sets) sets.push_back(filled(set, drawn_));
  try {
    return runs_.emplace(name, made(name, one->scenario, sets)).first->second;
  } catch (const Refused& refusal) {
    throw Refused(fmt::format("run `{}` of lab {} does not work: {}", name, lab_.number, refusal.what()),
                  refusal.help);
  }
}

std::map<std::string, std::string> LabSolver::digests() {
  std::map<std::string, std::string> all;
  for (const LabRun& one : lab_.runs) all[one.name] = run(one.name)["digest"].get<std::string>();
  return all;
}

// A parameter, or a path into a run's summary: `bsp.workers.3.clocks`. NaN for what a run never reached: its
// target, or its end if it is stuck.
double LabSolver::number(const std::string& path) {
  if (const auto parameter = drawn_.find(path); parameter != drawn_.end()) {
    if (const auto found = number_in<double>(parameter->second)) return *found;
    throw Refused(fmt::format("`{}` is {}, which is not a number", path, parameter->second),
                  "use it only in texts");
  }
  if (path.ends_with(".sim_time_s") && path.find('.') == path.rfind('.') &&
      is_stuck(run(path.substr(0, path.find('.')))))
    return std::nan("");
  const Json* at = nullptr;
  std::istringstream parts(path);
  for (std::string part; std::getline(parts, part, '.');) {
    if (at == nullptr) {
      at = &run(part);
      continue;
    }
    if (at->is_null()) return std::nan("");
    const auto index = number_in<double>(part);
    if (at->is_array() && index && *index < static_cast<double>(at->size()))
      at = &(*at)[static_cast<std::size_t>(*index)];
    else if (at->is_object() && at->contains(part)) at = &(*at)[part];
    else throw Refused(fmt::format("no run has `{}`", path), "`psim run FILE --json` shows all values");
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

std::string LabSolver::told(const std::string& because) {
  std::string text = filled(because, drawn_);
  for (const std::string& expression : computed_in(text)) {
    const double number = value(expression);
    const std::string place = fmt::format("{}{}}}", computed, expression);
    text.replace(text.find(place), place.size(),
                 std::isfinite(number) ? fmt::format("{:.4g}", number) : "not a number");
  }
  return text;
}

RightAnswer LabSolver::right(const LabQuestion& question) {
  const auto has_none = [&](const std::string& what) {
    return Refused(
        fmt::format("question `{}` of lab {} has no right answer: {}", question.name, lab_.number, what),
        "`psim lab try` shows the answers of a lab before students see it");
  };
  if (question.answer.size() == 1 && question.choices.size() != 1) {
    const double number = value(question.answer.front());
    if (!std::isfinite(number)) throw has_none(fmt::format("`{}` is {}", question.answer.front(), number));
    if (question.unit == "%" && std::abs(number) > 1)
      throw has_none(fmt::format("`{}` is {}, but a share is from 0 to 1", question.answer.front(), number));
    if (question.choices.empty()) return {.number = number};
    if (number != std::floor(number) ||
        !(number >= 0 && number < static_cast<double>(question.choices.size())))
      throw has_none(fmt::format("choice {} does not exist (choices count from 0)", number));
    return {.choices = {static_cast<std::size_t>(number)}};
  }
  std::vector<double> values;
  for (const std::string& one : question.answer) {
    values.push_back(value(one));
    if (std::isnan(values.back())) values.back() = std::numeric_limits<double>::infinity();  // never reached
  }
  const double least = std::ranges::min(values);
  if (std::isinf(least)) throw has_none("no choice has a value");
  RightAnswer right;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] <= least + question.tolerance * std::abs(least)) right.choices.push_back(i);
  }
  return right;
}

std::optional<RightAnswer> LabSolver::given_by(const LabQuestion& question,
                                               const std::string& misconception) {
  LabQuestion wrong = question;
  wrong.answer = {misconception};
  try {
    return right(wrong);
  } catch (const Refused&) {
    return std::nullopt;
  }
}

std::optional<std::size_t> LabSolver::misconception(const LabQuestion& question, const std::string& answer) {
  LabQuestion narrow = question;
  narrow.tolerance = 0.02;  // students round
  std::optional<std::size_t> nearest;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < question.misconceptions.size(); ++i) {
    const std::optional<RightAnswer> given = given_by(question, question.misconceptions[i].value);
    if (!given || mark_of(narrow, answer, *given) != Mark::right) continue;
    const double far =
        question.choices.empty() ? std::abs(amount_in(answer, question).value() - given->number) : 0;
    if (far >= least) continue;
    nearest = i;
    least = far;
  }
  return nearest;
}

Mark LabSolver::mark(const LabQuestion& question, const std::string& answer) {
  const RightAnswer whole = right(question);
  const Mark mark = mark_of(question, answer, whole);
  if (mark != Mark::right || !question.choices.empty()) return mark;
  const std::optional<std::size_t> which = misconception(question, answer);
  if (!which) return mark;
  const double number = amount_in(answer, question).value(),
               wrong = given_by(question, question.misconceptions[*which].value)->number;
  return std::abs(number - wrong) < std::abs(number - whole.number) ? Mark::wrong : Mark::right;
}

double mean_score(const std::vector<Trial>& trials) {
  double sum = 0;
  for (const Trial& one : trials) sum += one.score;
  return sum / static_cast<double>(trials.size());
}

std::vector<Trial> LabSolver::judge(const std::string& design, const std::vector<std::int64_t>& seeds) {
  const std::vector<Override> fields = fields_of(*lab_.design, design);
  const std::string own = drawn_.at("seed");
  const auto restore = [&] {
    runs_.clear();
    drawn_["seed"] = own;
  };
  std::vector<Trial> trials;
  try {
    for (const std::int64_t seed : seeds) {
      drawn_["seed"] = fmt::format("{}", seed);
      runs_.clear();  // the reference runs need this seed, too
      trials.push_back(trial(seed, fields));
    }
  } catch (...) {
    restore();
    throw;
  }
  restore();
  return trials;
}

// Throws Refused with all mistakes in the design and their places.
void LabSolver::check(const std::vector<Override>& fields) const {
  LoadRequest request{.path = (folder_ / "design.toml").string(),
                      .text = given_out(lab_, lab_.design->base, drawn_),
                      .overrides = fields,
                      .data_dirs = data_folders({}),
                      .without_data = true};
  request.overrides.push_back({"seed", drawn_.at("seed")});
  Diagnostics diagnostics;
  if (!load_scenario(request, diagnostics) || !diagnostics.empty())
    throw Refused(diagnostics.render(), "`psim check` says more about its scenario");
}

Trial LabSolver::trial(std::int64_t seed, const std::vector<Override>& fields) {
  const LabDesign& design = *lab_.design;
  check(fields);
  std::vector<std::string> sets;
  for (const Override& one : fields) sets.push_back(one.key + "=" + one.value);
  runs_.emplace("design", made("design", design.base, sets));
  Trial trial{.seed = seed, .is_stuck = is_stuck(runs_.at("design")), .shown = {}};
  for (const auto& [name, expression] : design.shows) trial.shown.push_back(value(expression));
  trial.keeps_limit = value(design.within) != 0;
  const double score = trial.is_stuck || !trial.keeps_limit ? 0 : value(design.score);
  if (std::isinf(score))
    throw Refused(fmt::format("`score` of lab {} is {}: `{}`", lab_.number, score, design.score),
                  "it divides by zero");
  trial.score = std::isnan(score) ? 0 : std::clamp(score, 0.0, 1.0);
  return trial;
}

std::vector<Override> fields_of(const LabDesign& design, const std::string& text) {
  std::vector<Override> fields;
  const auto add = [&](const std::string& field, const toml::node& value) {
    const std::uint32_t line = value.source().begin.line;
    const auto allows = [&field](const std::string& one) {
      return one.ends_with('.') ? field.starts_with(one) : field == one;
    };
    if (value.is_table()) return;  // an empty one
    if (std::ranges::none_of(design.may, allows))
      throw Refused(fmt::format("{}:{}: a design must not set `{}`", design.file, line, field),
                    fmt::format("it may set {}", fmt::join(design.may, ", ")));
    fields.push_back({field, toml_of(value), design.file, line});
  };
  const toml::table table = toml_in(text, design.file, "it is TOML");
  for (const auto& [key, value] : table) each_field(std::string(key.str()), value, add);
  return fields;
}

}  // namespace psim::cli
