// Which kind of file a log is, and the readers of tables of numbers.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "analysis/calibrate/input_stream.hpp"
#include "analysis/calibrate/read_events.hpp"
#include "analysis/calibrate/step_log.hpp"
#include "model/data/text.hpp"

namespace psim::calibrate {
namespace {

constexpr std::size_t longest_line = 1 << 20;

using Cells = std::vector<std::string_view>;

std::optional<double> number_in(std::string_view cell) {
  double value = 0;
  return read(cell, value) == std::errc{} ? std::optional(value) : std::nullopt;
}

// The lines of a file with content, without comments.
class Lines {
 public:
  explicit Lines(const std::string& path) : path_(path), in_(path) {}

  bool next() {
    while (std::getline(in_, line_)) {
      ++number_;
      if (line_.size() > longest_line)
        throw LogError(fmt::format("{}:{}: the line is too long for a table", path_, number_),
                       "a line has the durations of one step");
      text_ = trim(line_);
      if (!text_.empty() && text_.front() != '#') return true;
    }
    return false;
  }
  std::string_view text() const { return text_; }
  std::string place() const { return fmt::format("{}:{}", path_, number_); }

 private:
  std::string path_, line_;
  InputStream in_;
  std::string_view text_;
  std::size_t number_ = 0;
};

// A column of durations: its meaning and its unit, from a name such as `compute_ms`.
struct TimeColumn {
  double LoggedStep::*part = nullptr;
  double scale = 1;
};

std::optional<TimeColumn> time_column(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, double>, 4> units{
      {{"_s", 1}, {"_ms", 1e-3}, {"_us", 1e-6}, {"_ns", 1e-9}}};
  double scale = 1;
  for (const auto& [suffix, seconds] : units) {
    if (!name.ends_with(suffix)) continue;
    name.remove_suffix(suffix.size());
    scale = seconds;
    break;
  }
  if (name == "compute" || name == "seconds" || name == "duration")
    return TimeColumn{&LoggedStep::compute, scale};
  if (name == "push") return TimeColumn{&LoggedStep::push, scale};
  if (name == "pull") return TimeColumn{&LoggedStep::pull, scale};
  if (name == "server") return TimeColumn{&LoggedStep::server, scale};
  if (name == "bytes") return TimeColumn{&LoggedStep::bytes, 1};
  return std::nullopt;
}

// A table with the columns worker, step, compute_s and others.
class StepTable {
 public:
  static bool is(const Cells& header) { return column(header, worker_names) && column(header, step_names); }

  StepTable(const std::string& path, const Cells& header, ClusterLog& log)
      : log_(log),
        worker_(*column(header, worker_names)),
        step_(*column(header, step_names)),
        width_(header.size()) {
    std::string others;
    for (std::size_t i = 0; i < header.size(); ++i) {
      if (i == worker_ || i == step_) continue;
      if (const std::optional<TimeColumn> time = time_column(header[i])) times_.emplace_back(i, *time);
      else others += fmt::format("{}`{}`", others.empty() ? "" : ", ", header[i]);
    }
    const bool has_compute =
        std::ranges::any_of(times_, [](const auto& one) { return one.second.part == &LoggedStep::compute; });
    if (!has_compute)
      throw LogError(
          fmt::format("{}: there is no column `compute_s`", path),
          others.empty()
              ? "the columns are worker,step,compute_s[,push_s,pull_s,server_s,bytes]"
              : fmt::format("it has {}; rename the column with the time of a worker's computation", others));
    if (!others.empty())
      log.notes.push_back(fmt::format("{}: psim does not use the columns {}.", path, others));
  }

  void take(const Cells& cells, const std::string& place) {
    if (cells.size() != width_)
      throw LogError(fmt::format("{}: {} values under {} columns", place, cells.size(), width_),
                     "every line needs a value for each column");
    LoggedStep step;
    for (const auto& [column, time] : times_) {
      if (cells[column].empty()) continue;
      const std::optional<double> value = number_in(cells[column]);
      if (!value)
        throw LogError(fmt::format("{}: {} is not a number", place, in_backticks(cells[column])),
                       "durations are numbers; an empty cell is one that was not logged");
      step.*time.part = *value * time.scale;
    }
    log_.steps.add(whole(cells[worker_], "worker", place), whole(cells[step_], "step", place), step);
  }

 private:
  static constexpr std::array<std::string_view, 3> worker_names{"worker", "rank", "pid"};
  static constexpr std::array<std::string_view, 4> step_names{"step", "iteration", "clock", "batch"};

  static std::optional<std::size_t> column(const Cells& header, const auto& names) {
    for (const std::string_view name : names) {
      const auto found = std::ranges::find(header, name);
      if (found != header.end()) return static_cast<std::size_t>(found - header.begin());
    }
    return std::nullopt;
  }

  static std::int64_t whole(std::string_view cell, std::string_view what, const std::string& place) {
    std::int64_t value = 0;
    if (read(cell, value) != std::errc{} || value < 0)
      throw LogError(fmt::format("{}: {} is not the number of a {}", place, in_backticks(cell), what),
                     "whole numbers from 0 on");
    return value;
  }

