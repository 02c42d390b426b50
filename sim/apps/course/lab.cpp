#include "sim/apps/course/lab.hpp"

#include <fmt/ranges.h>
#include <toml++/toml.h>
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "model/nesting.hpp"
#include "model/random.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/course/lab_mistakes.hpp"
#include "sim/runs/files.hpp"
#include "sim/runs/shipped.hpp"

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

}  // namespace psim::cli
