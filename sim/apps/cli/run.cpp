// psim run and check.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <utility>
#include <vector>

#include "analysis/causes/explain.hpp"
#include "analysis/render/text_table.hpp"
#include "sim/apps/cli/command.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/progress.hpp"
#include "sim/apps/cli/target.hpp"
#include "sim/cluster/slowest_messages.hpp"
#include "sim/protocol/probe.hpp"
#include "sim/record/notes.hpp"
#include "sim/record/run_file.hpp"
#include "sim/runs/answer.hpp"
#include "sim/runs/files.hpp"
#include "sim/runs/process.hpp"
#include "sim/runs/record_run.hpp"
#include "sim/runs/request.hpp"
#include "sim/runs/run_folder.hpp"
#include "sim/scenario/estimate.hpp"
#include "sim/scenario/fields/field_list.hpp"
#include "sim/scenario/reference/reference.hpp"
#include "sim/scenario/spec/memory.hpp"
#include "sim/scenario/text/diagnostics.hpp"
#include "sim/scenario/tune.hpp"
#include "sim/study/plan.hpp"
#include "sim/study/tuning.hpp"

namespace psim::cli {
namespace {

LoadedScenario loaded_with_notes(const Command& command) {
  std::string notes;
  LoadedScenario loaded = load_for_run(command, &notes);
  if (loaded.has_tune) {
    Diagnostics diagnostics;
    load_tune(load_request(command, diagnostics), diagnostics);
    if (!diagnostics.empty()) throw Invalid{diagnostics.render()};
  }
  say("{}", notes);
  return loaded;
}

// A run reads neither [compare] nor [tune].
void refuse_fields_of_studies(const Command& command) {
  Diagnostics diagnostics;
  for (const std::string& set : command.sets) {
    const std::optional<Override> one = override_of(set);
    if (!one || !is_of_study(one->key)) continue;
    const Place place{diagnostics.add_source({"--set", set}), 1, 1, 1, code_points(one->key) + 1};
    diagnostics.add({"set", place, fmt::format("`{}` is not a field of a run", one->key),
                     "only a comparison reads it", "use `psim compare`"});
  }
  if (!diagnostics.empty()) throw Invalid{diagnostics.render()};
}

LoadedScenario loaded_for_one_run(const Command& command) {
  refuse_fields_of_studies(command);
  return loaded_with_notes(command);
}

Json make_with_progress(const Command& command, const LoadedScenario& loaded, const RunIdentity& identity) {
  Progress progress(loaded, command.progress == "json");
  const Json summary = make_and_record(command, loaded, identity, &progress);
  progress.erase();
  return summary;
}

// ... and prints a note if a run will take long.
void require_room(const LoadedScenario& loaded, const Command& command) {
  if (std::string why_not = no_room(loaded, command); !why_not.empty()) throw NoRoom{{std::move(why_not)}};
  say("{}", slow_note(loaded));
}

// Events, unless they would fill hundreds of megabytes. Then the user can ask for them with --trace events.
std::string usual_trace(const LoadedScenario& loaded) {
  constexpr double most_messages = 250'000, most_nodes = 1000;
  const Estimate expected = estimate(loaded, 1);
  const bool is_long = std::isfinite(expected.messages) && expected.messages > most_messages;
  return is_long || expected.nodes > most_nodes ? "steps" : "events";
}

// Two sentences on what took the time of a run, if it has recorded its events.
std::string why_text(const fs::path& dir, const std::string& trace) try {
  if (trace_level(trace) < trace_level("events")) return "";
  std::string text;
  for (const std::string& sentence : analysis::explain(analysis::RunRecord(dir)).sentences) {
    for (const std::string& line : analysis::wrapped(sentence, 88)) text += fmt::format("\n  {}", line);
  }
  return text + "\n";
} catch (const UserError&) {
  return "";  // nothing happened
}

// The command that compares this scenario: along its axes, or with several seeds if it has no axes.
std::string compare_line(Command command, bool has_axes) {
  if (!has_axes) {
    command = without_seed(std::move(command));
    command.seeds = "1,2,3";
  }
  return study::compare_line(command);
}

// The number of runs and the effort of `psim compare`.
std::string study_size(const study::Plan& plan) {
  double seconds = 0, bytes = 0;
  for (const study::PlannedRun& run : plan.runs) {
    seconds += run.seconds;
    bytes = std::max(bytes, run.bytes);
  }
  return fmt::format(
      "; psim compare makes {} of it\nthe runs take roughly {} on one core, or less if they reach their "
      "targets; "
      "each needs about {:.0f} MB of memory",
      text_of(count_of(plan)), time_text(seconds * effort_of(plan).times), bytes / 1e6);
}

// Throws Refused if psim cannot write a run to the folder of --out. A run in that folder is allowed: it may
// be this run, which is known only after the scenario is loaded.
void check_out(const std::string& out) {
  const fs::path dir = folder_named(out);
  const fs::file_status status = fs::symlink_status(dir);
  if (fs::exists(status) && !fs::is_symlink(status) && !fs::exists(dir / "summary.json")) check_target(dir);
  if (!fs::exists(status)) check_can_make(dir, "--out");
}

}  // namespace

int run(const Command& command) {
  Refusals wrong;
  std::optional<LoadedScenario> read;
  wrong.check([&] { read = loaded_for_one_run(command); });
  if (!command.out.empty()) wrong.check([&] { check_out(command.out); });
  wrong.throw_if_any();
  const LoadedScenario& loaded = *read;
  const RunIdentity identity = identity_of(loaded, scenario_name(command.scenario));
  const bool keep = !command.json || !command.out.empty();
  const fs::path dir =
      !command.out.empty() ? folder_named(command.out) : run_directory(identity.name, identity.scenario_hash);
  Command kept = command;
  kept.out = keep ? dir.string() : "";
  kept.costs = true;
  if (kept.trace.empty()) kept.trace = keep ? usual_trace(loaded) : "none";

  std::optional<Json> summary;
  bool reused = false;
  if (keep) {
    if (!command.force) {
      Finished found = finished_run(dir, identity.scenario_hash, kept.trace);
      if (!found.why_not.empty()) {
        check_target(dir);
        say("computing {}/ again: {}\n", dir.string(), found.why_not);
      }
      summary = std::move(found.summary);
    }
    reused = summary.has_value();
    if (reused) sweep_partial_runs(parent_of(dir), dir);
    if (!reused) {
      require_room(loaded, command);
      summary = make_with_progress(kept, loaded, identity);
    }
    set_latest(dir);
  } else {
    require_room(loaded, command);
    summary = make_with_progress(kept, loaded, identity);
  }

  if (command.json) {
    if (std::getenv("PSIM_PROBES") != nullptr) (*summary)["reached_states"] = reached_states();
    fmt::print("{}\n", summary->dump(2));
  } else {
    const std::string why = why_text(dir, kept.trace);
    print_summary(summary_text(*summary, command_line(command)) + why);
    fmt::print("\n{} {}/   next: {}{}, or psim replay {}\n", reused ? "already done, see" : "wrote",
               dir.string(), why.empty() ? "" : fmt::format("psim why {}, ", file_word(dir)),
               compare_line(command, loaded.has_axes), file_word(dir));
  }
  for (const auto& line : (*summary)["stuck"]) say("stuck: {}\n", line.get<std::string>());
  if (misses_target(*summary)) say("exit code 1: the target was not reached\n");
  if (!command.json && may_colour()) fmt::print("{}\n", one_line(*summary, terminal_width().value_or(80)));
  return is_yes(*summary) ? done : answer_is_no;
}

// Prints one line of JSON, even if psim refuses the run.
int answer(const std::function<Command()>& asked) {
  const RunAnswer answer = answer_of([&]() -> RunAnswer {
    Command command = asked();
    const LoadedScenario loaded = loaded_for_one_run(command);
    if (!command.out.empty()) check_out(command.out);
    require_room(loaded, command);
    if (command.trace.empty()) command.trace = command.out.empty() ? "none" : usual_trace(loaded);
    return {
        .summary =
            make_with_progress(command, loaded, identity_of(loaded, scenario_name(command.scenario))).dump()};
  });
  fmt::print("{}\n", to_json(answer));
  switch (answer.status) {
    case RunStatus::done: return is_yes(Json::parse(answer.summary)) ? done : answer_is_no;
    case RunStatus::refused:
    case RunStatus::no_memory: return bad_input;
    default: return our_fault;
  }
}

// Prints the memory of every kind of node.
void say_memory(const LoadedScenario& loaded) {
  std::vector<const Scenario*> jobs;
  for (const LoadedJob& job : loaded.jobs) jobs.push_back(&job.scenario);
  if (jobs.empty()) jobs.push_back(&loaded.scenario);
  const auto line = [](const NodeMemory& one) {
    const std::optional<double> limit = one.limit();
    const std::string of = limit ? " of " + size_text(*limit, 6) : "";
    say("memory of a {}: {}{} ({})\n", one.node, size_text(one.bytes(), 6), of, parts_text(one));
  };
  for (const Scenario* job : jobs) std::ranges::for_each(worker_memory(*job), line);
  if (loaded.scenario.architecture.has_servers()) line(server_memory(jobs));
}

int check(const Command& command) {
  const LoadedScenario loaded = loaded_with_notes(command);
  std::vector<std::string> notes = short_waits(loaded.scenario);
  if (std::string text = waits_for_ever(loaded.scenario); !text.empty()) notes.push_back(std::move(text));
  for (const std::string& note : notes) say("note: {}\n", note);
  std::string runs;
  if (loaded.has_axes) {
    const study::Plan plan = study::plan_study(command, false);
    say("{}", plan.notes);
    runs = study_size(plan);
  }
  fmt::print("{}", resolved_toml(loaded.scenario));
  say_memory(loaded);
  say("{} is a valid scenario; printed above with every default{}\n", command.scenario, runs);
  return done;
}

}  // namespace psim::cli
