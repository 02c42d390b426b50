#include "sim/study/summary_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>

#include "analysis/causes/main_cause.hpp"
#include "analysis/input.hpp"
#include "model/base/unicode.hpp"
#include "sim/record/run_file.hpp"
#include "sim/record/summary_schema.hpp"

namespace psim::study {
namespace {

bool all_texts(const Json& values) {
  return std::ranges::all_of(values, [](const Json& x) { return x.is_string(); });
}

// Whether a run can have this value: single precision ends at 3.4e38, and sums of such values must stay
// finite.
bool is_number(const Json& value) { return value.is_number() && std::abs(value.get<double>()) < 1e60; }

bool holds(Holds what, const Json& value) {
  switch (what) {
    case Holds::truth: return value.is_boolean();
    case Holds::number: return is_number(value);
    case Holds::text: return value.is_string();
    case Holds::object:
    case Holds::map: return value.is_object();
    case Holds::list: return value.is_array();
    case Holds::texts: break;
  }
  return value.is_array() && all_texts(value);
}

constexpr std::string_view words_of(Holds holds) {
  constexpr auto words = std::to_array<std::string_view>(
      {"true or false", "a number", "a text", "an object", "a list", "a list of texts", "an object"});
  return words[static_cast<std::size_t>(holds)];
}

// The first value that does not fit the schema, as "`/target/given` is not true or false"; empty: none.
std::string wrong_in(const Json& json, std::span<const SummaryKey> keys, const std::string& path) {
  if (!json.is_object())
    return path.empty() ? "it is not an object" : fmt::format("`{}` is not an object", path);
  for (const SummaryKey& key : keys) {
    const std::string place = fmt::format("{}/{}", path, key.name);
    const auto value = json.find(key.name);
    const bool is_there = value != json.end() && !value->is_null();
    const bool is_null = value != json.end() && value->is_null();
    const bool is_lacking = key.there == There::needed || (is_null && key.there == There::given);
    if (is_there ? !holds(key.holds, *value) : is_lacking)
      return fmt::format("`{}` is not {}", place, words_of(key.holds));
    if (!is_there || key.of.empty()) continue;
    if (key.holds == Holds::object) {
      if (std::string wrong = wrong_in(*value, key.of, place); !wrong.empty()) return wrong;
      continue;
    }
    for (std::size_t i = 0; i < value->size(); ++i) {
      std::string wrong = wrong_in((*value)[i], key.of, fmt::format("{}/{}", place, i));
      if (!wrong.empty()) return wrong;
    }
  }
  return "";
}

std::string wrong_times(const Json& summary) {
  const Json& target = summary["target"];
  if (target["given"] && target["reached"] && !target.value("sim_time_s", Json()).is_number())
    return "`/target/sim_time_s` is not a number";
  double before = 0;
  for (const Json& point : summary["curve"]) {
    const auto at = point["sim_time_s"].get<double>();
    if (at < before) return "the times in `/curve` decrease";
    before = at;
  }
  for (const char* path : {"/sim_time_s", "/target/sim_time_s", "/target/budget_s"}) {
    const Json value = summary.value(Json::json_pointer(path), Json());
    if (value.is_number() && value.get<double>() < 0) return fmt::format("`{}` is below 0", path);
  }
  return "";
}

std::string wrong_in_summary(const Json& summary) {
  const std::string wrong = wrong_in(summary, summary_keys, "");
  return wrong.empty() ? wrong_times(summary) : wrong;
}

using enum Holds;
using enum There;
constexpr SummaryKey verdict_keys[] = {
    {"kind", text, needed}, {"nodes", texts, needed}, {"seconds", number, needed}, {"share", number, needed}};
constexpr SummaryKey cause_keys[] = {
    {"total_s", number, needed},
    {"verdict", object, needed, {}, verdict_keys},
    {"by_kind", map, needed},
    {"sentence", text, needed},
};
constexpr SummaryKey best_keys[] = {
    {"arm", text, needed},      {"condition", texts, needed}, {"sets", texts, needed},
    {"at_edge", texts, needed}, {"score", number, maybe},
};
constexpr SummaryKey setting_keys[] = {
    {"arm", text, needed},     {"condition", texts, needed}, {"values", map, needed},
    {"rung", number, needed},  {"seeds", number, needed},    {"score", number, maybe},
    {"chosen", truth, needed},
};
constexpr SummaryKey tuning_keys[] = {
    {"settings_per_arm", number, needed},
    {"trials", number, needed},
    {"simulated_s", number, needed},
    {"method", text, needed},
    {"measure", text, needed},
    {"best", list, needed, {}, best_keys},
    {"runs", texts, needed},
    {"settings", list, given, {}, setting_keys},
};

}  // namespace

Json summary_of(const std::string& text, const std::string& run) {
  Json summary = analysis::json_in(text);
  std::string wrong(too_much_json(text));
  if (wrong.empty()) wrong = wrong_in_summary(summary);
  if (!wrong.empty()) throw DamagedRun(fmt::format("the result of run {} is not a summary: {}", run, wrong));
  return summary;
}

Json cause_from(const std::string& text, const std::string& run) {
  Json cause = analysis::json_in(text);
  std::string wrong(too_much_json(text));
  if (wrong.empty()) wrong = wrong_in(cause, cause_keys, "");
  const auto is_kind = [](const std::string& kind) { return analysis::suspect_called(kind) != nullptr; };
  if (wrong.empty() && !is_kind(cause["verdict"]["kind"])) wrong = "`/verdict/kind` is not a kind of cause";
  if (wrong.empty()) {
    for (const auto& [kind, seconds] : cause["by_kind"].items()) {
      if (!is_kind(kind) || !is_number(seconds))
        wrong = fmt::format("`/by_kind/{}` is not the time of a kind", kind);
    }
  }
  if (!wrong.empty()) throw DamagedRun(fmt::format("the cause of run {} is damaged: {}", run, wrong));
  return cause;
}

bool is_tuning(const Json& tuning) {
  if (!wrong_in(tuning, tuning_keys, "").empty()) return false;
  return !tuning.contains("settings") ||
         std::ranges::all_of(tuning["settings"], [](const Json& one) { return all_texts(one["values"]); });
}

}  // namespace psim::study
