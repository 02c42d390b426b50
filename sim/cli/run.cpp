// psim run, check and replay.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <sstream>
#include <thread>

#include "sim/cli/command.hpp"
#include "sim/cli/progress.hpp"
#include "sim/record/summary.hpp"
#include "sim/scenario/reference.hpp"
#include "sim/simulation.hpp"

namespace psim::cli {
namespace {

unsigned thread_count(unsigned asked) {
  return asked > 0 ? asked : std::max(1U, std::thread::hardware_concurrency());
}

TraceLevel trace_level(const std::string& name) {
  return name == "none" ? TraceLevel::none : name == "events" ? TraceLevel::events : TraceLevel::steps;
}

std::map<std::string, std::string> host_facts(const Command& command, double wall_seconds) {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  std::string dirs;
  for (const fs::path dir : command.data_dirs) dirs += fs::absolute(dir).string() + "\n";
  if (const char* dir = std::getenv("PSIM_DATA"); dir != nullptr && *dir != '\0')
    dirs += fs::absolute(dir).string() + "\n";
  const fs::path folder = fs::path(command.scenario).parent_path();
  dirs += fs::absolute(folder.empty() ? fs::path(".") : folder).string() + "\n";
  return {{"date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
          {"host", name},
          {"wall_s", fmt::format("{:.3f}", wall_seconds)},
          {"threads", fmt::to_string(thread_count(command.threads))},
          {"data_dirs", dirs}};
}

// What runs that were interrupted have left of this one.
void remove_remains(const fs::path& dir) {
  const std::string prefix = dir.filename().string() + ".partial-";
  const fs::path parent = dir.has_parent_path() ? dir.parent_path() : fs::path(".");
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix)) continue;
    int owner = 0;
    std::from_chars(name.data() + prefix.size(), name.data() + name.size(), owner);
    if (owner > 0 && ::kill(owner, 0) != 0 && errno == ESRCH) fs::remove_all(entry.path(), ignored);
  }
}

// Another process may have made the same run meanwhile; then its folder stays.
void move_into_place(const fs::path& partial, const fs::path& dir, const std::string& hash, bool force) {
  std::error_code occupied;
  fs::rename(partial, dir, occupied);
  if (!occupied) return;
  if (!force && finished_run(dir, hash)) {
    fs::remove_all(partial);
    return;
  }
  fs::remove_all(dir);
  fs::rename(partial, dir);
}

// The run goes into a folder of its own beside `dir` and is moved there when it is complete.
Json simulate_into(const fs::path& dir, const Command& command, const LoadedScenario& loaded,
                   const RunIdentity& identity) {
  const fs::path partial = dir.string() + fmt::format(".partial-{}", getpid());
  remove_remains(dir);
  fs::create_directories(partial);
  const double begin = host_seconds();
  Json summary;
  {
    Progress progress(loaded);
    RunFile file(partial / "run.db", trace_level(command.trace), loaded.scenario);
    const RunResult result = simulate(
        loaded, {.threads = thread_count(command.threads), .context = command.context}, {&file, &progress});
    progress.erase();
    summary = make_summary(identity, loaded.scenario, result);
    const std::map<std::string, std::string> meta{{"schema", "psim.run/1"},
                                                  {"psim", version_text()},
                                                  {"instruction_set", instruction_set()},
                                                  {"scenario", identity.name},
                                                  {"scenario_hash", identity.scenario_hash},
                                                  {"seed", fmt::to_string(identity.seed)},
                                                  {"digest", result.digest},
                                                  {"sim_time_s", shortest(result.sim_time)},
                                                  {"trace", command.trace}};
    file.finish(result, meta, host_facts(command, host_seconds() - begin));
  }
  write_file(partial / "scenario.toml",
             "# every default written out; runs again as it is\n" + resolved_toml(loaded.scenario));
  for (std::size_t n = 0; n < loaded.jobs.size(); ++n)
    write_file(partial / fmt::format("namespace-{}.toml", n),
               "# this namespace by itself, every default written out; runs as it is\n" +
                   resolved_toml(loaded.jobs[n].scenario));
  write_file(partial / "summary.json", summary.dump(2) + "\n");
  move_into_place(partial, dir, identity.scenario_hash, command.force);
  if (dir.parent_path() == "runs") {
    std::error_code ignored;  // the link is a convenience
    fs::remove("runs/latest", ignored);
    fs::create_directory_symlink(dir.filename(), "runs/latest", ignored);
  }
  return summary;
}

// A folder that holds something else than a run is not overwritten.
bool may_write(const fs::path& dir, bool force) {
  std::error_code error;
  if (!fs::exists(dir, error)) return true;
  if (!fs::is_directory(dir, error)) return false;
  return fs::is_empty(dir, error) || fs::exists(dir / "run.db", error) || force;
}

// None when there are diagnostics, which are printed.
std::optional<LoadedScenario> load_or_report(const Command& command) {
  Diagnostics diagnostics;
  const LoadRequest request = load_request(command, diagnostics);
  std::optional<LoadedScenario> loaded = load_scenario(request, diagnostics);
  if (loaded && diagnostics.empty()) return loaded;
  fmt::print(stderr, "{}", diagnostics.render());
  return std::nullopt;
}

}  // namespace

