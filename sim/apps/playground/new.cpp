// psim new: writes a commented scenario from three questions or from options.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "sim/apps/cli/command.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/target.hpp"
#include "sim/apps/playground/commands.hpp"
#include "sim/runs/process.hpp"
#include "sim/runs/run_folder.hpp"
#include "sim/study/plan.hpp"

namespace psim::cli {
namespace {

struct Answer {
  const char *word, *doc;
  Sketch sets;
};
struct SketchQuestion {
  const char* text;
  std::vector<Answer>
      answers;  // an empty line means the first answer; no answers: asks for a number of workers
};

std::vector<SketchQuestion> questions() {
  return {{"How many workers?", {}},
          {"What goes wrong?",
           {{"nothing", "no fault", {}},
            {"slow", "one worker is four times slower", {{"slowdown", "4"}}},
            {"worker", "a worker crashes after half a second", {{"crash", "worker"}}},
            {"server", "a server crashes after half a second", {{"crash", "server"}}},
            {"network", "the links are slow, 20 Mb/s", {{"bandwidth", "20Mbps"}}}}},
          {"When may a worker start its next step?",
           {{"all", "compare the four models below", {{"consistency", "all"}}},
            {"bsp", "when all workers have pushed", {{"consistency", "bsp"}}},
            {"ssp", "if it is not too far ahead of the slowest worker", {{"consistency", "ssp"}}},
            {"asp", "at once", {{"consistency", "asp"}}},
            {"backup-workers",
             "when all but the slowest worker have pushed",
             {{"consistency", "backup-workers"}}}}}};
}

bool is_count(const std::string& word) {
  return !word.empty() && word.size() <= 4 && word.front() != '0' &&
         word.find_first_not_of("0123456789") == std::string::npos;
}

// An empty line or the end of the input means the first answer.
void ask(const SketchQuestion& question, Sketch& sketch) {
  say("{}\n", question.text);
  for (const Answer& one : question.answers) say("  {:<16}{}\n", one.word, one.doc);
  const std::string usual = question.answers.empty() ? "8" : question.answers.front().word;
  while (true) {
    say("[{}] ", usual);
    std::string word;
    if (!std::getline(std::cin, word) || word.empty()) word = usual;
    if (question.answers.empty() && is_count(word)) {
      sketch["workers"] = word;
      return;
    }
    const auto found = std::ranges::find(question.answers, word, &Answer::word);
    if (found != question.answers.end()) {
      for (const auto& [name, value] : found->sets) sketch[name] = value;
      return;
    }
    say("{}\n",
        question.answers.empty() ? "please give a number from 1 to 9999" : "please give one of these words");
  }
}

// Throws Invalid with the mistakes in the scenario, or in a run of its [compare].
void check_all(const fs::path& file, bool compares) {
  Diagnostics diagnostics;
  if (!load_scenario({.path = file.string(), .overrides = {}, .data_dirs = {}}, diagnostics))
    throw Invalid{diagnostics.render()};
  study::Request request;
  request.scenario = file.string();
  if (compares) study::plan_study(request, false);
}

}  // namespace

int make_new(const NewCommand& asked) {
  const fs::path file = asked.file.ends_with(".toml") ? asked.file : asked.file + ".toml";
  if (fs::exists(fs::symlink_status(file)))
    throw Refused(fmt::format("{} exists already", file.string()),
                  "name another file; psim new does not replace files");
  if (const fs::path folder = file.parent_path(); !folder.empty() && !fs::is_directory(folder))
    throw Refused(fmt::format("the folder {} does not exist", folder.string()),
                  "make it first: mkdir -p " + file_word(folder));
  check_is_file(file);
  Sketch sketch = asked.sketch;
  const std::string model = setting_of(sketch, "consistency");
  if (sketch.contains("staleness") && model != "ssp" && model != "all")
    throw Refused(fmt::format("--staleness is a bound of ssp, but the model is {}", model),
                  "add --consistency ssp");
  if (sketch.empty()) {
    for (const SketchQuestion& question : questions()) ask(question, sketch);
    say("\n");
  }
  const bool compares = setting_of(sketch, "consistency") == "all";
  write_file(file, scenario_text(sketch));
  try {
    check_all(file, compares);
  } catch (const Invalid&) {
    fs::remove(file);  // so that another try can use its name
    throw;
  }
  const std::string word = file_word(file);
  fmt::print("wrote {}: {}\nnext: psim {} {}\n", file.string(), title_of(sketch),
             compares ? "compare" : "run", word);
  return done;
}

}  // namespace psim::cli
