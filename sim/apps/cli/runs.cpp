// psim runs: lists the runs in runs/ and the runs of studies; renames or removes runs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <set>

#include "analysis/run_files.hpp"
#include "analysis/run_record.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/replay_study.hpp"
#include "sim/apps/cli/shelf.hpp"
#include "sim/runs/answer.hpp"
#include "sim/runs/request.hpp"
#include "sim/runs/run_folder.hpp"
#include "sim/scenario/spec/memory.hpp"
#include "sim/scenario/text/diagnostics.hpp"
#include "sim/study/folder.hpp"
#include "sim/study/publish/contents.hpp"
#include "sim/study/summary_check.hpp"

namespace psim::cli {
namespace {

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

}  // namespace psim::cli
