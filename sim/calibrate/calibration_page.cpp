// The page of a calibration: the verdict, figures of measured and simulated steps, and the fitted values.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "analysis/calibrate/step_times.hpp"
#include "analysis/page/page.hpp"
#include "analysis/render/html.hpp"
#include "sim/calibrate/calibrate.hpp"
#include "sim/record/identity.hpp"

namespace psim::calibrate {
namespace {

using analysis::escaped;
using analysis::Numbers;
using Dots = std::vector<std::pair<double, double>>;

// Lines of the same two series in every figure.
constexpr std::size_t measured_series = 0, simulated_series = 1;

struct TwoLines {
  Dots measured, simulated;
  std::string x_name, y_name, about;
  double y_most = 0;  // that the axis shows at least
};

std::string figure(const TwoLines& lines) {
  return analysis::picture(
      {.title = "",
       .x_label = lines.x_name,
       .y_label = lines.y_name,
       .lines = {{.name = "measured", .points = lines.measured, .arm = measured_series},
                 {.name = "simulated", .points = lines.simulated, .arm = simulated_series}},
       .least_top = lines.y_most},
      lines.about);
}

Dots quantiles(const std::vector<double>& values) {
  Dots dots;
  for (int percent = 1; percent <= 99; ++percent)
    dots.emplace_back(percent, statistics::quantile(values, percent / 100.0));
  return dots;
}

Dots correlations(const std::vector<StepTimes>& all, std::size_t lags) {
  std::vector<double> sums(lags + 1, 0);
  for (const StepTimes& one : all) {
    const std::vector<double> rho = autocorrelation(one.slowest(), lags);
    for (std::size_t lag = 0; lag < rho.size(); ++lag)
      sums[lag] += rho[lag] / static_cast<double>(all.size());
  }
  Dots dots;
  for (std::size_t lag = 1; lag < sums.size(); ++lag) dots.emplace_back(lag, sums[lag]);
  return dots;
}

// The longest computation over the mean one, by quantile.
std::vector<double> imbalances(const std::vector<StepTimes>& all) {
  std::vector<double> values;
  for (const StepTimes& one : all) {
    for (const std::vector<double>& row : one.compute)
      values.push_back(*std::ranges::max_element(row) / statistics::mean_of(row));
  }
  return values;
}

// A dot for each held-out run, beside the line of exact predictions.
std::string figure_of_runs(const std::vector<Compared>& judged) {
  double most = 0;
  for (const Compared& one : judged) most = std::max({most, one.measured, one.simulated});
  analysis::Plot plot{.title = "", .x_label = "measured step [s]", .y_label = "simulated step [s]"};
  plot.lines.push_back({.name = "", .points = {{0, 0}, {most, most}}, .arm = measured_series});
  for (const Compared& one : judged)
    plot.spots.push_back(
        {.name = one.name, .letter = "", .x = one.measured, .y = one.simulated, .arm = simulated_series});
  return analysis::picture(plot, "measured and simulated mean steps of the held-out runs");
}

std::string figures(const Calibration& calibration) {
  if (!calibration.verdict) return "";
  if (!calibration.runs.empty()) return figure_of_runs(calibration.verdict->judged);
  const std::vector<StepTimes>&simulated = calibration.simulated, held_out{calibration.held_out};
  const auto lags = std::clamp<std::size_t>(calibration.held_out.size() / 4, 2, 100);
  std::string out;
  out += figure({quantiles(step_durations(held_out)), quantiles(step_durations(simulated)),
                 "share of the steps [%]", "time of a step [s]",
                 "quantiles of the time of a step, measured and simulated"});
  out += figure({quantiles(imbalances(held_out)), quantiles(imbalances(simulated)), "share of the steps [%]",
                 "longest over mean computation", "quantiles of the longest computation over the mean one"});
  out += figure({correlations(held_out, lags), correlations(simulated, lags), "steps apart",
                 "autocorrelation", "autocorrelation of the longest computation of a step", 0.5});
  return out;
}

// `judged`: the last cell of a row.
std::string comparison(const Numbers& numbers, const char* list, const std::vector<Compared>& all,
                       const std::function<std::string(const Compared&)>& judged) {
  std::string rows;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto cell = [&](const char* what, const analysis::Shape& shape) {
      return numbers(fmt::format("/verdict/{}/{}/{}", list, i, what), shape);
    };
    const std::string unit = all[i].unit.empty() ? "" : " " + all[i].unit;
    rows += fmt::format("<tr><th scope=\"row\">{}</th><td>{}{}</td><td>{}{}</td><td>{}</td><td>{}</td></tr>",
                        escaped(all[i].name), cell("measured", {.digits = 4}), unit,
                        cell("simulated", {.digits = 4}), unit,
                        cell("error", {.scale = 100, .decimals = 1, .unit = " %"}), judged(all[i]));
  }
  return rows;
}

std::string verdict_section(const Calibration& calibration, const Numbers& numbers) {
  if (!calibration.verdict) return "";
  const Verdict& verdict = *calibration.verdict;
  std::string reasons;
  for (const std::string& reason : verdict.reasons) reasons += fmt::format("<li>{}</li>", escaped(reason));
  const std::string judged = comparison(numbers, "judged", verdict.judged,
                                        [&](const Compared&one) { return judgement(one, verdict.within); }),
                    described = comparison(numbers, "described", verdict.described,
                                           [](const Compared&) { return "not judged"; });
  return analysis::section(
      "verdict", verdict_line(calibration),
      fmt::format(
          "Fitted on the first part of the log and judged on the last {}: {} must agree within {:.3g} %.",
          calibration.judged_on(),
          !calibration.runs.empty()   ? "each mean time of a step"
          : verdict.only_computations ? "the mean, the median and the 95 % quantile of a step's longest "
                                        "computation"
                                      : "the mean, the median and the 95 % quantile of a step",
          100 * verdict.within),
      (reasons.empty() ? "" : "<ul>" + reasons + "</ul>") +
          fmt::format(
              "<table><thead><tr><th></th><th>measured</th><th>simulated</th><th>error</th><th>judged</th>"
              "</tr></thead><tbody>{}{}</tbody></table>",
              judged, described));
}

std::string values_section(const Calibration& calibration, const Numbers& numbers) {
  std::string rows;
  for (std::size_t i = 0; i < calibration.network.fitted.size(); ++i) {
    const Fitted& one = calibration.network.fitted[i];
    const std::string path = fmt::format("/network/values/{}", i);
    rows += fmt::format(
        "<tr><th scope=\"row\"><code>{}</code></th><td>{} {}</td><td>{}</td><td>{}</td></tr>",
        escaped(one.field), one.missing.empty() ? numbers(path + "/value", {.digits = 4}) : "-",
        one.missing.empty() ? escaped(one.unit) : "",
        one.interval ? fmt::format("{} to {} {}", numbers(path + "/interval/0", {.digits = 4}),
                                   numbers(path + "/interval/1", {.digits = 4}), escaped(one.unit))
                     : "-",
        escaped(one.missing.empty() ? one.how : "the log cannot tell; measure " + one.missing));
  }
  for (std::size_t w = 0; w < calibration.steps.means.size(); ++w) {
    const std::string path = fmt::format("/step_times/workers/{}", w);
    rows += fmt::format(
        "<tr><th scope=\"row\">mean step of worker {}</th><td>{} s</td><td>{} to {} s</td><td>mean</td></tr>",
        calibration.times.workers[w], numbers(path + "/mean_s", {.digits = 4}),
        numbers(path + "/interval_s/0", {.digits = 4}), numbers(path + "/interval_s/1", {.digits = 4}));
  }
  return analysis::section(
      "values", "Fitted values",
      "Intervals hold the true value in about 95 % of logs like this one, if the log is many memories long.",
      "<table><thead><tr><th></th><th>value</th><th>interval</th><th>how</th></tr></thead><tbody>" + rows +
          "</tbody></table>");
}

std::string warnings_section(const Calibration& calibration) {
  std::string list;
  for (const std::string& warning : warnings(calibration)) list += fmt::format("<p>{}</p>", escaped(warning));
  return list.empty() ? "" : analysis::section("warnings", "Warning", "", list);
}

std::string notes_section(const Calibration& calibration) {
  std::string list;
  for (const std::string& note : calibration.notes) list += fmt::format("<li>{}</li>", escaped(note));
  return list.empty() ? "" : analysis::section("notes", "Notes about the log", "", "<ul>" + list + "</ul>");
}

}  // namespace

