#include "sim/study/journal.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <exception>
#include <span>
#include <string_view>
#include <utility>

#include "analysis/causes/main_cause.hpp"
#include "analysis/run_files.hpp"
#include "model/base/unicode.hpp"
#include "sim/record/identity.hpp"
#include "sim/record/run_file.hpp"
#include "sim/record/summary_schema.hpp"
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
  // In this order: another process that settles writes there what it takes away here.
  for (const fs::path& file : part_files(folder_)) read(file);
  read(folder_ / settled);
}

void Journal::read(const fs::path& file) {
  std::string text;
  try {
    text = read_file(file);
  } catch (const std::exception&) {
    if (fs::exists(file)) throw;
    return;  // another process has just settled it
  }
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
  std::set<std::string> kept;
  std::string text;
  for (const std::string& hash : hashes) {
    if (kept.insert(hash).second) text += lines_of(hash);
  }
  replace_file(folder_ / settled, text);
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
    replace_file(folder_ / results_folder / earlier, others);
  }
  analysis::remove_empty(folder_ / results_folder);
}

namespace {

bool all_texts(const Json& values) {
  return std::ranges::all_of(values, [](const Json& x) { return x.is_string(); });
}

// Whether a run can have this value: single precision ends at 3.4e38, and sums of such values must stay
// finite.
bool is_number(const Json& value) { return value.is_number() && std::abs(value.get<double>()) < 1e60; }

bool holds(Holds what, const Json& value) {
  switch (what) {
    case Holds::truth: return value.is_boolean();
    case Holds::number: return is_number(value);
    case Holds::text: return value.is_string();
    case Holds::object:
    case Holds::map: return value.is_object();
    case Holds::list: return value.is_array();
    case Holds::texts: break;
  }
  return value.is_array() && all_texts(value);
}

constexpr std::string_view words_of(Holds holds) {
  constexpr auto words = std::to_array<std::string_view>(
      {"true or false", "a number", "a text", "an object", "a list", "a list of texts", "an object"});
  return words[static_cast<std::size_t>(holds)];
}

// The first value that does not fit the schema, as "`/target/given` is not true or false"; empty: none.
std::string wrong_in(const Json& json, std::span<const SummaryKey> keys, const std::string& path) {
  if (!json.is_object())
    return path.empty() ? "it is not an object" : fmt::format("`{}` is not an object", path);
  for (const SummaryKey& key : keys) {
    const std::string place = fmt::format("{}/{}", path, key.name);
    const auto value = json.find(key.name);
    const bool is_there = value != json.end() && !value->is_null();
    const bool is_null = value != json.end() && value->is_null();
    const bool is_lacking = key.there == There::needed || (is_null && key.there == There::given);
    if (is_there ? !holds(key.holds, *value) : is_lacking)
      return fmt::format("`{}` is not {}", place, words_of(key.holds));
    if (!is_there || key.of.empty()) continue;
    if (key.holds == Holds::object) {
      if (std::string wrong = wrong_in(*value, key.of, place); !wrong.empty()) return wrong;
      continue;
    }
    for (std::size_t i = 0; i < value->size(); ++i) {
      std::string wrong = wrong_in((*value)[i], key.of, fmt::format("{}/{}", place, i));
      if (!wrong.empty()) return wrong;
    }
  }
  return "";
}

std::string wrong_times(const Json& summary) {
  const Json& target = summary["target"];
  if (target["given"] && target["reached"] && !target.value("sim_time_s", Json()).is_number())
    return "`/target/sim_time_s` is not a number";
  double before = 0;
  for (const Json& point : summary["curve"]) {
    const auto at = point["sim_time_s"].get<double>();
    if (at < before) return "the times in `/curve` decrease";
    before = at;
  }
  for (const char* path : {"/sim_time_s", "/target/sim_time_s", "/target/budget_s"}) {
    const Json value = summary.value(Json::json_pointer(path), Json());
    if (value.is_number() && value.get<double>() < 0) return fmt::format("`{}` is below 0", path);
  }
  return "";
}

std::string wrong_in_summary(const Json& summary) {
  const std::string wrong = wrong_in(summary, summary_keys, "");
  return wrong.empty() ? wrong_times(summary) : wrong;
}

using enum Holds;
using enum There;
constexpr SummaryKey verdict_keys[] = {
    {"kind", text, needed}, {"nodes", texts, needed}, {"seconds", number, needed}, {"share", number, needed}};
constexpr SummaryKey cause_keys[] = {
    {"total_s", number, needed},
    {"verdict", object, needed, {}, verdict_keys},
    {"by_kind", map, needed},
    {"sentence", text, needed},
};
constexpr SummaryKey best_keys[] = {
    {"arm", text, needed},      {"condition", texts, needed}, {"sets", texts, needed},
    {"at_edge", texts, needed}, {"score", number, maybe},
};
constexpr SummaryKey setting_keys[] = {
    {"arm", text, needed},     {"condition", texts, needed}, {"values", map, needed},
    {"rung", number, needed},  {"seeds", number, needed},    {"score", number, maybe},
    {"chosen", truth, needed},
};
constexpr SummaryKey tuning_keys[] = {
    {"settings_per_arm", number, needed},
    {"trials", number, needed},
    {"simulated_s", number, needed},
    {"method", text, needed},
    {"measure", text, needed},
    {"best", list, needed, {}, best_keys},
    {"runs", texts, needed},
    {"settings", list, given, {}, setting_keys},
};

}  // namespace

Json summary_of(const std::string& text, const std::string& run) {
  Json summary = analysis::json_in(text);
  std::string wrong(too_much_json(text));
  if (wrong.empty()) wrong = wrong_in_summary(summary);
  if (!wrong.empty()) throw DamagedRun(fmt::format("the result of run {} is not a summary: {}", run, wrong));
  return summary;
}

Json cause_from(const std::string& text, const std::string& run) {
  Json cause = analysis::json_in(text);
  std::string wrong(too_much_json(text));
  if (wrong.empty()) wrong = wrong_in(cause, cause_keys, "");
  const auto is_kind = [](const std::string& kind) { return analysis::suspect_called(kind) != nullptr; };
  if (wrong.empty() && !is_kind(cause["verdict"]["kind"])) wrong = "`/verdict/kind` is not a kind of cause";
  if (wrong.empty()) {
    for (const auto& [kind, seconds] : cause["by_kind"].items()) {
      if (!is_kind(kind) || !is_number(seconds))
        wrong = fmt::format("`/by_kind/{}` is not the time of a kind", kind);
    }
  }
  if (!wrong.empty()) throw DamagedRun(fmt::format("the cause of run {} is damaged: {}", run, wrong));
  return cause;
}

bool is_tuning(const Json& tuning) {
  if (!wrong_in(tuning, tuning_keys, "").empty()) return false;
  return !tuning.contains("settings") ||
         std::ranges::all_of(tuning["settings"], [](const Json& one) { return all_texts(one["values"]); });
}

}  // namespace psim::study
