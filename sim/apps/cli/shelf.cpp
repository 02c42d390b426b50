#include "sim/apps/cli/shelf.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <exception>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "analysis/render/text_table.hpp"
#include "analysis/run_files.hpp"
#include "analysis/run_record.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/runs/answer.hpp"
#include "sim/runs/process.hpp"
#include "sim/runs/request.hpp"
#include "sim/runs/run_folder.hpp"
#include "sim/scenario/spec/memory.hpp"
#include "sim/scenario/text/diagnostics.hpp"
#include "sim/study/folder.hpp"
#include "sim/study/journal.hpp"

namespace psim::cli {
namespace {

constexpr const char* latest = "latest";

bool is_link(const fs::path& path) { return fs::is_symlink(fs::symlink_status(path)); }

// The folder that the link `latest` points to; empty if there is no such link.
fs::path target_of(const fs::path& link) {
  if (link.filename() != latest || !is_link(link)) return {};
  return (link.parent_path() / fs::read_symlink(link)).lexically_normal();
}

std::string listed_by(const Shelf& shelf) { return fmt::format("`psim {0}` lists all {0}", shelf.many); }

// A link may lead to a foreign folder.
fs::path followed(const Shelf& shelf, const fs::path& path) {
  if (!is_link(path)) return path;
  fs::path target = target_of(path);
  if (target.empty())
    throw Refused(fmt::format("{} is a link, to {}", path.string(), fs::read_symlink(path).string()),
                  fmt::format("name the {}'s folder itself", shelf.one));
  if (!shelf.holds(target))
    throw Refused(
        fmt::format("{} points to {}, which is not a {}", path.string(), target.string(), shelf.one),
        listed_by(shelf));
  return target;
}

void check_name(const std::string& name) {
  const char* wrong =
      name.empty()                                       ? "it is empty"
      : name.find('/') != std::string::npos              ? "it is a path, but renaming does not move a folder"
      : name == latest                                   ? "psim uses this name for the newest"
      : name.starts_with('.')                            ? "it begins with a dot"
      : name.starts_with('-')                            ? "it begins with a dash"
      : name.find(".psim-partial-") != std::string::npos ? "psim removes folders with such names"
      : std::ranges::any_of(name, [](unsigned char c) { return c < ' ' || c == 0x7f; })
          ? "it has a control character"
          : nullptr;
  if (wrong != nullptr)
    throw Refused(fmt::format("`{}` cannot be a name: {}", name, wrong), "for example slow-network");
}

[[noreturn]] void throw_usage(const Shelf& shelf, const std::string& what) {
  throw Refused(what, fmt::format("psim {0} [PATTERN], psim {0} rename OLD NEW, or psim {0} remove NAME...",
                                  shelf.many));
}

// The shelf in the folder of --in. Throws Refused if that is not a folder.
Shelf shelf_at(Shelf shelf, const std::string& in) {
  if (in.empty()) return shelf;
  shelf.home = folder_named(in);
  if (!fs::is_directory(shelf.home))
    throw Refused(fmt::format("--in {}: this folder does not exist", in),
                  fmt::format("name the folder that holds the {}", shelf.many));
  return shelf;
}

// The folders on the shelf, ordered by name.
std::vector<fs::path> folders_on(const Shelf& shelf) {
  std::vector<fs::path> folders;
  if (!fs::is_directory(shelf.home)) return folders;
  for (const fs::directory_entry& entry : fs::directory_iterator(shelf.home)) {
    if (!entry.is_symlink() && shelf.holds(entry.path())) folders.push_back(entry.path().lexically_normal());
  }
  std::ranges::sort(folders);
  return folders;
}

// Whether `name` matches a glob ("strag*") or contains the pattern.
bool fits(const std::string& pattern, const std::string& name) {
  return name.find(pattern) != std::string::npos || fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

}  // namespace

fs::path found_on(const Shelf& shelf, const std::string& name) {
  const bool is_word = name.find('/') == std::string::npos && name != "." && name != "..";
  const fs::path here = shelf.home / name;
  std::error_code none;
  const bool is_on_it = !name.empty() && is_word && fs::exists(fs::symlink_status(here, none));
  const fs::path path = is_on_it ? here : folder_named(fs::path(name).lexically_normal().string());
  if (!name.empty() && fs::exists(fs::symlink_status(path, none))) {
    fs::path dir = followed(shelf, path);
    if (shelf.holds(dir)) return dir;
    throw Refused(fmt::format("{} is not a {}", dir.string(), shelf.one), listed_by(shelf));
  }
  std::vector<std::string> names;
  for (const fs::path& folder : folders_on(shelf)) names.push_back(folder.filename().string());
  throw Refused(fmt::format("there is no {} `{}`", shelf.one, name),
                did_you_mean(name, names, listed_by(shelf)));
}

fs::path run_or_study(const std::string& name) {
  const auto is_there = [](const fs::path& path) { return fs::exists(fs::symlink_status(path)); };
  if (is_there(name)) return name;
  const Shelf studies = studies_shelf(), runs = runs_shelf();
  const bool is_run = !name.empty() && is_there(runs.home / name);
  if (!name.empty() && is_there(studies.home / name)) {
    if (is_run && name == "latest")
      say("note: `latest` is the latest study; the latest run is {}\n", (runs.home / name).string());
    return found_on(studies, name);
  }
  if (is_run) return found_on(runs, name);
  std::vector<std::string> names;
  for (const Shelf* shelf : {&studies, &runs}) {
    for (const fs::path& folder : folders_on(*shelf)) names.push_back(folder.filename().string());
  }
  throw Refused(fmt::format("there is no run or study `{}`", name),
                did_you_mean(name, names, "`psim runs` and `psim studies` list all runs and studies"));
}

namespace {

// Throws Refused if `dir` is the current folder or contains it: psim must not rename or remove it then.
void check_not_inside(const fs::path& dir) {
  const fs::path real = fs::canonical(dir), here = fs::current_path();
  if (std::ranges::mismatch(real, here).in1 == real.end())
    throw Refused(fmt::format("{} is the current folder, or contains it", dir.string()), "leave it first");
}

// Renames a folder in its place; `latest` follows. Returns the new path. Throws Refused.
fs::path rename_folder(const Shelf& shelf, const fs::path& dir, const std::string& name) {
  check_name(name);
  check_not_inside(dir);
  const fs::path parent = parent_of(dir);
  const fs::path to = (parent / name).lexically_normal();
  const bool is_latest = target_of(parent / latest).filename() == dir.filename();
  int failure = renameat2(AT_FDCWD, dir.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0 ? 0 : errno;
  if (failure == EINVAL && !fs::exists(fs::symlink_status(to)))  // the file system cannot refuse to replace
    failure = std::rename(dir.c_str(), to.c_str()) == 0 ? 0 : errno;
  if (failure == EEXIST || failure == EINVAL)
    throw Refused(fmt::format("{} exists already", to.string()),
                  fmt::format("choose another name for the {}", shelf.one));
  if (failure != 0) throw fs::filesystem_error("rename", to, {failure, std::generic_category()});
  if (is_latest) point_latest(to);
  return to;
}

// Throws Refused if `dir` or a file in it cannot be removed. Then psim removes nothing.
void check_can_go(const fs::path& dir) {
  const fs::path parent = parent_of(dir);
  for (const fs::path& folder : {parent, dir}) {
    if (access(folder.c_str(), W_OK | X_OK) == 0) continue;
    const std::string why = std::generic_category().message(errno);
    throw Refused(fmt::format("{} is unchanged: {}: {}", dir.string(), folder.string(), why),
                  "removing files needs the permission to write to that folder");
  }
}

// Call it after `dir` is removed. If `latest` pointed to `dir`, it now points to the newest remaining folder.
void mend_latest(const Shelf& shelf, const fs::path& dir) {
  const fs::path parent = parent_of(dir);
  if (target_of(parent / latest).filename() != dir.filename()) return;
  Shelf beside = shelf;
  beside.home = parent;
  const std::vector<fs::path> left = folders_on(beside);
  if (left.empty()) {
    fs::remove(parent / latest);
    return;
  }
  point_latest(
      *std::ranges::max_element(left, {}, [](const fs::path& one) { return fs::last_write_time(one); }));
}

struct ShelfAction {
  std::function<int(const std::string& pattern)> list;
  std::function<void(const std::string& name, const std::string& to)> rename;
  std::function<void(const std::string& name)> remove;
};
// Throws Refused if the words are not such a request.
int act_on_shelf(const Shelf& shelf, const ShelfCommand& asked, const ShelfAction& action) {
  const std::vector<std::string>& words = asked.words;
  const std::string verb = words.empty() ? "" : words.front();
  const bool changes = verb == "rename" || verb == "remove";
  if (changes && (asked.json || !asked.study.empty() || !asked.wheres.empty()))
    throw_usage(shelf, fmt::format("psim {} {} takes no filter and no --json", shelf.many, verb));
  if (verb == "rename") {
    if (words.size() != 3) throw_usage(shelf, fmt::format("psim {} rename needs two names", shelf.many));
    action.rename(words[1], words[2]);
    return done;
  }
  if (verb == "remove") {
    if (words.size() < 2) throw_usage(shelf, fmt::format("psim {} remove needs a name", shelf.many));
    Refusals wrong;  // check all names before removing the first
    for (std::size_t i = 1; i < words.size(); ++i) wrong.check([&] { found_on(shelf, words[i]); });
    wrong.throw_if_any();
    for (std::size_t i = 1; i < words.size(); ++i) action.remove(words[i]);
    return done;
  }
  if (words.size() > 1) throw_usage(shelf, fmt::format("unexpected argument `{}`", words[1]));
  return action.list(verb);
}

// A column of a list: its name, and its text for a row.
struct ListColumn {
  analysis::ColumnName name;
  bool is_text;
  std::string (*cell)(const Json& row);
};
std::string list_of(const std::vector<Json>& rows, std::span<const ListColumn> columns) {
  std::vector<analysis::TextColumn> texts;
  for (const ListColumn& column : columns) {
    texts.emplace_back(column.name, column.is_text);
    for (const Json& row : rows) texts.back().cells.push_back(column.cell(row));
  }
  std::vector<const analysis::TextColumn*> shown;
  for (const analysis::TextColumn& text : texts) shown.push_back(&text);
  const std::size_t natural = analysis::natural_width(shown);  // in a pipe each row stays on one line
  const std::optional<int> terminal = terminal_width();
  const std::size_t width =
      terminal ? std::clamp(static_cast<std::size_t>(*terminal), analysis::least_width(shown), natural)
               : natural;
  return analysis::render(shown, {}, analysis::TableFormat::text, width);
}

// "2026-11-23 06:20": the date of the file at `path`, UTC; empty if it does not exist.
std::string date_of(const fs::path& path) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) return "";
  return fmt::format("{:%Y-%m-%d %H:%M}", fmt::gmtime(facts.st_mtime));
}

// `text`, cut to at most `width` characters.
std::string cut(const std::string& text, std::size_t width) {
  if (analysis::width_of(text) <= width) return text;
  std::string out;
  for (const char c : text) {
    const bool begins = (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;
    if (begins && analysis::width_of(out) + 3 >= width) break;
    out += c;
  }
  return out + "...";
}

// psim runs: lists the runs in runs/ and the runs of studies; renames or removes runs.

bool is_run(const fs::path& dir) {
  std::error_code none;
  return fs::is_directory(dir, none) && fs::is_regular_file(dir / "summary.json", none) &&
         fs::is_regular_file(dir / "run.db", none);
}

// The values of a summary for the list.
Json row_of_summary(const Json& summary, const std::string& name, const std::string& where) {
  const auto at = [&](SummaryPath path) { return analysis::value_at(summary, path); };
  const bool is_given = at("/target/given"_summary).get<bool>();
  return {{"name", name},
          {"run", at("/scenario_hash"_summary)},
          {"scenario", at("/scenario"_summary)},
          {"title", at("/title"_summary)},
          {"study", nullptr},
          {"arm", nullptr},
          {"condition", Json::object()},
          {"consistency", at("/consistency"_summary)},
          {"seed", at("/seed"_summary)},
          {"sim_time_s", at("/sim_time_s"_summary)},
          {"reached", is_given ? Json(!misses_target(summary)) : Json(nullptr)},
          {"time_to_target_s", is_given ? at("/target/sim_time_s"_summary) : Json(nullptr)},
          {"final_loss", at("/final/loss"_summary)},
          {"final_accuracy", at("/final/accuracy"_summary)},
          {"digest", at("/digest"_summary)},
          {"psim", at("/psim"_summary)},
          {"where", where}};
}

Json damaged_row(const fs::path& dir) {
  return {{"name", dir.filename().string()}, {"damaged", true}, {"where", dir.string()}};
}

void add_runs(const Shelf& shelf, std::vector<Json>& rows) {
  for (const fs::path& dir : folders_on(shelf)) {
    try {
      const Json summary = study::summary_of(summary_in(dir).dump(), dir.string());
      rows.push_back(row_of_summary(summary, dir.filename().string(), dir.string()));
    } catch (const std::exception&) {  // one damaged run must not hide the others
      rows.push_back(damaged_row(dir));
    }
  }
}

void add_runs_of(const fs::path& dir, std::vector<Json>& rows) try {
  const study::StudyFolder study(dir);
  const study::Journal journal(dir, study::Journal::Builds::any);
  const std::string scenario = study.manifest["name"];
  for (const Json& run : study.manifest["runs"]) {
    const std::string hash = run["run"];
    const std::string* summary = journal.find(hash);
    if (summary == nullptr) continue;
    const std::string name = fmt::format("{}-{}", scenario, hash.substr(0, 8));
    const fs::path recorded = dir / "runs" / name;
    Json row =
        row_of_summary(study::summary_of(*summary, hash), name, (is_run(recorded) ? recorded : dir).string());
    row["study"] = dir.filename().string();
    row["arm"] = run["arm"];
    row["condition"] = run["condition"];
    row["seed"] = run["seed"];
    rows.push_back(std::move(row));
  }
} catch (const std::exception&) {
  rows.push_back(damaged_row(dir));
}

// The value of a row for a filter, as text; nothing if the row lacks it.
std::optional<std::string> value_in(const Json& row, const std::string& key) {
  const Json& condition = row.contains("condition") ? row["condition"] : row;
  const Json* value = row.contains(key) ? &row[key] : condition.contains(key) ? &condition[key] : nullptr;
  if (value == nullptr || value->is_null() || value->is_object()) return std::nullopt;
  if (value->is_boolean()) return value->get<bool>() ? "yes" : "no";
  return value->is_string() ? value->get<std::string>() : value->dump();
}

struct Where {
  std::string key, value;
  bool holds(const Json& row) const {
    const std::optional<std::string> there = value_in(row, key);
    if (!there) return false;
    const bool is_hash = key == "run" || key == "digest";
    return is_hash ? there->starts_with(value) : *there == value;
  }
};

std::vector<std::string> keys_of(const std::vector<Json>& rows) {
  std::set<std::string> keys;
  for (const Json& row : rows) {
    for (const auto& [key, value] : row.items()) {
      if (key != "condition") keys.insert(key);
    }
    if (!row.contains("condition")) continue;
    for (const auto& [key, value] : row["condition"].items()) keys.insert(key);
  }
  return {keys.begin(), keys.end()};
}

// Throws Refused for a key that no run has: otherwise a misspelt key would look like an empty result.
std::vector<Where> wheres_of(const ShelfCommand& asked, const std::vector<Json>& rows) {
  std::vector<Where> wheres;
  const std::vector<std::string> keys = keys_of(rows);
  for (const std::string& text : asked.wheres) {
    const std::optional<Override> one = override_of(text);
    if (!one)
      throw Refused(fmt::format("--where {}: the `=` is missing", text), "for example --where seed=2");
    if (!rows.empty() && std::ranges::find(keys, one->key) == keys.end())
      throw Refused(fmt::format("--where {}: no run has `{}`", text, one->key),
                    did_you_mean(one->key, keys, fmt::format("the keys are {}", fmt::join(keys, ", "))));
    if (one->key == "reached" && one->value != "yes" && one->value != "no")
      throw Refused(fmt::format("--where {}: `reached` is `yes` or `no`", text),
                    "runs without a target have neither");
    wheres.push_back({one->key, one->value});
  }
  return wheres;
}

bool fits_row(const std::string& pattern, const Json& row) {
  return fits(pattern, row["name"].get<std::string>()) || fits(pattern, row["where"].get<std::string>()) ||
         (!pattern.empty() && row.value("run", "").starts_with(pattern));
}

std::string number_at(const Json& row, const char* key) {
  return row.contains(key) && row[key].is_number() ? fmt::format("{:.4g}", row[key].get<double>()) : "-";
}

std::string text_at(const Json& row, const char* key) {
  return row.contains(key) && row[key].is_string() ? row[key].get<std::string>() : "-";
}

// "bsp, cluster.workers = 4"; for a single run its consistency model.
std::string arm_of(const Json& row) {
  if (text_at(row, "arm") == "-") return row.contains("damaged") ? "damaged" : text_at(row, "consistency");
  std::string out = text_at(row, "arm");
  for (const auto& [axis, label] : row["condition"].items())
    out += fmt::format("{}{} = {}", out.empty() ? "" : ", ", axis, label.get<std::string>());
  return out;
}

constexpr ListColumn run_columns[] = {
    {"run", true, [](const Json& row) { return text_at(row, "run").substr(0, 8); }},
    {"scenario", true, [](const Json& row) { return text_at(row, "scenario"); }},
    {"arm or consistency", true, arm_of},
    {"seed", false, [](const Json& row) { return row.contains("seed") ? row["seed"].dump() : "-"; }},
    {{"time", "psim runs"}, false, [](const Json& row) { return number_at(row, "sim_time_s"); }},
    {"to target", false,
     [](const Json& row) {
       return row.value("reached", Json()) == Json(false) ? "missed" : number_at(row, "time_to_target_s");
     }},
    {"final loss", false, [](const Json& row) { return number_at(row, "final_loss"); }},
    {"accuracy", false,
     [](const Json& row) {
       const Json accuracy = row.value("final_accuracy", Json());
       return accuracy.is_number() ? fmt::format("{:.2f}", 100 * accuracy.get<double>()) : "-";
     }},
    {"digest", true, [](const Json& row) { return text_at(row, "digest").substr(0, 8); }},
    {"where", true, [](const Json& row) { return row["where"].get<std::string>(); }},
};

std::vector<Json> all_rows_of(const Shelf& shelf, const ShelfCommand& asked) {
  Shelf studies = studies_shelf();
  if (!asked.in.empty()) studies.home = shelf.home;
  std::vector<Json> rows;
  if (!asked.study.empty()) {
    add_runs_of(found_on(studies, asked.study), rows);
    return rows;
  }
  add_runs(shelf, rows);
  for (const fs::path& dir : folders_on(studies)) add_runs_of(dir, rows);
  return rows;
}

int list_runs(const Shelf& shelf, const ShelfCommand& asked, const std::string& pattern) {
  std::vector<Json> rows = all_rows_of(shelf, asked);
  const std::vector<Where> wheres = wheres_of(asked, rows);
  std::erase_if(rows, [&](const Json& row) {
    return !fits_row(pattern, row) ||
           !std::ranges::all_of(wheres, [&](const Where& where) { return where.holds(row); });
  });
  if (asked.json) fmt::print("{}\n", Json{{"schema", "psim.runs/1"}, {"runs", rows}}.dump(2));
  else if (rows.empty())
    fmt::print("no such runs; `psim run` makes a run under runs/, `psim studies` lists studies\n");
  else fmt::print("{}", list_of(rows, run_columns));
  return done;
}

// Throws Refused unless the folder holds a run of psim and nothing else.
void check_run(const fs::path& dir) {
  const auto contents = look_into(dir, [&] { return analysis::contents_of(dir); });
  if (!contents.foreign.empty())
    throw Refused(fmt::format("{} holds `{}`, which psim did not write", dir.string(), contents.foreign),
                  "move it elsewhere; psim removes only its own files");
  if (!contents.marked)
    throw Refused(fmt::format("{} does not look like a run", dir.string()),
                  "psim renames and removes only its own runs");
}

void remove_run_called(const Shelf& shelf, const std::string& name) {
  const fs::path dir = found_on(shelf, name);
  check_run(dir);
  check_not_inside(dir);
  check_can_go(dir);
  const std::uintmax_t bytes = study::bytes_in(dir);
  if (const std::error_code error = analysis::remove_run(dir))
    throw fs::filesystem_error("remove", dir, error);
  mend_latest(shelf, dir);
  fmt::print("removed {}/, {}\n", dir.string(), size_text(static_cast<double>(bytes), 3));
}

void rename_run(const Shelf& shelf, const std::string& name, const std::string& to) {
  const fs::path dir = found_on(shelf, name);
  check_run(dir);
  fmt::print("{}/ is now {}/\n", dir.string(), rename_folder(shelf, dir, to).string());
}

}  // namespace

Shelf runs_shelf() { return {.one = "run", .many = "runs", .home = "runs", .holds = is_run}; }

int runs(const ShelfCommand& asked) {
  const Shelf shelf = shelf_at(runs_shelf(), asked.in);
  return act_on_shelf(
      shelf, asked,
      {.list = [&](const std::string& pattern) { return list_runs(shelf, asked, pattern); },
       .rename = [&](const std::string& name, const std::string& to) { rename_run(shelf, name, to); },
       .remove = [&](const std::string& name) { remove_run_called(shelf, name); }});
}

// psim studies: lists, renames and removes studies.

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
             counted(std::ssize(contents.runs), "recorded run"),
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
