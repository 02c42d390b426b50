// Which kind of file a log is, and tables by their headers.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/calibrate/step_log.hpp"
#include "analysis/calibrate/tool_outputs.hpp"
#include "analysis/calibrate/trace_events.hpp"
#include "model/data/text.hpp"

namespace psim::calibrate {

// Horovod's time line of rank 0.

// Each negotiation of a tensor has a tick for every rank that is ready. When the all-reduce ends, the step of
// the tensor has ended. A rank computes from the end of the previous step to its tick for the last tensor of
// the step.
//
// Step i is the i-th round of each tensor of the gradient. Other tensors, such as a metric after each epoch,
// have fewer or more rounds: psim takes the number of rounds to which most negotiations belong.
class HorovodSteps {
 public:
  void take(const TraceEvent& event);

  // Adds the steps and returns whether there are any.
  bool put(const std::string& path, ClusterLog& log) const;

 private:
  struct Tick {
    std::size_t round;
    std::int64_t rank;
    double date;  // microseconds
  };
  struct Tensor {
    std::vector<double> ends;  // by round: microseconds
    std::vector<Tick> ticks;
    bool is_negotiating = false;
  };
  std::size_t usual_rounds() const;

  std::map<std::string, Tensor> tensors_;
};

namespace {

// The last step of a log may be incomplete, so the numbers of rounds of its tensors differ by one.
bool are_alike(std::size_t rounds, std::size_t others) {
  return rounds <= others + 1 && others <= rounds + 1;
}

}  // namespace

void HorovodSteps::take(const TraceEvent& event) {
  Tensor& tensor = tensors_[event.process];
  if (event.name.starts_with("NEGOTIATE_") && event.phase == "B") {
    tensor.is_negotiating = true;
    tensor.ends.push_back(0);
  } else if (tensor.is_negotiating && event.phase == "X" && last_number_in(event.name)) {
    tensor.ticks.push_back({tensor.ends.size() - 1, *last_number_in(event.name), event.begin});
  } else if (event.phase == "E") {
    if (!tensor.is_negotiating && !tensor.ends.empty())
      tensor.ends.back() = std::max(tensor.ends.back(), event.begin);
    tensor.is_negotiating = false;
  }
}

std::size_t HorovodSteps::usual_rounds() const {
  std::map<std::size_t, std::size_t> negotiations;  // by the rounds of their tensor
  for (const auto& [process, tensor] : tensors_) negotiations[tensor.ends.size()] += tensor.ends.size();
  std::size_t usual = 0, most = 0;
  for (const auto& [rounds, own] : negotiations) {
    std::size_t alike = 0;
    for (const auto& [others, count] : negotiations) alike += are_alike(rounds, others) ? count : 0;
    if (alike >= most) usual = rounds, most = alike;
  }
  return usual;
}

bool HorovodSteps::put(const std::string& path, ClusterLog& log) const {
  const std::size_t usual = usual_rounds();
  std::map<std::size_t, std::map<std::int64_t, double>> ready;  // by step and rank: microseconds
  std::map<std::size_t, double> ends;
  std::size_t others = 0;
  for (const auto& [process, tensor] : tensors_) {
    if (tensor.ends.empty()) continue;
    if (!are_alike(tensor.ends.size(), usual)) {
      ++others;
      continue;
    }
    for (const auto& [round, rank, date] : tensor.ticks) {
      double& last = ready[round][rank];
      last = std::max(last, date);
    }
    for (std::size_t round = 0; round < tensor.ends.size(); ++round)
      ends[round] = std::max(ends[round], tensor.ends[round]);
  }
  bool found = false;
  for (const auto& [step, ranks] : ready) {
    if (step == 0 || !(ends[step - 1] > 0)) continue;
    for (const auto& [rank, date] : ranks) {
      log.steps.add(rank, static_cast<std::int64_t>(step), {.compute = (date - ends[step - 1]) / 1e6});
      found = true;
    }
  }
  if (found && others > 0)
    log.note(path, fmt::format("{} not reduced once in each step, and left out.",
                               others == 1 ? "1 tensor is" : fmt::format("{} tensors are", others)));
  return found;
}

// Reads the steps of workers out of a trace of events in Chrome's JSON format, piece by piece.

namespace {

// Adds up the durations of events by worker and step. Threads of a worker compute at the same time, so the
// busiest thread counts.
class StepSums {
 public:
  void add(const std::string& worker, std::int64_t step, const std::string& thread, double us) {
    double& sum = sums_[{worker, step}][thread];
    sum += us;
    workers_.insert(worker);
  }
  bool is_empty() const { return sums_.empty(); }

