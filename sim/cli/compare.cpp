// psim compare: a study, made, continued or shown again.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "sim/cli/interrupt.hpp"
#include "sim/cli/run_folder.hpp"
#include "sim/cli/scratch.hpp"
#include "sim/cli/study/folder.hpp"
#include "sim/cli/study/make.hpp"
#include "sim/cli/study/recipe.hpp"
#include "sim/cli/study/report.hpp"
#include "sim/cli/study/slice.hpp"
#include "sim/cli/study/tuning.hpp"
#include "sim/cli/study/until_ci.hpp"
#include "sim/cli/talk.hpp"

namespace psim::cli {
namespace {

// Takes over what other studies of the same scenario, beside this one, have of its runs.
void adopt_from_neighbours(const fs::path& dir, const Plan& plan, Journal& journal) {
  std::set<std::string> wanted;
  for (const PlannedRun& run : plan.runs) {
    if (journal.find(run.hash) == nullptr) wanted.insert(run.hash);
  }
  if (wanted.empty()) return;
  std::vector<fs::path> neighbours;
  for (const fs::directory_entry& entry : fs::directory_iterator(dir.parent_path())) {
    const std::string name = entry.path().filename().string();
    const bool is_study = name.starts_with(plan.name + "-") && fs::exists(entry.path() / "manifest.json");
    if (is_study && entry.path() != dir) neighbours.push_back(entry.path());
  }
  std::ranges::sort(neighbours);
  for (const fs::path& neighbour : neighbours) journal.adopt(Journal(neighbour), wanted);
}

// A study that is being made by this process, alone or as one of several.
class Making {
 public:
  Making(const Command& command, const StudyCommand& study, const std::optional<Slice>& slice)
      : command_(command), study_(study), slice_(slice) {}

  int run(Plan base) {
    if (command_.json && command_.out.empty() && !slice_) scratch_.emplace("psim-compare");
    hash_ = base.hash;
    dir_ = scratch_               ? scratch_->path() / "study"
           : command_.out.empty() ? study_directory(base)
                                  : folder_named(command_.out);
    check_study_target(dir_);
    journal_.emplace(dir_);
    say_what_is_not_read(dir_, *journal_);
    Variants variants;
    if (const std::optional<TuneSpec> spec = base.tune) {
      const std::optional<Tuning> tuning =
          tune(command_, *spec, [this](Plan& trials) { return results(trials, "trials"); });
      if (!tuning) return end_slice("the trials of all slices are there, run the slices again");
      tuning_ = tuning->document(*spec);
      variants = tuned_variants(tuning_);
    }
    Command command = command_;
    if (study_.until_ci > 0)
      command = with_enough_seeds(command_, study_.until_ci, variants,
                                  [this](Plan& pilot) { return *results(pilot, ""); });
    const bool is_base = variants.axis.empty() && study_.until_ci == 0;
    Plan plan = is_base ? std::move(base) : plan_study(command, true, variants);
    make(plan, "");
    if (slice_) return end_slice("all slices are done: psim merge " + dir_.string());
    return finish_study(dir_, *journal_, study_, command_.json,
                        replay_line(command_).replace(5, 3, "compare"));
  }

 private:
  // `stage`: of what is not the study itself yet.
  void make(Plan& plan, const char* stage) {
    Json manifest = manifest_of(plan, command_, study_.baseline);
    manifest["study"] = hash_;
    if (*stage != '\0') manifest["stage"] = stage;
    if (!tuning_.is_null()) manifest["tuning"] = tuning_;
    begin_study(dir_, plan, manifest, slice_.has_value());
    if (command_.out.empty() && !scratch_ && !command_.force) adopt_from_neighbours(dir_, plan, *journal_);
    std::vector<double> seconds;
    for (const PlannedRun& run : plan.runs) seconds.push_back(run.seconds);
    const std::vector<std::size_t> mine = runs_of(slice_.value_or(Slice{}), seconds);
    made_ += make_runs({dir_, command_, !scratch_}, plan, mine, store_in(*journal_), interrupts_);
    planned_ += plan.runs.size();
    mine_ += mine.size();
  }

  // What a plan's runs gave; nothing where some are other slices' and not there yet.
  std::optional<analysis::Study> results(Plan& plan, const char* stage) {
    make(plan, stage);
    if (slice_) journal_->read_again();
    const auto is_missing = [this](const PlannedRun& run) { return journal_->find(run.hash) == nullptr; };
    if (std::ranges::any_of(plan.runs, is_missing)) return std::nullopt;
    return results_of(manifest_of(plan, command_, study_.baseline), *journal_);
  }

  int end_slice(const std::string& next) const {
    say("slice {}/{}: {} of {} runs are this slice's; {} made now, {} were there\n", slice_->number,
        slice_->count, mine_, planned_, made_, mine_ - made_);
    say("when {}\n", next);
    return done;
  }

  const Command& command_;
  const StudyCommand& study_;
  std::optional<Slice> slice_;
  InterruptsHeld interrupts_;  // until the temporary folder is gone
  std::optional<ScratchFolder> scratch_;
  fs::path dir_;
  std::string hash_;
  std::optional<Journal> journal_;
  Json tuning_;
  std::size_t made_ = 0, mine_ = 0, planned_ = 0;
};

}  // namespace

int compare(const Command& command, const StudyCommand& study) {
  const std::optional<Slice> slice = slice_of(study.slice);
  const bool only_says = study.count || !study.recipe.empty();
  if (study.until_ci > 0 && (slice || only_says))
    throw Refused("--until-ci decides on seeds while it runs: it cannot be cut into slices",
                  "give --seeds, or leave out --slice, --count and --recipe");
  Plan plan = plan_study(command, !only_says);
  if (!only_says) return Making(command, study, slice).run(std::move(plan));
  fmt::print("{}", study.count ? fmt::format("{}\n", plan.runs.size())
                               : recipe(study.recipe, plan, command, study.slices));
  return done;
}

int merge(const std::string& directory, const StudyCommand& study, bool json) {
  const StudyFolder folder(folder_named(directory));
  Journal journal(folder.dir);
  say_what_is_not_read(folder.dir, journal);
  if (!journal.other_builds().empty() || folder.manifest["build"] != build_id())
    throw Refused(fmt::format("{} has results of another build of psim", folder.dir.string()),
                  "merge with the program that made them; results of two builds are no study: run it again "
                  "into another folder");
  if (const std::vector<Json> missing = missing_runs(folder, journal); !missing.empty()) {
    print_missing(folder, missing);
    return answer_is_no;
  }
  if (folder.manifest.contains("stage")) {
    fmt::print("the trials of [tune] in {}/ are all there; the same slices again make the study itself\n",
               folder.dir.string());
    return answer_is_no;
  }
  finish_study(folder.dir, journal, study, json, "psim merge " + shell_word(directory));
  return done;
}

}  // namespace psim::cli
