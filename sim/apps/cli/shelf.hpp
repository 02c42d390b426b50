// The shared part of psim studies and psim runs: finds, renames and lists kept folders.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "analysis/word_docs.hpp"
#include "sim/apps/cli/command.hpp"

namespace psim::cli {

// Folders of one kind.
struct Shelf {
  const char *one, *many;  // "study", "studies"
  fs::path home;           // their place: studies/, runs/ or the folder of --in
  std::function<bool(const fs::path&)> holds;
};

// The shelf in the folder of --in. Throws Refused if that is not a folder.
Shelf shelf_at(Shelf shelf, const std::string& in);

// The folders on the shelf, ordered by name.
std::vector<fs::path> folders_on(const Shelf& shelf);

// Whether `name` matches a glob ("strag*") or contains the pattern.
bool fits(const std::string& pattern, const std::string& name);

// The folder that NAME means: `latest`, a name on the shelf, or a path. Throws Refused, with the most similar
// name.
fs::path found_on(const Shelf& shelf, const std::string& name);

// The same for a name on either shelf: a path, or else a study, or else a run.
fs::path run_or_study(const std::string& name);

// Renames a folder in its place; `latest` follows. Returns the new path. Throws Refused.
fs::path rename_folder(const Shelf& shelf, const fs::path& dir, const std::string& name);

// Throws Refused if `dir` is the current folder or contains it: psim must not rename or remove it then.
void check_not_inside(const fs::path& dir);

// Throws Refused if `dir` or a file in it cannot be removed. Then psim removes nothing.
void check_can_go(const fs::path& dir);

// Call it after `dir` is removed. If `latest` pointed to `dir`, it now points to the newest remaining folder.
void mend_latest(const Shelf& shelf, const fs::path& dir);

// The options of "psim studies WORDS..." and "psim runs WORDS...".
struct ShelfCommand {
  std::vector<std::string> words;  // a pattern; rename OLD NEW; remove NAME...
  std::string in;                  // the folder, if not studies/ or runs/
  bool json = false;
  std::string study;                // only runs of this study
  std::vector<std::string> wheres;  // KEY=VALUE
};
struct ShelfAction {
  std::function<int(const std::string& pattern)> list;
  std::function<void(const std::string& name, const std::string& to)> rename;
  std::function<void(const std::string& name)> remove;
};
// Throws Refused if the words are not such a request.
int act_on_shelf(const Shelf& shelf, const ShelfCommand& asked, const ShelfAction& action);

// A column of a list: its name, and its text for a row.
struct ListColumn {
  analysis::ColumnName name;
  bool is_text;
  std::string (*cell)(const Json& row);
};
std::string list_of(const std::vector<Json>& rows, std::span<const ListColumn> columns);

// "2026-11-23 06:20": the date of the file at `path`, UTC; empty if it does not exist.
std::string date_of(const fs::path& path);
// `text`, cut to at most `width` characters.
std::string cut(const std::string& text, std::size_t width);

int studies(const ShelfCommand& asked);
int runs(const ShelfCommand& asked);

// The shelves of studies and of runs, for commands that take a name.
Shelf studies_shelf();
Shelf runs_shelf();

}  // namespace psim::cli