  // `only`: the number of the single worker; none: the processes are the workers.
  void put(std::optional<std::int64_t> only, StepLog& log) const {
    std::map<std::int64_t, std::map<std::int64_t, double>> steps;
    for (const auto& [place, threads] : sums_) {
      double busiest = 0;
      for (const auto& [thread, us] : threads) busiest = std::max(busiest, us);
      double& most = steps[only.value_or(number_of(place.first))][place.second];
      most = std::max(most, busiest);
    }
    for (const auto& [worker, times] : steps) {
      for (const auto& [step, us] : times) log.add(worker, step, {.compute = us / 1e6});
    }
  }

 private:
  // The number in the process, or its place among the processes.
  std::int64_t number_of(const std::string& worker) const {
    const std::optional<std::int64_t> number = last_number_in(worker);
    const bool all_differ = std::ranges::all_of(workers_, [&](const std::string& other) {
      return last_number_in(other) && (other == worker || last_number_in(other) != number);
    });
    return all_differ ? *number : std::distance(workers_.begin(), workers_.find(worker));
  }

  std::map<std::pair<std::string, std::int64_t>, std::map<std::string, double>> sums_;
  std::set<std::string> workers_;
};

std::string most_frequent(const std::map<std::string, std::size_t>& names) {
  std::vector<std::pair<std::size_t, std::string>> order;
  for (const auto& [name, count] : names) order.emplace_back(count, name);
  std::ranges::sort(order, std::greater{});
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(order.size(), 6); ++i)
    text += fmt::format("{}`{}` ({} times)", i > 0 ? ", " : "", order[i].second, order[i].first);
  return text;
}

std::regex expression(const std::string& text) {
  try {
    return std::regex(text, std::regex::ECMAScript | std::regex::optimize);
  } catch (const std::regex_error& error) {
    throw LogError(fmt::format("--compute-name {}: {}", text, error.what()),
                   "a regular expression, as in `forward|backward`");
  }
}

// An event whose end is not known yet.
struct OpenEvent {
  double begin = 0;
  std::string name;
  std::optional<std::int64_t> step;
};

// The steps of one file, as its events tell them.
class EventSteps {
 public:
  explicit EventSteps(const EventNames& names)
      : names_(names), compute_(expression(names.compute.empty() ? known : names.compute)) {}

  void take(const TraceEvent& event) {
    if (names_.compute.empty()) horovod_.take(event);
    if (event.phase == "X") return take_span({event.begin, event.name, event.step}, event, event.duration);
    if (event.phase != "B" && event.phase != "E") return;
    std::vector<OpenEvent>& open = open_[{event.process, event.thread}];
    if (event.phase == "B") {
      open.push_back({event.begin, event.name, event.step});
    } else if (!open.empty()) {
      OpenEvent ended = open.back();
      open.pop_back();
      if (!ended.step) ended.step = event.step;
      take_span(ended, event, event.begin - ended.begin);
    }
  }

