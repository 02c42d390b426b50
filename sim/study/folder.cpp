#include "sim/study/folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>
#include <utility>

#include "analysis/run_files.hpp"
#include "analysis/study/files.hpp"
#include "model/base/input.hpp"
#include "sim/record/identity.hpp"
#include "sim/record/run_file.hpp"
#include "sim/runs/answer.hpp"
#include "sim/runs/process.hpp"
#include "sim/runs/run_folder.hpp"
#include "sim/study/journal.hpp"
#include "sim/study/plan.hpp"

namespace psim::study {
namespace {

constexpr const char* manifest_name = "manifest.json";
constexpr const char* schema = "psim.study/1";

// "model name : ..." of /proc/cpuinfo.
std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(std::min(line.find(": ") + 2, line.size()));
  }
  return "";
}

Json machine() {
  utsname system{};
  uname(&system);
  return {{"processor", processor()},
          {"cores", std::thread::hardware_concurrency()},
          {"memory_bytes", sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE)},
          {"system", fmt::format("{} {} {}", system.sysname, system.release, system.machine)}};
}

Json condition_of(const std::vector<std::string>& axes, const std::vector<std::string>& labels) {
  Json condition = Json::object();
  for (std::size_t i = 0; i < axes.size(); ++i) condition[axes[i]] = labels[i];
  return condition;
}

std::string baseline_of(const std::vector<std::string>& arms, const std::string& arm_axis,
                        const std::string& asked) {
  if (asked.empty()) return arms.front();
  if (std::ranges::find(arms, asked) != arms.end()) return asked;
  throw Refused(fmt::format("--baseline {}: no arm has this name", asked),
                did_you_mean(asked, arms,
                             arm_axis.empty() ? "the study has a single arm: leave out --baseline"
                                              : fmt::format("the arms are the values of {}, for example {}",
                                                            arm_axis, arms.front())));
}

bool is_text(const Json& value) { return value.is_string(); }

// A hash is part of the name of a run's folder.
bool is_hash(const Json& value) {
  constexpr std::size_t digits = 16;
  if (!value.is_string()) return false;
  const std::string text = value;
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// Whether every key that psim reads has the expected type.
bool is_manifest(const Json& m) {
  if (!m.is_object() || !m.contains("schema") || m["schema"] != schema) return false;
  for (const char* key : {"name", "title", "study", "psim", "build", "arm_axis", "baseline"}) {
    if (!m.contains(key) || !m[key].is_string()) return false;
  }
  for (const char* key : {"data_dirs", "condition_axes", "runs"}) {
    if (!m.contains(key) || !m[key].is_array()) return false;
  }
  if (!is_name(m["name"].get<std::string>())) return false;
  bool has_baseline = false;
  const auto is_run = [&](const Json& run) {
    if (!run.is_object() || !run.contains("run") || !run.contains("arm") || !run.contains("condition") ||
        !run.contains("seed") || !run.contains("command"))
      return false;
    has_baseline = has_baseline || run["arm"] == m["baseline"];
    return is_hash(run["run"]) && run["arm"].is_string() && run["seed"].is_number_integer() &&
           run["command"].is_string() && run["condition"].is_object() &&
           run["condition"].size() == m["condition_axes"].size() &&
           std::ranges::all_of(run["condition"], is_text);
  };
  const auto is_until_ci = [](const Json& u) {
    const auto has = [&](const char* key) { return u.contains(key) && u[key].is_number_unsigned(); };
    return u.is_object() && u.contains("half_width") && u["half_width"].is_number() && has("pilot_seeds") &&
           has("seeds") && u.contains("baseline") && u["baseline"].is_string();
  };
  return (!m.contains("options") ||
          (m["options"].is_array() && std::ranges::all_of(m["options"], is_text))) &&
         std::ranges::all_of(m["data_dirs"], is_text) && std::ranges::all_of(m["condition_axes"], is_text) &&
         std::ranges::all_of(m["runs"], is_run) && has_baseline &&
         (!m.contains("tuning") || is_tuning(m["tuning"])) &&
         (!m.contains("until_ci") || is_until_ci(m["until_ci"]));
}

}  // namespace

