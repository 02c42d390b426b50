#include "sim/apps/cli/subcommand.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "analysis/render/text_table.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/calibrate/calibrate.hpp"
#include "sim/runs/answer.hpp"
#include "sim/runs/files.hpp"
#include "sim/runs/process.hpp"
#include "sim/runs/run_folder.hpp"
#include "sim/scenario/spec/units.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim::cli {
namespace {

struct CalibrateCommand {
  calibrate::Request request;
  std::string out;                        // the folder
  std::string model_bytes;                // a size such as "100MB"
  std::int64_t workers = 0, servers = 0;  // 0: not given
  bool json = false, force = false;
};

using calibrate::Calibration;
using calibrate::Compared;
using calibrate::Fitted;

constexpr std::array<const char*, 4> file_names{"scenario.toml", "steps.csv", "calibration.json",
                                                "report.html"};

// The folder is new, empty, or holds a calibration and nothing else.
void check_folder(const fs::path& folder, bool force) {
  if (!fs::exists(folder)) return;
  if (!fs::is_directory(folder))
    throw Refused(fmt::format("{} is no folder", folder.string()), "--out names a folder");
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    const bool is_own = std::ranges::find(file_names, name) != file_names.end();
    if (!is_own)
      throw Refused(fmt::format("{} holds {}, which psim calibrate does not write", folder.string(), name),
                    "choose another folder with --out");
    if (!force)
      throw Refused(fmt::format("the output folder {} holds a calibration already", folder.string()),
                    "--force replaces it, --out names another folder");
  }
}

void check_logs(const std::vector<std::string>& logs) {
  for (const fs::path log : logs) {
    if (!fs::is_directory(log)) continue;
    throw Refused(fmt::format("{} is a folder and no log", log.string()),
                  fs::exists(log / "calibration.json")
                      ? "it is an output of psim calibrate; name the files from which that was made"
                      : "name the files of the log");
  }
}

// "4.785e+07 B/s"
std::string with_unit(const Fitted& one) {
  return fmt::format("{:.4g}{}{}", one.value, one.unit.empty() ? "" : " ", one.unit);
}

void print_steps(const Calibration& calibration) {
  const calibrate::StepFit& steps = calibration.steps;
  const auto [fastest, slowest] = std::ranges::minmax_element(steps.means);
  fmt::print("steps       {} of {}\n", calibration.times.size(), counted(std::ssize(steps.means), "worker"));
  fmt::print(
      "computing   {:.4g} to {:.4g} s in the mean; a step varies by {:.1f} %, of this {:.0f} % for all "
      "workers at once\n",
      *fastest, *slowest, 100 * steps.cv, 100 * steps.shared);
  const bool is_short = std::max(steps.memory, steps.shared_memory) < 2;
  fmt::print(
      "series      {}; runs repeat {}\n",
      is_short ? std::string("slow steps hardly come in series")
               : fmt::format("slow steps come in series of about {:.0f} (one worker), {:.0f} (all)",
                             steps.memory, steps.shared_memory),
      steps.block == 1 ? "single logged steps" : fmt::format("blocks of {} logged steps", steps.block));
}

void print_values(const Calibration& calibration) {
  if (calibration.runs.empty()) print_steps(calibration);
  else fmt::print("runs        {}\n", calibration.runs.size());
  for (const Fitted& one : calibration.network.fitted) {
    if (!one.missing.empty()) fmt::print("unknown     {}: measure {}\n", one.field, one.missing);
    else if (one.is_given) fmt::print("given       {} = {}\n", one.field, with_unit(one));
    else
      fmt::print("fitted      {} = {}{}; {}\n", one.field, with_unit(one),
                 one.interval ? fmt::format(" [{:.4g}, {:.4g}]", one.interval->low, one.interval->high) : "",
                 one.how);
  }
}

void print_verdict(const Calibration& calibration) {
  const calibrate::Verdict& verdict = *calibration.verdict;
  fmt::print("\n{:<58}{:>10}{:>11}{:>9}\n", fmt::format("the last {}, held out", calibration.judged_on()),
             "measured", "simulated", "error");
  const auto print = [](const Compared& one, const std::string& judged) {
    fmt::print("  {:<56}{:>10.4g}{:>11.4g}{:>+8.1f}%{}\n", one.name, one.measured, one.simulated,
               100 * one.error(), judged);
  };
  for (const Compared& one : verdict.judged) print(one, "  " + calibrate::judgement(one, verdict.within));
  if (!verdict.described.empty()) fmt::print("for information, not judged\n");
  for (const Compared& one : verdict.described) print(one, "");
  fmt::print("\n{}\n", calibrate::verdict_line(calibration));
  for (const std::string& reason : verdict.reasons) fmt::print("  {}\n", reason);
}

