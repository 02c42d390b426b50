#include "analysis/calibrate/trace_events.hpp"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <vector>

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

}  // namespace psim::calibrate
