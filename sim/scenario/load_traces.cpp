// Reads files of step times: a row for each step with a column for each worker, or a table of workers, steps
// and seconds.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "model/base/input.hpp"
#include "model/data/text.hpp"
#include "sim/scenario/load_parts.hpp"
#include "sim/scenario/spec/nodes.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim {

// Reads profiles from files; those of availability become faults.

namespace {

namespace fs = std::filesystem;

std::optional<double> finite_number_in(const std::string& word) {
  const auto value = number_in<double>(word);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

// One profile's file.
class ProfileFile {
 public:
  ProfileFile(ProfileSpec& profile, std::string path, const Check& check)
      : profile_(profile), path_(std::move(path)), check_(check) {}

  bool read(const fs::path& file) {
    constexpr std::uintmax_t most_bytes = 16'000'000;
    int number = 0;
    bool is_good = true;
    try {
      each_input_line(file, most_bytes, [&](std::string_view line) {
        std::string row(line.substr(0, line.find('#')));
        for (char& c : row) c = c == ',' || c == '\t' || c == '\r' ? ' ' : c;
        std::istringstream split(row);
        std::vector<std::string> words;
        for (std::string word; split >> word;) words.push_back(word);
        ++number;
        return is_good = words.empty() || take(number, words);
      });
    } catch (const InputError& error) {
      return refuse(error.what(), "this file", error.help);
    }
    if (!is_good) return false;
    if (profile_.rows.empty())
      return refuse(
          fmt::format("{} has no rows", profile_.file), "an empty file",
          fmt::format("a row is a date in seconds and {}, as in `0.5, {}`", values().what, values().example));
    if (profile_.every && profile_.rows.back().first >= profile_.every->value)
      return refuse(fmt::format("{} is longer than its period", profile_.file), "in this file",
                    fmt::format("the last date is {} s, and `every` is {} s", profile_.rows.back().first,
                                profile_.every->value));
    if (profile_.resampling.kind == ResamplingKind::blocks && profile_.resampling.block >= profile_.length())
      return refuse(fmt::format("{} has {:.6g} s", profile_.file, profile_.length()),
                    "too short for these blocks", "a block must be shorter than the profile");
    return true;
  }

 private:
  bool take(int number, const std::vector<std::string>& words) {
    const std::string at = fmt::format("{}:{}: ", profile_.file, number);
    if (words.size() != 2)
      return refuse(at + counted(std::ssize(words), "column"), "in this file",
                    "each line has a date in seconds and a value");
    const std::optional<double> date = finite_number_in(words[0]), value = finite_number_in(words[1]);
    if (!date || *date < 0 || *date > 1e9)
      return refuse(at + fmt::format("{} is not a date", in_backticks(words[0])), "in this file",
                    "dates are seconds from 0 to 1e9");
    if (!profile_.rows.empty() && *date <= profile_.rows.back().first)
      return refuse(at + fmt::format("{} s is not after {} s", words[0], profile_.rows.back().first),
                    "in this file", "dates must rise");
    const Values allowed = values();
    if (!value || !(*value >= allowed.least && *value <= allowed.most) ||
        (profile_.of == ProfileOf::availability && *value > 0 && *value < 1))
      return refuse(at + fmt::format("{} is not {}", in_backticks(words[1]), allowed.what), "in this file",
                    std::string(allowed.help));
    constexpr std::size_t most = 10'000;
    if (profile_.rows.size() == most)
      return refuse(at + "too many rows", "in this file", fmt::format("at most {}", most));
    profile_.rows.emplace_back(*date, *value / allowed.divided_by);
    return true;
  }

  struct Values {
    double least, most;
    std::string_view what, example, help;
    double divided_by = 1;
  };
  Values values() const {
    constexpr double least = 1e-6;
    if (profile_.of == ProfileOf::availability)
      return {.least = 0, .most = 1, .what = "0 or 1", .example = "0", .help = "1 is up, 0 is down"};
    if (profile_.of == ProfileOf::latency)
      return {.least = 0,
              .most = 3600,
              .what = "a latency",
              .example = "0.002",
              .help = "seconds from 0 to 3600 in addition to the latency of the network"};
    if (profile_.of == ProfileOf::speed)
      return {
          .least = least,
          .most = 1e6,
          .what = "a factor",
          .example = "0.25",
          .help = "factors are numbers from 1e-6 to 1e6; use of = \"availability\" for a worker that stops"};
    if (profile_.unit == ProfileUnit::factors)
      return {.least = least,
              .most = 1,
              .what = "a share of the bandwidth",
              .example = "0.25",
              .help = "numbers from 1e-6 to 1; give the largest bandwidth as cluster.network.bandwidth"};
    const double most = check_.s.cluster.network.bandwidth.value;
    return {.least = least * most,
            .most = most,
            .what = "a bandwidth",
            .example = "1e8",
            .help = "bytes per second, at most cluster.network.bandwidth and at least a millionth of it",
            .divided_by = most};
  }
  bool refuse(std::string message, std::string label, std::string help = {}) const {
    check_.add_data({path_ + ".file"}, std::move(message), std::move(label), std::move(help));
    return false;
  }

  ProfileSpec& profile_;
  std::string path_;
  const Check& check_;
};

// A crash for each time in which the workers are down, as a user would write it. Rows after the end of the
// run (`end`, in seconds) have no effect.
std::vector<FaultSpec> faults_of(const ProfileSpec& profile, double end) {
  std::vector<std::string> nodes;
  for (const std::int64_t worker : profile.workers) nodes.push_back(fmt::format("worker {}", worker));
  if (nodes.empty()) nodes.emplace_back("workers");
  std::vector<FaultSpec> faults;
  bool up = true;
  double since = 0;
  const auto add = [&](std::optional<double> until) {
    if (since >= end) return;
    FaultSpec& fault = faults.emplace_back();
    fault.kind = "crash";
    fault.nodes = nodes;
    fault.at = Seconds{since};
    fault.every = profile.every;
    if (until) fault.restart_after = Seconds{*until - since};
  };
  for (const auto& [date, value] : profile.rows) {
    const bool is_up = value > 0;
    if (is_up && !up) add(date);
    if (up && !is_up) since = date;
    up = is_up;
  }
  if (!up && !profile.every) add(std::nullopt);
  else if (!up)
    add(profile.every->value + (profile.rows.front().second > 0 ? profile.rows.front().first : 0));
  return faults;
}

bool are_known(const Scenario& scenario, const ProfileSpec& profile) {
  return std::ranges::all_of(profile.workers,
                             [&](std::int64_t worker) { return worker < scenario.cluster.workers; });
}

}  // namespace

void load_profiles(Scenario& scenario, const LoadRequest& request, Reading& reading,
                   Diagnostics& diagnostics) {
  std::vector<FaultSpec> faults;
  std::vector<Place> places;
  for (std::size_t i = 0; i < scenario.profiles.size(); ++i) {
    ProfileSpec& profile = scenario.profiles[i];
    const std::string path = fmt::format("profile.{}", i), field = path + ".file";
    const Check check{.s = scenario, .reading = reading, .diagnostics = diagnostics};
    const std::optional<Resampling> how = time_resampling(profile.resample);
    if (!how)
      check.add({path + ".resample"}, fmt::format("psim cannot resample `{}`", profile.resample),
                "not understood", "\"as it is\", or for example \"blocks of 10s\"");
    profile.resampling = how.value_or(Resampling{});
    if (!reading.given(field) || !reading.reliable(field)) continue;
    const std::optional<fs::path> found = find_file(request, profile.file);
    if (!found) {
      check.add_data({field}, fmt::format("there is no file `{}`", profile.file), "not found",
                     "looked for in --data-dir, PSIM_DATA and the scenario's folder");
      continue;
    }
    if (!ProfileFile(profile, path, check).read(*found)) profile.rows.clear();
    if (profile.of != ProfileOf::availability || profile.rows.empty()) continue;
    if (!are_known(scenario, profile)) continue;  // check_nodes reports it
    const std::optional<Seconds>& duration = scenario.training.duration;
    for (FaultSpec& fault : faults_of(profile, duration ? duration->value : HUGE_VAL)) {
      faults.push_back(std::move(fault));
      places.push_back(reading.places.at(field));
    }
  }
  for (std::size_t i = 0; i < faults.size(); ++i) {
    reading.places.try_emplace("fault", places[i]);
    reading.places[fmt::format("fault.{}", scenario.faults.size())] = places[i];
    scenario.faults.push_back(std::move(faults[i]));
  }
  // The resolved scenario has the faults, so it does not repeat the profiles.
  if (diagnostics.empty())
    std::erase_if(scenario.profiles, [&](const ProfileSpec& one) {
      return one.of == ProfileOf::availability && are_known(scenario, one);
    });
}

void settle_loops(Scenario& scenario) {
  TrainingSpec& training = scenario.training;
  if (!training.inner.given) return;
  training.optimizer = training.inner.optimizer;
  training.learning_rate = training.inner.learning_rate;
  training.local_steps = std::max<std::int64_t>(1, training.inner.steps / training.outer.fragments);
}

void settle_warmup(Scenario& scenario, const Reading& reading) {
  TrainingSpec& training = scenario.training;
  const bool starts = scenario.cluster.worker.startup.given() || scenario.cluster.server.startup.given();
  const bool can = scenario.architecture.has_servers() && training.algorithm == Algorithm::gradient &&
                   !scenario.model.kind->is_sparse;
  if (!reading.given("training.warmup") && training.warmup_steps > 0 && starts && can)
    training.warmup = Warmup::before_servers;
}

void settle_split(Scenario& scenario, const Document& document) {
  const bool learns = scenario.model.kind->has_numbers;
  if (document.root.contains("tune") && learns && !scenario.data.split_seed) scenario.data.split_seed = 1;
}

namespace {

constexpr std::size_t most_in_file = 10'000'000;

// What is wrong with a file, and where.
struct TraceError {
  std::size_t line;  // 0: the whole file
  std::string what, label, help;
};

// Reads the lines of one file.
class TraceLines {
 public:
  // Throws TraceError.
  void take(std::string_view line) {
    ++number_;
    line = trim(line.substr(0, line.find('#')));
    const std::vector<std::string_view> cells = cells_of(line, separator_of(line, ",;"));
    if (cells.empty()) return;
    if (std::exchange(is_first_, false) && is_header(cells)) return take_header(cells);
    if (is_long_) return take_record(cells);
    take_row(cells);
  }

