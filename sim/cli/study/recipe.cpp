#include "sim/cli/study/recipe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/cli/progress.hpp"
#include "sim/cli/run_folder.hpp"
#include "sim/cli/study/folder.hpp"

namespace psim::cli {
namespace {

// What a recipe is made of.
struct Ingredients {
  std::string psim, compare;  // the program; the command, without --slice
  std::string folder, name;   // of the study
  std::size_t runs = 0, slices = 1;
  double seconds = 0;    // of one core, for all runs
  double gigabytes = 0;  // of memory, for the largest run
};

// In double quotes, as Python takes it.
std::string python_text(const std::string& text) { return Json(text).dump(); }

std::string head(const Ingredients& i, const char* how) {
  return fmt::format("# {}: {} runs in {} slices, together about {} of one core (psim's estimate).\n# {}\n",
                     i.name, i.runs, i.slices, time_text(i.seconds), how);
}

// Slurm numbers the tasks and tells psim, which takes its slice from that. Twice the estimate, and an hour.
std::string slurm(const Ingredients& i) {
  const double minutes = 60 + 2 * i.seconds / static_cast<double>(i.slices) / 60;
  return "#!/bin/sh\n" + head(i, "Submit it with sbatch; a task that is killed may be submitted again.") +
         fmt::format(
             "#SBATCH --job-name=psim-{}\n#SBATCH --array=1-{}\n#SBATCH --ntasks=1\n#SBATCH "
             "--cpus-per-task=1\n"
             "#SBATCH --mem={:.0f}M\n#SBATCH --time={:.0f}\n#SBATCH --requeue\n#SBATCH "
             "--output={}/slurm-%A_%a.out\n"
             "{} --jobs 1\n"
             "# When all tasks are done:\n#   {} merge {}\n",
             i.name, i.slices, std::ceil(1000 * i.gigabytes), minutes, i.folder, i.compare, i.psim,
             shell_word(i.folder));
}

std::string parallel(const Ingredients& i) {
  return "#!/bin/sh\nset -eu\n" +
         head(i, "Run it with sh; --sshlogin of GNU parallel adds machines that see the same folders.") +
         fmt::format(
             "mkdir -p {0}\n"
             "seq {1} | parallel --resume-failed --joblog {2} {3}\n"
             "{4} merge {0}\n",
             shell_word(i.folder), i.slices, shell_word(i.folder + "/parallel.log"),
             shell_word(fmt::format("{} --jobs 1 --slice {{}}/{}", i.compare, i.slices)), i.psim);
}

std::string snakemake(const Ingredients& i) {
  return head(i, "Save it as Snakefile and run: snakemake --cores all") +
         fmt::format(
             "SLICES = range(1, {0} + 1)\n"
             "STUDY = {1}\n\n"
             "rule study:\n"
             "    input: expand(STUDY + \"/slices/{{n}}-of-{0}\", n=SLICES)\n"
             "    output: STUDY + \"/study.json\"\n"
             "    params: study=STUDY\n"
             "    shell: {2}\n\n"
             "rule slice:\n"
             "    output: touch(STUDY + \"/slices/{{n}}-of-{0}\")\n"
             "    shell: {3}\n",
             i.slices, python_text(i.folder), python_text(i.psim + " merge {params.study:q}"),
             python_text(fmt::format("{} --jobs 1 --slice {{wildcards.n}}/{}", i.compare, i.slices)));
}

struct Recipe {
  const char* name;
  std::string (*text)(const Ingredients&);
};
constexpr Recipe recipes[] = {{"slurm", slurm}, {"parallel", parallel}, {"snakemake", snakemake}};

std::string absolute(const std::string& path) { return fs::absolute(path).lexically_normal().string(); }

// The command as it was given, with absolute paths.
std::string compare_line(Command command, const std::string& psim, const std::string& folder) {
  command.scenario = absolute(command.scenario);
  std::vector<std::string> dirs;
  for (const fs::path& dir : data_folders(command)) dirs.push_back(absolute(dir.string()));
  command.data_dirs = dirs;
  const std::string line = replay_line(command);  // "psim run ..."
  return fmt::format("{} compare{} --out {}", psim, line.substr(std::string("psim run").size()),
                     shell_word(folder));
}

}  // namespace

std::vector<std::string> recipe_names() {
  std::vector<std::string> names;
  for (const Recipe& one : recipes) names.emplace_back(one.name);
  return names;
}

std::string recipe(const std::string& name, const Plan& plan, const Command& command, std::size_t slices) {
  Ingredients i{.psim = shell_word(fs::read_symlink("/proc/self/exe").string()),
                .folder = absolute(command.out.empty() ? study_directory(plan).string()
                                                       : folder_named(command.out).string()),
                .name = plan.name,
                .runs = plan.runs.size()};
  for (const PlannedRun& run : plan.runs) {
    i.seconds += run.seconds;
    i.gigabytes = std::max(i.gigabytes, 1.5 * run.bytes / 1e9);
  }
  constexpr double usual = 600;  // seconds of a slice: sites ask for tasks that are not short
  const auto enough = static_cast<std::size_t>(std::clamp(std::ceil(i.seconds / usual), 1.0, 100.0));
  i.slices = std::min(slices > 0 ? slices : enough, i.runs);
  i.compare = compare_line(command, i.psim, i.folder);
  const auto found = std::ranges::find(recipes, name, &Recipe::name);
  return found->text(i);
}

}  // namespace psim::cli