std::string calibration_page(const Calibration& calibration, const Request& request) {
  const nlohmann::ordered_json json = calibration_json(calibration, request);
  const Numbers numbers(json);
  const std::string figures_html = figures(calibration);
  const std::string body =
      "<h1>Calibration</h1>" + warnings_section(calibration) + verdict_section(calibration, numbers) +
      (figures_html.empty() ? "" : analysis::section("figures", "Measured and simulated", "", figures_html)) +
      values_section(calibration, numbers) + notes_section(calibration);
  return analysis::html_of({.title = "psim: calibration", .body = body, .data = json});
}

namespace {

using Json = nlohmann::ordered_json;

Json interval(const statistics::Interval& one) {
  return {one.low, std::isfinite(one.high) ? Json(one.high) : Json()};
}

Json json_of(const StepFit& fit, const std::vector<std::int64_t>& names) {
  Json workers = Json::array();
  for (std::size_t w = 0; w < fit.means.size(); ++w)
    workers.push_back(
        {{"worker", names[w]}, {"mean_s", fit.means[w]}, {"interval_s", interval(fit.intervals[w])}});
  return {{"workers", workers},
          {"cv", fit.cv},
          {"shared", fit.shared},
          {"memory_steps", fit.memory},
          {"shared_memory_steps", fit.shared_memory},
          {"block_steps", fit.block}};
}

Json verdict_json(const Calibration& calibration) {
  if (!calibration.verdict) return nullptr;
  const Verdict& verdict = *calibration.verdict;
  const auto compared = [](const std::vector<Compared>& all) {
    Json list = Json::array();
    for (const Compared& one : all)
      list.push_back({{"what", one.name},
                      {"measured", one.measured},
                      {"simulated", one.simulated},
                      {"error", one.error()}});
    return list;
  };
  return {{"holds", verdict.holds},
          {"within", verdict.within},
          {"only_computations", verdict.only_computations},
          {"held_out_steps", calibration.held_out.size()},
          {"held_out_runs", calibration.runs.empty() ? 0 : verdict.judged.size()},
          {"judged", compared(verdict.judged)},
          {"described", compared(verdict.described)},
          {"reasons", verdict.reasons}};
}

}  // namespace