  StepTrace finish() && {
    if (is_long_) join_records();
    if (values_.empty()) throw TraceError{0, "the file has no step times", "an empty file", ""};
    return {columns_, std::move(values_)};
  }

 private:
  static constexpr std::array<std::string_view, 7> names_of_step{"step",  "clock", "iteration", "iter",
                                                                 "index", "",      "batch"};

  static bool is_header(const std::vector<std::string_view>& cells) {
    return std::ranges::none_of(cells,
                                [](std::string_view cell) { return number_in<double>(cell).has_value(); });
  }

  void take_header(const std::vector<std::string_view>& cells) {
    const auto place = [&](const auto& names) -> std::optional<std::size_t> {
      for (const std::string_view name : names) {
        const auto found = std::ranges::find(cells, name);
        if (found != cells.end()) return static_cast<std::size_t>(found - cells.begin());
      }
      return std::nullopt;
    };
    const auto step = place(names_of_step), worker = place(std::array<std::string_view, 2>{"worker", "rank"}),
               value = place(std::array<std::string_view, 6>{"seconds", "compute_s", "compute", "time",
                                                             "duration", "factor"});
    header_ = cells.size();
    if (!worker) return void(ignored_ = step);
    if (!step || !value)
      throw TraceError{number_, "a table of workers lacks a column", "in this file",
                       "its columns are worker, step and seconds"};
    is_long_ = true;
    worker_ = *worker, step_ = *step, value_ = *value;
  }

