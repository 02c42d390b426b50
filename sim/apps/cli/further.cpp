// The commands that a first table does not need: they are built at their first use.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/export/message_table.hpp"
#include "analysis/run_record.hpp"
#include "analysis/timeline/spans.hpp"
#include "analysis/timeline/text.hpp"
#include "psim/command_line.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/further.hpp"
#include "sim/apps/cli/subcommand.hpp"
#include "sim/apps/cli/understand.hpp"
#include "sim/apps/cli/validators.hpp"
#include "sim/apps/playground/commands.hpp"

namespace psim::cli {
namespace {

void add_run(CLI::App* app, std::string& run) {
  app->add_option("run", run, "A run with its events: its path, its name, or `latest`.")->required();
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

void add_fuzz_options(CLI::App* app, FuzzCommand& f) {
  app->add_option("--seed", f.seed, "Seed from which psim draws the scenarios.")
      ->check(whole(0, 9'000'000'000'000'000));
  app->add_option("--runs", f.runs, "Number of scenarios; default: 1000, unless --for is given.")
      ->check(whole(1, 1'000'000'000));
  app->add_option("--for", f.seconds, "How long to run, for example 10min.")->transform(duration());
  app->add_option("--first", f.first, "Number of the first scenario.")->check(whole(0, 1'000'000'000));
  app->add_option("-j,--jobs", f.jobs, "Runs at the same time; 0: one per core.")->check(whole(0, 1024));
  app->add_option("--base", f.base,
                  "A scenario with your own consistency model: all drawn scenarios get its [consistency].")
      ->check(not_empty("scenario"));
  app->add_option("-o,--out", f.out, "Folder for failing scenarios; default: fuzz-failures/.")
      ->check(not_empty("folder"));
}

const Subcommand further_table[] = {
    command<TimelineCommand>(
        "timeline",
        [](CLI::App* app, TimelineCommand& a) {
          add_run(app, a.run);
          app->add_option("--clocks", a.clocks,
                          "From the start until every worker has finished this number of clocks.")
              ->check(whole(1, 1'000'000'000));
          add_window(app, a.from, a.until);
          app->get_option("--until")->excludes("--clocks");
          app->add_option("--width", a.width, "Characters of a line; default: the width of the terminal.")
              ->check(whole(40, 1000));
          app->add_flag("--messages", a.messages, "Print a table of the messages instead, one per line.");
        },
        [](const TimelineCommand& a) { return about_run(run_named(a.run), [&] { return timeline(a); }); }),

    command<ExportCommand>(
        "export", [](CLI::App* app, ExportCommand& a) { add_export_options(app, a); },
        [](const ExportCommand& a) { return export_one(a); }),

    command<WhatIfCommand>(
        "what-if",
        [](CLI::App* app, WhatIfCommand& a) {
          add_run(app, a.run);
          app->add_option("change", a.changes,
                          "no-straggler[=worker N], no-faults, no-crash=NODE, bandwidth=2x, latency=0.5x, "
                          "compute=[worker "
                          "N:]50%, later-crash=2s, servers=4 and others; default: all changes that make "
                          "sense for the run.");
          app->add_option("--set", a.sets,
                          "Another value of a field, as in `psim run`; several --set are one change.")
              ->take_all()
              ->expected(1)
              ->type_name("KEY=VALUE");
          app->add_option("-j,--jobs", a.jobs, "Re-runs at the same time; 0: one per core.");
          app->add_flag("--yes", a.yes, "Make the re-runs also if they take longer than a minute.");
          app->add_flag("--json", a.json, "Print one JSON document.");
        },
        [](const WhatIfCommand& a) { return about_run(run_named(a.run), [&] { return what_if(a); }); }),

    command<ArchiveCommand>(
        "archive",
        [](CLI::App* app, ArchiveCommand& a) {
          app->add_option("study", a.study, "A study: its name, path, or `latest`.")->required();
          app->add_option("-o,--out", a.out, "The archive's file; default: NAME.tar.gz here.")
              ->check(not_empty("file"));
          app->add_option("--author", a.authors,
                          "An author of the study: 'Family, Given', or a name. Repeatable.")
              ->allow_extra_args(false)
              ->check(not_empty("author"));
          app->add_option("--license", a.license,
                          "The results' licence, as in SPDX, for example CC-BY-4.0; default: not stated.")
              ->check(not_empty("license"));
          app->add_option("--data-dir", a.data_dirs, "Folder to search for the scenario's data files.")
              ->allow_extra_args(false);
        },
        [](const ArchiveCommand& a) { return archive(a); }),

    command<CiteCommand>(
        "cite",
        [](CLI::App* app, CiteCommand& a) {
          app->add_option("name", a.name, "A study or a scenario: its name or path.");
          app->add_flag("--bibtex", a.bibtex, "Print only the references, in BibTeX.");
          app->add_option("--data-dir", a.data_dirs, "Folder to search for the scenario's data files.")
              ->allow_extra_args(false);
        },
        [](const CiteCommand& a) { return cite(a); }),

    command<FuzzCommand>(
        "fuzz", [](CLI::App* app, FuzzCommand& a) { add_fuzz_options(app, a); },
        [](const FuzzCommand& a) { return fuzz(a); }),

    command<ServeCommand>(
        "serve",
        [](CLI::App* app, ServeCommand& a) {
          app->add_option("--port", a.port, "The port; 0: any free port.")->check(whole(0, 65535));
          app->add_option("--address", a.address,
                          "The address to listen on; default: 127.0.0.1, which only this machine can reach.")
              ->check(CLI::ValidIPV4);
          app->add_option("--name", a.names,
                          "A further host name for browsers, besides the address and localhost. Repeatable.")
              ->allow_extra_args(false)
              ->check(not_empty("host"));
          app->add_option("-j,--jobs", a.jobs, "Runs at the same time; 0: one per core.")
              ->check(whole(0, 1024));
          app->add_option("--memory", a.memory, "GB of address space that a run may use; default: 2.")
              ->check(CLI::Range(0.1, 1e6));
          app->add_option("--seconds", a.seconds,
                          "Seconds of processor time that a run may use; default: 30.")
              ->check(whole(1, 1'000'000));
        },
        [](const ServeCommand& a) { return serve(a); }),

};

}  // namespace

std::vector<Room> further_rooms() { return {further_table, calibrate_subcommands(), lab_subcommands()}; }

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

int psim::command_line(int argc, char** argv) {
  std::vector<cli::Room> rooms = cli::core_rooms();
  for (const cli::Room room : cli::further_rooms()) rooms.push_back(room);
  return cli::command_line(argc, argv, rooms);
}
