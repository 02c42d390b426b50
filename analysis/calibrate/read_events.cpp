#include "analysis/calibrate/read_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <utility>
#include <vector>

#include "analysis/calibrate/horovod.hpp"
#include "analysis/calibrate/input_stream.hpp"
#include "analysis/calibrate/kineto.hpp"
#include "analysis/calibrate/trace_events.hpp"

namespace psim::calibrate {
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

}  // namespace psim::calibrate
