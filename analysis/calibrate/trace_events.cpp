#include "analysis/calibrate/trace_events.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <string_view>
#include <vector>

#include "model/base/unicode.hpp"

namespace psim::calibrate {
namespace {

using Sax = nlohmann::json_sax<nlohmann::json>;

// Hands over the events of a file one by one. Knows where it is by the depth of the document only.
class EventReader final : public Sax {
 public:
  using Take = std::function<void(const TraceEvent&)>;
  EventReader(const std::string& step_arg, const Take& take) : step_arg_(step_arg), take_(take) {}

  const TraceEnd& end() const { return end_; }

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
      else if (field == "cat") event_.category = value;
      else if (field == "pid") event_.process = value;
      else if (field == "tid") event_.thread = value;
    } else if (is_argument() && keys_[depth_] == step_arg_) {
      event_.step = last_number_in(value);
    }
    return true;
  }
  bool binary(binary_t&) override { return true; }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    end_.broken_at = position;
    end_.loses_events = in_events_;
    return false;
  }

 private:
  bool is_argument() const { return depth_ == events_ + 2 && keys_[events_ + 1] == "args"; }

  bool number(double value) {
    if (!in_events_) {
      if (depth_ == 2 && keys_[1] == "distributedInfo" && keys_[2] == "rank")
        end_.rank = static_cast<std::int64_t>(value);
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

  const std::string& step_arg_;
  const Take& take_;
  std::size_t depth_ = 0, events_ = 0;
  bool in_events_ = false;
  std::vector<std::string> keys_ = std::vector<std::string>(4);  // by depth: the last key
  TraceEvent event_;
  TraceEnd end_;
};

}  // namespace

std::optional<std::int64_t> last_number_in(const std::string& name) {
  const std::size_t end = name.find_last_of("0123456789");
  if (end == std::string::npos) return std::nullopt;
  std::size_t begin = name.find_last_not_of("0123456789", end);
  begin = begin == std::string::npos ? 0 : begin + 1;
  std::int64_t number = 0;
  const auto [stop, error] = std::from_chars(name.data() + begin, name.data() + end + 1, number);
  return error == std::errc{} ? std::optional(number) : std::nullopt;
}

TraceEnd read_trace(std::istream& in, const std::string& step_arg,
                    const std::function<void(const TraceEvent&)>& take) {
  EventReader reader(step_arg, take);
  nlohmann::json::sax_parse(in, &reader);
  TraceEnd end = reader.end();
  end.loses_events = end.loses_events && in.peek() != std::istream::traits_type::eof();
  return end;
}

namespace {

using Spans = KinetoSteps::Spans;

// Sorted, without overlaps.
Spans merged(Spans spans) {
  std::ranges::sort(spans);
  Spans result;
  for (const auto& [begin, end] : spans) {
    if (!result.empty() && begin <= result.back().second)
      result.back().second = std::max(result.back().second, end);
    else result.emplace_back(begin, end);
  }
  return result;
}

double overlap(const Spans& spans, double begin, double end) {
  double sum = 0;
  auto one = std::ranges::lower_bound(spans, begin, {}, [](const auto& span) { return span.second; });
  for (; one != spans.end() && one->first < end; ++one)
    sum += std::max(0.0, std::min(end, one->second) - std::max(begin, one->first));
  return sum;
}

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// Whether an event has the name of a communication library's kernel or annotation.
bool communicates(std::string name) {
  name = in_small_letters(std::move(name));
  constexpr std::array libraries{"nccl", "rccl", "hccl", "xccl", "oneccl"};
  constexpr std::array backends{"gloo:", "mpi:", "ucc:"};
  return std::ranges::any_of(libraries, [&](const char* one) { return has(name, one); }) ||
         std::ranges::any_of(backends, [&](const char* one) { return name.starts_with(one); });
}

}  // namespace

