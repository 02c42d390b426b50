#include "analysis/calibrate/step_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <regex>

#include "analysis/calibrate/trace_events.hpp"

namespace psim::calibrate {

const double LoggedStep::unknown = std::numeric_limits<double>::quiet_NaN();

void StepLog::add(std::int64_t worker, std::int64_t step, const LoggedStep& durations) {
  constexpr double most_seconds = 1e9, most_bytes = 1e18;
  const auto is_impossible = [](double seconds) { return seconds < 0 || seconds > most_seconds; };
  if (std::isnan(durations.compute) || is_impossible(durations.compute) || is_impossible(durations.push) ||
      is_impossible(durations.pull) || is_impossible(durations.server) || durations.bytes < 0 ||
      durations.bytes > most_bytes) {
    ++counts_.impossible;
  } else if (durations.compute == 0) {
    ++counts_.zero;
  } else if (counts_.steps == most_steps) {
    ++counts_.beyond;
  } else if (workers_[worker].emplace(step, durations).second) {
    ++counts_.steps;
  } else {
    ++counts_.repeated;
  }
}

void ClusterLog::note(const std::string& path, const std::string& sentence, std::size_t count) {
  auto found = std::ranges::find(of_files, sentence, &FileNote::sentence);
  if (found == of_files.end()) {
    found = of_files.insert(found, {.path = path, .sentence = sentence, .place = notes.size()});
    notes.emplace_back();
  }
  ++found->files;
  found->count += count;
  std::string text = sentence;
  if (const std::size_t gap = text.find("{}"); gap != std::string::npos)
    text.replace(gap, 2, fmt::to_string(found->count));
  notes[found->place] = fmt::format(
      "{}{}: {}", found->path, found->files > 1 ? fmt::format(" and {} more", found->files - 1) : "", text);
}

std::int64_t ClusterLog::worker_of(const std::string& path, std::optional<std::int64_t> rank,
                                   std::int64_t number) {
  if (rank) return *rank;
  static const std::regex with_rank(R"((?:.*[^a-z])?(?:rank|worker)[-_.= ]?(\d{1,9})(?:\D.*)?)",
                                    std::regex::icase),
      of_cycle(R"((.+)\.\d+\.pt\.trace\.json(?:\.gz)?)");
  std::smatch parts;
  if (std::regex_match(path, parts, with_rank)) {
    note(path, "psim takes the worker's number from the file's name.");
    return last_number_in(parts[1]).value_or(number);
  }
  if (!std::regex_match(path, parts, of_cycle)) return number;
  const auto [known, is_new] = workers_of_names.emplace(parts[1], number);
  if (!is_new) note(path, "by its name a further cycle of a worker that another file began.");
  return known->second;
}

}  // namespace psim::calibrate
