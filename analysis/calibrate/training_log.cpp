#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <optional>
#include <regex>

#include "analysis/calibrate/tool_outputs.hpp"
#include "model/data/text.hpp"

namespace psim::calibrate {
namespace {

using Parts = std::match_results<std::string_view::const_iterator>;

// A number of a line; 0 for none.
double number(const Parts& parts, std::size_t i) {
  return number_in({parts[i].first, parts[i].second}).value_or(0);
}
std::int64_t whole_number(const Parts& parts, std::size_t i) {
  return static_cast<std::int64_t>(number(parts, i));
}

bool matches(std::string_view line, const std::regex& form, Parts& parts) {
  return std::regex_search(line.begin(), line.end(), parts, form);
}

// The text around a mark in a line. Such a line may hold all progress bars of a run.
std::string_view around(std::string_view line, std::string_view mark) {
  constexpr std::size_t width = 1000;
  const std::size_t at = line.find(mark), begin = at - std::min(at, width);
  return line.substr(begin, at - begin + width);
}

class TrainingLog {
 public:
  void take(std::string_view line) {
    const auto has = [&](std::string_view part) { return line.find(part) != std::string_view::npos; };
    if (has("elapsed time per iteration (")) take_iteration(around(line, "elapsed time"));
    else if (has("time (ms) |")) take_parts(around(line, "time (ms)"));
    else if (has("SamplesPerSec=")) take_date(around(line, "SamplesPerSec"));
    else if (has("time across ranks (ms)")) ++others_;
  }

  bool is_empty() const { return parts_.empty() && iterations_.empty() && dates_.empty() && others_ == 0; }

  void put(const std::string& path, std::int64_t worker, ClusterLog& log) const {
    const std::size_t before = log.steps.counts().steps;
    std::size_t ignored = others_ + dates_.size();
    for (const auto& [rank, steps] : parts_) {
      for (const auto& [step, one] : steps) log.steps.add(rank < 0 ? worker : rank, step, one);
    }
    if (!parts_.empty()) {
      ignored += iterations_.size();
      log.note(path, "a step computes for DeepSpeed's forward, backward without the all-reduce, and step.");
    } else if (!iterations_.empty()) {
      for (const auto& [step, seconds] : iterations_) log.steps.add(worker, step, {.compute = seconds});
      note_means(iterations_, path, log);
    } else {
      ignored = others_;
      for (auto one = dates_.begin(); one != dates_.end() && std::next(one) != dates_.end(); ++one) {
        const auto& [next, date] = *std::next(one);
        log.steps.add(worker, next,
                      {.compute = (date - one->second) / static_cast<double>(next - one->first)});
      }
      log.note(path, "the time of a step is that between the dates of DeepSpeed's lines, saving included.");
      note_means(dates_, path, log);
    }
    log.has_whole_steps = parts_.empty();
    if (log.steps.counts().steps == before)
      throw LogError(path + ": the log of Megatron-LM or DeepSpeed tells no time of a step",
                     "Megatron-LM prints `elapsed time per iteration (ms)`; DeepSpeed prints dates with its "
                     "SamplesPerSec, and with wall_clock_breakdown `time (ms) | forward: ... | step: ...`");
    if (ignored > 0) log.note(path, "other lines about times: {}; psim does not use them.", ignored);
  }

 private:
  // Notes that a line stands for several steps.
  static void note_means(const std::map<std::int64_t, double>& times, const std::string& path,
                         ClusterLog& log) {
    const std::int64_t steps = times.size() < 2 ? 1 : std::next(times.begin())->first - times.begin()->first;
    if (steps > 1)
      log.note(path,
               fmt::format("a line is the mean of {} steps, so the log hides how single steps vary.", steps));
  }

  void take_parts(std::string_view line) {
    static const std::regex rank_form(R"(rank=(\d{1,9}) )");
    Parts parts;
    const std::int64_t rank = matches(line, rank_form, parts) ? whole_number(parts, 1) : -1;
    std::map<std::string, double, std::less<>> values;
    line.remove_prefix(line.find('|'));
    while (!line.empty()) {
      std::string_view value = cut(line, '|');
      const std::string_view name = trim(cut(value, ':'));
      values.emplace(name, number_in(trim(value)).value_or(0) / 1e3);
    }
    // Versions of DeepSpeed differ in the name.
    const auto value = [&](const char* name, const char* brief) {
      return values.contains(name) ? values[name] : values[brief];
    };
    const double forward = value("forward", "fwd"), sum = value("backward_allreduce", "bwd_allreduce"),
                 computing = forward + value("backward", "bwd") - sum + values["step"];
    // DeepSpeed without wall_clock_breakdown prints zeros, and other programs have other parts.
    if (!(forward > 0) || !(computing > 0)) return static_cast<void>(++others_);
    auto& steps = parts_[rank];
    steps.emplace(std::ssize(steps), LoggedStep{.compute = computing, .push = sum, .pull = 0});
  }

  void take_iteration(std::string_view line) {
    static const std::regex form(R"(iteration +(\d{1,15})/.*per iteration \((m?s)\): *([\d.eE+-]+))");
    Parts parts;
    const std::optional<double> time = matches(line, form, parts) ? number_in(parts[3].str()) : std::nullopt;
    if (!time || !iterations_.emplace(whole_number(parts, 1), *time * (parts[2] == "ms" ? 1e-3 : 1)).second)
      ++others_;
  }

  void take_date(std::string_view line) {
    static const std::regex form(
        R"(\[(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d),(\d{3})\].*(?:global_step=|\] *\d+/)(\d{1,15}), )");
    Parts parts;
    if (!matches(line, form, parts)) return static_cast<void>(++others_);
    const auto part = [&](std::size_t i) { return static_cast<int>(number(parts, i)); };
    const std::chrono::sys_days day{std::chrono::year(part(1)) / part(2) / part(3)};
    const double seconds = 3600.0 * part(4) + 60 * part(5) + part(6) + 1e-3 * part(7);
    dates_.emplace(whole_number(parts, 8),
                   86400.0 * static_cast<double>(day.time_since_epoch().count()) + seconds);
  }

  std::map<std::int64_t, std::map<std::int64_t, LoggedStep>> parts_;  // by rank, or -1, and by order
  std::map<std::int64_t, double> iterations_, dates_;                 // by step: seconds
  std::size_t others_ = 0;                                            // lines of times that psim cannot use
};

}  // namespace

bool read_training_log(const std::string& path, std::int64_t number, ClusterLog& log) {
  TrainingLog training;
  Lines lines(path);
  while (lines.next_of_any_kind()) training.take(lines.text());
  if (!training.is_empty()) training.put(path, log.worker_of(path, {}, number), log);
  return !training.is_empty();
}

}  // namespace psim::calibrate
