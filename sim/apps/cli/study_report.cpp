#include "sim/apps/cli/study_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <stdexcept>
#include <vector>

#include "analysis/study/files.hpp"
#include "analysis/study/report.hpp"
#include "analysis/study/table_columns.hpp"
#include "sim/apps/cli/command.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/record/identity.hpp"
#include "sim/runs/answer.hpp"
#include "sim/runs/process.hpp"
#include "sim/runs/run_folder.hpp"
#include "sim/scenario/text/diagnostics.hpp"
#include "sim/study/tuning.hpp"

namespace psim::cli {
namespace {

// "target: accuracy 93 %; seeds 1-5", without a target that is the same for all runs: "seeds 1-5".
std::string target_line(const analysis::Study& study) {
  const std::string target = common_target(study);
  std::set<std::int64_t> seeds;
  for (const analysis::Cell& cell : study.cells) {
    for (const analysis::StudyRun& run : cell.runs) seeds.insert(run.seed);
  }
  const auto count = static_cast<std::int64_t>(seeds.size()), span = *seeds.rbegin() - *seeds.begin() + 1;
  const bool is_range = count > 2 && count == span;
  const std::string list = is_range ? fmt::format("{}-{}", *seeds.begin(), *seeds.rbegin())
                                    : fmt::format("{}", fmt::join(seeds, ","));
  return fmt::format("{}{}{} {}\n", target.empty() ? "" : "target: ", target + (target.empty() ? "" : "; "),
                     count == 1 ? "seed" : "seeds", list);
}

// A command for the next step, and its purpose.
struct Hint {
  std::string command, does;
};

// The hints for this study, the most useful first.
std::vector<Hint> hints_of(const study::StudyFolder& folder, const analysis::Study& study,
                           const analysis::Evaluation& evaluation) {
  const std::string dir = file_word(folder.dir);
  const std::string scenario = file_word(folder.dir / (study.name + ".toml"));
  std::vector<Hint> hints{
      {folder.manifest["runs"].front()["command"].get<std::string>(), "the first run with its record"}};
  if (folder.manifest["runs"].size() == 1) return hints;
  const auto is_undecided = [&](const analysis::Aggregate& one) {
    return one.versus && analysis::has_width(*one.versus) && !analysis::sees_difference(*one.versus);
  };
  if (study.until_ci.is_null() && analysis::compares_times(evaluation) &&
      std::ranges::any_of(evaluation.aggregates, is_undecided))
    hints.push_back(
        {fmt::format("psim compare {} --until-ci 5%", scenario), "enough seeds for narrow intervals"});
  std::set<std::string> arms;
  for (const analysis::Cell& cell : study.cells) arms.insert(cell.arm);
  const auto other =
      std::ranges::find_if(arms, [&](const std::string& arm) { return arm != study.baseline; });
  if (arms.size() > 2 && analysis::compares_times(evaluation))
    hints.push_back({fmt::format("psim merge {} {}", dir, option_words("--baseline", *other)),
                     "the same study with another baseline"});
  hints.push_back({fmt::format("psim runs --study {}", dir), "a list of all runs"});
  hints.push_back({fmt::format("cd {} && python3 analysis.py", dir), "your own analysis of the files"});
  constexpr std::size_t most = 3;
  hints.resize(std::min(most, hints.size()));
  return hints;
}

// "32 runs (24 trials of [tune] and 8 of the study)"
std::string runs_text(const study::StudyFolder& folder) {
  const std::size_t runs = folder.manifest["runs"].size();
  const Json tuning = folder.manifest.value("tuning", Json());
  return text_of(
      study::RunCount{.runs = runs, .trials = tuning.is_null() ? 0 : tuning["trials"].get<std::size_t>()});
}

std::string next_lines(const study::StudyFolder& folder, const analysis::Study& study,
                       const analysis::Evaluation& evaluation, const std::string& line) {
  std::string out;
  if (folder.manifest["runs"].size() == 1 && line.starts_with("psim compare"))
    out += fmt::format(
        "\nThis is one run, so psim cannot compare anything. Give an axis, here or in [compare]:\n"
        "  {0} --set 'consistency=[bsp, ssp 3, asp]'\n  {0} --seeds 10\n",
        line);
  std::string does, commands;
  for (const Hint& hint : hints_of(folder, study, evaluation)) {
    does += (does.empty() ? "" : "; ") + hint.does;
    commands += fmt::format("  {}\n", hint.command);  // alone on its line, easy to copy
  }
  return out + fmt::format("\n{} in {}/ (README.txt describes the files)\nnext: {}\n{}", runs_text(folder),
                           folder.dir.string(), does, commands);
}

Counts counts_of(const analysis::Study& study) {
  Counts counts;
  for (const analysis::Cell& cell : study.cells) {
    for (const analysis::StudyRun& run : cell.runs) {
      ++counts.runs;
      counts.missed += misses_target(run.summary) ? 1U : 0U;
      counts.no += is_yes(run.summary) ? 0U : 1U;
    }
  }
  return counts;
}

void print_for_people(const study::StudyFolder& folder, const analysis::Study& study,
                      const analysis::Evaluation& evaluation, const StudyCommand& asked,
                      const std::string& line) {
  const analysis::TableOptions options{.format = asked.latex      ? analysis::TableFormat::latex
                                                 : asked.markdown ? analysis::TableFormat::markdown
                                                                  : analysis::TableFormat::text,
                                       .columns = asked.columns,
                                       .wide = asked.wide,
                                       .width = table_width(),
                                       .bold_best = may_colour()};
  const std::string table = analysis::table(study, evaluation, options);
  if (options.format != analysis::TableFormat::text) return fmt::print("{}", table);
  fmt::print("{}    (psim {})\n", line, version_text());
  if (!study.title.empty()) fmt::print("{}\n", study.title);
  fmt::print("{}\n{}\n{}", target_line(study), table, analysis::remarks(study, evaluation, options));
  fmt::print("{}",
             analysis::loss_chart(study, {.width = std::clamp(terminal_width().value_or(86) - 14, 40, 100),
                                          .height = 16,
                                          .colour = may_colour()}));
  fmt::print("{}", next_lines(folder, study, evaluation, line));
}

}  // namespace

std::string common_target(const analysis::Study& study) {
  std::set<std::string> targets;
  for (const analysis::Cell& cell : study.cells) {
    for (const analysis::StudyRun& run : cell.runs) targets.insert(target_text(run.summary));
  }
  return targets.size() == 1 ? *targets.begin() : "";
}

void check_columns(const StudyCommand& asked) {
  try {
    for (const std::string& name : asked.columns) analysis::column_called(name);
  } catch (const std::invalid_argument& wrong) {
    throw Refused(wrong.what(), "`psim explain NAME` describes a column");
  }
}

void say_what_is_not_read(const fs::path& dir, const study::Journal& journal) {
  std::size_t of_others = 0;
  for (const auto& [build, lines] : journal.other_builds()) of_others += lines;
  if (of_others > 0)
    say("note: {} results in {} come from {} other build{} of psim and do not count\n", of_others,
        dir.string(), journal.other_builds().size(), journal.other_builds().size() == 1 ? "" : "s");
  if (journal.damaged() > 0)
    say("note: {} results in {} are incomplete and do not count\n", journal.damaged(), dir.string());
  if (!journal.contradictory().empty())
    throw Refused(
        fmt::format("{} has two different results of run {}", dir.string(), *journal.contradictory().begin()),
        "one build of psim made both, so psim or the machine is broken: please report it");
}

analysis::Study complete_results(const study::StudyFolder& folder) {
  const study::Journal journal(folder.dir, study::Journal::Builds::any);
  say_what_is_not_read(folder.dir, journal);
  if (const std::vector<Json> missing = missing_runs(folder, journal);
      !missing.empty() || folder.manifest.contains("stage"))
    throw Refused(fmt::format("{} is not complete", folder.dir.string()),
                  fmt::format("`psim merge {}` lists the missing runs", file_word(folder.dir)));
  return study::results_of(folder.manifest, journal);
}

Counts finish_study(const study::StudyFolder& folder, study::Journal& journal, const StudyCommand& asked,
                    bool json, const std::string& line) {
  const analysis::Study study = study::results_of(folder.manifest, journal);
  const analysis::Evaluation evaluation = analysis::evaluate(study);
  if (study::can_be_written(folder.dir)) {
    write_study(folder, journal, study, evaluation);
    set_latest(folder.dir);
  } else {
    say("note: psim cannot write to {}: it shows the study and leaves the files unchanged\n",
        folder.dir.string());
  }
  if (json) fmt::print("{}\n", analysis::document(study, evaluation).dump(2));
  else print_for_people(folder, study, evaluation, asked, line);
  if (asked.page) write_study_page(folder, study, evaluation, page_target(folder.dir, ""));
  return counts_of(study);
}

// The last words of Slurm in the logs of a recipe, next to the study's folder, of tasks that did not end
// their slice: "slice 3: ... DUE TO TIME LIMIT".
std::vector<std::string> last_words_of_slurm(const fs::path& dir) {
  std::vector<std::string> words;
  const std::string prefix = dir.filename().string() + ".slurm-";
  std::error_code unreadable;
  for (const fs::directory_entry& entry : fs::directory_iterator(dir.parent_path(), unreadable)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix) || entry.path().extension() != ".out") continue;
    std::ifstream log(entry.path());
    std::string last;
    for (std::string line; std::getline(log, line);) {
      if (line.starts_with("slurmstepd") && fits_in_a_line(line)) last = line;
      if (line.starts_with("slice ")) last.clear();  // it has ended
    }
    if (!last.empty()) words.push_back(fmt::format("{}: {}", name.substr(prefix.size()), last));
  }
  std::ranges::sort(words);
  return words;
}

