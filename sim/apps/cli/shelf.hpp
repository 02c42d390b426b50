// What psim studies and psim runs share: how what is kept is named, found, renamed and listed.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "analysis/columns.hpp"
#include "sim/apps/cli/command.hpp"

namespace psim::cli {

// Folders of one kind.
struct Shelf {
  const char *one, *many;  // "study", "studies"
  fs::path home;           // where they are: studies/, runs/ or what --in says
  std::function<bool(const fs::path&)> holds;
};

// A shelf where the command line says; throws Refused when it names no folder.
Shelf shelf_at(Shelf shelf, const std::string& in);

// The folders on it, in order of their names.
std::vector<fs::path> folders_on(const Shelf& shelf);

// Whether `name` fits a glob ("strag*"), or has the pattern in it.
bool fits(const std::string& pattern, const std::string& name);

// What NAME means: `latest`, a name on the shelf, or a path. Throws Refused, with the name that is most like
// it.
fs::path found_on(const Shelf& shelf, const std::string& name);

// The same of a name that may be on either shelf: a path, or else a study, or else a run.
fs::path run_or_study(const std::string& name);

// Gives a folder another name, beside where it is; `latest` follows. Returns the new path. Throws Refused.
fs::path rename_folder(const Shelf& shelf, const fs::path& dir, const std::string& name);

// Refuses to rename or remove the folder that the user is in.
void check_not_inside(const fs::path& dir);

// Throws Refused where files of `dir`, or the folder itself, cannot be removed: then nothing of it is.
void check_can_go(const fs::path& dir);

// After `dir` is gone: `latest`, if it pointed there, points to the newest that is left.
void mend_latest(const Shelf& shelf, const fs::path& dir);

// "psim studies WORDS...": what they ask for.
struct ShelfCommand {
  std::vector<std::string> words;  // a pattern; rename OLD NEW; remove NAME...
  std::string in;                  // elsewhere than in studies/ or runs/
  bool json = false;
  std::string study;                // runs of this study only
  std::vector<std::string> wheres;  // KEY=VALUE
};
struct ShelfAction {
  std::function<int(const std::string& pattern)> list;
  std::function<void(const std::string& name, const std::string& to)> rename;
  std::function<void(const std::string& name)> remove;
};
// Throws Refused when the words are no such request.
int act_on_shelf(const Shelf& shelf, const ShelfCommand& asked, const ShelfAction& action);

// Columns of a list: a name and what a row has there.
struct ListColumn {
  analysis::ColumnName name;
  bool is_text;
  std::string (*cell)(const Json& row);
};
std::string list_of(const std::vector<Json>& rows, std::span<const ListColumn> columns);

// "12.3 MB"
std::string size_text(double bytes);
// "2026-11-23 06:20", of the file at `path`, UTC; empty when there is none.
std::string date_of(const fs::path& path);
// `text` in so many characters at most.
std::string cut(const std::string& text, std::size_t width);

int studies(const ShelfCommand& asked);
int runs(const ShelfCommand& asked);

// The shelves of studies and of runs, for commands that take one by its name.
Shelf studies_shelf();
Shelf runs_shelf();

}  // namespace psim::cli
