#include "analysis/calibrate/read_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <set>
#include <utility>
#include <vector>

#include "analysis/calibrate/input_stream.hpp"

namespace psim::calibrate {
namespace {

using Sax = nlohmann::json_sax<nlohmann::json>;

// The parts of an event that psim uses. Times are in microseconds.
struct TraceEvent {
  std::string name, phase, process, thread;
  double begin = 0, duration = 0;
  std::optional<std::int64_t> step;
};

// Where the numbers of ranks stand in a name: ProfilerStep#12.
std::optional<std::int64_t> last_number_in(const std::string& name) {
  const std::size_t end = name.find_last_of("0123456789");
  if (end == std::string::npos) return std::nullopt;
  std::size_t begin = name.find_last_not_of("0123456789", end);
  begin = begin == std::string::npos ? 0 : begin + 1;
  std::int64_t number = 0;
  const auto [stop, error] = std::from_chars(name.data() + begin, name.data() + end + 1, number);
  return error == std::errc{} ? std::optional(number) : std::nullopt;
}

// Hands over the events of a file one by one. Knows where it is by the depth of the document only.
class EventReader final : public Sax {
 public:
  using Take = std::function<void(const TraceEvent&)>;
  EventReader(std::string step_arg, Take take) : step_arg_(std::move(step_arg)), take_(std::move(take)) {}

  std::optional<std::int64_t> rank() const { return rank_; }

  bool start_object(std::size_t) override {
    ++depth_;
    if (in_events_ && depth_ == events_ + 1) event_ = {};
    return true;
  }
  bool end_object() override {
    if (in_events_ && depth_ == events_ + 1) take_(event_);
    --depth_;
    return true;
  }
  bool start_array(std::size_t) override {
    ++depth_;
    const bool is_list = depth_ == 1 || (depth_ == 2 && keys_[1] == "traceEvents");
    if (is_list && !in_events_) in_events_ = true, events_ = depth_;
    return true;
  }
  bool end_array() override {
    if (in_events_ && depth_ == events_) in_events_ = false;
    --depth_;
    return true;
  }
  bool key(string_t& name) override {
    if (keys_.size() <= depth_) keys_.resize(depth_ + 1);
    keys_[depth_] = name;
    return true;
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override { return number(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) override { return number(static_cast<double>(value)); }
  bool number_float(number_float_t value, const string_t&) override { return number(value); }
  bool string(string_t& value) override {
    if (!in_events_) return true;
    if (depth_ == events_ + 1) {
      const std::string& field = keys_[depth_];
      if (field == "name") event_.name = value;
      else if (field == "ph") event_.phase = value;
      else if (field == "pid") event_.process = value;
      else if (field == "tid") event_.thread = value;
    } else if (is_argument() && keys_[depth_] == step_arg_) {
      event_.step = last_number_in(value);
    }
    return true;
  }
  bool binary(binary_t&) override { return true; }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    broken_at = position;
    return false;
  }

  std::size_t broken_at = 0;  // 0: the document is whole

 private:
  bool is_argument() const { return depth_ == events_ + 2 && keys_[events_ + 1] == "args"; }

  bool number(double value) {
    if (!in_events_) {
      if (depth_ == 2 && keys_[1] == "distributedInfo" && keys_[2] == "rank")
        rank_ = static_cast<std::int64_t>(value);
      return true;
    }
    if (depth_ == events_ + 1) {
      const std::string& field = keys_[depth_];
      if (field == "ts") event_.begin = value;
      else if (field == "dur") event_.duration = value;
      else if (field == "pid") event_.process = fmt::format("{}", value);
      else if (field == "tid") event_.thread = fmt::format("{}", value);
    } else if (is_argument() && keys_[depth_] == step_arg_) {
      event_.step = static_cast<std::int64_t>(value);
    }
    return true;
  }

  std::string step_arg_;
  Take take_;
  std::size_t depth_ = 0, events_ = 0;
  bool in_events_ = false;
  std::vector<std::string> keys_ = std::vector<std::string>(4);  // by depth: the last key
  TraceEvent event_;
  std::optional<std::int64_t> rank_;
};

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

// Horovod's time line of rank 0. Each negotiation of a tensor has a tick for every rank that is ready; when
// the all-reduce ends, the step of the tensor has ended. A rank computes from the end of the previous step to
// its tick for the last tensor of the step.
class HorovodSteps {
 public:
  void take(const TraceEvent& event) {
    Tensor& tensor = tensors_[event.process];
    if (event.name.starts_with("NEGOTIATE_") && event.phase == "B") {
      tensor.is_negotiating = true;
      ++tensor.rounds;
    } else if (tensor.is_negotiating && event.phase == "X" && last_number_in(event.name)) {
      auto& ready = ready_[tensor.rounds - 1][*last_number_in(event.name)];
      ready = std::max(ready, event.begin);
    } else if (event.phase == "E") {
      if (!tensor.is_negotiating && tensor.rounds > 0) {
        double& end = ends_[tensor.rounds - 1];
        end = std::max(end, event.begin);
      }
      tensor.is_negotiating = false;
    }
  }
  bool put(StepLog& log) const {
    bool found = false;
    for (const auto& [step, ranks] : ready_) {
      const auto before = ends_.find(step - 1);
      if (before == ends_.end()) continue;
      for (const auto& [rank, date] : ranks) {
        log.add(rank, step, {.compute = (date - before->second) / 1e6});
        found = true;
      }
    }
    return found;
  }