nlohmann::ordered_json calibration_json(const Calibration& calibration, const Request& request) {
  Json json{{"schema", "psim.calibration/1"}, {"psim", version_text()}, {"logs", request.logs}};
  if (calibration.runs.empty()) {
    json["workers"] = calibration.times.workers.size();
    json["steps"] = calibration.times.size();
  }
  json["left_out"] = {{"impossible", calibration.counts.impossible},
                      {"zero", calibration.counts.zero},
                      {"repeated", calibration.counts.repeated},
                      {"beyond", calibration.counts.beyond}};
  json["notes"] = calibration.notes;
  json["warnings"] = warnings(calibration);
  json["runs"] = calibration.runs.size();
  if (calibration.runs.empty()) json["step_times"] = json_of(calibration.steps, calibration.times.workers);
  Json values = Json::array();
  for (const Fitted& one : calibration.network.fitted) {
    Json value{{"field", one.field},
               {"value", one.value},
               {"unit", one.unit},
               {"how", one.how},
               {"given", one.is_given}};
    value["interval"] = one.interval ? interval(*one.interval) : Json();
    value["cannot_be_told"] = !one.missing.empty();
    if (!one.missing.empty()) value["measure"] = one.missing;
    values.push_back(std::move(value));
  }
  json["network"] = {{"values", values},
                     {"error", calibration.network.error},
                     {"simulations", calibration.network.simulations}};
  json["verdict"] = verdict_json(calibration);
  return json;
}

}  // namespace psim::calibrate