  // `rank`: that the file names. Throws LogError if no event gave a step.
  void put(const std::string& path, std::int64_t number, std::optional<std::int64_t> rank, ClusterLog& log) {
    kineto_.number(path, log);
    place_loose();
    const bool is_kineto = !kineto_.is_empty();
    if (is_kineto && names_.compute.empty()) return kineto_.put(path, log.worker_of(path, rank, number), log);
    if (sums_.is_empty()) {
      if (names_.compute.empty() && horovod_.put(path, log)) return;
      refuse(path);
    }
    const bool is_one = is_kineto || rank.has_value();
    sums_.put(is_one ? std::optional(log.worker_of(path, rank, number)) : std::nullopt, log.steps);
    note_left_out(path, log);
  }

 private:
  void note_left_out(const std::string& path, ClusterLog& log) {
    std::size_t open = 0;
    for (const auto& [thread, events] : open_)
      open += std::ranges::count_if(events, [&](const OpenEvent& one) { return is_compute(one.name); });
    if (open > 0) log.note(path, "computations that begin and do not end: {}; psim leaves them out.", open);
    if (without_step_ > 0)
      log.note(path, "computations without a number of a step: {}; psim leaves them out.", without_step_);
  }

  // The names of computations of ByteDance's time lines.
  static constexpr const char* known = "compute$|^optimizer$";
  static constexpr std::size_t most_names = 100'000;

  // A computation without a number of its step.
  struct Loose {
    const std::string *process, *thread;
    double begin, us;
  };

  // `where`: gives category, process and thread.
  void take_span(const OpenEvent& event, const TraceEvent& where, double us) {
    kineto_.take(where, event.name, event.begin, us);
    if (!is_compute(event.name)) return;
    if (event.step) return sums_.add(where.process, *event.step, where.thread, us);
    loose_.push_back(
        {&*words_.insert(where.process).first, &*words_.insert(where.thread).first, event.begin, us});
  }

  // Puts computations without a number into the step of the profiler in which they begin.
  void place_loose() {
    for (const Loose& one : loose_) {
      if (const std::optional<std::int64_t> step = kineto_.step_at(*one.process, one.begin))
        sums_.add(*one.process, *step, *one.thread, one.us);
      else ++without_step_;
    }
  }

  // Counts the names that are no computations.
  bool is_compute(const std::string& name) {
    const auto known_name = computes_.find(name);
    const bool is = known_name != computes_.end() ? known_name->second : std::regex_search(name, compute_);
    if (known_name == computes_.end() && computes_.size() < most_names) computes_[name] = is;
    if (!is && (others_.size() < most_names || others_.contains(name))) ++others_[name];
    return is;
  }

  [[noreturn]] void refuse(const std::string& path) const {
    if (kineto_.is_profiler() && kineto_.is_empty())
      throw LogError(
          path + ": this trace of PyTorch's profiler has no spans ProfilerStep#N, so no steps",
          "give torch.profiler.profile a schedule=torch.profiler.schedule(...), and call its step() "
          "after each step");
    if (without_step_ > 0)
      throw LogError(fmt::format("{}: {} events have the name but no argument `{}`", path, without_step_,
                                 names_.step_arg.empty() ? "step" : names_.step_arg),
                     "--step-arg NAME names the argument with the number of the step");
    if (others_.empty())
      throw LogError(path + ": there are no events of a duration", "psim reads Chrome's trace event format");
    throw LogError(
        fmt::format("{}: no event is called {}", path,
                    names_.compute.empty() ? "as in a known tool" : "`" + names_.compute + "`"),
        "the names are " + most_frequent(others_) + "; --compute-name REGEX names the computations");
  }

  const EventNames& names_;
  std::regex compute_;
  StepSums sums_;
  HorovodSteps horovod_;
  std::map<std::string, std::size_t> others_;  // names that are no computations
  std::map<std::string, bool> computes_;       // whether the name is that of a computation
  std::map<std::pair<std::string, std::string>, std::vector<OpenEvent>> open_;  // by process and thread
  KinetoSteps kineto_;
  std::vector<Loose> loose_;
  std::set<std::string> words_;  // to which `loose_` points
  std::size_t without_step_ = 0;
};

}  // namespace