// The current stage of psim calibrate. On a terminal the line also shows its time.
class StageLine {
 public:
  ~StageLine() { end(); }
  void begin(const std::string& what) {
    end();
    say("{} ...{}", what, is_terminal_ ? "" : "\n");
    if (!is_terminal_) return;
    ticking_ = std::jthread([what, begin = host_seconds()](const std::stop_token& stop) {
      std::mutex mutex;
      std::condition_variable_any never;
      std::unique_lock lock(mutex);
      while (!never.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; }) &&
             !stop.stop_requested())
        say("\r\033[K{} ... {}", what, time_text(host_seconds() - begin));
    });
  }
  void end() {
    if (!ticking_.joinable()) return;
    ticking_ = {};
    say("\n");
  }

 private:
  bool is_terminal_ = isatty(STDERR_FILENO) != 0;
  std::jthread ticking_;
};

int calibrate_logs(const CalibrateCommand& asked) {
  CalibrateCommand command = asked;
  calibrate::Request& request = command.request;
  const fs::path folder = command.out;
  check_logs(request.logs);
  check_folder(folder, command.force);
  if (command.workers > 0) request.facts.workers = command.workers;
  if (command.servers > 0) request.facts.servers = command.servers;
  if (!command.model_bytes.empty()) {
    const std::optional<double> bytes = parse_quantity(command.model_bytes, Unit<Bytes>::names);
    if (!bytes || !(*bytes >= 4))
      throw Refused(fmt::format("--model-bytes {}: not a size", command.model_bytes), "for example 100MB");
    request.facts.model_bytes = *bytes;
  }
  StageLine stage;
  const Calibration calibration =
      calibrate::calibrate(request, [&stage](const std::string& what) { stage.begin(what); });
  stage.end();
  const auto json = calibrate::calibration_json(calibration, request);
  fs::create_directories(folder);
  if (calibration.runs.empty()) write_file(folder / "steps.csv", calibrate::steps_csv(calibration.times));
  write_file(folder / "scenario.toml", calibrate::calibrated_scenario(calibration));
  write_file(folder / "report.html", calibrate::calibration_page(calibration, request));
  write_file(folder / "calibration.json", json.dump(2) + "\n");
  const bool holds = !calibration.verdict || calibration.verdict->holds;
  if (command.json) {
    fmt::print("{}\n", json.dump(2));
    return holds ? done : answer_is_no;
  }
  print_values(calibration);
  for (const std::string& note : calibration.notes) fmt::print("note        {}\n", note);
  if (calibration.verdict) print_verdict(calibration);
  for (const std::string& warning : calibrate::warnings(calibration))
    fmt::print("\n{}", analysis::paragraph("WARNING: " + warning, 100));
  const std::string name = folder_named(command.out).string();
  fmt::print(
      "\nwrote {0}/   next: psim compare {0}/scenario.toml --seeds 1-20 --set 'consistency.model=[bsp, ssp, "
      "asp]', or open "
      "{0}/report.html\n",
      name);
  return holds ? done : answer_is_no;
}

const Subcommand calibrate_table[] = {
    command<CalibrateCommand>(
        "calibrate",
        [](CLI::App* app, CalibrateCommand& c) {
          option(app, "logs", c.request.logs)->required()->check(existing_file());
          option(app, "-o,--out", c.out)->required()->type_name("FOLDER")->check(not_empty("folder"));
          option(app, "--workers", c.workers)->check(whole(1, 20'000));
          option(app, "--servers", c.servers)->check(whole(1, 4096));
          option(app, "--model-bytes", c.model_bytes);
          option(app, "--consistency", c.request.facts.consistency);
          option(app, "--preset", c.request.facts.preset);
          option(app, "--set", c.request.facts.sets)->take_all()->allow_extra_args(false);
          option(app, "--compute-name", c.request.names.compute);
          option(app, "--step-arg", c.request.names.step_arg);
          option(app, "--skip", c.request.skip)->check(whole(0, 1'000'000'000));
          option(app, "--hold-out", c.request.hold_out)->transform(percentage(0, 0.9));
          option(app, "--within", c.request.within)->transform(percentage(1e-6, 1));
          option(app, "--json", c.json);
          option(app, "--force", c.force);
        },
        calibrate_logs),
};

}  // namespace

Room calibrate_subcommands() { return calibrate_table; }

}  // namespace psim::cli
