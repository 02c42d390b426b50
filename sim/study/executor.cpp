#include "sim/study/executor.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <map>
#include <stdexcept>
#include <utility>

#include "analysis/causes/explain.hpp"
#include "sim/runs/exit_code.hpp"
#include "sim/runs/process.hpp"
#include "sim/runs/record_run.hpp"
#include "sim/runs/refused.hpp"
#include "sim/runs/scratch.hpp"
#include "sim/runs/shipped.hpp"

namespace psim::study {
namespace {

// A file in memory, which a process writes and this one reads.
class MemoryFile {
 public:
  MemoryFile() : file_(memfd_create("run", MFD_CLOEXEC)) {
    if (file_ < 0) throw std::runtime_error("no memory for what a run says");
  }
  ~MemoryFile() {
    if (file_ >= 0) close(file_);
  }
  MemoryFile(MemoryFile&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  MemoryFile& operator=(MemoryFile&&) = delete;
  int file() const { return file_; }
  std::string text() const { return read_file(fmt::format("/proc/self/fd/{}", file_)); }

 private:
  int file_;
};

// Why the recorded run took as long as it did: up to the target, if it has reached that. Empty where that
// cannot be told.
std::string cause_in(const fs::path& folder, const Json& summary) try {
  using What = analysis::Until::What;
  const analysis::RunRecord record(folder);
  const bool has_reached = summary["target"]["given"].get<bool>() && !misses_target(summary);
  const analysis::Explanation why = analysis::explain(record, {has_reached ? What::target : What::end});
  return analysis::short_document(why, record.facts).dump();
} catch (const std::exception&) {
  return "";
}

RunAnswer make_run(const PlannedRun& run, unsigned threads) {
  RunRequest request = run.request;
  request.threads = threads;
  std::optional<LoadedScenario> again;
  if (!run.loaded) again = load_for_run(request);
  const LoadedScenario& loaded = run.loaded ? *run.loaded : *again;
  const RunIdentity identity = identity_of(loaded, scenario_name(request.scenario));
  if (identity.scenario_hash != run.hash)
    throw Refused("the scenario or its data have changed meanwhile",
                  "leave them as they are until all runs are done");
  std::optional<ScratchFolder> scratch;
  if (run.is_explained && request.out.empty()) {
    scratch.emplace("psim-study");
    request.out = (scratch->path() / "run").string();
    request.trace = "events";
  }
  const Json summary = make_and_record(request, loaded, identity);
  const bool is_recorded = run.is_explained && request.trace == "events";
  return {summary.dump(), is_recorded ? cause_in(request.out, summary) : ""};
}

void write_all(const std::string& text, int file) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = write(file, text.data() + done, text.size() - done);
    if (written < 0 && errno != EINTR) throw std::runtime_error("no memory for what a run says");
    if (written > 0) done += static_cast<std::size_t>(written);
  }
}

// Two lines: no line of JSON has an end of a line in it.
std::string text_of(const RunAnswer& answer) { return answer.summary + "\n" + answer.cause; }

RunAnswer read_answer(const std::string& text) {
  const std::size_t end = text.find('\n');
  return {text.substr(0, end), end == std::string::npos ? "" : text.substr(end + 1)};
}

constexpr int not_explained = 4;  // exit code: the run may still be made without its record

// Never comes back: destructors and buffers are those of the process that this one is a copy of.
[[noreturn]] void be_the_run(const PlannedRun& run, unsigned threads, int answer, int log, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(128 + SIGTERM);  // it has ended already
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  dup2(nowhere, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  end_at_interrupt();
  // With a record in a temporary folder it may have failed for want of room.
  const bool has_scratch = run.is_explained && run.request.out.empty();
  const auto fail = [&](const std::string& why, int code) {
    write_all(why, log);
    _exit(has_scratch ? not_explained : code);
  };
  try {
    write_all(text_of(make_run(run, threads)), answer);
  } catch (const Refused& refusal) {
    fail(refusal_text(refusal.what(), refusal.help), bad_input);
  } catch (const std::exception& error) {
    fail(fmt::format("error: {}\n", error.what()), our_fault);
  }
  _exit(done);
}

class Children {
 public:
  explicit Children(const Execution& how) : how_(how) {}
  ~Children() {
    for (const auto& [child, run] : running_) kill(child, SIGTERM);
    for (const auto& [child, run] : running_) {
      while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
    }
    if (!running_.empty()) sweep_scratch();  // the records of those that were stopped
  }
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  std::size_t size() const { return running_.size(); }

  void start(PlannedRun& run) {
    Running next{.run = &run};
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child == 0) be_the_run(run, how_.threads, next.answer.file(), next.log.file(), parent);
    if (child < 0) throw std::runtime_error(fmt::format("cannot start a process: {}", std::strerror(errno)));
    running_.emplace(child, std::move(next));
  }

  enum class Taken { nothing, a_run, again };
  // Takes in a run that has ended, if one has. Throws when it has failed. One that failed with its record, or
  // was killed for the memory that takes, is made again without.
  Taken take_one() {
    int status = 0;
    const auto found = running_.find(waitpid(-1, &status, WNOHANG));
    if (found == running_.end()) return Taken::nothing;
    const Running ended = std::move(found->second);
    running_.erase(found);
    const bool is_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && ended.run->is_explained;
    if (is_killed || (WIFEXITED(status) && WEXITSTATUS(status) == not_explained)) {
      ended.run->is_explained = false;
      start(*ended.run);
      return Taken::again;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == bad_input) throw Invalid{ended.log.text()};
    if (!WIFEXITED(status) || WEXITSTATUS(status) != done)
      throw std::runtime_error(fmt::format("a run failed, with {}: {}\n{}", how_it_ended(status),
                                           command_line(ended.run->request), ended.log.text()));
    how_.on_result(*ended.run, read_answer(ended.answer.text()));
    return Taken::a_run;
  }

 private:
  struct Running {
    PlannedRun* run;
    MemoryFile answer = {}, log = {};
  };
  const Execution& how_;
  std::map<pid_t, Running> running_;
};

}  // namespace

void execute(const std::vector<PlannedRun*>& runs, const Execution& how, const InterruptsHeld& interrupts) {
  std::fflush(nullptr);  // else what is not printed yet would be printed by every copy
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
