#include "sim/cli/study/summary_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>

#include "analysis/input.hpp"
#include "model/mutant.hpp"
#include "model/nesting.hpp"

namespace psim::cli {
namespace {

enum class Kind { truth, number, text, object, list };
enum class Need { always, if_there };  // if_there: it may be missing, or null

struct Place {
  const char* path;
  Kind kind = Kind::number;
  Need need = Need::always;
};

constexpr const char* words_of(Kind kind) {
  switch (kind) {
    case Kind::truth: return "true or false";
    case Kind::number: return "a number";
    case Kind::text: return "a text";
    case Kind::object: return "an object";
    case Kind::list: break;
  }
  return "a list";
}

// Values that a run can have: single precision ends at 3.4e38, and sums of these must stay finite.
bool is_number(const Json& value) { return value.is_number() && std::abs(value.get<double>()) < 1e60; }

bool is(Kind kind, const Json& value) {
  switch (kind) {
    case Kind::truth: return value.is_boolean();
    case Kind::number: return is_number(value);
    case Kind::text: return value.is_string();
    case Kind::object: return value.is_object();
    case Kind::list: break;
  }
  return value.is_array();
}

// "`/target/given` is not true or false"; empty where everything is as it must be.
std::string wrong_in(const Json& json, std::span<const Place> places) {
  if (!json.is_object()) return "it is no object";
  for (const Place& place : places) {
    const Json::json_pointer path(place.path);
    const bool there = json.contains(path) && !json[path].is_null();
    if (there ? !is(place.kind, json[path]) : place.need == Need::always)
      return fmt::format("`{}` is not {}", place.path, words_of(place.kind));
  }
  return "";
}

// The same for each element of a list.
std::string wrong_in_list(const Json& json, const char* list, std::span<const Place> places) {
  const Json::json_pointer path(list);
  if (!json.contains(path)) return "";
  if (!json[path].is_array()) return fmt::format("`{}` is not a list", list);
  for (const Json& one : json[path]) {
    if (const std::string wrong = wrong_in(one, places); !wrong.empty())
      return fmt::format("in `{}`, {}", list, wrong);
  }
  return "";
}

std::string wrong_in_texts(const Json& list, const char* name) {
  const bool all = list.is_array() && std::ranges::all_of(list, [](const Json& x) { return x.is_string(); });
  return all ? "" : fmt::format("`{}` is not a list of texts", name);
}

using enum Need;
constexpr Place summary_places[] = {
    {"/target", Kind::object},
    {"/target/given", Kind::truth},
    {"/target/reached", Kind::truth},
    {"/target/sim_time_s", Kind::number, if_there},
    {"/target/budget_s", Kind::number, if_there},
    {"/target/last_miss_s", Kind::number, if_there},
    {"/evaluate_every", Kind::text, if_there},
    {"/target/accuracy", Kind::number, if_there},
    {"/target/loss", Kind::number, if_there},
    {"/sim_time_s"},
    {"/updates"},
    {"/bytes_sent"},
    {"/samples_per_s", Kind::number, if_there},
    {"/staleness", Kind::object},
    {"/staleness/mean", Kind::number, if_there},
    {"/staleness/max"},
    {"/time", Kind::object},
    {"/time/compute_share", Kind::number, if_there},
    {"/time/wait_share", Kind::number, if_there},
    {"/time/network_share", Kind::number, if_there},
    {"/time/absent_share", Kind::number, if_there},
    {"/final", Kind::object},
    {"/final/loss", Kind::number, if_there},
    {"/final/accuracy", Kind::number, if_there},
    {"/final_validation", Kind::object, if_there},
    {"/evaluated_on", Kind::object, if_there},
    {"/evaluated_on/target", Kind::text, if_there},
    {"/evaluated_on/curve", Kind::text, if_there},
    {"/evaluated_on/final", Kind::text, if_there},
    {"/acknowledgement", Kind::text, if_there},
    {"/notes", Kind::list},
    {"/stuck", Kind::list},
    {"/curve", Kind::list},
    {"/groups", Kind::list, if_there},
    {"/inference", Kind::object, if_there},
    {"/inference/latency_s", Kind::object, if_there},
    {"/inference/latency_s/mean", Kind::number, if_there},
    {"/inference/staleness", Kind::object, if_there},
    {"/inference/staleness/mean", Kind::number, if_there},
    {"/inference/accuracy", Kind::number, if_there},
    {"/failures", Kind::object, if_there},
    {"/economy", Kind::object, if_there},
    {"/economy/joules", Kind::number, if_there},
    {"/economy/dollars", Kind::number, if_there},
    {"/economy/to_target", Kind::object, if_there},
    {"/economy/to_target/joules", Kind::number, if_there},
    {"/economy/to_target/dollars", Kind::number, if_there},
};
constexpr Place failure_places[] = {
    {"/replication_bytes"},      {"/state_bytes"}, {"/suspicions"}, {"/false_suspicions"},
    {"/recoveries", Kind::list},
};
constexpr Place recovery_places[] = {{"/total_s", Kind::number, if_there}};
constexpr Place note_places[] = {{"/name", Kind::text}, {"/text", Kind::text}};
constexpr Place group_places[] = {
    {"/target", Kind::object}, {"/target/given", Kind::truth}, {"/target/reached", Kind::truth}};
constexpr Place point_places[] = {
    {"/sim_time_s"},
    {"/updates", Kind::number, if_there},
    {"/epoch", Kind::number, if_there},
    {"/bytes_sent", Kind::number, if_there},
    {"/loss", Kind::number, if_there},
    {"/accuracy", Kind::number, if_there},
};

std::string wrong_times(const Json& summary) {
  const Json& target = summary["target"];
  if (target["given"] && target["reached"] && !target.value("sim_time_s", Json()).is_number())
    return "`/target/sim_time_s` is not a number";
  double before = 0;
  for (const Json& point : summary["curve"]) {
    const auto at = point["sim_time_s"].get<double>();
    if (at < before) return "the times of `/curve` fall";
    before = at;
  }
  for (const char* path : {"/sim_time_s", "/target/sim_time_s", "/target/budget_s"}) {
    const Json value = summary.value(Json::json_pointer(path), Json());
    if (value.is_number() && value.get<double>() < 0) return fmt::format("`{}` is below 0", path);
  }
  return "";
}

std::string wrong_in_summary(const Json& summary) {
  std::string wrong = wrong_in(summary, summary_places);
  const auto then = [&](const auto& look) {
    if (wrong.empty()) wrong = look();
  };
  then([&] { return wrong_in_list(summary, "/notes", note_places); });
  then([&] { return wrong_in_texts(summary["stuck"], "/stuck"); });
  then([&] { return wrong_in_list(summary, "/curve", point_places); });
  then([&] { return wrong_in_list(summary, "/groups", group_places); });
  if (summary.is_object() && summary.contains("failures")) {
    then([&] { return wrong_in(summary["failures"], failure_places); });
    then([&] { return wrong_in_list(summary["failures"], "/recoveries", recovery_places); });
  }
  then([&] { return wrong_times(summary); });
  return wrong;
}

constexpr Place tuning_places[] = {
    {"/settings_per_arm"},    {"/trials"},           {"/simulated_s"},      {"/method", Kind::text},
    {"/measure", Kind::text}, {"/best", Kind::list}, {"/runs", Kind::list},
};
constexpr Place best_places[] = {
    {"/arm", Kind::text},     {"/condition", Kind::list},         {"/sets", Kind::list},
    {"/at_edge", Kind::list}, {"/score", Kind::number, if_there},
};
constexpr Place setting_places[] = {
    {"/arm", Kind::text}, {"/condition", Kind::list},         {"/values", Kind::object}, {"/rung"},
    {"/seeds"},           {"/score", Kind::number, if_there}, {"/chosen", Kind::truth},
};

bool all_texts(const Json& values) {
  return std::ranges::all_of(values, [](const Json& x) { return x.is_string(); });
}

}  // namespace

Json summary_of(const std::string& text, const std::string& run) {
  Json summary = analysis::json_in(text);
  if (mutant("damaged-results-are-believed")) return summary;
  std::string wrong(too_much_json(text));
  if (wrong.empty()) wrong = wrong_in_summary(summary);
  if (!wrong.empty()) throw DamagedRun(fmt::format("the result of run {} is no summary: {}", run, wrong));
  return summary;
}

bool is_tuning(const Json& tuning) {
  if (!wrong_in(tuning, tuning_places).empty() || !all_texts(tuning["runs"])) return false;
  if (!wrong_in_list(tuning, "/best", best_places).empty()) return false;
  if (!wrong_in_list(tuning, "/settings", setting_places).empty()) return false;
  const bool best_fit = std::ranges::all_of(tuning["best"], [](const Json& one) {
    return all_texts(one["condition"]) && all_texts(one["sets"]) && all_texts(one["at_edge"]);
  });
  return best_fit &&
         (!tuning.contains("settings") || std::ranges::all_of(tuning["settings"], [](const Json& one) {
           return all_texts(one["condition"]) && all_texts(one["values"]);
         }));
}

}  // namespace psim::cli
