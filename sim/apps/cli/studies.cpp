// psim studies: lists, renames and removes studies.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <set>
#include <string>
#include <vector>

#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/replay_study.hpp"
#include "sim/apps/cli/shelf.hpp"
#include "sim/runs/answer.hpp"
#include "sim/runs/process.hpp"
#include "sim/scenario/spec/memory.hpp"
#include "sim/scenario/text/diagnostics.hpp"
#include "sim/study/folder.hpp"
#include "sim/study/publish/contents.hpp"

namespace psim::cli {
namespace {

// The state of a study.
std::string state_of(const study::StudyFolder& folder, std::size_t missing) {
  if (!study::StudyLock::alone(folder.dir)) return "at work";
  if (missing > 0 || folder.manifest.contains("stage")) return "incomplete";
  const bool is_written = fs::exists(folder.dir / "results.jsonl") && fs::exists(folder.dir / "study.json");
  return is_written ? "complete" : "to be merged";
}

Json row_of_study(const fs::path& dir) {
  const study::StudyFolder folder(dir);
  const study::Journal journal(dir, study::Journal::Builds::any);
  const Json& runs = folder.manifest["runs"];
  std::set<std::string> arms, conditions, seeds;
  for (const Json& run : runs) {
    arms.insert(run["arm"].get<std::string>());
    conditions.insert(run["condition"].dump());
    seeds.insert(run["seed"].dump());
  }
  const std::size_t all = folder.hashes().size(), missing = missing_runs(folder, journal).size();
  return {{"name", dir.filename().string()},
          {"folder", dir.string()},
          {"scenario", folder.name()},
          {"title", folder.manifest["title"].get<std::string>()},
          {"study", folder.manifest["study"].get<std::string>()},
          {"arms", arms.size()},
          {"conditions", conditions.size()},
          {"seeds", seeds.size()},
          {"runs", all},
          {"trials", all - runs.size()},
          {"done", all - missing},
          {"state", state_of(folder, missing)},
          {"psim", folder.manifest["psim"].get<std::string>()}};
}

// Never throws: one damaged study must not hide the others.
Json row_at(const fs::path& dir) {
  Json row;
  try {
    row = row_of_study(dir);
  } catch (const std::exception&) {
    row = {{"name", dir.filename().string()}, {"folder", dir.string()}, {"state", "damaged"}};
  }
  row["written"] = date_of(dir / "manifest.json");
  row["bytes"] = study::bytes_in(dir);
  return row;
}

std::string count_at(const Json& row, const char* key) { return row.contains(key) ? row[key].dump() : "-"; }

constexpr ListColumn study_columns[] = {
    {"study", true, [](const Json& row) { return row["name"].get<std::string>(); }},
    {"title", true, [](const Json& row) { return cut(row.value("title", ""), 40); }},
    {"arms", false, [](const Json& row) { return count_at(row, "arms"); }},
    {"conditions", false, [](const Json& row) { return count_at(row, "conditions"); }},
    {"seeds", false, [](const Json& row) { return count_at(row, "seeds"); }},
    {"runs", false, [](const Json& row) { return count_at(row, "done") + "/" + count_at(row, "runs"); }},
    {"state", true, [](const Json& row) { return row["state"].get<std::string>(); }},
    {"psim", true, [](const Json& row) { return row.value("psim", "-"); }},
    {"begun", true, [](const Json& row) { return row["written"].get<std::string>(); }},
    {"size", false, [](const Json& row) { return size_text(row["bytes"].get<double>(), 3); }},
};

int list_studies(const Shelf& shelf, const std::string& pattern, bool json) {
  std::vector<Json> rows;
  for (const fs::path& dir : folders_on(shelf)) {
    if (fits(pattern, dir.filename().string())) rows.push_back(row_at(dir));
  }
  if (json) {
    fmt::print("{}\n", Json{{"schema", "psim.studies/1"}, {"studies", rows}}.dump(2));
  } else if (rows.empty()) {
    fmt::print("no studies{} in {}/; `psim compare` makes one under studies/\n",
               pattern.empty() ? "" : fmt::format(" like `{}`", pattern), shelf.home.string());
  } else {
    fmt::print("{}", list_of(rows, study_columns));
  }
  return done;
}

// Keeps other processes out of the folder. Throws Refused while a process works there.
study::StudyLock locked(const fs::path& dir) {
  std::optional<study::StudyLock> lock = study::StudyLock::alone(dir);
  if (!lock)
    throw Refused(fmt::format("another process works on {}", dir.string()),
                  "wait for it, or stop it with Ctrl-C");
  return std::move(*lock);
}

void remove_study_called(const Shelf& shelf, const std::string& name) {
  const fs::path dir = found_on(shelf, name);
  const study::StudyFolder folder(dir);
  check_not_inside(dir);
  const study::StudyLock lock = locked(dir);
  const study::StudyContents contents = study::study_contents(dir, folder.name());
  check_can_go(dir);
  const std::uintmax_t bytes = study::bytes_in(dir);
  study::remove_study(dir, contents);
  mend_latest(shelf, dir);
  const std::uintmax_t left = contents.foreign.empty() ? 0 : study::bytes_in(dir);
  fmt::print("removed {}{}: {} and {}, {}\n", contents.foreign.empty() ? "" : "from ", dir.string() + "/",
             counted(static_cast<std::int64_t>(contents.files.size() + contents.made.size()), "file"),
             counted(static_cast<std::int64_t>(contents.runs.size()), "recorded run"),
             size_text(static_cast<double>(bytes - std::min(bytes, left)), 3));
  if (contents.foreign.empty()) return;
  constexpr std::size_t most = 5;
  std::vector<std::string> names;
  for (const fs::path& other : contents.foreign) names.push_back(other.string());
  const std::size_t more = names.size() - std::min(names.size(), most);
  names.resize(names.size() - more);
  fmt::print("kept files that psim did not write: {}{}\nto remove them, too: rm -r {}\n",
             fmt::join(names, ", "), more > 0 ? fmt::format(", and {} more", more) : "", file_word(dir));
}

void rename_study(const Shelf& shelf, const std::string& name, const std::string& to) {
  const fs::path dir = found_on(shelf, name);
  const study::StudyFolder folder(dir);  // throws if it is not a study
  const study::StudyLock lock = locked(dir);
  fmt::print("{}/ is now {}/\n", dir.string(), rename_folder(shelf, dir, to).string());
}

}  // namespace

Shelf studies_shelf() {
  return {.one = "study", .many = "studies", .home = "studies", .holds = study::is_study};
}

int studies(const ShelfCommand& asked) {
  const Shelf shelf = shelf_at(studies_shelf(), asked.in);
  return act_on_shelf(
      shelf, asked,
      {.list = [&](const std::string& pattern) { return list_studies(shelf, pattern, asked.json); },
       .rename = [&](const std::string& name, const std::string& to) { rename_study(shelf, name, to); },
       .remove = [&](const std::string& name) { remove_study_called(shelf, name); }});
}

}  // namespace psim::cli
