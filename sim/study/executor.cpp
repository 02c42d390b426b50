#include "sim/study/executor.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <exception>
#include <map>
#include <stdexcept>
#include <utility>

#include "analysis/causes/explain.hpp"
#include "sim/runs/forked_run.hpp"
#include "sim/runs/record_run.hpp"
#include "sim/runs/refused.hpp"
#include "sim/runs/scratch.hpp"
#include "sim/runs/shipped.hpp"
#include "sim/scenario/load_parts.hpp"

namespace psim::study {
namespace {

// What took the time of the recorded run, up to the target if the run reached it. Empty if unknown.
std::string cause_in(const fs::path& folder, const Json& summary) try {
  using What = analysis::Until::What;
  const analysis::RunRecord record(folder);
  const bool has_reached = summary["target"]["given"].get<bool>() && !misses_target(summary);
  const analysis::Explanation why = analysis::explain(record, {has_reached ? What::target : What::end});
  return analysis::short_document(why, record.facts).dump();
} catch (const std::exception&) {
  return "";
}

// In a copy of the planner's process.
RunAnswer make_run(PlannedRun& run, unsigned threads) {
  RunRequest request = run.request;
  request.threads = threads;
  if (!run.loaded) {
    run.loaded = load_for_run(request);
  } else if (run.lacks_data) {
    Diagnostics none;
    load_data_again(*run.loaded, load_request(request, none));
  }
  const LoadedScenario& loaded = *run.loaded;
  const RunIdentity identity = identity_of(loaded, scenario_name(request.scenario));
  if (identity.scenario_hash != run.hash)
    throw Refused("the scenario or its data changed during the study",
                  "do not change them until all runs are done");
  std::optional<ScratchFolder> scratch;
  if (run.is_explained && request.out.empty()) {
    scratch.emplace("psim-study");
    request.out = (scratch->path() / "run").string();
    request.trace = "events";
  }
  const Json summary = make_and_record(request, loaded, identity);
  const bool is_recorded = run.is_explained && request.trace == "events";
  return {.summary = summary.dump(), .cause = is_recorded ? cause_in(request.out, summary) : ""};
}

class Children {
 public:
  explicit Children(const Execution& how) : how_(how) {}
  ~Children() {
    for (const auto& [child, run] : running_) kill(child, SIGTERM);
    for (const auto& [child, run] : running_) {
      while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
    }
    if (!running_.empty()) sweep_scratch();  // the records of runs that were stopped
  }
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  std::size_t size() const { return running_.size(); }

  void start(PlannedRun& run) {
    ForkedRun forked([&] { return make_run(run, how_.threads); });
    const pid_t child = forked.process();
    running_.emplace(child, Running{&run, std::move(forked)});
  }

  enum class Taken { nothing, a_run, again };
  // Takes the result of a run that has ended, if any. Throws if the run failed. If it failed because of its
  // record, or was killed because the record needed too much memory, the run is made again without a record.
  Taken take_one() {
    int status = 0;
    const auto found = running_.find(waitpid(-1, &status, WNOHANG));
    if (found == running_.end()) return Taken::nothing;
    const Running ended = std::move(found->second);
    running_.erase(found);
    const RunAnswer answer = ended.forked.answer(status);
    // A full disk may be the fault of the record in a temporary folder: the run may succeed without.
    const bool has_scratch = ended.run->is_explained && ended.run->request.out.empty();
    const bool is_killed = ended.run->is_explained && answer.status == RunStatus::killed;
    const bool has_failed = answer.status == RunStatus::refused || answer.status == RunStatus::no_memory ||
                            answer.status == RunStatus::failed;
    if (is_killed || (has_scratch && has_failed)) {
      ended.run->is_explained = false;
      start(*ended.run);
      return Taken::again;
    }
    if (answer.status == RunStatus::refused) throw Invalid{answer.why};
    if (answer.status != RunStatus::done)
      throw std::runtime_error(
          fmt::format("a run failed: {}\n{}", command_line(ended.run->request), answer.why));
    how_.on_result(*ended.run, answer);
    return Taken::a_run;
  }

 private:
  struct Running {
    PlannedRun* run;
    ForkedRun forked;
  };
  const Execution& how_;
  std::map<pid_t, Running> running_;
};

}  // namespace

void execute(const std::vector<PlannedRun*>& runs, const Execution& how, const InterruptsHeld& interrupts) {
  std::fflush(nullptr);  // otherwise every copy would print the buffered text, too
  Children children(how);
  auto next = runs.begin();
  std::size_t finished = 0;
  while (next != runs.end() || children.size() > 0) {
    how.on_progress(finished);
    if (const int signal = interrupts.pending(); signal != 0) throw Interrupted{signal, ""};
    if (next != runs.end() && children.size() < how.jobs) {
      children.start(**next++);
      continue;
    }
    switch (children.take_one()) {
      case Children::Taken::a_run: ++finished; break;
      case Children::Taken::nothing: interrupts.wait(); break;
      case Children::Taken::again: break;
    }
  }
  how.on_progress(finished);
}

}  // namespace psim::study
