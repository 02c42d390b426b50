#include "sim/apps/cli/shelf.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <optional>
#include <system_error>

#include "analysis/render/text_table.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/runs/answer.hpp"
#include "sim/runs/run_folder.hpp"
#include "sim/scenario/text/diagnostics.hpp"

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

}  // namespace

Shelf shelf_at(Shelf shelf, const std::string& in) {
  if (in.empty()) return shelf;
  shelf.home = folder_named(in);
  if (!fs::is_directory(shelf.home))
    throw Refused(fmt::format("--in {}: this folder does not exist", in),
                  fmt::format("name the folder that holds the {}", shelf.many));
  return shelf;
}

std::vector<fs::path> folders_on(const Shelf& shelf) {
  std::vector<fs::path> folders;
  if (!fs::is_directory(shelf.home)) return folders;
  for (const fs::directory_entry& entry : fs::directory_iterator(shelf.home)) {
    if (!entry.is_symlink() && shelf.holds(entry.path())) folders.push_back(entry.path().lexically_normal());
  }
  std::ranges::sort(folders);
  return folders;
}

bool fits(const std::string& pattern, const std::string& name) {
  return name.find(pattern) != std::string::npos || fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

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

void check_not_inside(const fs::path& dir) {
  const fs::path real = fs::canonical(dir), here = fs::current_path();
  if (std::ranges::mismatch(real, here).in1 == real.end())
    throw Refused(fmt::format("{} is the current folder, or contains it", dir.string()), "leave it first");
}

void check_can_go(const fs::path& dir) {
  const fs::path parent = parent_of(dir);
  for (const fs::path& folder : {parent, dir}) {
    if (access(folder.c_str(), W_OK | X_OK) == 0) continue;
    const std::string why = std::generic_category().message(errno);
    throw Refused(fmt::format("{} is unchanged: {}: {}", dir.string(), folder.string(), why),
                  "removing files needs the permission to write to that folder");
  }
}

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

std::string date_of(const fs::path& path) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) return "";
  return fmt::format("{:%Y-%m-%d %H:%M}", fmt::gmtime(facts.st_mtime));
}

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

}  // namespace psim::cli
