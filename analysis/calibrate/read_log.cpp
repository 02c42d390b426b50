// Which kind of file a log is, and tables by their headers.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "analysis/calibrate/input_stream.hpp"
#include "analysis/calibrate/lines.hpp"
#include "analysis/calibrate/link_test.hpp"
#include "analysis/calibrate/read_events.hpp"
#include "analysis/calibrate/step_log.hpp"
#include "analysis/calibrate/step_table.hpp"
#include "model/data/text.hpp"

namespace psim::calibrate {
namespace {

void read_table(const std::string& path, ClusterLog& log) {
  Lines lines(path);
  if (!lines.next()) throw LogError(path + ": the file has no lines", "its first line names the columns");
  const std::string first(lines.text());
  const char separator = separator_of(first, ",;\t");
  const Cells header = cells_of(first, separator);
  if (std::ranges::all_of(header, [](std::string_view cell) { return number_in(cell).has_value(); }))
    throw LogError(
        fmt::format("{}: the table has no header; it begins with {}", lines.place(), in_backticks(first)),
        "the first line names the columns, for example worker,step,compute_s or bytes,seconds");
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
  const auto has = [&](std::string_view name) { return std::ranges::find(header, name) != header.end(); };
  if (has("bytes") && has("seconds")) return read_transfers(path, header, separator, lines, log);
  throw LogError(
      fmt::format("{}: psim does not know this kind of file; it begins with {}", path, in_backticks(first)),
      "CSV with the columns worker,step,compute_s[,push_s,pull_s,server_s,bytes], "
      "workers,servers,consistency,model_bytes,compute_s,step_s or bytes,seconds; "
      "Chrome JSON (Kineto, Horovod, Perfetto); the output of nccl-tests or of iperf3 --json");
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
  if (is_iperf(begin)) return read_iperf(path, log);
  if (begin.front() == '{' || begin.front() == '[') return read_events(path, number, names, log);
  if (is_nccl(begin)) return read_nccl(path, log);
  read_table(path, log);
}

}  // namespace psim::calibrate