  double value_in(std::string_view cell) const {
    const auto value = number_in<double>(cell);
    if (!value || !(*value >= 0) || *value > 1e9)
      throw TraceError{number_, fmt::format("{} is not a step time", in_backticks(cell)), "in this file",
                       "step times are numbers from 0 to 1e9"};
    return *value;
  }

  std::int64_t whole_in(std::string_view cell, std::string_view what) const {
    const auto value = number_in<std::int64_t>(cell);
    if (!value || *value < 0)
      throw TraceError{number_, fmt::format("{} is not the number of a {}", in_backticks(cell), what),
                       "in this file", "whole numbers from 0 on"};
    return *value;
  }

  void check_room(std::size_t values) const {
    if (values <= most_in_file) return;
    throw TraceError{number_, fmt::format("more than {} million step times", most_in_file / 1'000'000),
                     "too large for memory", "psim repeats or resamples a trace, so a part of it is enough"};
  }

  void take_row(const std::vector<std::string_view>& cells) {
    const std::size_t width = cells.size() - (ignored_ ? 1 : 0);
    if (columns_ == 0) columns_ = width;
    if (width != columns_ || (header_ > 0 && cells.size() != header_))
      throw TraceError{
          number_,
          fmt::format("a row of {} after {}", counted(std::ssize(cells), "value"),
                      counted(static_cast<std::int64_t>(header_ > 0 ? header_ : columns_), "column")),
          "in this file", "every row needs a value for each column"};
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (ignored_ != i) values_.push_back(value_in(cells[i]));
    }
    check_room(values_.size());
  }

