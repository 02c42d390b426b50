// psim compare: makes, continues or shows a study.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "sim/apps/cli/command.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/progress.hpp"
#include "sim/apps/cli/shelf.hpp"
#include "sim/apps/cli/study_report.hpp"
#include "sim/apps/cli/target.hpp"
#include "sim/runs/answer.hpp"
#include "sim/runs/files.hpp"
#include "sim/runs/interrupt.hpp"
#include "sim/runs/process.hpp"
#include "sim/runs/run_folder.hpp"
#include "sim/scenario/text/diagnostics.hpp"
#include "sim/study/folder.hpp"
#include "sim/study/make.hpp"
#include "sim/study/plan.hpp"
#include "sim/study/tuning.hpp"

namespace psim::cli {
namespace {

// Takes over results from neighbouring studies of the same scenario.
void adopt_from_neighbours(const fs::path& dir, const study::Plan& plan, study::Journal& journal) {
  std::set<std::string> wanted;
  for (const study::PlannedRun& run : plan.runs) {
    if (journal.find(run.hash) == nullptr) wanted.insert(run.hash);
  }
  if (wanted.empty()) return;
  std::vector<fs::path> neighbours;
  for (const fs::directory_entry& entry : fs::directory_iterator(dir.parent_path())) {
    // The name of its folder does not matter.
    const bool is_of_it = study::is_study(entry.path()) && fs::exists(entry.path() / (plan.name + ".toml"));
    if (is_of_it && entry.path() != dir) neighbours.push_back(entry.path());
  }
  std::ranges::sort(neighbours);
  for (const fs::path& neighbour : neighbours) journal.adopt(study::Journal(neighbour), wanted);
}

// Makes a study, in this process alone or as one of several.
class Making {
 public:
  Making(const Command& command, const StudyCommand& study, const std::optional<study::Slice>& slice)
      : command_(command), study_(study), slice_(slice) {}

  int run(study::Plan base) {
    if (command_.json && command_.out.empty() && !slice_) scratch_.emplace("psim-compare");
    hash_ = study_.until_ci > 0 ? fmt::format("{:.12}-{:.4g}", base.hash, study_.until_ci) : base.hash;
    if (study_.until_ci > 0) base.hash = study::hash_of_text(hash_);
    hash_ = base.hash;
    dir_ = scratch_               ? scratch_->path() / "study"
           : command_.out.empty() ? study_directory(base)
                                  : folder_named(command_.out);
    study::check_study_target(dir_);
    journal_.emplace(dir_);
    say_what_is_not_read(dir_, *journal_);
    study::Variants variants;
    if (const std::optional<TuneSpec> spec = base.tune) {
      const std::optional<study::Tuning> tuning =
          study::tune(command_, *spec, [this](study::Plan& trials) { return results(trials, of_tuning); });
      if (!tuning) return end_slice("the trials of all slices are done, run the slices again");
      tuning_ = tuning->document(*spec);
      variants = study::tuned_variants(tuning_);
    }
    Command command = command_;
    if (study_.until_ci > 0) {
      study::EnoughSeeds enough =
          study::with_enough_seeds(command_, study_.until_ci, variants,
                                   [this](study::Plan& pilot) { return *results(pilot, "pilot runs"); });
      static_cast<study::Request&>(command) = std::move(enough.request);
      until_ci_ = std::move(enough.record);
      say("--until-ci: the first {} seeds decided that {} are needed\n", until_ci_["pilot_seeds"].dump(),
          until_ci_["seeds"].dump());
    }
    const bool is_base = variants.axis.empty() && study_.until_ci == 0;
    study::Plan plan = is_base ? std::move(base) : study::plan_study(command, true, variants);
    make(plan, "");
    if (slice_) return end_slice("all slices are done: psim merge " + file_word(dir_));
    const Counts counts = finish_study(study::StudyFolder(dir_), *journal_, study_, command_.json, line());
    if (counts.missed > 0)
      say("exit code 1: {} of {} missed the target\n", counts.missed,
          counted(static_cast<std::int64_t>(counts.runs), "run"));
    return counts.no == 0 ? done : answer_is_no;
  }

 private:
  static constexpr std::string_view of_tuning = "trials of [tune]";
  // `stage`: the runs of an earlier stage, such as trials.
  void make(study::Plan& plan, std::string_view stage) {
    Json manifest = manifest_of(plan, command_, study_.baseline);
    manifest["study"] = hash_;
    if (!stage.empty()) manifest["stage"] = stage;
    if (!tuning_.is_null()) manifest["tuning"] = tuning_;
    if (!until_ci_.is_null()) manifest["until_ci"] = until_ci_;
    if (const std::vector<std::string> words = options(); !words.empty()) manifest["options"] = words;
    if (!lock_ && study::holds_another_study(dir_, hash_)) {
      if (!study::StudyLock::alone(dir_))
        throw Refused(fmt::format("another process works on another study in {}", dir_.string()),
                      "wait for it, or name another folder with --out");
      say("note: {} held another study, which this study replaces\n", dir_.string());
    }
    if (!lock_) {
      if (const auto alone = study::StudyLock::alone(dir_)) study::remove_unfinished(dir_);
      lock_.emplace(study::StudyLock::to_work(dir_));
    }
    study::begin_study(dir_, plan, manifest, slice_.has_value());
    if (command_.out.empty() && !scratch_ && !command_.force) adopt_from_neighbours(dir_, plan, *journal_);
    const std::vector<std::size_t> mine = runs_of(slice_.value_or(study::Slice{}), plan.runs);
    made_ += study::make_runs({dir_, command_, watcher_, !scratch_, stage != of_tuning}, plan, mine,
                              store_in(*journal_), interrupts_);
    planned_ += plan.runs.size();
    mine_ += mine.size();
  }

