#include "sim/cli/play/sketch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <regex>
#include <sstream>
#include <string_view>

namespace psim::cli {
namespace {

std::string counted(const std::string& number, const char* one) {
  return fmt::format("{} {}{}", number, one, number == "1" ? "" : "s");
}

// A field and what it is, in two columns.
std::string line(const std::string& field, std::string_view what) {
  return fmt::format("{:<25} # {}\n", field, what);
}

std::string quoted(const std::string& text) { return fmt::format("\"{}\"", text); }

struct Model {
  const char *name, *doc;
};
constexpr Model models[] = {
    {"bsp", "every step waits for all workers"},
    {"ssp", "workers wait only for those that are too far behind"},
    {"asp", "nobody waits: each gradient is applied as it comes"},
    {"backup-workers", "a step does not wait for the slowest worker"},
    {"k-async", "an update is made of a few pushes, whoever sent them"},
};

std::string consistency_text(const Sketch& sketch) {
  const std::string chosen = setting_of(sketch, "consistency");
  const Model* model = std::ranges::find(models, chosen, &Model::name);
  if (model == std::end(models)) model = std::begin(models);  // "all"
  const std::string_view name = model->name;
  std::string text = "[consistency]\n" + line(fmt::format("model = \"{}\"", name), model->doc);
  if (name == "ssp")
    text += line("staleness = " + setting_of(sketch, "staleness"),
                 "clocks that a worker may be ahead of the slowest one");
  if (name == "backup-workers") text += line("backup = 1", "pushes that a step goes on without");
  if (name == "k-async") text += line("k = 2", "pushes of an update");
  return text + "\n";
}

std::string straggler_text(const std::string& slowdown) {
  if (slowdown == "1") return "";
  const bool is_whole = slowdown.find_first_of(".e") == std::string::npos;
  return "[[straggler]]\nworkers = [0]\n" +
         line(fmt::format("slowdown = {}{}", slowdown, is_whole ? ".0" : ""),
              "a step takes so many times as long") +
         "\n";
}

// The last node of a role crashes.
std::string crash_text(const Sketch& sketch) {
  const std::string role = setting_of(sketch, "crash");
  if (role == "nothing") return "";
  const std::string count = setting_of(sketch, role + "s");
  std::int64_t nodes = 1;
  std::from_chars(count.data(), count.data() + count.size(), nodes);
  const std::int64_t last = std::max<std::int64_t>(0, nodes - 1);
  return "[[fault]]\nkind = \"crash\"\n" + line(fmt::format("nodes = [\"{} {}\"]", role, last), "for good") +
         line("at = \"500ms\"", "simulated time") + "\n[recovery]\n" +
         line("heartbeat = \"50ms\"", "how often each node says that it is there") +
         line("timeout = \"300ms\"", "silence after which a node is taken for dead") +
         line("retry = \"100ms\"", "when an unanswered request is sent again") + "\n";
}

std::string replication_text(const std::string& copies) {
  if (copies == "0") return "";
  return "[replication]\n" + line("copies = " + copies, "of each part of the model, on other servers") + "\n";
}

std::string compare_text(const std::string& staleness) {
  return fmt::format(
      "# `psim compare` runs each model with each seed.\n"
      "[compare]\n"
      "consistency = [\n"
      "  {{ model = \"bsp\" }},\n"
      "  {{ model = \"ssp\", staleness = {} }},\n"
      "  {{ model = \"asp\" }},\n"
      "  {{ model = \"backup-workers\", backup = 1 }},\n"
      "]\n"
      "seeds = [1, 2, 3, 4, 5]\n",
      staleness);
}

std::string training_text(const Sketch& sketch) {
  const bool compares = setting_of(sketch, "consistency") == "all";
  const std::string length =
      compares ? line("epochs = 100", "at most; how often all samples are used") +
                     line("target = { accuracy = 0.93 }", "a run ends when so many test samples are right")
               : line("epochs = 20", "how often all samples are used");
  return line("seed = " + setting_of(sketch, "seed"), "another seed: other weights, samples and times") +
         "\n[model]\n" + line("layers = [64, 32, 10]", "64 pixels of a digit, 32 hidden units, 10 classes") +
         "\n[training]\n" + line("batch_size = 16", "samples of a gradient, at each worker") + length +
         line("learning_rate = " + setting_of(sketch, "rate"), "length of a step") +
         line("evaluate_every = \"50ms\"", "between two points of the curve; simulated time") + "\n";
}

std::string cluster_text(const Sketch& sketch) {
  return "[cluster]\n" + line("workers = " + setting_of(sketch, "workers"), "they compute gradients") +
         line("servers = " + setting_of(sketch, "servers"), "each has a part of the model") +
         "\n[cluster.worker]\n" + line("speed = \"20Mf\"", "floating-point operations in a second") +
         "\n[cluster.network]\n" +
         line("bandwidth = " + quoted(setting_of(sketch, "bandwidth")), "of each node's link, each way") +
         "\n[compute]\n" + "distribution = \"lognormal\"\n" +
         line("cv = 0.1", "how much steps vary: standard deviation over mean") + "\n";
}

}  // namespace

std::span<const Setting> settings() {
  static const std::vector<Setting> all{
      {"workers",
       "workers",
       "Nodes that compute gradients.",
       {"1", "2", "4", "8", "12", "16", "24", "32"},
       "8"},
      {"servers", "servers", "Nodes that share the model.", {"1", "2", "4", "8"}, "2"},
      {"slowdown",
       "worker 0 is slower by",
       "How many times as long worker 0 takes for a step; 1: it is as the others.",
       {"1", "1.5", "2", "3", "4", "6", "8", "10"},
       "1"},
      {"consistency",
       "consistency",
       "Who waits for whom.",
       {"bsp", "ssp", "asp", "backup-workers", "k-async"},
       "bsp"},
      {"staleness",
       "staleness bound",
       "Of ssp: how many clocks a worker may be ahead of the slowest one.",
       {"0", "1", "2", "3", "4", "6", "8", "12", "16", "32"},
       "3",
       "consistency",
       "ssp"},
      {"bandwidth",
       "bandwidth",
       "Of each node's link.",
       {"5Mbps", "10Mbps", "20Mbps", "50Mbps", "100Mbps", "1Gbps", "10Gbps"},
       "1Gbps"},
      {"crash",
       "what crashes after 0.5 s",
       "A node that stops for good and loses its memory.",
       {"nothing", "worker", "server"},
       "nothing"},
      {"copies", "replicas", "Copies of each part of the model on other servers.", {"0", "1"}, "0"},
      {"rate", "learning rate", "Length of a step.", {"0.05", "0.1", "0.2", "0.5", "1", "2"}, "0.2"},
      {"seed",
       "seed",
       "Another seed: other initial weights, samples and times.",
       {"1", "2", "3", "4", "5"},
       "1"},
  };
  return all;
}

std::string setting_of(const Sketch& sketch, const std::string& name) {
  if (const auto found = sketch.find(name); found != sketch.end()) return found->second;
  return std::ranges::find(settings(), name, [](const Setting& s) { return std::string(s.name); })->usual;
}

std::string title_of(const Sketch& sketch) {
  const auto get = [&](const char* name) { return setting_of(sketch, name); };
  std::string title = fmt::format("{} and {} learn to read digits", counted(get("workers"), "worker"),
                                  counted(get("servers"), "server"));
  std::vector<std::string> trouble;
  if (get("slowdown") != "1") trouble.push_back(fmt::format("worker 0 is {} times slower", get("slowdown")));
  if (get("crash") != "nothing") trouble.push_back(fmt::format("a {} crashes", get("crash")));
  if (!trouble.empty()) title += fmt::format("; {}", fmt::join(trouble, ", "));
  if (get("consistency") == "all") return title + ": which consistency model learns fastest?";
  return title + fmt::format(", under {}", get("consistency"));
}

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// The settings of which another value changes that line of the scenario, as "staleness bound = 3".
std::vector<std::string> settings_of_line(const Sketch& sketch, const std::string& line) {
  std::vector<std::string> labels;
  for (const Setting& one : settings()) {
    const std::string now = setting_of(sketch, one.name);
    const auto changes_it = [&](const std::string& value) {
      Sketch other = sketch;
      other[one.name] = value;
      const std::vector<std::string> lines = lines_of(scenario_text(other));
      return value != now && std::ranges::find(lines, line) == lines.end();
    };
    if (std::ranges::any_of(one.values, changes_it)) labels.push_back(fmt::format("{} = {}", one.label, now));
  }
  return labels;
}

}  // namespace