  void take_record(const std::vector<std::string_view>& cells) {
    if (cells.size() != header_)
      throw TraceError{number_, fmt::format("a row of {}", counted(std::ssize(cells), "value")),
                       "in this file", fmt::format("the header has {}", header_)};
    const std::int64_t worker = whole_in(cells[worker_], "worker"), step = whole_in(cells[step_], "step");
    if (!records_[worker].emplace(step, value_in(cells[value_])).second)
      throw TraceError{number_, fmt::format("worker {} has step {} twice", worker, step), "in this file",
                       "each step of a worker has one line"};
    check_room(++recorded_);
  }

  // Puts the workers' records side by side. Every worker needs the same steps.
  void join_records() {
    std::set<std::int64_t> steps;
    for (const auto& [worker, times] : records_) {
      for (const auto& [step, time] : times) steps.insert(step);
    }
    columns_ = records_.size();
    for (const auto& [worker, times] : records_) {
      if (times.size() == steps.size()) continue;
      const auto lost = std::ranges::find_if(steps, [&](std::int64_t step) { return !times.contains(step); });
      throw TraceError{
          0,
          fmt::format("worker {} lacks {}, first step {}", worker,
                      counted(static_cast<std::int64_t>(steps.size() - times.size()), "step"), *lost),
          "in this file", "every worker needs the same steps; psim calibrate accepts gaps"};
    }
    for (const std::int64_t step : steps) {
      for (const auto& [worker, times] : records_) values_.push_back(times.at(step));
    }
  }

  std::size_t number_ = 0, columns_ = 0, header_ = 0;  // header_: its number of cells; 0: no header
  bool is_first_ = true, is_long_ = false;
  std::size_t worker_ = 0, step_ = 0, value_ = 0, recorded_ = 0;
  std::optional<std::size_t> ignored_;  // the column that numbers the steps
  std::vector<double> values_;
  std::map<std::int64_t, std::map<std::int64_t, double>> records_;  // by worker and step
};

class TraceLoader {
 public:
  TraceLoader(Scenario& scenario, const LoadRequest& request, const Check& check)
      : scenario_(scenario), request_(request), check_(check) {}

  // `concerned`: the workers that have the factor. `path` ends with a dot.
  void load(FactorSpec& factor, const std::string& path, const std::vector<std::int64_t>& concerned,
            bool is_shared) {
    const std::string field = path + "trace";
    const std::optional<Resampling> how = step_resampling(factor.trace_resample);
    if (!factor.distribution->reads_trace || factor.trace.empty() || !how) return;
    const auto refuse = [&](std::string what, std::string label, std::string help) {
      check_.add_data({field, "cluster.workers"}, std::move(what), std::move(label), std::move(help));
    };
    const std::optional<fs::path> found = find_file(request_, factor.trace);
    if (!found)
      return refuse(fmt::format("there is no file `{}`", factor.trace), "not found",
                    "psim looked in --data-dir, PSIM_DATA and the scenario's folder");
    std::optional<StepTrace> steps;
    try {
      steps = read(*found);
    } catch (const TraceError& error) {
      const std::string line = error.line > 0 ? fmt::format(":{}", error.line) : "";
      return refuse(fmt::format("{}{}: {}", factor.trace, line, error.what), error.label, error.help);
    } catch (const InputError& error) {
      return refuse(error.what(), "this file", error.help);
    }
    if (!fits(*steps, factor, *how, concerned, is_shared, refuse)) return;
    const std::vector<TraceColumn> columns =
        trace_columns(steps->columns(), concerned.size(), factor.trace_workers == TraceWorkers::draw,
                      static_cast<std::uint64_t>(scenario_.seed));
    factor.columns.assign(static_cast<std::size_t>(scenario_.cluster.workers), {});
    for (std::size_t i = 0; i < concerned.size(); ++i)
      factor.columns[static_cast<std::size_t>(concerned[i])] = columns[i];
    factor.resampling = *how;
    factor.resampling.drawn_start = factor.trace_start == TraceStart::draw;
    factor.resampling.drawn_sample = factor.trace_sample == TraceSample::draw;
    factor.steps = std::make_shared<const StepTrace>(std::move(*steps));
  }