int run(const Command& command) {
  const std::optional<LoadedScenario> loaded = load_or_report(command);
  if (!loaded) return bad_input;
  const RunIdentity identity{.name = scenario_name(command.scenario),
                             .title = loaded->scenario.title,
                             .seed = loaded->scenario.seed,
                             .scenario_hash = scenario_hash(*loaded)};
  const bool keep = !command.json || !command.out.empty();
  const fs::path dir =
      !command.out.empty() ? fs::path(command.out) : run_directory(identity.name, identity.scenario_hash);

  std::optional<Json> summary;
  bool reused = false;
  if (keep) {
    if (!may_write(dir, command.force)) {
      fmt::print(stderr, "error: {} exists and is not a run\n  = help: name another folder{}\n", dir.string(),
                 fs::is_directory(dir) ? ", or --force" : "");
      return bad_input;
    }
    if (!command.force) summary = finished_run(dir, identity.scenario_hash);
    reused = summary.has_value();
    if (!summary) summary = simulate_into(dir, command, *loaded, identity);
  } else {
    Progress progress(*loaded);
    const RunResult result = simulate(
        *loaded, {.threads = thread_count(command.threads), .context = command.context}, {&progress});
    progress.erase();
    summary = make_summary(identity, loaded->scenario, result);
  }

  if (command.json) {
    fmt::print("{}\n", summary->dump(2));
  } else {
    fmt::print("{}", summary_text(*summary, replay_line(command)));
    fmt::print("\n{} {}/   next: psim compare {}, or psim replay {}\n",
               reused ? "already done, see" : "wrote", dir.string(), command.scenario, dir.string());
  }
  for (const auto& line : (*summary)["stuck"]) fmt::print(stderr, "stuck: {}\n", line.get<std::string>());
  const auto misses = [](const Json& what) { return what["target"]["given"] && !what["target"]["reached"]; };
  bool missed = misses(*summary);
  if (summary->contains("groups")) missed = std::ranges::any_of((*summary)["groups"], misses);
  return missed || !(*summary)["stuck"].empty() ? answer_is_no : done;
}

int check(const Command& command) {
  const std::optional<LoadedScenario> loaded = load_or_report(command);
  if (!loaded) return bad_input;
  fmt::print("{}", resolved_toml(loaded->scenario));
  fmt::print(stderr, "{} is a valid scenario; above with every default written out\n", command.scenario);
  return done;
}

namespace {

// Compares a run with a recorded one, event by event, and remembers the first that differs.
class Comparer final : public EventSink {
 public:
  explicit Comparer(const RecordedRun& recorded) : recorded_(recorded) {}
  void on(const Event& event, std::uint64_t hash) override {
    const auto number = static_cast<std::size_t>(count_++);
    if (different_) return;
    if (number < recorded_.hashes.size() && recorded_.hashes[number] == static_cast<std::uint32_t>(hash))
      return;
    different_ = count_ - 1;
    now_ = to_string(event);
  }
  // Empty when all events are equal.
  std::string report() const {
    const auto recorded_count = static_cast<std::int64_t>(recorded_.hashes.size());
    if (!different_ && count_ == recorded_count) return "";
    if (!different_)
      return fmt::format("the events are equal, but the recorded run has {} more after number {}\n",
                         recorded_count - count_, count_ - 1);
    std::string out = fmt::format("first event that differs: number {}\n  now:      {}\n", *different_, now_);
    if (*different_ >= recorded_count) return out + "  recorded: the run had ended\n";
    const std::optional<Event> before = recorded_.event(*different_);
    return out + fmt::format("  recorded: {}\n", before
                                                     ? to_string(*before)
                                                     : "another one (to see it, record with --trace events)");
  }

 private:
  const RecordedRun& recorded_;
  std::int64_t count_ = 0;
  std::optional<std::int64_t> different_;
  std::string now_;
};

}  // namespace

int replay(const std::string& directory, unsigned threads) try {
  const fs::path dir(directory);
  if (!fs::exists(dir / "run.db") || !fs::exists(dir / "scenario.toml")) {
    fmt::print(stderr,
               "error: {} is not a run: it needs run.db and scenario.toml\n  = help: `psim run` makes one "
               "under runs/\n",
               directory);
    return bad_input;
  }
  const RecordedRun recorded(dir / "run.db");
  Diagnostics diagnostics;
  LoadRequest request{.path = (dir / "scenario.toml").string(), .overrides = {}, .data_dirs = {}};
  std::istringstream dirs(recorded.host.contains("data_dirs") ? recorded.host.at("data_dirs") : "");
  for (std::string line; std::getline(dirs, line);) request.data_dirs.emplace_back(line);
  const std::optional<LoadedScenario> loaded = load_scenario(request, diagnostics);
  if (!loaded) {
    fmt::print(stderr, "{}", diagnostics.render());
    return bad_input;
  }
  Comparer comparer(recorded);
  Progress progress(*loaded);
  const RunResult result =
      simulate(*loaded, {.threads = thread_count(threads), .context = {}}, {&comparer, &progress});
  progress.erase();
  const std::string recorded_digest = recorded.meta.contains("digest") ? recorded.meta.at("digest") : "";
  const std::string difference = comparer.report();
  if (result.digest == recorded_digest && difference.empty()) {
    fmt::print("same run: digest {} ({} events)\n", result.digest, result.stats.events);
    return done;
  }
  fmt::print("different run: digest {}, recorded {}\n", result.digest, recorded_digest);
  fmt::print("{}", difference.empty() ? "every event is equal; the final weights differ\n" : difference);
  const auto differs = [&](const std::string& key, const std::string& now) {
    const std::string then = recorded.meta.contains(key) ? recorded.meta.at(key) : "";
    if (then != now) fmt::print("note: recorded with {} {}, this is {}\n", key, then, now);
  };
  differs("psim", version_text());
  differs("instruction_set", instruction_set());
  return answer_is_no;
} catch (const DamagedRun& damage) {
  fmt::print(stderr, "error: {}\n  = help: it is damaged, or not from this program: run the scenario again\n",
             damage.what());
  return bad_input;
}

}  // namespace psim::cli
