// psim explain and psim list.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>

#include "sim/cli/command.hpp"
#include "sim/cli/topics.hpp"
#include "sim/scenario/diagnostics.hpp"
#include "sim/scenario/reference.hpp"

namespace psim::cli {
namespace {

bool answers_to(const auto& row, std::string_view name) {
  if (row.name == name) return true;
  const std::string padded = fmt::format(" {} ", row.aliases);
  return padded.find(fmt::format(" {} ", name)) != std::string::npos;
}

std::string explain_model(const ConsistencyRow& row) {
  std::string out = fmt::format("{}: a consistency model", row.name);
  if (!row.aliases.empty()) out += fmt::format(" (also called {})", row.aliases);
  return out + fmt::format(
                   "\n  a worker may start clock t when: {}\n  a server applies:                {}\n  late "
                   "pushes:                     {}\n  source:                          {}\n"
                   "\nIn a scenario:\n  [consistency]\n  model = \"{}\"\n",
                   row.may_start, row.applies, row.late, row.source, row.name);
}

std::string explain_filter(const FilterRow& row) {
  std::string out = fmt::format("{}: a message filter", row.name);
  if (!row.aliases.empty()) out += fmt::format(" (also called {})", row.aliases);
  out += fmt::format(
      "\n  sends:          {}\n  takes:          {}\n  on pulls:       {}\n  on phantoms:    {}"
      "\n  error feedback: {}\n  source:         {}\n\nIn a scenario:\n",
      row.does, row.wire, row.push_only ? "no" : "yes", row.needs_numbers ? "no" : "yes",
      in_words(row.error_feedback), row.source);
  if (row.stage == FilterStage::keys) out += "  [messages]\n  keys = \"per-value\"\n";
  out += fmt::format("  [[filter]]\n  kind = \"{}\"\n", row.name);
  if (needs_threshold(row.kind)) out += "  threshold = 0.001\n";
  return out;
}

// The folder of scenarios beside the program's source, or here.
fs::path scenario_folder() {
  for (fs::path dir = fs::read_symlink("/proc/self/exe").parent_path(); dir != dir.root_path();
       dir = dir.parent_path()) {
    if (fs::exists(dir / "scenarios" / "quickstart.toml")) return dir / "scenarios";
  }
  return "scenarios";
}

std::string title_of(const fs::path& scenario) {
  std::ifstream file(scenario);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("title")) continue;
    const std::size_t begin = line.find('"'), end = line.rfind('"');
    if (begin < end) return line.substr(begin + 1, end - begin - 1);
  }
  return {};
}

}  // namespace

int explain(const std::string& name, bool reference) {
  if (reference) {
    fmt::print("{}", scenario_reference());
    return done;
  }
  std::vector<std::string> names;
  for (const ConsistencyRow& row : consistency_rows) {
    if (answers_to(row, name)) {
      fmt::print("{}", explain_model(row));
      return done;
    }
    names.emplace_back(row.name);
  }
  for (const FilterRow& row : filter_rows) {
    if (answers_to(row, name)) {
      fmt::print("{}", explain_filter(row));
      return done;
    }
    names.emplace_back(row.name);
  }
  for (const Topic& topic : topics) {
    if (topic.name == name) {
      fmt::print("{}: {}\n\n{}\n", topic.name, topic.title, topic.text);
      return done;
    }
    names.emplace_back(topic.name);
  }
  if (const std::string field = explain_field(name); !field.empty()) {
    fmt::print("{}", field);
    return done;
  }
  std::ranges::move(field_names(), std::back_inserter(names));
  const std::string near = nearest(name, names);
  fmt::print(
      stderr, "error: there is nothing called `{}` to explain\n  = help: {}\n", name,
      near.empty()
          ? "`psim list` shows models and topics; a field is written table.key, such as cluster.workers"
          : fmt::format("did you mean `{}`?", near));
  return bad_input;
}

int list() {
  const fs::path folder = scenario_folder();
  std::vector<fs::path> files;
  if (fs::exists(folder)) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() == ".toml") files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  fmt::print("Scenarios (psim run scenarios/NAME.toml, psim compare scenarios/NAME.toml):\n");
  for (const fs::path& file : files) fmt::print("  {:<18} {}\n", file.stem().string(), title_of(file));
  fmt::print("\nConsistency models (psim explain NAME):\n");
  for (const ConsistencyRow& row : consistency_rows)
    fmt::print("  {:<18} a worker starts a clock: {}\n", row.name, row.may_start);
  fmt::print("\nMessage filters (psim explain NAME):\n");
  for (const FilterRow& row : filter_rows) fmt::print("  {:<18} {}\n", row.name, row.does);
  fmt::print("\nTopics and errors (psim explain NAME):\n");
  for (const Topic& topic : topics) fmt::print("  {:<18} {}\n", topic.name, topic.title);
  fmt::print(
      "\nFields: psim explain TABLE.KEY, for example cluster.network.share_spread; all of them: "
      "docs/scenario.md\n");
  return done;
}

}  // namespace psim::cli