 private:
  static StepTrace read(const fs::path& path) {
    constexpr std::uintmax_t most_bytes = std::uintmax_t{1} << 30U;
    TraceLines lines;
    each_input_line(path, most_bytes, [&](std::string_view line) {
      lines.take(line);
      return true;
    });
    return std::move(lines).finish();
  }

  template <class Refuse>
  static bool fits(const StepTrace& steps, const FactorSpec& factor, const Resampling& how,
                   const std::vector<std::int64_t>& concerned, bool is_shared, const Refuse& refuse) {
    const std::string columns = counted(static_cast<std::int64_t>(steps.columns()), "column");
    const bool draws = factor.trace_workers == TraceWorkers::draw;
    if (is_shared && steps.columns() > 1) {
      refuse(fmt::format("{}: {}", factor.trace, columns), "a shared effect has one column",
             "remove `shared`, or the other columns");
      return false;
    }
    if (!draws && steps.columns() != 1 && steps.columns() != concerned.size()) {
      refuse(fmt::format("{}: {}", factor.trace, columns), "in this file",
             fmt::format("must be one column, or one for each worker: there are {}; or use "
                         "trace_workers = \"draw\"",
                         concerned.size()));
      return false;
    }
    if (how.kind == ResamplingKind::blocks && how.block >= static_cast<double>(steps.rows())) {
      refuse(fmt::format("{} has {}", factor.trace, counted(static_cast<std::int64_t>(steps.rows()), "row")),
             "too short for these blocks", "a block must be shorter than the trace");
      return false;
    }
    for (std::size_t c = 0; factor.is_in_seconds() && c < steps.columns(); ++c) {
      if (steps.mean(c) > 0) continue;
      refuse(fmt::format("{}: column {} has no time above 0", factor.trace, c), "in this file",
             "trace_unit = \"seconds\" needs a mean above 0");
      return false;
    }
    return true;
  }

  Scenario& scenario_;
  const LoadRequest& request_;
  const Check& check_;
};

}  // namespace

void load_traces(Scenario& scenario, const LoadRequest& request, const Check& check) {
  const auto knows = [&](const std::string& path) {
    return std::ranges::all_of(
        std::array{"distribution", "trace", "trace_unit", "trace_resample", "trace_workers", "workers"},
        [&](const char* key) { return check.reading.reliable(path + key); });
  };
  if (!check.reading.reliable("cluster.workers")) return;
  std::vector<std::int64_t> all(static_cast<std::size_t>(scenario.cluster.workers));
  std::iota(all.begin(), all.end(), 0);
  TraceLoader loader(scenario, request, check);
  if (knows("compute.")) loader.load(scenario.compute, "compute.", all, false);
  for (std::size_t i = 0; i < scenario.compute.effects.size(); ++i) {
    EffectSpec& effect = scenario.compute.effects[i];
    const std::string path = fmt::format("compute.effect.{}.", i);
    const bool are_known = std::ranges::all_of(
        effect.workers, [&](std::int64_t worker) { return worker < scenario.cluster.workers; });
    if (!knows(path) || !are_known) continue;
    loader.load(effect, path, effect.workers.empty() ? all : effect.workers, effect.shared);
  }
}

}  // namespace psim
