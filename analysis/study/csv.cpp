#include "analysis/study/files.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "analysis/study/curves.hpp"

namespace psim::analysis {
namespace {

void add_labels(std::string& out, const Cell& cell, const StudyRun& run) {
  out += csv_field(run.run) + "," + csv_field(cell.arm);
  for (const std::string& value : cell.condition) out += "," + csv_field(value);
  out += fmt::format(",{}", run.seed);
}

std::string heading(const Study& study) {
  std::string out = "run,arm";
  for (const std::string& axis : study.condition_axes) out += "," + csv_field(axis);
  return out + ",seed";
}

// A spreadsheet would execute such a text as a formula.
bool begins_formula(std::string_view text) {
  if (text.empty() || std::string_view("=+-@\t\r").find(text.front()) == std::string_view::npos) return false;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error != std::errc{} || end != text.data() + text.size();
}

}  // namespace

std::string csv_field(std::string_view text) {
  if (begins_formula(text)) return csv_field("'" + std::string(text));
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string csv_number(const Json& value) {
  if (value.is_null()) return "";
  if (!value.is_number_float()) return value.dump();
  const auto number = value.get<double>();
  return std::isnan(number) ? "" : fmt::format("{}", number);
}

RunTime run_time(const StudyRun& run) {
  const statistics::TimedRun one = timed(run);
  const bool has_target = run.summary["target"]["given"];
  return {.time_s = one.reached ? Json(one.time_s) : Json(),
          .reached = has_target ? Json(one.reached ? 1 : 0) : Json(),
          .budget_s = has_target ? Json(one.budget_s) : Json()};
}

std::string runs_csv(const Study& study) {
  std::string out = heading(study) + ",time_s,reached,budget_s";
  for (const Measure& measure : measures()) out += fmt::format(",{}", measure.key);
  out += "\r\n";
  for (const Cell& cell : study.cells) {
    for (const StudyRun& run : cell.runs) {
      const RunTime time = run_time(run);
      add_labels(out, cell, run);
      for (const Json* value : {&time.time_s, &time.reached, &time.budget_s}) out += "," + csv_number(*value);
      for (const Measure& measure : measures()) out += "," + csv_number(value_of(measure, run.summary));
      out += "\r\n";
    }
  }
  return out;
}

std::string curves_csv(const Study& study) {
  std::string out = heading(study);
  for (const char* key : curve_keys) out += fmt::format(",{}", key);
  out += "\r\n";
  for (const Cell& cell : study.cells) {
    for (const StudyRun& run : cell.runs) {
      for (const Json& point : run.summary["curve"]) {
        add_labels(out, cell, run);
        for (const char* key : curve_keys) out += "," + csv_number(point.value(key, Json()));
        out += "\r\n";
      }
    }
  }
  return out;
}

std::string trials_csv(const Study& study) {
  const Json& settings = study.tuning["settings"];
  std::string out = "arm";
  for (std::size_t i = 0; i + 1 < study.condition_axes.size(); ++i)  // the last axis is the tuning itself
    out += "," + csv_field(study.condition_axes[i]);
  if (!settings.empty()) {
    for (const auto& [field, value] : settings.front()["values"].items()) out += "," + csv_field(field);
  }
  out += ",rung,seeds,score,chosen\r\n";
  for (const Json& one : settings) {
    out += csv_field(one["arm"].get<std::string>());
    for (const Json& label : one["condition"]) out += "," + csv_field(label.get<std::string>());
    for (const Json& value : one["values"]) out += "," + csv_field(value.get<std::string>());
    for (const char* key : {"rung", "seeds", "score"}) out += "," + csv_number(one[key]);
    out += fmt::format(",{}\r\n", one["chosen"].get<bool>() ? 1 : 0);
  }
  return out;
}

std::string mean_curves_csv(const Study& study, std::size_t points) {
  std::vector<std::string> rows(points);
  std::string head;
  std::size_t number = 0;
  for (const ConditionCurves& condition : mean_curves(study, points)) {
    for (const MeanCurve& curve : condition.curves) {
      if (curve.band.empty()) continue;
      head += fmt::format("{0}t{1},mean{1},low{1},high{1}", number > 0 ? "," : "", number);
      for (std::size_t i = 0; i < points; ++i) {
        const statistics::BandPoint& p = curve.band[i];
        const statistics::Interval around = p.interval.value_or(statistics::Interval{p.mean, p.mean});
        rows[i] +=
            fmt::format("{}{},{},{},{}", number > 0 ? "," : "", p.time_s, p.mean, around.low, around.high);
      }
      ++number;
    }
  }
  if (number == 0) return "";
  std::string out = head + "\n";
  for (const std::string& row : rows) out += row + "\n";
  return out;
}

}  // namespace psim::analysis