  // The results of a plan's runs; nothing if runs of other slices are still missing.
  std::optional<analysis::Study> results(study::Plan& plan, std::string_view stage) {
    make(plan, stage);
    if (slice_) journal_->read_again();
    const auto is_missing = [this](const study::PlannedRun& run) {
      return journal_->find(run.hash) == nullptr;
    };
    if (std::ranges::any_of(plan.runs, is_missing)) return std::nullopt;
    return study::results_of(manifest_of(plan, command_, study_.baseline), *journal_);
  }

  // The options that decide which runs there are, and what is kept of them.
  std::vector<std::string> options() const {
    std::vector<std::string> words;
    if (study_.until_ci > 0) words = {"--until-ci", half_width()};
    if (command_.trace != "none") words.insert(words.end(), {"--trace", command_.trace});
    return words;
  }

  // The command that repeats this study.
  std::string line() const {
    const std::string text = study::compare_line(command_);
    return study_.until_ci > 0 ? text + " --until-ci " + half_width() : text;
  }
  std::string half_width() const { return fmt::format("{:.6g}%", 100 * study_.until_ci); }

  int end_slice(const std::string& next) const {
    say("slice {}/{}: {} of {} runs are in this slice; {} made now, {} existed before\n", slice_->number,
        slice_->count, mine_, planned_, made_, mine_ - made_);
    say("when {}\n", next);
    return done;
  }

  const Command& command_;
  const StudyCommand& study_;
  std::optional<study::Slice> slice_;
  StudyProgress watcher_;
  InterruptsHeld interrupts_;  // until the temporary folder is removed
  std::optional<ScratchFolder> scratch_;
  fs::path dir_;
  std::string hash_;
  std::optional<study::StudyLock> lock_;
  std::optional<study::Journal> journal_;
  Json tuning_, until_ci_;
  std::size_t made_ = 0, mine_ = 0, planned_ = 0;
};

// Throws Refused if psim must not write a study to this folder.
void check_out(const fs::path& dir) {
  study::check_study_target(dir);
  if (!study::can_be_written(dir)) check_can_make(dir, "--out");
}

// Throws Refused if the study's page would replace a foreign file.
void check_page_of(const study::Plan& plan, const Command& command) {
  const fs::path dir = command.out.empty() ? study_directory(plan) : folder_named(command.out);
  if (fs::is_directory(dir)) page_target(dir, "");
}

}  // namespace

int compare(const Command& command, const StudyCommand& study) {
  Refusals wrong;
  std::optional<study::Slice> slice;
  std::optional<study::Plan> read;
  const bool only_says = study.count || !study.recipe.empty();
  wrong.check([&] { slice = study::slice_of(study.slice); });
  wrong.check([&] { check_columns(study); });
  wrong.check([&] {
    if (study.until_ci > 0 && (!study.slice.empty() || only_says))
      throw Refused("--until-ci chooses seeds while it runs, so it cannot be cut into slices",
                    "use --seeds, or leave out --slice, --count and --recipe");
  });
  if (!command.out.empty() && !only_says) wrong.check([&] { check_out(folder_named(command.out)); });
  wrong.check([&] { read = study::plan_study(command, !only_says); });
  if (read) wrong.check([&] { check_baseline(*read, study.baseline); });
  if (read && study.page) wrong.check([&] { check_page_of(*read, command); });
  wrong.throw_if_any();
  study::Plan& plan = *read;
  say("{}", plan.notes);
  if (!only_says) return Making(command, study, slice).run(std::move(plan));
  const study::Effort effort = effort_of(plan);
  if (study.count && plan.tune) say("{}\n", text_of(count_of(plan)));
  fmt::print("{}", study.count ? fmt::format("{}\n", effort.runs) : recipe(plan, command, study, effort));
  return done;
}

int merge(const std::string& directory, const StudyCommand& study, bool json) {
  Refusals wrong;
  std::optional<study::StudyFolder> found;
  wrong.check([&] { check_columns(study); });
  wrong.check([&] { found.emplace(found_on(studies_shelf(), directory)); });
  if (found) wrong.check([&] { check_baseline(*found, study.baseline); });
  if (found && study.page) wrong.check([&] { page_target(found->dir, ""); });
  wrong.throw_if_any();
  study::StudyFolder& folder = *found;
  if (const auto alone = study::StudyLock::alone(folder.dir); alone && study::can_be_written(folder.dir))
    study::remove_unfinished(folder.dir);
  const study::StudyLock lock = study::StudyLock::to_work(folder.dir);
  study::Journal journal(folder.dir);
  say_what_is_not_read(folder.dir, journal);
  if (!journal.other_builds().empty() || folder.manifest["build"] != build_id())
    throw Refused(fmt::format("{} has results of another build of psim", folder.dir.string()),
                  "a study needs one build: merge with the program that made them, or run it again "
                  "into another folder");
  if (const std::vector<Json> missing = missing_runs(folder, journal); !missing.empty()) {
    print_missing(folder, missing);
    return answer_is_no;
  }
  if (folder.manifest.contains("stage")) {
    fmt::print("the {} in {}/ are complete; repeat the command to make the study itself\n",
               folder.manifest["stage"].get<std::string>(), folder.dir.string());
    return answer_is_no;
  }
  if (!study.baseline.empty()) set_baseline(folder, study.baseline);
  const Counts counts = finish_study(folder, journal, study, json, "psim merge " + file_word(directory));
  if (counts.missed > 0)
    say("{} of {} missed the target\n", counts.missed,
        counted(static_cast<std::int64_t>(counts.runs), "run"));
  return done;
}

}  // namespace psim::cli
