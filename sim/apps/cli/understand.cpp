// The subcommands for finished runs.
#include "sim/apps/cli/understand.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/export/message_table.hpp"
#include "analysis/run_files.hpp"
#include "analysis/run_record.hpp"
#include "analysis/timeline/spans.hpp"
#include "analysis/timeline/text.hpp"
#include "analysis/verify/verify.hpp"
#include "sim/apps/cli/command.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/subcommand.hpp"
#include "sim/apps/cli/validators.hpp"

namespace psim::cli {
namespace {

CLI::Option* add_run(CLI::App* app, auto& run) {
  return app->add_option("run", run, "A run with its events: its path, its name, or `latest`.")->required();
}

void add_window(CLI::App* app, std::optional<double>& from, std::optional<double>& until) {
  app->add_option("--from", from, "The first date, for example 1s; default: the start of the run.")
      ->transform(date())
      ->type_name("DATE");
  app->add_option("--until", until, "The last date, for example 2s.")->transform(date())->type_name("DATE");
}

void add_export_options(CLI::App* app, ExportCommand& e) {
  app->add_option("run", e.run,
                  "A run with its events, or for --svg a study: its path, its name, or "
                  "`latest` (the latest run; `studies/latest` is the latest study).")
      ->required();
  const auto file = [app](const char* name, std::string& path, const char* what) {
    app->add_option(name, path, what)->check(not_empty("file"));
  };
  file("--perfetto", e.perfetto, "A trace for ui.perfetto.dev, with a process for each node.");
  file("--csv", e.csv, "Spans, messages and marks as one table.");
  file("--dot", e.dot,
       "Causes of events, for Graphviz: around the first fault (or the first clocks), or between --from "
       "and --until.");
  file("--tikz", e.tikz, "Timeline and loss for LaTeX.");
  app->add_option("--svg", e.svg,
                  "A folder for charts. Of a run: timeline, loss, staleness, clocks and traffic. Of a "
                  "study: loss, accuracy, times, and time against bytes sent (pareto).")
      ->check(not_empty("folder"));
  app->add_option("--weights", e.weights,
                  "A folder for the last weights: makes the run again, and writes a file for each array, for "
                  "numpy.load.")
      ->check(not_empty("folder"));
  app->add_option("--width-mm", e.width_mm, "Width of the charts of --svg in millimetres; default: 180.")
      ->check(CLI::Range(50, 1000));
  add_window(app, e.from, e.until);
  app->add_flag("--all-flows", e.all_flows,
                "Draw every message as an arrow in --perfetto, not only those of the critical path.");
  app->add_flag("--force", e.force, "Also replace files that psim export did not write.");
}

const Subcommand understand_table[] = {
    {"why", groups::understand,
     "Explain what took the time of a run: its critical path, and which node held up which worker.",
     "  psim why latest                                    the latest run\n"
     "  psim why latest --until target                     until the target was reached\n"
     "  psim why runs/a runs/b                             where two runs first differ, and what made the "
     "difference\n"
     "  psim why latest --json | jq .waits\n",
     [](CLI::App* app, Asked& a) {
       add_run(app, a.why.runs)->expected(1, 2);
       app->add_option("--until", a.why.until,
                       "Explain the run up to its end, or up to the date when it reached the target.")
           ->check(one_of({"end", "target"}));
       app->add_option("--at", a.why.at, "Explain the run up to this date, for example 2s.")
           ->excludes("--until")
           ->transform(duration());
       app->add_flag("--gradients", a.why.gradients,
                     "Repeat the run, and compare each gradient with the gradient of the same samples at the "
                     "newest weights.");
       app->add_flag("--json", a.why.json, "Print one JSON document.");
     },
     [](const Asked& a) { return about_run(run_named(a.why.runs.back()), [&] { return why(a.why); }); }},
    {"timeline", groups::understand,
     "Draw a timeline: when each node computed, waited (and for which node), or was down.",
     "  psim timeline latest                               around the first fault, or the first clocks\n"
     "  psim timeline quickstart-1a2b3c4d --from 1s --until 1.2s\n"
     "  psim timeline latest --clocks 1 --messages         all messages, with sender, receiver and dates\n",
     [](CLI::App* app, Asked& a) {
       add_run(app, a.timeline.run);
       app->add_option("--clocks", a.timeline.clocks,
                       "From the start until every worker has finished this number of clocks.")
           ->check(whole(1, 1'000'000'000));
       add_window(app, a.timeline.from, a.timeline.until);
       app->get_option("--until")->excludes("--clocks");
       app->add_option("--width", a.timeline.width,
                       "Characters of a line; default: the width of the terminal.")
           ->check(whole(40, 1000));
       app->add_flag("--messages", a.timeline.messages,
                     "Print a table of the messages instead, one per line.");
     },
     [](const Asked& a) {
       return about_run(run_named(a.timeline.run), [&] { return timeline(a.timeline); });
     }},
    {"export", groups::understand, "Write a run in formats of other programs, or a run or study as charts.",
     "  psim export latest --perfetto run.pftrace          then open it in ui.perfetto.dev\n"
     "  psim export latest --svg charts --width-mm 85      for a column of a paper\n"
     "  psim export stragglers-1a2b3c4d --svg charts       charts of a study, a file for each condition\n"
     "  psim export latest --csv run.csv --dot causes.dot --until 100ms\n",
     [](CLI::App* app, Asked& a) { add_export_options(app, a.exported); },
     [](const Asked& a) { return export_one(a.exported); }},
    {"report", groups::understand, "Make an HTML page of a run or a study: one file for a browser.",
     "  psim report latest                                 the latest study, or else the latest run\n"
     "  psim report runs/latest                            a run; recorded with --trace events it has a time "
     "line\n"
     "  psim report stragglers-1a2b3c4d --out slow.html\n"
     "  psim report studies/latest --sliders --out play.html   for a lecture; record with --trace events\n",
     [](CLI::App* app, Asked& a) {
       app->add_option("name", a.directory, "A run or study: its path, its name, or `latest`.")->required();
       app->add_option("-o,--out", a.command.out,
                       "The file; default: report.html in the folder of the run or study.")
           ->check(not_empty("file"));
       app->add_flag("--json", a.command.json, "For a run: print the data of the page as one JSON document.")
           ->excludes("--out");
       app->add_flag("--sliders", a.sliders,
                     "For a study: a page with a slider for each axis, and two settings side by side.")
           ->needs("--out")
           ->excludes("--json");
     },
     [](const Asked& a) {
       return a.sliders ? sliders(a.directory, a.command.out)
                        : report(a.directory, a.command.out, a.command.json);
     }},
    {"what-if", groups::understand, "Make a run again with changes, and see what each of them brings.",
     "  psim what-if latest                                the changes that make sense, the best first\n"
     "  psim what-if latest no-straggler bandwidth=2x      these two changes\n"
     "  psim what-if latest 'compute=worker 3:0,25,50,75,100%'   a curve\n"
     "  psim what-if latest servers=4 later-crash=2s\n"
     "  psim what-if latest 'no-crash=server 1' no-faults\n"
     "  psim what-if latest --set consistency.model=asp\n",
     [](CLI::App* app, Asked& a) {
       add_run(app, a.what_if.run);
       app->add_option(
           "change", a.what_if.changes,
           "no-straggler[=worker N], no-faults, no-crash=NODE, bandwidth=2x, latency=0.5x, compute=[worker "
           "N:]50%, later-crash=2s, servers=4 and others; default: all changes that make sense for the run.");
       app->add_option("--set", a.what_if.sets,
                       "Another value of a field, as in `psim run`; several --set are one change.")
           ->take_all()
           ->expected(1)
           ->type_name("KEY=VALUE");
       app->add_option("-j,--jobs", a.what_if.jobs, "Re-runs at the same time; 0: one per core.");
       app->add_flag("--yes", a.what_if.yes, "Make the re-runs also if they take longer than a minute.");
       app->add_flag("--json", a.what_if.json, "Print one JSON document.");
     },
     [](const Asked& a) { return about_run(run_named(a.what_if.run), [&] { return what_if(a.what_if); }); }},
};

}  // namespace

std::span<const Subcommand> understand_subcommands() { return understand_table; }

fs::path run_named(const std::string& name) {
  return fs::exists(fs::symlink_status(name)) ? fs::path(name) : found_on(runs_shelf(), name);
}

void say_if_changed(const fs::path& run) {
  if (const std::string broken = analysis::broken_seal(run); !broken.empty())
    say("note: {}: {}\n", run.string(), broken);
}

analysis::RunRecord open_record(const fs::path& run) {
  analysis::RunRecord record(run);
  say_if_changed(run);
  return record;
}

int about_run(const fs::path& run, const std::function<int()>& answer) try {
  return answer();
} catch (const Json::exception& error) {
  throw analysis::unfit_summary(run, error);
}

// psim verify.

// `name`: a path, or a name on the shelf of runs, as in psim replay.
int verify(const std::string& name, bool json) {
  const analysis::Verdict verdict = analysis::verify(run_named(name));
  if (json) fmt::print("{}\n", analysis::document(verdict).dump(2));
  else fmt::print("{}", analysis::text(verdict));
  return verdict.holds() ? done : answer_is_no;
}

// psim timeline.
int timeline(const TimelineCommand& asked) {
  const fs::path folder = run_named(asked.run);
  const analysis::RunRecord record = open_record(folder);
  const analysis::Recording all = asked.messages ? analysis::recording_of(record, "")
                                                 : analysis::Recording{.line = analysis::timeline_of(record)};
  const analysis::Timeline& line = all.line;
  constexpr std::int64_t few = 4;  // clocks, if the user gives neither clocks nor a date
  constexpr int unknown_width = 86;
  analysis::TimelineText options;
  const bool is_chosen = asked.from || asked.until || asked.clocks || asked.messages;
  const analysis::Opening opening = analysis::opening_of(line);
  options.from = is_chosen ? asked.from.value_or(0) : opening.from;
  options.until = !is_chosen                    ? opening.until
                  : asked.until                 ? std::min(*asked.until, line.end)
                  : asked.clocks || !asked.from ? analysis::end_of_clocks(line, asked.clocks.value_or(few))
                                                : line.end;
  options.width = asked.width.value_or(terminal_width().value_or(unknown_width));
  options.colour = may_colour();
  if (!(options.from < options.until))
    throw Refused(fmt::format("this window is empty: {:.6g} s to {:.6g} s", options.from, options.until),
                  fmt::format("the run ends at {:.6g} s", line.end));
  const std::string text =
      asked.messages ? analysis::message_table(all, {.from = options.from,
                                                     .until = options.until,
                                                     .width = static_cast<std::size_t>(options.width)})
                     : analysis::text_of(line, options);
  fmt::print("{}: {:.4g} s to {:.4g} s of {:.4g} s\n\n{}", folder.string(), options.from, options.until,
             line.end, text);
  return done;
}

}  // namespace psim::cli