void check_baseline(const Plan& plan, const std::string& baseline) {
  baseline_of(plan.arms, plan.arm_axis, baseline);
}

Json manifest_of(const Plan& plan, const Request& request, const std::string& baseline) {
  Json runs = Json::array(), dirs = Json::array();
  for (const PlannedRun& run : plan.runs) {
    runs.push_back({{"run", run.hash},
                    {"arm", run.arm},
                    {"condition", condition_of(plan.condition_axes, run.condition)},
                    {"seed", run.seed},
                    {"command", command_line(run.request)}});
    if (run.by_trace) runs.back()["by_trace"] = true;
    if (run.predicts) runs.back()["predicts"] = *run.predicts;
  }
  for (const fs::path& dir : data_folders(request)) dirs.push_back(fs::absolute(dir).string());
  dirs.push_back(fs::absolute(request.scenario).parent_path().string());
  return {{"schema", schema},
          {"name", plan.name},
          {"title", plan.title},
          {"study", plan.hash},
          {"psim", version_text()},
          {"cpu_family", cpu_family()},
          {"libraries", libraries()},
          {"build", build_id()},
          {"machine", machine()},
          {"data_dirs", dirs},
          {"arm_axis", plan.arm_axis},
          {"condition_axes", plan.condition_axes},
          {"baseline", baseline_of(plan.arms, plan.arm_axis, baseline)},
          {"runs", runs}};
}

bool is_study(const fs::path& dir) { return fs::exists(dir / "manifest.json"); }

fs::path study_directory(const Plan& plan) {
  return fs::path("studies") / fmt::format("{}-{}", plan.name, plan.hash.substr(0, 8));
}

void check_study_target(const fs::path& dir) {
  if (is_partial_name(dir.filename().string()))
    throw Refused(fmt::format("{} has the name of an unfinished run", dir.string()),
                  "name another folder; psim removes folders with such names");
  if (!fs::exists(dir)) return;
  if (!fs::is_directory(dir))
    throw Refused(fmt::format("{} is a file", dir.string()), "name another folder for the study");
  for (const char* within : {"results", "runs"}) {
    const fs::file_status status = fs::symlink_status(dir / within);
    if (fs::exists(status) && !fs::is_directory(status))
      throw Refused(fmt::format("{} is not a folder of a study", (dir / within).string()),
                    "move it away; psim writes there and does not follow links");
  }
  // The order matters: another process may turn the folder into a study now, and writes the manifest first.
  const bool is_empty =
      std::ranges::all_of(fs::directory_iterator(dir), [](const fs::directory_entry& entry) {
        return entry.path().filename().string().find(analysis::unfinished) != std::string::npos;
      });
  if (is_empty || fs::exists(dir / manifest_name)) return;
  if (fs::exists(dir / "summary.json"))
    throw Refused(fmt::format("{} is a run", dir.string()), "name another folder for the study");
  throw Refused(fmt::format("{} is neither a study nor empty", dir.string()),
                "name another folder; psim replaces only its own studies");
}