// Throws LogError if no event gives a step.
void read_events(const std::string& path, std::int64_t number, const EventNames& names, ClusterLog& log) {
  EventSteps steps(names);
  InputStream in(path, true);
  const TraceEnd end = read_trace(in, names.step_arg.empty() ? "step" : names.step_arg,
                                  [&steps](const TraceEvent& event) { steps.take(event); });
  if (end.loses_events)
    throw LogError(fmt::format("{}: the JSON is wrong after {} bytes", path, end.broken_at),
                   "psim cannot read the events that follow; `python3 -m json.tool FILE` names the mistake");
  if (end.broken_at > 0)
    log.note(path,
             fmt::format("the JSON breaks off after {} bytes; psim uses the events before.", end.broken_at));
  steps.put(path, number, end.rank, log);
}

// A table of steps: worker, step, compute_s or step_s, and other durations, in columns of any order.

// A column of durations: its meaning and its unit, from a name such as `compute_ms`. Without a part it is the
// time of the whole step.
struct TimeColumn {
  double LoggedStep::*part = nullptr;
  double scale = 1;
};

class StepTable {
 public:
  // Whether the header is that of a table of steps. Without workers, it is one that has whole steps.
  static bool is(const Cells& header);

  // Throws LogError for a header without computations, or with two columns for one thing.
  // `number`: the worker of a table without workers.
  StepTable(const std::string& path, std::int64_t number, const Cells& header, ClusterLog& log);

  // Adds the step of a line. Throws LogError for a wrong value.
  void take(const Cells& cells, const std::string& place);

 private:
  ClusterLog& log_;
  std::optional<std::size_t> worker_;
  std::int64_t number_;
  std::size_t step_, width_;
  bool has_compute_ = false;
  std::vector<std::pair<std::size_t, TimeColumn>> times_;
};

namespace {

constexpr std::array<std::string_view, 3> worker_names{"worker", "rank", "pid"};
constexpr std::array<std::string_view, 4> step_names{"step", "iteration", "clock", "batch"};

std::optional<std::size_t> column(const Cells& header, const auto& names) {
  for (const std::string_view name : names) {
    const auto found = std::ranges::find(header, name);
    if (found != header.end()) return static_cast<std::size_t>(found - header.begin());
  }
  return std::nullopt;
}

std::optional<TimeColumn> time_column(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, double>, 4> units{
      {{"_s", 1}, {"_ms", 1e-3}, {"_us", 1e-6}, {"_ns", 1e-9}}};
  double scale = 1;
  bool has_unit = false;
  for (const auto& [suffix, seconds] : units) {
    if (!name.ends_with(suffix)) continue;
    name.remove_suffix(suffix.size());
    scale = seconds;
    has_unit = true;
    break;
  }
  if (name == "compute" || name == "seconds" || name == "duration")
    return TimeColumn{&LoggedStep::compute, scale};
  if (name == "push") return TimeColumn{&LoggedStep::push, scale};
  if (name == "pull") return TimeColumn{&LoggedStep::pull, scale};
  if (name == "server") return TimeColumn{&LoggedStep::server, scale};
  if ((has_unit && name == "step") || name == "step_time" || name == "iteration_time" || name == "iter_time")
    return TimeColumn{nullptr, scale};
  if (name == "bytes") return TimeColumn{&LoggedStep::bytes, 1};
  return std::nullopt;
}

std::int64_t whole(std::string_view cell, std::string_view what, const std::string& place) {
  std::int64_t value = 0;
  if (read(cell, value) != std::errc{} || value < 0)
    throw LogError(fmt::format("{}: {} is not the number of a {}", place, in_backticks(cell), what),
                   "whole numbers from 0 on");
  return value;
}

}  // namespace

bool StepTable::is(const Cells& header) {
  const auto is_whole = [](std::string_view name) {
    const std::optional<TimeColumn> time = time_column(name);
    return time && time->part == nullptr;
  };
  return column(header, step_names) &&
         (column(header, worker_names) || std::ranges::any_of(header, is_whole)) &&
         std::ranges::find(header, "workers") == header.end();
}

