#include "sim/study/publish/contents.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <sstream>
#include <system_error>

#include "analysis/run_files.hpp"
#include "analysis/study/files.hpp"
#include "model/input.hpp"
#include "sim/study/folder.hpp"

namespace psim::study {
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
    if (name == scenario_ || archived_.contains(name) || is_unfinished(name)) return true;
    if (analysis::is_unfinished_page(name) || analysis::is_page(dir_ / name)) return true;
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
