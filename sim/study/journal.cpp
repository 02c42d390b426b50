#include "sim/study/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "analysis/run_files.hpp"
#include "sim/record/identity.hpp"
#include "sim/runs/process.hpp"

namespace psim::study {
namespace {

constexpr const char* settled = "results.jsonl";
constexpr const char* results_folder = "results";  // the folder of the files of processes
constexpr const char *of_summary = "summary", *of_cause = "cause";
constexpr const char* earlier = "earlier.jsonl";  // runs of studies that were in this folder before

std::string check_of(std::string_view text) {
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

std::string line_of(const std::string& hash, const char* what, const std::string& result) {
  return fmt::format("{{\"run\":\"{}\",\"build\":\"{}\",\"check\":\"{}\",\"{}\":{}}}\n", hash, build_id(),
                     check_of(result), what, result);
}

// The value after `key` at the beginning of `line`. Removes both from `line`. Empty if `line` does not begin
// with `key`.
std::string_view take_word(std::string_view& line, std::string_view key) {
  constexpr std::size_t digits = 16;
  if (!line.starts_with(key) || line.size() < key.size() + digits + 1) return {};
  const std::string_view word = line.substr(key.size(), digits);
  line.remove_prefix(key.size() + digits + 1);
  return word;
}

// Removes `,"key":` from the beginning of the line, if it is there.
bool take_key(std::string_view& line, const char* key) {
  const std::string begin = fmt::format(",\"{}\":", key);
  if (!line.starts_with(begin)) return false;
  line.remove_prefix(begin.size());
  return true;
}

const std::string* found_in(const std::map<std::string, std::string>& results, const std::string& hash) {
  const auto found = results.find(hash);
  return found == results.end() ? nullptr : &found->second;
}

std::vector<fs::path> part_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code none;
  if (!fs::is_directory(fs::symlink_status(folder / results_folder, none)))
    return files;  // does not follow links
  for (const fs::directory_entry& entry : fs::directory_iterator(folder / results_folder, none)) {
    const bool is_file = fs::is_regular_file(entry.symlink_status(none));
    if (is_file && entry.path().extension() == ".jsonl") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

Journal::Journal(fs::path folder, Builds builds) : folder_(std::move(folder)), builds_(builds) {
  read_again();
}

void Journal::read_again() {
  damaged_ = 0;
  other_builds_.clear();
  read(folder_ / settled);
  for (const fs::path& file : part_files(folder_)) read(file);
}

void Journal::read(const fs::path& file) {
  if (!fs::exists(file)) return;
  const std::string text = read_file(file);
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    take(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
}

void Journal::take(std::string_view line) {
  if (line.empty()) return;
  constexpr std::string_view beginning = "{\"run\":\"";
  if (!line.starts_with(beginning) && !beginning.starts_with(line)) ++foreign_;
  const std::string_view hash = take_word(line, "{\"run\":\"");
  const std::string_view build = take_word(line, ",\"build\":\"");
  const std::string_view check = take_word(line, ",\"check\":\"");
  const bool is_cause = take_key(line, of_cause);
  const bool is_whole = !hash.empty() && !build.empty() && !check.empty() &&
                        (is_cause || take_key(line, of_summary)) && line.ends_with('}');
  if (is_whole) line.remove_suffix(1);
  if (!is_whole || check_of(line) != check) {
    ++damaged_;
    return;
  }
  if (builds_ == Builds::own && build != build_id()) {
    if (!is_cause) ++other_builds_[std::string(build)];
    return;
  }
  if (is_cause) return take_cause(std::string(hash), line);
  const auto [place, is_new] = summaries_.try_emplace(std::string(hash), line);
  if (!is_new && place->second != line) contradictory_.insert(std::string(hash));
}

// Two different causes count as none, because builds may describe a cause differently.
void Journal::take_cause(const std::string& hash, std::string_view cause) {
  const auto [place, is_new] = causes_.try_emplace(hash, cause);
  if (!is_new && place->second != cause) place->second.clear();
}

const std::string* Journal::find(const std::string& hash) const { return found_in(summaries_, hash); }
const std::string* Journal::cause_of(const std::string& hash) const {
  const std::string* cause = found_in(causes_, hash);
  return cause == nullptr || cause->empty() ? nullptr : cause;
}

void Journal::adopt(const Journal& other, const std::set<std::string>& hashes) {
  for (const std::string& hash : hashes) {
    const std::string* summary = find(hash) == nullptr ? other.find(hash) : nullptr;
    if (summary == nullptr) continue;
    if (const std::string* cause = other.cause_of(hash)) add_cause(hash, *cause);
    add(hash, *summary);
  }
}

// No process on any machine has a file with the same name.
void Journal::open_own() {
  fs::create_directories(folder_ / results_folder);
  for (int attempt = 0; !file_; ++attempt) {
    const fs::path path = folder_ / results_folder / fmt::format("{}-{}.jsonl", process_name(), attempt);
    file_ = OpenFile(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666));
    if (!file_ && errno != EEXIST) throw_errno("open", path);
  }
}

void Journal::add(Results& results, const std::string& hash, const std::string& result) {
  if (!file_) open_own();
  if (!write_all(file_, line_of(hash, &results == &causes_ ? of_cause : of_summary, result)))
    throw_errno("write", folder_ / results_folder);
  results.emplace(hash, result);
}

std::string Journal::lines_of(const std::string& hash) const {
  const std::string* cause = cause_of(hash);
  return line_of(hash, of_summary, *find(hash)) + (cause == nullptr ? "" : line_of(hash, of_cause, *cause));
}

void Journal::settle(const std::vector<std::string>& hashes) {
  const fs::path fresh = folder_ / (unsettled + process_name());
  std::set<std::string> kept;
  std::string text;
  for (const std::string& hash : hashes) {
    if (kept.insert(hash).second) text += lines_of(hash);
  }
  write_file(fresh, text);
  fs::rename(fresh, folder_ / settled);
  file_ = OpenFile();
  std::string others;
  for (const auto& [hash, summary] : summaries_) {
    if (!kept.contains(hash)) others += lines_of(hash);
  }
  for (const fs::path& file : part_files(folder_)) {
    Journal part;
    part.read(file);
    if (part.foreign_ == 0 && part.other_builds_.empty()) fs::remove(file);
  }
  if (!others.empty()) {
    fs::create_directories(folder_ / results_folder);
    write_file(fresh, others);
    fs::rename(fresh, folder_ / results_folder / earlier);
  }
  analysis::remove_empty(folder_ / results_folder);
}

}  // namespace psim::study