StepTable::StepTable(const std::string& path, std::int64_t number, const Cells& header, ClusterLog& log)
    : log_(log),
      worker_(column(header, worker_names)),
      number_(worker_ ? 0 : log.worker_of(path, {}, number)),
      step_(*column(header, step_names)),
      width_(header.size()) {
  Cells others;
  bool has_whole = false;
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (worker_ == i || i == step_) continue;
    const std::optional<TimeColumn> time = time_column(header[i]);
    if (!time) {
      others.push_back(header[i]);
      continue;
    }
    for (const auto& [other, known] : times_) {
      if (known.part == time->part) throw two_columns(path, header[other], header[i]);
    }
    has_compute_ = has_compute_ || time->part == &LoggedStep::compute;
    has_whole = has_whole || time->part == nullptr;
    times_.emplace_back(i, *time);
  }
  log.has_whole_steps = has_whole && !has_compute_;
  if (!has_compute_ && !has_whole)
    throw LogError(fmt::format("{}: there is no column `compute_s`", path),
                   others.empty()
                       ? "the columns are worker,step,compute_s[,push_s,pull_s,server_s,bytes]"
                       : fmt::format("it has {}; rename the column with the time of a worker's computation",
                                     listed(others)));
  note_ignored(path, others, log);
}

void StepTable::take(const Cells& cells, const std::string& place) {
  if (cells.size() != width_)
    throw LogError(fmt::format("{}: {} values under {} columns", place, cells.size(), width_),
                   "every line needs a value for each column");
  LoggedStep step;
  double whole_step = LoggedStep::unknown;
  for (const auto& [column, time] : times_) {
    if (cells[column].empty()) continue;
    double& part = time.part == nullptr ? whole_step : step.*time.part;
    const std::optional<double> value = number_in(cells[column]);
    if (!value)
      throw LogError(fmt::format("{}: {} is not a number", place, in_backticks(cells[column])),
                     "durations are numbers; an empty cell is one that was not logged");
    part = *value * time.scale;
  }
  if (!has_compute_) step.compute = whole_step;
  else if (std::isnan(step.push) && std::isnan(step.pull))
    step.push = whole_step - step.compute, step.pull = 0;
  log_.steps.add(worker_ ? whole(cells[*worker_], "worker", place) : number_,
                 whole(cells[step_], "step", place), step);
}

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

namespace {

constexpr std::size_t longest_line = 1 << 20;

}  // namespace

std::optional<double> number_in(std::string_view cell) {
  double value = 0;
  return read(cell, value) == std::errc{} ? std::optional(value) : std::nullopt;
}

std::string listed(const Cells& names) {
  std::string text;
  for (const std::string_view name : names) text += (text.empty() ? "" : ", ") + in_backticks(name);
  return text;
}

LogError two_columns(const std::string& path, std::string_view one, std::string_view other) {
  return {fmt::format("{}: the columns {} and {} are the same duration", path, in_backticks(one),
                      in_backticks(other)),
          "remove one of them, or rename it"};
}

void note_ignored(const std::string& path, const Cells& columns, ClusterLog& log) {
  if (columns.empty()) return;
  log.note(path, fmt::format("ignored columns: {}.", listed(columns)));
}

bool Lines::next() {
  while (next_of_any_kind()) {
    if (!is_comment()) return true;
  }
  return false;
}

bool Lines::next_of_any_kind() {
  while (std::getline(in_, line_)) {
    ++number_;
    if (line_.size() > longest_line)
      throw LogError(place() + ": the line is too long for a table", "a line has the durations of one step");
    text_ = trim(line_);
    if (!text_.empty()) return true;
  }
  return false;
}

std::string Lines::place() const { return fmt::format("{}:{}", path_, number_); }

}  // namespace psim::calibrate
