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
#include "analysis/calibrate/tool_outputs.hpp"
#include "model/data/text.hpp"

namespace psim::calibrate {
namespace {

bool has_column(const Cells& header, std::string_view name) {
  return std::ranges::find(header, name) != header.end();
}

bool is_known(const Cells& header) {
  return StepTable::is(header) || RunTable::is(header) ||
         (has_column(header, "bytes") && has_column(header, "seconds"));
}

void read_table(const std::string& path, std::int64_t number, ClusterLog& log) {
  Lines lines(path);
  const std::string first(lines.next() ? lines.text() : "");
  const char separator = separator_of(first, ",;\t");
  const Cells header = cells_of(first, separator);
  if (!is_known(header)) {
    const bool has_link = read_nccl(path, log) || read_iperf_text(path, log);
    if (read_training_log(path, number, log) || has_link) return;
  }
  if (first.empty()) throw LogError(path + ": the file has no lines", "its first line names the columns");
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
    StepTable table(path, number, header, log);
    while (lines.next()) table.take(cells_of(lines.text(), separator), lines.place());
    return;
  }
  if (RunTable::is(header)) {
    RunTable table(path, header);
    while (lines.next()) table.add(cells_of(lines.text(), separator), lines.place());
    for (LoggedRun& run : table.runs()) log.runs.push_back(std::move(run));
    return;
  }
  if (is_known(header)) return read_transfers(path, header, separator, lines, log);
  throw LogError(
      fmt::format("{}: psim does not know this kind of file; it begins with {}", path, in_backticks(first)),
      "CSV with the columns worker,step,compute_s[,push_s,pull_s,server_s,bytes] or worker,step,step_s, "
      "workers,servers,consistency,model_bytes,compute_s,step_s or bytes,seconds; "
      "Chrome JSON (Kineto, Horovod, Perfetto); logs of Megatron-LM with `elapsed time per iteration (ms)` "
      "or of "
      "DeepSpeed; the output of nccl-tests or of iperf3");
}

// `[` may begin a list of events, or a line of a log.
bool is_json(std::string_view beginning) {
  const std::size_t next = beginning.find_first_not_of(" \t\r\n", 1);
  const char second = next == std::string_view::npos ? '}' : beginning[next];
  return beginning.front() == '{'
             ? second == '"' || second == '}'
             : beginning.front() == '[' && (second == '{' || second == ']' || second == '}');
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

// Adds the content of a file of any kind.
void read_file(const std::string& path, std::int64_t number, const EventNames& names, ClusterLog& log) {
  const std::string begin = beginning(path);
  if (begin.empty()) throw LogError(path + ": the file is empty", "name a log");
  if (begin.starts_with("PAR1"))
    throw LogError(path + ": psim does not read Parquet",
                   "write it as CSV with the columns worker,step,compute_s, or as a Chrome JSON time line");
  if (begin.starts_with("SQLite format 3"))
    throw LogError(path + ": psim does not read databases",
                   "export the steps as CSV with the columns worker,step,compute_s");
  if (begin.starts_with("\xff\xfe") || begin.starts_with("\xfe\xff"))
    throw LogError(path + ": psim does not read UTF-16", "save it as UTF-8: iconv -f UTF-16 -t UTF-8 FILE");
  if (is_iperf_json(begin)) return read_iperf_json(path, log);
  if (is_json(begin)) return read_events(path, number, names, log);
  read_table(path, number, log);
}

}  // namespace

void read_log(const std::string& path, std::int64_t number, const EventNames& names, ClusterLog& log) {
  const std::size_t before = log.steps.counts().steps;
  const bool had_whole_steps = log.has_whole_steps;
  log.has_whole_steps = false;
  read_file(path, number, names, log);
  if (before == 0 || log.steps.counts().steps == before) {
    log.has_whole_steps = log.has_whole_steps || had_whole_steps;
  } else if (log.has_whole_steps != had_whole_steps) {
    throw LogError(path + ": of the logs, some have whole steps and others computations",
                   "calibrate with one kind");
  }
}

}  // namespace psim::calibrate