void print_last_words_of_slurm(const fs::path& dir) {
  const std::vector<std::string> words = last_words_of_slurm(dir);
  if (words.empty()) return;
  constexpr std::size_t most = 10;
  fmt::print("Slurm ended {}:\n", counted(std::ssize(words), "task"));
  bool is_late = false, is_large = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i < most) fmt::print("  {}\n", words[i]);
    is_late = is_late || words[i].find("TIME LIMIT") != std::string::npos;
    is_large =
        is_large || words[i].find("oom") != std::string::npos || words[i].find("emory") != std::string::npos;
  }
  if (words.size() > most) fmt::print("  ... and {} more\n", words.size() - most);
  if (is_late) fmt::print("give the tasks more time: sh RECIPE --time=MINUTES\n");
  if (is_large) fmt::print("give the tasks more memory: sh RECIPE --mem=MEGABYTES\n");
}

// The command that makes a study's missing runs in one process.
std::string finishing_line(const study::StudyFolder& folder) {
  Command command;
  command.scenario = folder.scenario().string();
  Diagnostics diagnostics;
  if (!load_scenario(load_request(command, diagnostics), diagnostics) || !diagnostics.empty())
    command = folder.request(command);  // it needs the data folders
  std::string line = command_line(command, "psim compare") + " --out " + file_word(folder.dir);
  if (const std::string baseline = folder.manifest["baseline"];
      folder.manifest["runs"].empty() || folder.manifest["runs"].front()["arm"] != baseline)
    line += " " + option_words("--baseline", baseline);
  for (const Json& word : folder.manifest.value("options", Json::array()))
    line += " " + shell_word(word.get<std::string>());
  return line;
}

void print_missing(const study::StudyFolder& folder, const std::vector<Json>& missing) {
  constexpr std::size_t most = 20;
  fmt::print("{} of {} runs are missing in {}/:\n", missing.size(), folder.manifest["runs"].size(),
             folder.dir.string());
  for (std::size_t i = 0; i < std::min(most, missing.size()); ++i)
    fmt::print("  {}   {}\n", missing[i]["run"].get<std::string>(), missing[i]["command"].get<std::string>());
  if (missing.size() > most) fmt::print("  ... and {} more\n", missing.size() - most);
  print_last_words_of_slurm(folder.dir);
  fmt::print("run the same slices again to make the missing runs, or make them in one process:\n  {}\n",
             finishing_line(folder));
}

}  // namespace psim::cli