  ClusterLog& log_;
  std::size_t worker_, step_, width_;
  std::vector<std::pair<std::size_t, TimeColumn>> times_;
};

void add_transfer(double bytes, double seconds, ClusterLog& log, const std::string& place) {
  if (!(bytes > 0) || !(seconds > 0) || std::isinf(bytes) || std::isinf(seconds))
    throw LogError(fmt::format("{}: {} bytes in {} s", place, bytes, seconds), "both must be above 0");
  log.transfers.push_back({.bytes = bytes, .seconds = seconds});
}

// The table of nccl-tests: size in bytes first, and the time out of place in microseconds sixth.
bool read_nccl(const std::string& path, ClusterLog& log) {
  Lines lines(path);
  std::size_t found = 0;
  while (lines.next()) {
    const Cells cells = cells_of(lines.text(), ' ');
    if (cells.size() < 9) continue;
    const std::optional<double> bytes = number_in(cells[0]), us = number_in(cells[5]);
    if (!bytes || !us || number_in(cells[2])) continue;
    if (*bytes > 0) add_transfer(*bytes, *us / 1e6, log, lines.place()), ++found;
  }
  return found > 0;
}

// iperf3 --json: bytes and seconds of each interval.
bool read_iperf(const std::string& path, ClusterLog& log) {
  InputStream in(path);
  const auto document = nlohmann::json::parse(in, nullptr, false);
  if (!document.is_object() || !document.contains("intervals")) return false;
  const std::size_t before = log.transfers.size();
  for (const auto& interval : document["intervals"]) {
    if (!interval.contains("sum")) continue;
    const auto& sum = interval["sum"];
    add_transfer(sum.value("bytes", 0.0), sum.value("seconds", 0.0), log, path);
  }
  if (log.transfers.size() == before)
    throw LogError(path + ": iperf3 has measured no interval", "measure for some seconds");
  log.notes.push_back(
      path +
      ": iperf3 measures spans of equal length, which tell the bandwidth and nothing about the latency.");
  return true;
}

void read_table(const std::string& path, ClusterLog& log) {
  Lines lines(path);
  if (!lines.next()) throw LogError(path + ": the file has no lines", "its first line names the columns");
  const std::string first(lines.text());
  const char separator = separator_of(first, ",;\t");
  const Cells header = cells_of(first, separator);
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (std::count(header.begin(), header.end(), header[i]) > 1)
      throw LogError(fmt::format("{}: the column {} is there twice", path, in_backticks(header[i])),
                     "remove one of them");
  }
  if (StepTable::is(header)) {
    StepTable table(path, header, log);
    while (lines.next()) table.take(cells_of(lines.text(), separator), lines.place());
    return;
  }
  if (RunTable::is(header)) {
    RunTable table(path, header);
    while (lines.next()) table.add(cells_of(lines.text(), separator), lines.place());
    for (LoggedRun& run : table.runs()) log.runs.push_back(std::move(run));
    return;
  }
  const auto bytes = std::ranges::find(header, "bytes"), seconds = std::ranges::find(header, "seconds");
  if (bytes == header.end() || seconds == header.end()) {
    throw LogError(
        fmt::format("{}: psim does not know this kind of file; it begins with {}", path, in_backticks(first)),
        "CSV with the columns worker,step,compute_s[,push_s,pull_s,server_s,bytes], "
        "workers,servers,consistency,model_bytes,compute_s,step_s or bytes,seconds; "
        "Chrome JSON (Kineto, Horovod, Perfetto); the output of nccl-tests or of iperf3 --json");
  }
  while (lines.next()) {
    const Cells cells = cells_of(lines.text(), separator);
    const auto cell = [&](auto column) {
      return number_in(cells[static_cast<std::size_t>(column - header.begin())]);
    };
    if (cells.size() != header.size() || !cell(bytes) || !cell(seconds))
      throw LogError(fmt::format("{}: not a pair of numbers", lines.place()), "a line is a size and a time");
    add_transfer(*cell(bytes), *cell(seconds), log, lines.place());
  }
}

// The first bytes that are not blank.
std::string beginning(const std::string& path) {
  InputStream in(path);
  std::string text(4096, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  text.erase(0, std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  return text;
}

}  // namespace

void read_log(const std::string& path, std::int64_t number, const EventNames& names, ClusterLog& log) {
  const std::string begin = beginning(path);
  if (begin.empty()) throw LogError(path + ": the file is empty", "name a log");
  if (begin.starts_with("PAR1"))
    throw LogError(path + ": psim does not read Parquet",
                   "write it as CSV with the columns worker,step,compute_s, or as a Chrome JSON time line");
  if (begin.starts_with("SQLite format 3"))
    throw LogError(path + ": psim does not read databases",
                   "export the steps as CSV with the columns worker,step,compute_s");
  if (begin.find("\"intervals\"") != std::string::npos && begin.find("\"connected\"") != std::string::npos) {
    if (read_iperf(path, log)) return;
  }
  if (begin.front() == '{' || begin.front() == '[') return read_events(path, number, names, log);
  if (begin.find("nccl-tests") != std::string::npos || begin.find("busbw") != std::string::npos ||
      begin.find("nThread") != std::string::npos) {
    if (read_nccl(path, log)) return;
    throw LogError(path + ": nccl-tests has measured nothing", "the table has a line for each size");
  }
  read_table(path, log);
}

}  // namespace psim::calibrate
