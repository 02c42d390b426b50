// What it costs to record every message of a run (--trace events), over recording none of its events: wall
// time where a second core is free, and processor time, which is what it costs where all cores compute.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "sim/cluster/topology.hpp"
#include "sim/record/run_file.hpp"
#include "sim/simulation.hpp"
#include "tests/bench/harness.hpp"

namespace psim::bench {
namespace {

namespace fs = std::filesystem;

struct Cost {
  double wall = 0, cpu = 0;  // seconds, of the simulation and of what it writes
  double bytes = 0, events = 0;
};

// In a process of its own.
Cost measure(const LoadedScenario& loaded, TraceLevel level) {
  const fs::path path = fs::temp_directory_path() / fmt::format("psim-bench-{}.db", getpid());
  const Usage usage = in_child([&] {
    RunResult result;
    const Elapsed elapsed = timed([&] {
      RunFile file(path, level, loaded.scenario);
      result = simulate(loaded, {.threads = 1, .context = {}}, {&file});
      if (level == TraceLevel::events) file.write_links(make_link_map(loaded.scenario, file.connections()));
      file.finish(result, {}, {});
    });
    return Json{elapsed.wall, elapsed.cpu, result.stats.events};
  });
  const auto bytes = static_cast<double>(fs::file_size(path));
  fs::remove(path);
  return {usage.result[0].get<double>(), usage.result[1].get<double>(), bytes, usage.result[2].get<double>()};
}

}  // namespace

std::vector<Line> recording(const Settings& settings) {
  std::vector<Line> lines;
  std::vector<std::string> names{"quickstart"};
  if (!settings.quick) names.insert(names.end(), {"stragglers", "thousand_workers"});
  for (const std::string& name : names) {
    Diagnostics diagnostics;
    const std::optional<LoadedScenario> loaded = load_scenario(
        {.path = fmt::format("{}/scenarios/{}.toml", PSIM_SOURCE, name), .overrides = {}, .data_dirs = {}},
        diagnostics);
    if (!loaded) throw std::runtime_error(diagnostics.render());
    Cost none, events;  // of the last repeat: bytes are the same in all
    std::vector<double> none_cpu, events_cpu;
    const auto timed_at = [&](TraceLevel level, Cost& cost, std::vector<double>& cpu) {
      return [&, level] {
        cost = measure(*loaded, level);
        cpu.push_back(cost.cpu);
        return cost.wall;
      };
    };
    const auto walls = alternate(
        settings.repeats, settings.patience / 3,
        {timed_at(TraceLevel::none, none, none_cpu), timed_at(TraceLevel::events, events, events_cpu)});
    lines.push_back({.name = fmt::format("wall time with every message recorded, over none: {}", name),
                     .ratio = ratio_of_least(walls[1], walls[0]),
                     .bound = Bound::at_most,
                     .limit = 1.10,
                     .detail = fmt::format("{:.3f} s and {:.3f} s; {}", least(walls[1]), least(walls[0]),
                                           spread(walls[1], walls[0])),
                     .disturbed = capacity_of_two_threads() < 1.8});
    lines.push_back({.name = fmt::format("... processor time: {}", name),
                     .ratio = ratio_of_least(events_cpu, none_cpu),
                     .bound = Bound::at_most,
                     .limit = 1.30,
                     .detail = fmt::format("{:.3f} s and {:.3f} s; {}", least(events_cpu), least(none_cpu),
                                           spread(events_cpu, none_cpu))});
    lines.push_back({.name = fmt::format("bytes of an event on disk, in units of 100: {}", name),
                     .ratio = events.bytes / events.events / 100,
                     .bound = Bound::at_most,
                     .limit = 1,
                     .detail = fmt::format("{:.0f} bytes of {:.0f} events", events.bytes, events.events)});
  }
  return lines;
}

}  // namespace psim::bench