void KinetoSteps::take(const TraceEvent& event, const std::string& name, double begin, double us) {
  const std::string& category = event.category;
  const std::pair<double, double> span{begin, begin + us};
  if (name.starts_with("ProfilerStep#")) {
    Track& track = tracks_[{event.process, event.thread}];
    track.steps.push_back({begin, begin + us, last_number_in(name).value_or(0)});
    track.total += us;
    return;
  }
  const bool is_device = has(category, "ernel") || has(category, "emcpy") || has(category, "emset"),
             is_operator = category == "cpu_op" || category == "Operator",
             may_communicate = category.empty() || is_device || has(category, "annotation");
  has_device_ = has_device_ || is_device;
  is_profiler_ = is_profiler_ || is_device || is_operator || name.starts_with("aten::");
  if (may_communicate && communicates(name)) {
    const bool is_annotation = !is_device && (has(category, "annotation") || has(name, ":"));
    (is_annotation ? annotations_ : kernels_).push_back(span);
  } else if (is_device || category.empty()) {
    computing_.push_back(span);
  } else if (is_operator && !has(name, "c10d::")) {
    operators_.push_back(span);
  }
}

void KinetoSteps::number(const std::string& path, ClusterLog& log) {
  bool has_repeated = false;
  for (auto& [place, track] : tracks_) {
    std::ranges::sort(track.steps, {}, [](const Step& one) { return std::pair(one.begin, one.number); });
    for (std::size_t i = 1; i < track.steps.size(); ++i) {
      std::int64_t &own = track.steps[i].number, least = track.steps[i - 1].number + 1;
      has_repeated = has_repeated || own < least;
      own = std::max(own, least);
    }
  }
  if (has_repeated)
    log.note(path, "several spans have the same name ProfilerStep#N; each counts as a step, by its date.");
}

const KinetoSteps::Track& KinetoSteps::longest(const std::string& process) const {
  const Track *any = &tracks_.begin()->second, *own = nullptr;
  for (const auto& [place, track] : tracks_) {
    if (track.total > any->total) any = &track;
    if (place.first == process && (own == nullptr || track.total > own->total)) own = &track;
  }
  return own == nullptr ? *any : *own;
}

std::optional<std::int64_t> KinetoSteps::step_at(const std::string& process, double date) const {
  if (is_empty()) return std::nullopt;
  const std::vector<Step>& steps = longest(process).steps;
  const auto after = std::ranges::upper_bound(steps, date, {}, &Step::begin);
  if (after == steps.begin() || std::prev(after)->end < date) return std::nullopt;
  return std::prev(after)->number;
}

void KinetoSteps::put(const std::string& path, std::int64_t worker, ClusterLog& log) const {
  const bool is_of_host = kernels_.empty() && !has_device_;
  const Spans& communication = is_of_host ? annotations_ : kernels_;
  Spans all = is_of_host ? operators_ : computing_;
  const Spans computing = merged(all);
  all.insert(all.end(), communication.begin(), communication.end());
  all = merged(std::move(all));
  const auto rest_of = [&](const Step& one) {
    return overlap(all, one.begin, one.end) - overlap(computing, one.begin, one.end);
  };
  const std::vector<Step>& steps = longest("").steps;
  const bool communicates = std::ranges::any_of(steps, [&](const Step& one) { return rest_of(one) > 0; });
  for (const Step& one : steps) {
    const double whole = (one.end - one.begin) / 1e6, rest = rest_of(one) / 1e6;
    if (communicates) log.steps.add(worker, one.number, {.compute = whole - rest, .push = rest, .pull = 0});
    else log.steps.add(worker, one.number, {.compute = whole});
  }
  log.note(
      path,
      communicates
          ? "a computation is a step without the time in which only communication runs (kernels of nccl or "
            "rccl, or annotations such as gloo:all_reduce); --compute-name names other computations."
          : "the times are those of whole ProfilerStep# spans; if they contain communication, name the "
            "computations with --compute-name.");
}

}  // namespace psim::calibrate
