// psim_bench: ratios inside one run, each with its bound. Exit code 1 when a bound is missed, unless --quick.
// psim_bench growth: measures how costs grow, and writes docs/growth.md.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <fstream>
#include <iterator>

#include "sim/runs/files.hpp"
#include "tests/bench/growth.hpp"
#include "tests/bench/harness.hpp"

namespace psim::bench {
namespace {

struct Group {
  const char* name;
  std::vector<Line> (*measure)(const Settings&);
};
constexpr Group groups[] = {
    {"gradient", gradient_against_product}, {"run", run_against_loop}, {"fashion", fashion_against_plain},
    {"transport", transport_against_loop},  {"memory", peak_memory},   {"study", study_against_runs},
    {"scale", thousands_of_nodes},          {"recording", recording}};

std::vector<std::string> group_names() {
  std::vector<std::string> names;
  for (const Group& group : groups) names.emplace_back(group.name);
  return names;
}

std::string bound_text(const Line& line) {
  if (line.bound == Bound::none) return "";
  return fmt::format("{} {:.2f}", line.bound == Bound::at_least ? ">=" : "<=", line.limit);
}

const char* verdict(const Line& line) {
  if (!line.ratio) return "skipped";
  if (line.bound == Bound::none) return "";
  return line.holds() ? "holds" : line.disturbed ? "unclear" : "MISSED";
}

void print(const Line& line) {
  const std::string ratio = line.ratio ? fmt::format("{:.3f}", *line.ratio) : "-";
  fmt::print("{:>7}  {:>7}  {:<7}  {}\n{:>26} {}\n", ratio, bound_text(line), verdict(line), line.name, "",
             line.detail);
  std::fflush(stdout);
}

Json to_json(const char* group, const Line& line) {
  return {{"group", group},
          {"name", line.name},
          {"ratio", line.ratio ? Json(*line.ratio) : Json()},
          {"bound", bound_text(line)},
          {"holds", line.ratio && line.bound != Bound::none ? Json(line.holds()) : Json()},
          {"disturbed", line.disturbed},
          {"detail", line.detail}};
}

int run(const Settings& settings, const std::vector<std::string>& only, const std::string& json_file) {
  const Json machine = machine_facts();
  for (const auto& [key, value] : machine.items())
    fmt::print("{:<16} {}\n", key, value.is_string() ? value.get<std::string>() : value.dump());
  fmt::print("\n{:>7}  {:>7}\n", "ratio", "bound");
  Json lines = Json::array();
  bool all_hold = true;
  for (const Group& group : groups) {
    if (!only.empty() && std::ranges::find(only, group.name) == only.end()) continue;
    for (const Line& line : group.measure(settings)) {
      print(line);
      lines.push_back(to_json(group.name, line));
      all_hold = all_hold && (line.holds() || line.disturbed);
    }
  }
  if (!json_file.empty()) {
    std::ofstream(json_file) << Json{{"schema", "psim.bench/1"},
                                     {"quick", settings.quick},
                                     {"machine", machine},
                                     {"lines", lines}}
                                    .dump(2)
                             << "\n";
  }
  return all_hold || settings.quick ? 0 : 1;
}

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A picture embeds its font, which is another one on another system.
std::string without_font(std::string text) {
  const std::size_t begin = text.find("base64,"), end = text.find(')', begin);
  return begin == std::string::npos || end == std::string::npos ? text : text.erase(begin, end - begin);
}

enum class Growth { measure, render, check };

// Measures, or reads docs/growth.json; writes page and pictures, or only compares them.
int growth(const Settings& settings, Growth mode) {
  const std::filesystem::path docs = PSIM_SOURCE "/docs";
  const bool measure = mode == Growth::measure, check = mode == Growth::check;
  if (measure) {
    const Json measured = measure_growth(settings);
    if (settings.quick) return 0;
    write_file(docs / "growth.json", measured.dump(1) + "\n");  // first: it took a quarter of an hour
  }
  const Json data = Json::parse(content_of(docs / "growth.json"));
  const std::map<std::string, std::string> files = growth_files(data, content_of(docs / "growth.md"));
  std::filesystem::create_directories(docs / "growth");
  int code = 0;
  for (const auto& [name, text] : files) {
    if (check && without_font(content_of(docs / name)) != without_font(text)) {
      fmt::print("docs/{} is not that of docs/growth.json\n", name);
      code = 1;
    }
    if (!check) write_file(docs / name, text);
  }
  return code;
}

}  // namespace
}  // namespace psim::bench

int main(int argc, char** argv) {
  CLI::App app("Speed and memory of psim as ratios, each with its bound.");
  psim::bench::Settings settings;
  std::vector<std::string> only;
  std::string json_file;
  app.add_flag("--quick", settings.quick,
               "The smallest sizes, once: shows that everything runs, not how fast.");
  app.add_option("--repeats", settings.repeats, "Repeats of each measurement.")->check(CLI::Range(1, 1000));
  app.add_option("--patience", settings.patience,
                 "Seconds that a group of lines waits for other processes to leave the cores alone.");
  app.add_option("--only", only, "Only these groups.")
      ->delimiter(',')
      ->check(CLI::IsMember(psim::bench::group_names()));
  app.add_option("--json", json_file, "Write the table as JSON to this file too.");
  bool check = false, render = false;
  CLI::App* growth = app.add_subcommand("growth", "Measure how costs grow, and write docs/growth.md.");
  growth->add_flag("--check", check, "Only compare page and pictures with docs/growth.json.");
  growth->add_flag("--render", render, "Write page and pictures from docs/growth.json.")->excludes("--check");
  growth->fallthrough();
  CLI11_PARSE(app, argc, argv);
  if (settings.quick) settings.repeats = 1, settings.patience = 0;
  try {
    using psim::bench::Growth;
    const Growth mode = check ? Growth::check : render ? Growth::render : Growth::measure;
    if (*growth) return psim::bench::growth(settings, mode);
    return psim::bench::run(settings, only, json_file);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 3;
  }
}
