#include "sim/apps/cli/study_report.hpp"

#include <fmt/args.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/progress.hpp"
#include "sim/runs/process.hpp"
#include "sim/runs/request.hpp"
#include "sim/runs/run_folder.hpp"
#include "sim/scenario/text/diagnostics.hpp"
#include "sim/study/folder.hpp"
#include "sim/study/plan.hpp"

namespace psim::cli {
namespace {

// The values in a recipe.
struct Ingredients {
  std::string compare, merge;  // the commands, without --slice
  std::string folder, name;    // of the study
  study::Effort effort;
  std::size_t slices = 1;
  double seconds = 0;    // on one core, for all runs
  double minutes = 10;   // limit of a slice in each round
  double megabytes = 0;  // limit of a slice
};

// Slurm wants the % of a file's name twice.
std::string with_double_percent(const std::string& text) {
  std::string out;
  for (const char c : text) out += std::string(c == '%' ? 2 : 1, c);
  return out;
}

// Slurm's options have no quotes.
std::string job_name(const std::string& name) {
  std::string plain = "psim-" + name;
  std::ranges::replace_if(
      plain, [](unsigned char c) { return std::isalnum(c) == 0; }, '-');
  return plain;
}

// `text` with the values of its {words}; {{ and }} are braces.
std::string filled(const Ingredients& i, std::string_view text) {
  fmt::dynamic_format_arg_store<fmt::format_context> words;
  const auto add = [&](const char* word, const std::string& meaning) {
    words.push_back(fmt::arg(word, meaning));
  };
  const std::string parent = fs::path(i.folder).parent_path().string();
  add("about", fmt::format("{}: {} in {}, together about {} of one core (psim's estimate).", i.name,
                           counted(static_cast<std::int64_t>(i.effort.runs), "run"),
                           counted(static_cast<std::int64_t>(i.slices), "slice"), time_text(i.seconds)));
  add("compare", i.compare);
  add("merge", i.merge);
  add("parent", shell_word(parent));
  add("log", shell_word(i.folder + ".slurm-"));
  add("pattern", shell_word(with_double_percent(i.folder) + ".slurm-"));
  add("name", job_name(i.name));
  add("slices", fmt::format("{}", i.slices));
  add("rounds", fmt::format("{}", i.effort.rounds));
  add("later", i.effort.rounds == 1
                   ? ""
                   : "# [tune] takes several rounds: each round needs the results of the round before.\n");
  add("minutes", fmt::format("{:.0f}", i.minutes));
  add("megabytes", fmt::format("{:.0f}", i.megabytes));
  add("command", shell_word(i.compare));
  return fmt::vformat(text, words);
}

// A script that calls sbatch, because rounds of slices and the merge wait for each other. They start even if
// earlier tasks fail (afterany): the next round makes the missing runs, and the merge lists them. Each task
// gives its slice itself, so a part of an array can be submitted again (--array=3). Slurm numbers the tasks
// of an array below MaxArraySize, so many slices are several arrays, and each array knows the slices before
// it. psim replaces the shell of its task (exec), so a signal to the task reaches it. Slurm itself opens the
// logs, and writes there why it ended a task. They are outside the study's folder, which must not exist
// before psim makes it.
constexpr const char* slurm =
#include "sim/apps/cli/slurm.sh.in.inc"
    ;

// Each line is a complete command, so parallel replaces nothing in it.
constexpr const char* parallel =
#include "sim/apps/cli/parallel.sh.in.inc"
    ;

struct Recipe {
  const char *name, *text;
};
constexpr Recipe recipes[] = {{"slurm", slurm}, {"parallel", parallel}};

std::string absolute(const std::string& path) { return fs::absolute(path).lexically_normal().string(); }

// The given command, with absolute paths. A slice uses one core.
std::string slice_line(Command command, const StudyCommand& study, const std::string& psim,
                       const std::string& folder) {
  command.scenario = absolute(command.scenario);
  std::vector<std::string> dirs;
  for (const fs::path& dir : data_folders(command)) dirs.push_back(absolute(dir.string()));
  command.data_dirs = dirs;
  std::string line = study::compare_line(command, psim + " compare") + " --out " + shell_word(folder);
  if (!study.baseline.empty()) line += " " + option_words("--baseline", study.baseline);
  if (command.trace != "none") line += " --trace " + command.trace;
  return line + " --jobs 1 --threads 1";
}

// Seconds of the longest slice in a round that makes the plan's runs once.
double longest_slice(const study::Plan& plan, std::size_t slices) {
  double longest = 0;
  for (std::size_t number = 1; number <= slices; ++number) {
    double seconds = 0;
    for (const std::size_t run : runs_of({.number = number, .count = slices}, plan.runs))
      seconds += plan.runs[run].seconds;
    longest = std::max(longest, seconds);
  }
  return longest;
}

}  // namespace

std::vector<std::string> recipe_names() {
  std::vector<std::string> names;
  for (const Recipe& one : recipes) names.emplace_back(one.name);
  return names;
}

std::string recipe(const study::Plan& plan, const Command& command, const StudyCommand& study,
                   const study::Effort& effort) {
  const std::string folder =
      absolute(command.out.empty() ? study_directory(plan).string() : folder_named(command.out).string());
  const std::string psim = shell_word(fs::read_symlink("/proc/self/exe").string());
  double once = 0, largest = 0;
  for (const study::PlannedRun& run : plan.runs) {
    once += run.seconds;
    largest = std::max(largest, run.bytes);
  }
  constexpr double usual = 600;  // seconds of a slice: clusters prefer tasks that are not short
  const auto enough =
      static_cast<std::size_t>(std::clamp(std::ceil(effort.largest * once / usual), 1.0, 100.0));
  const std::size_t slices = std::min(study.slices > 0 ? study.slices : enough, effort.runs);
  // Estimates are rough, so the limits are four times the time and 1.5 times the memory. Without any run,
  // psim needs up to 600 MB: its base, and the data that it keeps for all runs (plan.cpp).
  const Ingredients ingredients{
      .compare = slice_line(command, study, psim, folder),
      .merge = psim + " merge " + shell_word(folder),
      .folder = folder,
      .name = plan.name,
      .effort = effort,
      .slices = slices,
      .seconds = effort.times * once,
      .minutes = std::ceil(10 + 4 * effort.largest * longest_slice(plan, slices) / 60),
      .megabytes = std::ceil(600 + 1.5 * largest / 1e6)};
  return filled(ingredients, std::ranges::find(recipes, study.recipe, &Recipe::name)->text);
}

}  // namespace psim::cli
