// psim replay: runs a finished run again and compares.
#include <fmt/format.h>

#include <sstream>

#include "sim/cli/command.hpp"
#include "sim/cli/progress.hpp"
#include "sim/record/summary.hpp"
#include "sim/simulation.hpp"

namespace psim::cli {
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
