// The page of growth: tables, laws and pictures from the measurements of growth.cpp, and what they say of
// sizes that nobody measures.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>

#include "analysis/render/svg_chart.hpp"
#include "model/data/files.hpp"
#include "tests/bench/growth.hpp"

namespace psim::bench {
namespace {

using Points = std::vector<std::pair<double, double>>;

// The value in the largest unit of which there is one; three digits.
struct Unit {
  double size;
  const char* name;
};
std::string in_units(double value, const std::vector<Unit>& units) {
  Unit best = units.front();
  for (const Unit& unit : units) {
    if (value >= unit.size) best = unit;
  }
  return fmt::format("{:.3g} {}", value / best.size, best.name);
}
std::string time_text(double seconds) {
  return in_units(
      seconds,
      {{1e-6, "us"}, {1e-3, "ms"}, {1, "s"}, {60, "min"}, {3600, "h"}, {86400, "days"}, {3.156e7, "years"}});
}
std::string memory_text(double bytes) {
  return in_units(bytes, {{1, "bytes"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}});
}

// 20,000
std::string whole(double value) {
  std::string digits = fmt::format("{:.0f}", value);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

double number(const Json& row, const char* key) { return row.at(key).get<double>(); }

// The points (x, y) of the rows in which `key` is `value`.
Points points_of(const Json& rows, const char* x, const char* y, const char* key = nullptr,
                 const Json& value = {}) {
  Points points;
  for (const Json& row : rows) {
    if (key == nullptr || row.at(key) == value) points.emplace_back(number(row, x), number(row, y));
  }
  return points;
}

struct Curve {
  std::string name, x;  // what x is called in the law
  Points points;        // x, and seconds
  Law law = fit(points);

  std::string text() const {
    return fmt::format("{}: {} x {}^{:.2f}, and no point is further from this law than by a factor of {:.2f}",
                       name, time_text(law.factor), x, law.exponent, law.worst);
  }
};

// The points and their laws; y in units of `unit` seconds.
std::string picture(const std::string& x_label, const std::string& y_label, double unit,
                    const std::vector<Curve>& curves) {
  analysis::Plot plot{.title = "", .x_label = x_label, .y_label = y_label};
  plot.logarithmic = plot.logarithmic_x = true;
  for (const Curve& curve : curves) {
    Points measured, law;
    for (const auto& [x, y] : curve.points) {
      measured.emplace_back(x, y / unit);
      law.emplace_back(x, curve.law.at(x) / unit);
    }
    plot.lines.push_back({.name = curve.name, .points = measured});
    plot.lines.push_back({.name = fmt::format("{}^{:.2f}", curve.x, curve.law.exponent), .points = law});
  }
  return analysis::svg(plot, 140);
}

std::string laws(const std::vector<Curve>& curves) {
  std::string text;
  for (const Curve& curve : curves) text += fmt::format("- {}\n", curve.text());
  return text;
}

// ![words](growth/NAME.svg)
std::string shown(const char* words, const char* name) {
  return fmt::format("![{}](growth/{}.svg)\n\n", words, name);
}

// What the measurements say of sizes that are not measured.
class Forecast {
 public:
  explicit Forecast(const Json& data)
      : nic_{"nic", "W", points_of(data["messages"], "workers", "seconds", "network", "nic")},
        fluid_{"fluid", "W", points_of(data["messages"], "workers", "seconds", "network", "fluid")} {
    Json few = data["messages"][0], many = few;
    for (const Json& row : data["messages"]) {
      if (row["network"] == "nic") many = row;
    }
    const Json& tall = data["tall"];
    per_node =
        (number(tall, "bytes") - number(few, "bytes")) / (number(tall, "workers") - number(few, "workers"));
    const double pairs = number(many, "workers") * number(many, "servers");
    per_pair =
        std::max(0.0, number(many, "bytes") - number(tall, "bytes")) / (pairs - number(tall, "workers"));
    program = number(few, "bytes");
    messages_of_pair = number(many, "messages") / pairs / number(many, "steps");
  }

  // A row of a table: what a step of asp takes.
  std::string row(double workers, double servers, const char* network) const {
    const bool is_nic = std::string(network) == "nic";
    const double pairs = workers * servers, messages = messages_of_pair * pairs;
    const double seconds = messages * (is_nic ? nic_ : fluid_).law.at(workers);
    return fmt::format(
        "| {} | {} | {} | {} | {} | {} |\n", whole(workers), whole(servers), network,
        in_units(messages, {{1, ""}, {1e3, "thousand"}, {1e6, "million"}, {1e9, "billion"}}),
        time_text(seconds),
        is_nic ? memory_text(program + per_node * (workers + servers) + per_pair * pairs) : "");
  }

  double program = 0, per_node = 0, per_pair = 0;  // bytes
  double messages_of_pair = 0;                     // of a worker and a server, in a step

  const Curve& nic() const { return nic_; }
  const Curve& fluid() const { return fluid_; }

 private:
  Curve nic_, fluid_;
};

constexpr const char* steps_header =
    "| workers | servers | network | messages of a step | time of a step | memory "
    "|\n|---|---|---|---|---|---|\n";

std::string messages_text(const Json& data, const Forecast& forecast) {
  std::string text = shown("The cost of a message against the number of workers", "messages");
  text += "| workers | servers | messages | nic | fluid | memory with nic |\n|---|---|---|---|---|---|\n";
  for (const Json& row : data["messages"]) {
    if (row["network"] != "nic") continue;
    const Points fluid = points_of(data["messages"], "workers", "seconds", "network", "fluid");
    const auto same = std::ranges::find(fluid, number(row, "workers"), &std::pair<double, double>::first);
    text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", whole(number(row, "workers")),
                        whole(number(row, "servers")), whole(number(row, "messages")),
                        time_text(number(row, "seconds")), same == fluid.end() ? "" : time_text(same->second),
                        memory_text(number(row, "bytes")));
  }
  return text + "\nWith W workers a message costs\n\n" + laws({forecast.nic(), forecast.fluid()}) +
         fmt::format(
             "\nWith `nic` the program takes {}, a node adds {}, and a worker adds {} at each server. A "
             "worker and a "
             "server exchange {:.1f} messages in a step.\n",
             memory_text(forecast.program), memory_text(forecast.per_node), memory_text(forecast.per_pair),
             forecast.messages_of_pair);
}

std::string updates_table(const Json& rows, const char* key) {
  std::string text = fmt::format("| {} | an update | memory |\n|---|---|---|\n",
                                 key == std::string("servers") ? "shards" : key);
  for (const Json& row : rows)
    text += fmt::format("| {} | {} | {} |\n", whole(number(row, key)), time_text(number(row, "seconds")),
                        memory_text(number(row, "bytes")));
  return text + "\n";
}

std::string study_text(const std::vector<Curve>& curves) {
  std::string text = shown("The time of a study against its number of runs", "study") +
                     "| runs | one core | two cores |\n|---|---|---|\n";
  for (std::size_t i = 0; i < curves[0].points.size(); ++i)
    text += fmt::format("| {} | {} | {} |\n", whole(curves[0].points[i].first),
                        time_text(curves[0].points[i].second), time_text(curves[1].points[i].second));
  return text + "\nWith R runs a study takes\n\n" + laws(curves);
}

double largest(const Json& schema, const char* table, const char* field) {
  return schema["properties"][table]["properties"][field]["maximum"].get<double>();
}

std::string limits_text(const Forecast& forecast, const Curve& updates, const Json& data,
                        const std::vector<Curve>& studies) {
  std::ifstream file(PSIM_SOURCE "/docs/scenario.schema.json");
  const Json schema = Json::parse(file);
  const double workers = largest(schema, "cluster", "workers"),
               servers = largest(schema, "cluster", "servers");
  const auto values = static_cast<double>(most_data_values);
  const Json& big = data["updates"].back();
  return std::string(steps_header) + forecast.row(workers, 1, "nic") +
         forecast.row(workers, workers / 100, "nic") + forecast.row(workers, servers, "nic") +
         forecast.row(workers, workers / 100, "fluid") +
         fmt::format(
             "\n- A model with values has at most {} parameters: an update then takes {}, and the run {}.\n",
             whole(values), time_text(updates.law.at(values)),
             memory_text(number(big, "bytes") / number(big, "parameters") * values)) +
         fmt::format("- A phantom model has at most {} parameters, which take no memory and no time.\n",
                     whole(largest(schema, "model", "parameters"))) +
         fmt::format(
             "- A comparison has at most {} runs. Those of the study above would take {} on one core, and {} "
             "on two.\n",
             whole(most_runs), time_text(studies[0].law.at(most_runs)),
             time_text(studies[1].law.at(most_runs)));
}

// `page` with `text` between the marks of `name`.
std::string replaced(const std::string& page, const std::string& name, const std::string& text) {
  const std::string begin = fmt::format("<!-- growth: {} -->\n", name), end = "<!-- growth: end -->";
  const std::size_t from = page.find(begin), to = page.find(end, from);
  if (from == std::string::npos || to == std::string::npos)
    throw std::runtime_error("docs/growth.md has no marks of " + name);
  return page.substr(0, from) + begin + "\n" + text + "\n" + page.substr(to);
}

}  // namespace

std::map<std::string, std::string> growth_files(const Json& data, const std::string& page) {
  const Forecast forecast(data);
  const Curve updates{"an update", "P", points_of(data["updates"], "parameters", "seconds")};
  const Curve shards{"an update", "S", points_of(data["shards"], "servers", "seconds")};
  const std::vector<Curve> studies{
      {"one core", "R", points_of(data["studies"], "runs", "seconds", "jobs", 1)},
      {"two cores", "R", points_of(data["studies"], "runs", "seconds", "jobs", 2)}};
  std::string text = replaced(page, "messages", messages_text(data, forecast));
  text =
      replaced(text, "updates",
               shown("The cost of an update against the number of parameters", "updates") +
                   updates_table(data["updates"], "parameters") + "With P parameters\n\n" + laws({updates}));
  text =
      replaced(text, "shards",
               fmt::format("A model of {} parameters:\n\n", whole(number(data["shards"][0], "parameters"))) +
                   shown("The cost of an update against the number of shards", "shards") +
                   updates_table(data["shards"], "servers") + "With S shards\n\n" + laws({shards}));
  text = replaced(text, "study", study_text(studies));
  text = replaced(text, "limits", limits_text(forecast, updates, data, studies));
  text = replaced(text, "nodes",
                  steps_header + forecast.row(1e5, 1, "nic") + forecast.row(1e5, 100, "nic") +
                      forecast.row(1e5, 1000, "nic") + forecast.row(1e5, 1000, "fluid"));
  const Json& machine = data["machine"];
  text = replaced(text, "machine",
                  fmt::format("Measured with psim {} on {} ({} cores).\n", machine["psim"].get<std::string>(),
                              machine["processor"].get<std::string>(), machine["cores"].dump()));
  return {
      {"growth.md", text},
      {"growth/messages.svg", picture("workers", "a message [us]", 1e-6, {forecast.nic(), forecast.fluid()})},
      {"growth/updates.svg", picture("parameters", "an update [us]", 1e-6, {updates})},
      {"growth/shards.svg", picture("shards", "an update [us]", 1e-6, {shards})},
      {"growth/study.svg", picture("runs", "a study [s]", 1, studies)}};
}

}  // namespace psim::bench