void begin_study(const fs::path& dir, const Plan& plan, const Json& manifest, bool is_shared) {
  check_study_target(dir);
  fs::create_directories(dir);
  const fs::path scenario = dir / (plan.name + ".toml");
  bool stands = false;
  if (is_shared && fs::exists(dir / manifest_name)) {
    const Json there = StudyFolder(dir).manifest;
    if (there["study"] != manifest["study"])
      throw Refused(fmt::format("{} holds another study", dir.string()),
                    "slices of one study share a folder; name another folder with --out");
    if (there["build"] != manifest["build"])
      throw Refused(fmt::format("another build of psim started the study in {}", dir.string()),
                    "run all slices with the same program, or name another folder with --out");
    // Another slice may be ahead: then its manifest has the result of the trials.
    stands = there.contains("tuning") || there == manifest;
  }
  if (!stands && fs::exists(dir / manifest_name)) {
    // Removes a scenario file of another name only if it has this study's text.
    const fs::path before = StudyFolder(dir).scenario();
    if (before != scenario && fs::is_regular_file(fs::symlink_status(before)) &&
        read_file(before) == plan.text)
      fs::remove(before);
  }
  if (!stands)
    replace_file(dir / manifest_name, manifest.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
  if (!stands || !fs::exists(scenario)) replace_file(scenario, plan.text);
}

StudyFolder::StudyFolder(const fs::path& path) : dir(path) {
  if (!fs::exists(dir / manifest_name))
    throw Refused(fmt::format("{} is not a study: {} is missing", dir.string(), manifest_name),
                  "`psim compare` makes one under studies/");
  manifest = analysis::json_file(dir / manifest_name);
  if (!is_manifest(manifest))
    throw DamagedRun(fmt::format("{} is not the manifest of a study", (dir / manifest_name).string()));
}

namespace {

std::vector<std::string> arms_of(const StudyFolder& folder) {
  std::vector<std::string> arms;
  for (const Json& run : folder.manifest["runs"]) {
    const std::string arm = run["arm"];
    if (std::ranges::find(arms, arm) == arms.end()) arms.push_back(arm);
  }
  return arms;
}

}  // namespace

void check_baseline(const StudyFolder& folder, const std::string& baseline) {
  baseline_of(arms_of(folder), folder.manifest["arm_axis"], baseline);
}

void set_baseline(StudyFolder& folder, const std::string& baseline) {
  folder.manifest["baseline"] = baseline_of(arms_of(folder), folder.manifest["arm_axis"], baseline);
  if (can_be_written(folder.dir)) replace_file(folder.dir / manifest_name, folder.manifest.dump(1) + "\n");
}

bool can_be_written(const fs::path& dir) { return access(dir.c_str(), W_OK | X_OK) == 0; }

void remove_unfinished(const fs::path& dir) {
  std::vector<fs::path> left;
  for (const fs::directory_entry& entry : fs::directory_iterator(dir)) {
    const std::string name = entry.path().filename().string();
    const bool is_file = fs::is_regular_file(entry.symlink_status());
    if (is_file && analysis::is_unfinished(name)) left.push_back(entry.path());
  }
  for (const fs::path& file : left) fs::remove(file);
}

bool holds_another_study(const fs::path& dir, const std::string& study) {
  return fs::exists(dir / manifest_name) && StudyFolder(dir).manifest["study"] != study;
}

std::vector<std::string> StudyFolder::hashes() const {
  std::vector<std::string> all;
  for (const Json& run : manifest["runs"]) all.push_back(run["run"]);
  if (manifest.contains("tuning")) {
    for (const Json& run : manifest["tuning"]["runs"]) all.push_back(run);
  }
  return all;
}

std::vector<Json> missing_runs(const StudyFolder& folder, const Journal& journal) {
  std::vector<Json> missing;
  for (const Json& run : folder.manifest["runs"]) {
    if (journal.find(run["run"]) == nullptr) missing.push_back(run);
  }
  if (folder.manifest.contains("tuning")) {
    for (const Json& trial : folder.manifest["tuning"]["runs"]) {
      if (journal.find(trial) == nullptr)
        missing.push_back({{"run", trial}, {"command", "a trial of [tune]"}});
    }
  }
  return missing;
}

namespace {

Json cause_of(const Journal& journal, const std::string& hash) {
  const std::string* cause = journal.cause_of(hash);
  return cause == nullptr ? Json() : cause_from(*cause, hash);
}

}  // namespace

analysis::Study results_of(const Json& m, const Journal& journal) {
  analysis::Study study{.name = m["name"],
                        .title = m["title"],
                        .arm_axis = m["arm_axis"],
                        .condition_axes = m["condition_axes"],
                        .baseline = m["baseline"],
                        .tuning = m.value("tuning", Json()),
                        .until_ci = m.value("until_ci", Json()),
                        .cells = {}};
  for (const Json& run : m["runs"]) {
    const std::string* summary = journal.find(run["run"]);
    if (summary == nullptr) continue;
    std::vector<std::string> condition;
    for (const auto& [axis, label] : run["condition"].items()) condition.push_back(label);
    const auto same = [&](const analysis::Cell& cell) {
      return run["arm"] == cell.arm && cell.condition == condition;
    };
    auto cell = std::ranges::find_if(study.cells, same);
    if (cell == study.cells.end())
      cell = study.cells.insert(cell, {.arm = run["arm"], .condition = std::move(condition), .runs = {}});
    cell->runs.push_back(
        {.run = run["run"],
         .seed = run["seed"],
         .summary = summary_of(*summary, run["run"]),
         .by_trace = run.contains("by_trace"),
         .predicts = run.contains("predicts") ? std::optional(run["predicts"].get<double>()) : std::nullopt,
         .cause = cause_of(journal, run["run"])});
  }
  return study;
}

void write_study(const StudyFolder& folder, Journal& journal, const analysis::Study& study,
                 const analysis::Evaluation& evaluation) {
  journal.settle(folder.hashes());
  const std::vector<analysis::StudyFile> files = analysis::study_files(study, evaluation);
  for (const char* sometimes : {"curves_mean.csv", "curves.tex", "trials.csv"}) {
    if (std::ranges::find(files, sometimes, &analysis::StudyFile::name) == files.end())
      fs::remove(folder.dir / sometimes);
  }
  // A page shows the study at the time when the page was made.
  const fs::path page = folder.dir / analysis::page_name;
  const bool is_new =
      !fs::exists(folder.dir / "study.json") || read_file(folder.dir / "study.json") != files.front().text;
  if (is_new && analysis::is_page(page)) fs::remove(page);
  for (const analysis::StudyFile& file : files) replace_file(folder.dir / file.name, file.text);
  FreshFile database(folder.dir / "study.db");
  analysis::write_database(database.path(), study);
  database.move_into_place();
}

namespace {

OpenFile opened(const fs::path& dir) {
  return OpenFile(open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

// Whether the open folder is still the one at this path.
bool is_at(const OpenFile& file, const fs::path& dir) {
  struct stat locked {
  }, there{};
  return fstat(file.number(), &locked) == 0 && stat(dir.c_str(), &there) == 0 &&
         locked.st_ino == there.st_ino && locked.st_dev == there.st_dev;
}

}  // namespace

StudyLock StudyLock::to_work(const fs::path& dir) {
  for (;;) {
    fs::create_directories(dir);
    OpenFile file = opened(dir);
    if (!file && errno == ENOENT) continue;  // another process has just removed it
    if (!file) throw_errno("open", dir);
    while (flock(file.number(), LOCK_SH) != 0 && errno == EINTR) {
    }
    if (is_at(file, dir)) return StudyLock(std::move(file));
  }
}

std::optional<StudyLock> StudyLock::alone(const fs::path& dir) {
  OpenFile file = opened(dir);
  if (!file) return std::nullopt;
  if (flock(file.number(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return std::nullopt;
  return StudyLock(std::move(file));
}

namespace {

// Whether `file` holds lines of a process that makes runs. An empty file shows this only by its name.
bool is_journal(const fs::path& file) {
  const std::string begin = beginning_of(file, 8), name = file.stem().string();
  return begin.empty() ? analysis::names_process(name.substr(0, name.rfind('-'))) : begin == "{\"run\":\"";
}

// The files in SHA256SUMS of an archive whose sum still fits. Foreign files may have the same names.
std::set<std::string> archived(const fs::path& dir) {
  std::set<std::string> names;
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(dir / archive_sums, error))) return names;
  std::istringstream sums(read_file(dir / archive_sums));
  constexpr std::size_t digits = 64;
  for (std::string line; std::getline(sums, line);) {
    if (line.size() < digits + 3) continue;
    const std::string name = line.substr(digits + 2);
    const bool is_plain = name.find('/') == std::string::npos && fs::is_regular_file(dir / name, error);
    if (is_plain && analysis::sha256(read_file(dir / name)) == line.substr(0, digits)) names.insert(name);
  }
  if (names.contains("manifest.json")) names.emplace(archive_sums);
  return names;
}

class Sorter {
 public:
  Sorter(const fs::path& dir, const std::string& name)
      : dir_(dir), scenario_(name + ".toml"), archived_(archived(dir)) {}

  StudyContents sorted() {
    for (const fs::directory_entry& entry : fs::directory_iterator(dir_)) {
      const fs::path place = entry.path().filename();
      const fs::file_status status = entry.symlink_status();
      if (fs::is_directory(status) && place == "results") look_into_results();
      else if (fs::is_directory(status) && place == "runs") look_into_runs();
      else if (fs::is_regular_file(status) && is_ours(place.string())) contents_.files.push_back(place);
      else if (fs::is_regular_file(status) && is_made(place.string())) contents_.made.push_back(place);
      else contents_.foreign.push_back(place);
    }
    std::ranges::sort(contents_.files);
    std::ranges::sort(contents_.made);
    std::ranges::sort(contents_.runs);
    std::ranges::sort(contents_.foreign);
    return std::move(contents_);
  }

 private:
  bool is_ours(const std::string& name) const {
    if (name == scenario_ || archived_.contains(name) || analysis::is_unfinished(name)) return true;
    if (analysis::is_page(dir_ / name)) return true;
    return std::ranges::any_of(analysis::study_file_names(),
                               [&](std::string_view known) { return name == known; });
  }
  bool is_made(const std::string& name) const {
    return std::ranges::find(analysis::made_file_names(), name) != analysis::made_file_names().end();
  }
  void look_into_results() {
    for (const fs::directory_entry& entry : fs::directory_iterator(dir_ / "results")) {
      const fs::path place = fs::path("results") / entry.path().filename();
      const bool is_ours = fs::is_regular_file(entry.symlink_status()) && place.extension() == ".jsonl" &&
                           is_journal(entry.path());
      (is_ours ? contents_.files : contents_.foreign).push_back(place);
    }
  }
  void look_into_runs() {
    for (const fs::directory_entry& entry : fs::directory_iterator(dir_ / "runs")) {
      const fs::path place = fs::path("runs") / entry.path().filename();
      const fs::file_status status = entry.symlink_status();
      if (fs::is_symlink(status) && place.filename() == "latest") {
        contents_.files.push_back(place);
        continue;
      }
      bool is_ours = fs::is_directory(status);
      if (is_ours) {
        const analysis::Contents run = analysis::contents_of(entry.path());
        is_ours = run.foreign.empty() && (run.empty || run.marked);
      }
      (is_ours ? contents_.runs : contents_.foreign).push_back(place);
    }
  }

  const fs::path& dir_;
  std::string scenario_;
  std::set<std::string> archived_;
  StudyContents contents_;
};

}  // namespace

StudyContents study_contents(const fs::path& dir, const std::string& name) {
  return Sorter(dir, name).sorted();
}

std::uintmax_t bytes_in(const fs::path& dir) {
  std::uintmax_t bytes = 0;
  std::error_code gone;  // files may appear and disappear meanwhile
  for (auto entry = fs::recursive_directory_iterator(dir, gone); entry != fs::recursive_directory_iterator();
       entry.increment(gone)) {
    if (!fs::is_regular_file(entry->symlink_status(gone))) continue;
    const std::uintmax_t size = entry->file_size(gone);
    if (!gone) bytes += size;
  }
  return bytes;
}

void remove_study(const fs::path& dir, const StudyContents& contents) {
  for (const fs::path& run : contents.runs) {
    if (const std::error_code error = analysis::remove_run(dir / run))
      throw fs::filesystem_error("remove", dir / run, error);
  }
  for (const fs::path& file : contents.made) fs::remove(dir / file);
  for (const fs::path& file : contents.files) {
    if (file != "manifest.json") fs::remove(dir / file);
  }
  fs::remove(dir / "manifest.json");
  for (const fs::path& folder : {dir / "results", dir / "runs", dir}) analysis::remove_empty(folder);
}

}  // namespace psim::study