std::string in_settings(const std::string& errors, const Sketch& sketch) {
  const std::vector<std::string> scenario = lines_of(scenario_text(sketch));
  static const std::regex head("error(\\[[a-z-]+\\])?: (.*)"), place(" *--> scenario.toml:([0-9]+).*"),
      help(" *= help: (.*)");
  std::string out;
  bool has_place = false;
  for (const std::string& line : lines_of(errors)) {
    std::smatch found;
    if (std::regex_match(line, found, head)) {
      out += fmt::format("{}{}", out.empty() ? "" : "\n", found[2].str());
    } else if (std::regex_match(line, found, place)) {
      has_place = true;
      const std::string digits = found[1];
      std::size_t number = 0;
      std::from_chars(digits.data(), digits.data() + digits.size(), number);
      if (number == 0 || number > scenario.size()) continue;
      const std::vector<std::string> labels = settings_of_line(sketch, scenario[number - 1]);
      if (!labels.empty()) out += fmt::format(" ({})", fmt::join(labels, ", "));
    } else if (std::regex_match(line, found, help)) {
      out += fmt::format("\n  {}", found[1].str());
    }
  }
  return has_place ? out + "\n" : errors;
}

std::string scenario_text(const Sketch& sketch) {
  std::string text = fmt::format(
      "# `psim explain FIELD` says more about any field below, for example `psim explain cluster.workers`.\n"
      "title = \"{}\"\n",
      title_of(sketch));
  text += training_text(sketch) + consistency_text(sketch) + cluster_text(sketch) +
          straggler_text(setting_of(sketch, "slowdown")) + crash_text(sketch) +
          replication_text(setting_of(sketch, "copies"));
  if (setting_of(sketch, "consistency") == "all") return text + compare_text(setting_of(sketch, "staleness"));
  text.pop_back();
  return text;
}

}  // namespace psim::cli
