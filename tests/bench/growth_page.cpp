// The page of growth: tables, laws and pictures from the measurements of growth.cpp, and what they say of
// sizes that nobody measures.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "analysis/render/svg_chart.hpp"
#include "model/data/files.hpp"
#include "tests/bench/growth.hpp"

namespace psim::bench {
namespace {

// 20,000
std::string whole(double value) {
  std::string digits = fmt::format("{:.0f}", value);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

// Three digits in the largest unit of which there is one.
std::string in_units(double value, const std::vector<std::pair<double, const char*>>& units) {
  auto best = units.front();
  for (const auto& unit : units) {
    if (value >= unit.first) best = unit;
  }
  const double share = value / best.first;
  return fmt::format("{} {}", share < 999.5 ? fmt::format("{:.3g}", share) : whole(share), best.second);
}
std::string time_text(double seconds) {
  return in_units(
      seconds,
      {{1e-6, "us"}, {1e-3, "ms"}, {1, "s"}, {60, "min"}, {3600, "h"}, {86400, "days"}, {3.156e7, "years"}});
}
std::string memory_text(double bytes) {
  return in_units(bytes, {{1, "bytes"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}});
}

double number(const Json& row, const char* key) { return row.at(key).get<double>(); }

// One line of a picture: the points x and seconds of the rows in which `key` is `value`, or of all. The law
// is that of the points from `from` on.
struct Curve {
  Curve(std::string of, double from, const Json& rows, const char* x, const char* key = nullptr,
        const Json& value = {})
      : name(std::move(of)) {
    for (const Json& row : rows) {
      if (key == nullptr || row.at(key) == value) points.emplace_back(number(row, x), number(row, "seconds"));
    }
    std::ranges::copy_if(points, std::back_inserter(of_law),
                         [from](const auto& point) { return point.first >= from; });
    law = fit(of_law);
  }

  std::string name;
  std::vector<std::pair<double, double>> points, of_law;
  Law law;
};

// A picture with its table and laws: the costs `of` for numbers of `x`, which the laws call `letter`.
struct Section {
  std::string name, of, x, letter;
  std::vector<Curve> curves;
  double unit = 1e-6;
  const char* unit_name = "us";

  std::string picture() const {
    analysis::Plot plot{.title = "", .x_label = x, .y_label = fmt::format("{} [{}]", of, unit_name)};
    plot.logarithmic = plot.logarithmic_x = true;
    for (const Curve& curve : curves) {
      analysis::Line measured{.name = curve.name, .points = {}},
          law{.name = curve.name + ", its law", .points = {}};
      for (const auto& [at, seconds] : curve.points) measured.points.emplace_back(at, seconds / unit);
      for (const auto& [at, ignored] : curve.of_law) law.points.emplace_back(at, curve.law.at(at) / unit);
      plot.lines.insert(plot.lines.end(), {measured, law});
    }
    return analysis::svg(plot, 140);
  }

  std::string text() const {
    std::string head = "| " + x, rule = "|---", body, laws;
    for (const Curve& curve : curves) {
      head += " | " + curve.name, rule += "|---";
      laws += fmt::format(
          "- {}: {} x {}^{:.2f} from {} {} on; no such point is off by more than a factor of {:.2f}\n",
          curve.name, time_text(curve.law.factor), letter, curve.law.exponent, whole(curve.of_law[0].first),
          x, curve.law.worst);
    }
    for (const auto& [at, ignored] : curves[0].points) {
      body += "| " + whole(at);
      for (const Curve& curve : curves) {
        const auto same = std::ranges::find(curve.points, at, &std::pair<double, double>::first);
        body += " | " + (same == curve.points.end() ? "" : time_text(same->second));
      }
      body += " |\n";
    }
    return fmt::format(
        "![{} against {}](growth/{}.svg)\n\n{} |\n{}|\n{}\nThe laws, with {} for the number of {}:\n\n{}", of,
        x, name, head, rule, body, letter, x, laws);
  }
};

// What the measurements say of steps of asp with sizes that are not measured.
class Forecast {
 public:
  Forecast(const Json& data, const Law& nic, const Law& fluid) : nic_(nic), fluid_(fluid) {
    const Json &few = data["messages"].front(), &many = data["many"], &tall = data["tall"];
    const double pairs = number(many, "workers") * number(many, "servers");
    program_ = number(few, "bytes");
    per_node_ = (number(tall, "bytes") - program_) / (number(tall, "workers") - number(few, "workers"));
    per_pair_ = (number(many, "bytes") - number(tall, "bytes")) / (pairs - number(tall, "workers"));
    messages_of_pair_ = number(many, "messages") / number(many, "steps") / pairs;
  }

  std::string memory() const {
    return fmt::format(
        "With `nic` the program takes {}, a node adds {}, and a worker adds {} at each server.\n"
        "A worker and a server exchange {:.1f} messages in a step.\n",
        memory_text(program_), memory_text(per_node_), memory_text(per_pair_), messages_of_pair_);
  }

  // One row for each of `servers`; then one for the flow model, with a server for each hundred workers.
  std::string table(double workers, const std::vector<double>& servers) const {
    std::string text =
        "| workers | servers | network | messages | time | memory |\n|---|---|---|---|---|---|\n";
    const auto row = [&](double s, const char* network, const Law& law, const std::string& memory) {
      const double messages = messages_of_pair_ * workers * s;
      text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", whole(workers), whole(s), network,
                          in_units(messages, {{1e3, "thousand"}, {1e6, "million"}, {1e9, "billion"}}),
                          time_text(messages * law.at(workers)), memory);
    };
    for (const double s : servers)
      row(s, "nic", nic_, memory_text(program_ + per_node_ * (workers + s) + per_pair_ * workers * s));
    row(workers / 100, "fluid", fluid_, "");
    return text;
  }

 private:
  Law nic_, fluid_;
  double program_ = 0, per_node_ = 0, per_pair_ = 0;  // bytes
  double messages_of_pair_ = 0;                       // of a worker and a server, in a step
};

// What the largest values of a scenario take.
std::string limits(const Json& data, const Forecast& forecast, const Law& updates, const Section& study) {
  std::ifstream file(PSIM_SOURCE "/docs/scenario.schema.json");
  const Json schema = Json::parse(file);
  const auto largest = [&](const char* table, const char* field) {
    return schema["properties"][table]["properties"][field]["maximum"].get<double>();
  };
  const double workers = largest("cluster", "workers"), values = most_data_values;
  const Json& big = data["updates"].back();
  return forecast.table(workers, {1, workers / 100, largest("cluster", "servers")}) +
         fmt::format(
             "\n- A model with values has at most {} parameters: an update then takes {}, and the run {}.\n",
             whole(values), time_text(updates.at(values)),
             memory_text(number(big, "bytes") / number(big, "parameters") * values)) +
         fmt::format("- A phantom model has at most {} parameters, which take no memory and no time.\n",
                     whole(largest("model", "parameters"))) +
         fmt::format(
             "- A comparison has at most {} runs. Those above would take {} on one core, and {} on two.\n",
             whole(most_runs), time_text(study.curves[0].law.at(most_runs)),
             time_text(study.curves[1].law.at(most_runs)));
}

}  // namespace

std::map<std::string, std::string> growth_files(const Json& data, const std::string& page) {
  const Json &messages = data["messages"], &studies = data["studies"], &machine = data["machine"];
  const std::vector<Section> sections{
      {"messages",
       "a message",
       "workers",
       "W",
       {{"nic", 0, messages, "workers", "network", "nic"},
        {"fluid", 100, messages, "workers", "network", "fluid"}}},
      {"updates", "an update", "parameters", "P", {{"an update", 1e6, data["updates"], "parameters"}}},
      {"shards", "an update", "shards", "S", {{"an update", 0, data["shards"], "servers"}}},
      {"study",
       "a study",
       "runs",
       "R",
       {{"one core", 100, studies, "runs", "jobs", 1}, {"two cores", 100, studies, "runs", "jobs", 2}},
       1,
       "s"}};
  const Forecast forecast(data, sections[0].curves[0].law, sections[0].curves[1].law);
  std::map<std::string, std::string> files, blocks;
  for (const Section& section : sections) {
    blocks[section.name] = section.text();
    files["growth/" + section.name + ".svg"] = section.picture();
  }
  blocks["messages"] += "\n" + forecast.memory();
  blocks["limits"] = limits(data, forecast, sections[1].curves[0].law, sections[3]);
  blocks["nodes"] = forecast.table(1e6, {1, 100, 1000});
  blocks["machine"] =
      fmt::format("Measured with psim {} on {}, {} cores.\n", machine["psim"].get<std::string>(),
                  machine["processor"].get<std::string>(), machine["cores"].dump());
  files["growth.md"] = page;
  for (const auto& [name, text] : blocks) {
    std::string& all = files["growth.md"];
    const std::string begin = fmt::format("<!-- growth: {} -->\n", name);
    const std::size_t from = all.find(begin), to = all.find("<!-- growth: end -->", from);
    if (from == std::string::npos || to == std::string::npos)
      throw std::runtime_error("docs/growth.md has no marks of " + name);
    all = all.substr(0, from) + begin + "\n" + text + "\n" + all.substr(to);
  }
  return files;
}

}  // namespace psim::bench
