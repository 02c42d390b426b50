// The commands that a first table does not need: they are built at their first use.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/export/message_table.hpp"
#include "analysis/run_record.hpp"
#include "analysis/timeline/spans.hpp"
#include "analysis/timeline/text.hpp"
#include "analysis/verify/verify.hpp"
#include "psim/command_line.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/further.hpp"
#include "sim/apps/cli/subcommand.hpp"
#include "sim/apps/cli/understand.hpp"
#include "sim/apps/playground/commands.hpp"

namespace psim::cli {
namespace {

void add_window(CLI::App* app, std::optional<double>& from, std::optional<double>& until) {
  option(app, "--from", from)->transform(date())->type_name("DATE");
  option(app, "--until", until)->transform(date())->type_name("DATE");
}

void add_export_options(CLI::App* app, ExportCommand& e) {
  option(app, "run", e.run)->required();
  option(app, "--perfetto", e.perfetto)->check(not_empty("file"));
  option(app, "--csv", e.csv)->check(not_empty("file"));
  option(app, "--dot", e.dot)->check(not_empty("file"));
  option(app, "--tikz", e.tikz)->check(not_empty("file"));
  option(app, "--svg", e.svg)->check(not_empty("folder"));
  option(app, "--weights", e.weights)->check(not_empty("folder"));
  option(app, "--width-mm", e.width_mm)->check(CLI::Range(50, 1000));
  add_window(app, e.from, e.until);
  option(app, "--all-flows", e.all_flows);
  option(app, "--force", e.force);
}

void add_fuzz_options(CLI::App* app, FuzzCommand& f) {
  option(app, "--seed", f.seed)->check(whole(0, 9'000'000'000'000'000));
  option(app, "--runs", f.runs)->check(whole(1, 1'000'000'000));
  option(app, "--for", f.seconds)->transform(duration());
  option(app, "--first", f.first)->check(whole(0, 1'000'000'000));
  option(app, "-j,--jobs", f.jobs)->check(whole(0, 1024));
  option(app, "--base", f.base)->check(not_empty("scenario"));
  option(app, "-o,--out", f.out)->check(not_empty("folder"));
}

const Subcommand further_table[] = {
    command<TimelineCommand>(
        "timeline",
        [](CLI::App* app, TimelineCommand& a) {
          option(app, "run", a.run)->required();
          option(app, "--clocks", a.clocks)->check(whole(1, 1'000'000'000));
          add_window(app, a.from, a.until);
          app->get_option("--until")->excludes("--clocks");
          option(app, "--width", a.width)->check(whole(40, 1000));
          option(app, "--messages", a.messages);
        },
        [](const TimelineCommand& a) { return about_run(run_named(a.run), [&] { return timeline(a); }); }),

    command<ExportCommand>("export", add_export_options, export_one),

    command<WhatIfCommand>(
        "what-if",
        [](CLI::App* app, WhatIfCommand& a) {
          option(app, "run", a.run)->required();
          option(app, "change", a.changes);
          option(app, "--set", a.sets)->take_all()->expected(1)->type_name("KEY=VALUE");
          option(app, "-j,--jobs", a.jobs);
          option(app, "--yes", a.yes);
          option(app, "--json", a.json);
        },
        [](const WhatIfCommand& a) { return about_run(run_named(a.run), [&] { return what_if(a); }); }),

    command<ArchiveCommand>(
        "archive",
        [](CLI::App* app, ArchiveCommand& a) {
          option(app, "study", a.study)->required();
          option(app, "-o,--out", a.out)->check(not_empty("file"));
          option(app, "--author", a.authors)->allow_extra_args(false)->check(not_empty("author"));
          option(app, "--license", a.license)->check(not_empty("license"));
          option(app, "--data-dir", a.data_dirs)->allow_extra_args(false);
        },
        archive),

    command<CiteCommand>(
        "cite",
        [](CLI::App* app, CiteCommand& a) {
          option(app, "name", a.name);
          option(app, "--bibtex", a.bibtex);
          option(app, "--data-dir", a.data_dirs)->allow_extra_args(false);
        },
        cite),

    command<VerifyCommand>(
        "verify",
        [](CLI::App* app, VerifyCommand& a) {
          option(app, "directory", a.run)->required();
          option(app, "--json", a.json);
        },
        verify),

    command<FuzzCommand>("fuzz", add_fuzz_options, fuzz),

    command<ServeCommand>(
        "serve",
        [](CLI::App* app, ServeCommand& a) {
          option(app, "--port", a.port)->check(whole(0, 65535));
          option(app, "--address", a.address)->check(CLI::ValidIPV4);
          option(app, "--name", a.names)->allow_extra_args(false)->check(not_empty("host"));
          option(app, "-j,--jobs", a.jobs)->check(whole(0, 1024));
          option(app, "--memory", a.memory)->check(CLI::Range(0.1, 1e6));
          option(app, "--seconds", a.seconds)->check(whole(1, 1'000'000));
          option(app, "--class", a.lab)
              ->check(not_empty("number"))
              ->excludes("--jobs", "--memory", "--seconds");
          option(app, "--course", a.course)->check(not_empty("folder"))->needs("--class");
        },
        serve),

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

// psim verify.
int verify(const VerifyCommand& asked) {
  const analysis::Verdict verdict = analysis::verify(run_named(asked.run));
  if (asked.json) fmt::print("{}\n", analysis::document(verdict).dump(2));
  else fmt::print("{}", analysis::text(verdict));
  return verdict.holds() ? done : answer_is_no;
}

}  // namespace psim::cli

int psim::command_line(int argc, char** argv) {
  std::vector<cli::Room> rooms = cli::core_rooms();
  for (const cli::Room room : cli::further_rooms()) rooms.push_back(room);
  return cli::command_line(argc, argv, rooms);
}