 private:
  struct Tensor {
    std::int64_t rounds = 0;
    bool is_negotiating = false;
  };
  std::map<std::string, Tensor> tensors_;
  std::map<std::int64_t, std::map<std::int64_t, double>> ready_;  // by step and rank: microseconds
  std::map<std::int64_t, double> ends_;                           // by step
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

// The steps of one file, as its events tell them.
class EventSteps {
 public:
  explicit EventSteps(const EventNames& names)
      : names_(names), compute_(expression(names.compute.empty() ? known : names.compute)) {}

  void take(const TraceEvent& event) {
    if (names_.compute.empty()) horovod_.take(event);
    if (event.phase != "X") return;
    if (!is_compute(event.name)) {
      if (others_.size() < most_names || others_.contains(event.name)) ++others_[event.name];
      return;
    }
    const bool is_step = event.name.starts_with("ProfilerStep#");
    is_kineto_ = is_kineto_ || is_step;
    const std::optional<std::int64_t> step = event.step ? event.step
                                             : is_step  ? last_number_in(event.name)
                                                        : std::nullopt;
    if (!step) return void(++without_step_);
    sums_.add(event.process, *step, event.thread, event.duration);
  }

  // `rank`: that the file names. Throws LogError if no event gave a step.
  void put(const std::string& path, std::int64_t number, std::optional<std::int64_t> rank,
           ClusterLog& log) const {
    if (sums_.is_empty()) {
      if (names_.compute.empty() && horovod_.put(log.steps)) return;
      refuse(path);
    }
    const bool is_one = is_kineto_ || rank.has_value();
    sums_.put(is_one ? std::optional(rank.value_or(number)) : std::nullopt, log.steps);
    if (is_kineto_ && names_.compute.empty())
      log.notes.push_back(fmt::format(
          "{}: the times are those of whole ProfilerStep# spans; if they contain communication, name "
          "the computations with --compute-name.",
          path));
    if (without_step_ > 0)
      log.notes.push_back(
          fmt::format("{}: {} events have no number of a step and are left out.", path, without_step_));
  }

 private:
  // The names of known tools: Kineto's steps, and computations of ByteDance's time lines.
  static constexpr const char* known = "^ProfilerStep#|compute$|^optimizer$";
  static constexpr std::size_t most_names = 100'000;

  bool is_compute(const std::string& name) {
    if (const auto found = computes_.find(name); found != computes_.end()) return found->second;
    const bool is = std::regex_search(name, compute_);
    if (computes_.size() < most_names) computes_[name] = is;
    return is;
  }

  [[noreturn]] void refuse(const std::string& path) const {
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
  std::size_t without_step_ = 0;
  bool is_kineto_ = false;
};

}  // namespace

void read_events(const std::string& path, std::int64_t number, const EventNames& names, ClusterLog& log) {
  EventSteps steps(names);
  EventReader reader(names.step_arg.empty() ? "step" : names.step_arg,
                     [&steps](const TraceEvent& event) { steps.take(event); });
  InputStream in(path);
  nlohmann::json::sax_parse(in, &reader);
  if (reader.broken_at > 0)
    log.notes.push_back(fmt::format("{}: the JSON breaks off after {} bytes; psim uses the events before.",
                                    path, reader.broken_at));
  steps.put(path, number, reader.rank(), log);
}

}  // namespace psim::calibrate
