// psim replay: makes a finished run again and compares the two.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "analysis/run_files.hpp"
#include "sim/apps/cli/command.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/progress.hpp"
#include "sim/apps/cli/replay_study.hpp"
#include "sim/apps/cli/shelf.hpp"
#include "sim/record/run_file.hpp"
#include "sim/record/summary.hpp"
#include "sim/runs/again.hpp"
#include "sim/runs/request.hpp"
#include "sim/simulation.hpp"
#include "sim/study/folder.hpp"

namespace psim::cli {
namespace {

// Compares a run with a recorded run, event by event, and remembers the first event that differs.
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
  // Empty if all events are equal.
  std::string report() const {
    const auto recorded_count = static_cast<std::int64_t>(recorded_.hashes.size());
    if (!different_ && count_ == recorded_count) return "";
    if (!different_)
      return fmt::format("the events are equal, but the recorded run has {} more after number {}\n",
                         recorded_count - count_, count_ - 1);
    std::string out = fmt::format("first event that differs: number {}\n  now:      {}\n", *different_, now_);
    if (*different_ >= recorded_count) return out + "  recorded: the run had ended\n";
    const std::optional<Event> before = recorded_.event(*different_);
    return out + fmt::format("  recorded: {}\n",
                             before ? to_string(*before)
                                    : "a different event (record with --trace events to see it)");
  }

 private:
  const RecordedRun& recorded_;
  std::int64_t count_ = 0;
  std::optional<std::int64_t> different_;
  std::string now_;
};

// Prints the first difference, if any, and returns the exit code.
int verdict(const FinishedRun& run, const LoadedScenario& loaded, const Comparer& comparer, const Json& now) {
  const DigestPromise promise = promise_on_digest(loaded, run.summary, now);
  const std::string digest = now["digest"], recorded_digest = value_of(run.recorded.meta, "digest");
  std::string difference = comparer.report();
  if (difference.empty() && digest != recorded_digest)
    difference = "all events are equal; the final weights differ\n";
  if (!difference.empty()) {
    fmt::print("different run: digest {}, recorded {}\n{}{}\n{}\n{}", digest, recorded_digest, difference,
               promise.rule, promise.verdict(), notes_on_program(run.summary, now));
    return answer_is_no;
  }
  const std::string notes = promise.rule + "\n" + notes_on_program(run.summary, now);
  const bool is_own = run.summary.value("build", "") == now.value("build", "");
  difference = is_own ? first_difference(run.summary, now)
                      : first_difference(without_program(run.summary), without_program(now));
  if (difference.empty()) {
    const std::string broken = analysis::broken_seal(run.path);
    if (!broken.empty()) difference = fmt::format("the events and the summary are equal, but {}\n", broken);
  }
  if (!difference.empty()) {
    fmt::print("same events, different record: digest {}\n{}{}", digest, difference, notes);
    return answer_is_no;
  }
  fmt::print("same run: digest {} ({} events), as in {}/\n{}", digest, now["events"].get<std::int64_t>(),
             fs::canonical(run.path).lexically_proximate(fs::current_path()).string(), notes);
  return done;
}

}  // namespace

int replay(const std::string& name, const Command& command) {
  const std::string directory = run_or_study(name).string();
  if (study::is_study(directory)) return replay_study(directory, command);
  const unsigned threads = command.threads;
  const FinishedRun run = open_run(directory);
  const LoadedScenario loaded = load_again(run);
  Comparer comparer(run.recorded);
  Progress progress(loaded);
  const RunResult result =
      simulate(loaded, {.threads = thread_count(threads), .context = {}}, {&comparer, &progress});
  progress.erase();
  // A scenario has the name of its file. Only run.db knows this name.
  const RunIdentity identity = identity_of(loaded, value_of(run.recorded.meta, "scenario"));
  return verdict(run, loaded, comparer, Json::parse(make_summary(identity, loaded.scenario, result).dump()));
}

}  // namespace psim::cli
