// psim's command line: its subcommands and their options.
#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <initializer_list>
#include <stdexcept>
#include <system_error>

#include "model/numerics/product.hpp"
#include "psim/command_line.hpp"
#include "sim/apps/cli/command.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/recipe.hpp"
#include "sim/apps/cli/subcommand.hpp"
#include "sim/apps/cli/usage.hpp"
#include "sim/apps/cli/validators.hpp"
#include "sim/cluster/engine.hpp"
#include "sim/record/run_file.hpp"
#include "sim/record/summary.hpp"
#include "sim/runs/answer.hpp"
#include "sim/runs/files.hpp"
#include "sim/runs/interrupt.hpp"
#include "sim/scenario/additions.hpp"
#include "sim/scenario/reference/reference.hpp"

namespace psim::cli {

// Prints errors that no command has handled.

namespace {

// The message if writing the answer to stdout fails.
std::string lost_answer(int error) {
  return error == EBADF ? "cannot write the answer: stdout is closed"
                        : fmt::format("cannot write the answer to stdout: {}", std::strerror(error));
}

int answer_with(const Told& error) {
  say_text(error.text);
  return error.is_users ? bad_input : our_fault;
}

}  // namespace

// The exit code of `action`. If it throws, prints the error to stderr and returns the error's exit code.
int guarded(const std::function<int()>& action) {
  try {
    const int code = action();
    if (std::fflush(stdout) != 0) throw std::runtime_error(lost_answer(errno));
    return code;
  } catch (const Interrupted& interrupt) {
    say("{}{}\n", isatty(STDERR_FILENO) != 0 ? "\r\033[K" : "", interrupt.message);
    return 128 + interrupt.signal;
  } catch (const std::system_error& error) {
    const bool of_stdout = std::string_view(error.what()).starts_with("cannot write to file");  // fmt::print
    return answer_with(of_stdout ? Told{false, fmt::format("error: {}\n", lost_answer(error.code().value()))}
                                 : told());
  } catch (...) {
    return answer_with(told());
  }
}

namespace {

void add_scenario_options(CLI::App* app, Command& c) {
  app->add_option("scenario", c.scenario,
                  "A scenario file (TOML), or the name of a scenario that comes with psim.")
      ->required();
  app->add_option("overrides", c.more_sets, "More overrides after the file: table.key=value.");
  app->add_option("--set", c.sets, "Override a field: table.key=value. Repeatable.")
      ->take_all()
      ->allow_extra_args(false);
  app->add_option("--seed", c.seed, "Override the scenario's seed.")->check(whole(0, 9'000'000'000'000'000));
  app->add_option("--data-dir", c.data_dirs,
                  "Folder in which psim first looks for data files; then it looks in $PSIM_DATA and in the "
                  "scenario's folder.")
      ->allow_extra_args(false);
}

// Appends overrides without --set to those of --set. Finds a scenario that is named without folder and
// ending. `trace`: the default of --trace.
Command complete(Command c, const char* trace) {
  if (c.trace.empty()) c.trace = trace;
  c.scenario = find_scenario(c.scenario);
  c.sets.insert(c.sets.end(), c.more_sets.begin(), c.more_sets.end());
  c.more_sets.clear();
  return c;
}

void add_run_options(CLI::App* app, Command& c) {
  add_scenario_options(app, c);
  app->add_option("-o,--out", c.out, "Folder for the run; default: in runs/.")->check(not_empty("folder"));
  app->add_option("--threads", c.threads, "Threads for gradients; 0: all cores. Never changes results.")
      ->check(whole(0, 1024));
  app->add_flag("--json", c.json, "Print one JSON document; writes no files unless --out is given.");
  app->add_flag("--force", c.force,
                "Compute finished runs again and replace them; run even if memory seems too small.");
  app->add_option("--trace", c.trace,
                  "What run.db keeps: none, steps or events. `run` keeps events, or steps if there would "
                  "be too many of them.")
      ->check(one_of({trace_names.begin(), trace_names.end()}));
}

// Allows at most one of these options.
void exclude(CLI::App* app, std::initializer_list<const char*> names) {
  for (const char* one : names) {
    for (const char* other : names) {
      if (one != other) app->get_option(one)->excludes(app->get_option(other));
    }
  }
}

void add_report_options(CLI::App* app, StudyCommand& s) {
  app->add_option("--baseline", s.baseline, "The arm to compare the others with; default: the first arm.");
  app->add_option("--columns", s.columns, "Names of the table's columns, separated by commas.")
      ->delimiter(',')
      ->allow_extra_args(false);
  app->add_flag("--wide", s.wide, "Print all columns, in several tables.");
  app->add_flag("--markdown", s.markdown, "Print only the table, in Markdown.");
  app->add_flag("--latex", s.latex, "Print only the table, in LaTeX (booktabs).");
  app->add_flag("--report", s.page, "Also make report.html for a browser (see psim report).");
  exclude(app, {"--json", "--markdown", "--latex"});
  exclude(app, {"--json", "--report"});
  exclude(app, {"--json", "--wide", "--columns"});
}

// A command that only counts runs, or makes a part of them, prints no table.
void add_limits_of_study_options(CLI::App* app) {
  exclude(app, {"--count", "--recipe", "--slice"});
  for (const char* only : {"--count", "--recipe", "--slice"}) {
    for (const char* of_table : {"--report", "--json", "--markdown", "--latex", "--wide", "--columns"})
      exclude(app, {only, of_table});
  }
  app->get_option("--slices")->needs(app->get_option("--recipe"));
}

// `form`: the help text of the words.
void add_shelf_options(CLI::App* app, ShelfCommand& s, const char* form) {
  app->add_option("words", s.words, form)->type_name("[PATTERN] | rename OLD NEW | remove NAME...");
  app->add_option("--in", s.in, "The folder to list; default: runs/ or studies/.")
      ->check(not_empty("folder"));
  app->add_flag("--json", s.json, "Print one JSON document.");
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

int print(std::string_view text) {
  fmt::print("{}", text);
  return done;
}

constexpr const char* general =
    "Examples:\n"
    "  psim compare stragglers                    four ways to live with a slow worker\n"
    "  psim run quickstart --set consistency.model=asp --seed 7\n"
    "  psim explain ssp\n"
    "  psim help run                              a command's options and more examples\n\n"
    "Exit codes: 0 done, 1 the answer is no (target missed, digest differs), 2 bad input or usage,\n"
    "3 psim's fault or the machine's (a full disk), 130 stopped by Ctrl-C, 143 by SIGTERM.";

// What `psim` alone prints.
constexpr const char* first_words =
    "psim simulates parameter-server training. Begin with one of these:\n\n"
    "  run      psim run quickstart         one scenario, and what took its time\n"
    "  compare  psim compare stragglers     four ways to live with a slow worker\n"
    "  see      psim report runs/latest     a page with the time line of every node\n"
    "  learn    psim lab                    six labs that check your answers\n"
    "  look up  psim explain ssp            a model, a field, a column, a word or an error\n\n"
    "psim --help lists all commands, psim help run explains one.\n";

const Subcommand subcommands[] = {
    {"run", groups::simulate, "Run a scenario.",
     "  psim run quickstart                                a scenario that comes with psim\n"
     "  psim run my.toml --set cluster.workers=16 --seed 7\n"
     "  psim run my.toml --set 'model.layers=[64, 10]'     a list needs quotes for the shell\n"
     "  psim run my.toml --json | jq .final\n"
     "  psim run my.toml --out here                        then: psim why here\n",
     [](CLI::App* app, Asked& a) {
       add_run_options(app, a.command);
       app->add_option("--context", a.command.context, "SimGrid's context factory; never changes results.")
           ->check(one_of(context_factories()));
       app->add_flag("--no-files", a.command.no_files,
                     "Reject a scenario that needs other files; for scenarios from people you do not trust.")
           ->excludes("--data-dir");
       app->add_option("--progress", a.command.progress,
                       "auto: a line on a terminal; json: lines of JSON on stderr, for programs.")
           ->check(one_of({"auto", "json"}));
       app->add_flag("--answer", a.command.answer,
                     "For programs: print one line of JSON with status, why and summary, even if psim "
                     "rejects the scenario.")
           ->excludes("--json");
     },
     [](const Asked& a) {
       if (!a.command.answer) return run(complete(a.command, ""));
       return answer([&a] { return complete(a.command, ""); });
     }},
    {"compare", groups::simulate, "Run a scenario's [compare] axes and seeds, and compare the results.",
     "  psim compare stragglers                            the scenario's own axes\n"
     "  psim compare my.toml --seeds 10                    every run with ten seeds, 1 to 10\n"
     "  psim compare my.toml --set 'cluster.workers=[4, 8, 16]'\n"
     "  psim compare my.toml --set 'consistency=[bsp, ssp 3, asp]'\n"
     "  psim compare my.toml --json | jq .aggregates\n",
     [](CLI::App* app, Asked& a) {
       add_run_options(app, a.command);
       app->add_option("-j,--jobs", a.command.jobs, "Processes at the same time; 0: one per core.")
           ->check(whole(0, 1024));
       app->add_option(
              "--seeds", a.command.seeds,
              "Seeds for every run: their number (10 means 1 to 10), or a list such as 1,2,3 or 1-5,9. One "
              "seed is --seed.")
           ->transform(seed_list());
       app->add_option("--slice", a.study.slice,
                       "Make only a part of the runs, for example 3/8; with /8 psim takes the number of the "
                       "part from Slurm's array or GNU parallel.")
           ->check(not_empty("slice such as 3/8"));
       app->add_option(
              "--until-ci", a.study.until_ci,
              "Add seeds until each interval of a ratio has at most this half-width, for example 5%.")
           ->transform(percentage(1e-6, 1));
       app->add_flag("--count", a.study.count, "Only print the number of runs.");
       app->add_option("--recipe", a.study.recipe,
                       "Only print a script that runs the study on many machines.")
           ->check(one_of(recipe_names()));
       app->add_option("--slices", a.study.slices,
                       "Number of slices in the recipe; by default each slice takes about ten minutes.")
           ->check(whole(1, 10'000));
       add_report_options(app, a.study);
       add_limits_of_study_options(app);
     },
     [](const Asked& a) { return compare(complete(a.command, "none"), a.study); }},
    {"merge", groups::keep, "Combine the results of a study's slices, and compare them.",
     "  psim merge studies/stragglers-1a2b3c4d\n",
     [](CLI::App* app, Asked& a) {
       app->add_option("study", a.directory, "The study's folder.")->required();
       app->add_flag("--json", a.command.json, "Print one JSON document.");
       add_report_options(app, a.study);
     },
     [](const Asked& a) { return merge(a.directory, a.study, a.command.json); }},
    {"check", groups::simulate, "Check a scenario and print it with every default written out.",
     "  psim check my.toml                                 also checks every run of [compare]\n"
     "  psim check my.toml --set cluster.servers=4\n",
     [](CLI::App* app, Asked& a) { add_scenario_options(app, a.command); },
     [](const Asked& a) { return check(complete(a.command, "none")); }},
    {"replay", groups::keep, "Repeat a finished run or study, and compare the results.",
     "  psim replay runs/latest                            a run, event by event\n"
     "  psim replay studies/latest                         all runs of a study\n",
     [](CLI::App* app, Asked& a) {
       app->add_option("directory", a.directory, "A run or study: its path, its name, or `latest`.")
           ->required();
       app->add_option("--threads", a.command.threads, "Threads for gradients; 0: all cores.")
           ->check(whole(0, 1024));
     },
     [](const Asked& a) { return replay(a.directory, a.command); }},
    {"studies", groups::keep, "List the studies in studies/; rename or remove one.",
     "  psim studies                                       all of them\n"
     "  psim studies 'strag*'                              a glob, or part of the name\n"
     "  psim studies rename stragglers-1a2b3c4d slow-node\n"
     "  psim studies remove latest                         removes only files that psim wrote\n",
     [](CLI::App* app, Asked& a) {
       add_shelf_options(app, a.shelf,
                         "Which studies to list, or what to do with a study: its name, path, or `latest`.");
     },
     [](const Asked& a) { return studies(a.shelf); }},
    {"runs", groups::keep, "List the runs in runs/ and those of studies; rename or remove one of runs/.",
     "  psim runs                                          all of them\n"
     "  psim runs quickstart                               part of the name, a glob, or a hash\n"
     "  psim runs --study latest --where arm=asp --where seed=2\n"
     "  psim runs --where reached=no --json | jq -r '.runs[].run'\n"
     "  psim runs rename quickstart-1a2b3c4d first\n"
     "  psim runs remove first                             removes only files that psim wrote\n",
     [](CLI::App* app, Asked& a) {
       add_shelf_options(app, a.shelf,
                         "Which runs to list, or what to do with a run: its name, path, or `latest`.");
       app->add_option("--study", a.shelf.study, "Only runs of this study: its name, path, or `latest`.");
       app->add_option("--where", a.shelf.wheres,
                       "Only runs with this value, KEY=VALUE. KEY is arm, seed, scenario, consistency, "
                       "reached (yes or no), run, digest (its first digits), or an axis. Repeatable.")
           ->take_all()
           ->allow_extra_args(false);
     },
     [](const Asked& a) { return runs(a.shelf); }},
    {"archive", groups::keep, "Pack a complete study into one file, ready to be published.",
     "  psim archive latest --author 'Lovelace, Ada'       writes NAME.tar.gz\n"
     "  psim archive studies/stragglers-1a2b3c4d -o stragglers.tar.gz\n",
     [](CLI::App* app, Asked& a) {
       app->add_option("study", a.archive.study, "A study: its name, path, or `latest`.")->required();
       app->add_option("-o,--out", a.archive.out, "The archive's file; default: NAME.tar.gz here.")
           ->check(not_empty("file"));
       app->add_option("--author", a.archive.authors,
                       "An author of the study: 'Family, Given', or a name. Repeatable.")
           ->allow_extra_args(false)
           ->check(not_empty("author"));
       app->add_option("--license", a.archive.license,
                       "The results' licence, as in SPDX, for example CC-BY-4.0; default: not stated.")
           ->check(not_empty("license"));
       app->add_option("--data-dir", a.archive.data_dirs, "Folder to search for the scenario's data files.")
           ->allow_extra_args(false);
     },
     [](const Asked& a) { return archive(a.archive); }},
    {"cite", groups::keep, "List the works to cite for psim, a study or a scenario.",
     "  psim cite                                          psim and the libraries that it uses\n"
     "  psim cite stragglers                               a scenario: its models, optimizer, filters, data\n"
     "  psim cite latest --bibtex                          a study, with the statistics of its table\n",
     [](CLI::App* app, Asked& a) {
       app->add_option("name", a.directory, "A study or a scenario: its name or path.");
       app->add_flag("--bibtex", a.bibtex, "Print only the references, in BibTeX.");
       app->add_option("--data-dir", a.command.data_dirs, "Folder to search for the scenario's data files.")
           ->allow_extra_args(false);
     },
     [](const Asked& a) { return cite(a.directory, a.command, a.bibtex); }},
    {"verify", groups::examine,
     "Check that a finished run kept the promises of its consistency model and of replication.",
     "  psim run server_crash\n  psim verify runs/latest\n",
     [](CLI::App* app, Asked& a) {
       app->add_option("directory", a.directory, "A run with its events: its path, its name, or `latest`.")
           ->required();
       app->add_flag("--json", a.command.json, "Print one JSON document.");
     },
     [](const Asked& a) { return verify(a.directory, a.command.json); }},
    {"explain", groups::learn,
     "Explain a consistency model, a preset, a field, an error, or any word that psim prints.",
     "  psim explain ssp                                   a model, filter or preset\n"
     "  psim explain cluster.workers                       a field\n"
     "  psim explain cluster                               a table and its fields\n"
     "  psim explain tasks ssp                             what each pull waits for\n"
     "  psim explain wait                                  a word that psim prints\n",
     [](CLI::App* app, Asked& a) {
       app->add_option("name", a.words, "For example ssp, cluster.workers, unit, tasks ssp, time to target.")
           ->expected(0, 4);
       app->add_flag("--reference", a.reference, "Print docs/scenario.md.");
     },
     [](const Asked& a) {
       return print(a.reference ? scenario_reference() : a.words.empty() ? list() : explain(a.words));
     }},
    {"fuzz", groups::examine, "Run random scenarios with failures, and shrink those that go wrong.",
     "  psim fuzz --runs 100 --seed 7\n"
     "  psim fuzz --for 10min --out failures\n"
     "  psim fuzz --base my.toml --runs 200                your own consistency model, under random "
     "failures\n",
     [](CLI::App* app, Asked& a) { add_fuzz_options(app, a.fuzz); },
     [](const Asked& a) { return fuzz(a.fuzz); }},
    {"schema", groups::examine, "Print the JSON Schema of scenario files, for editors.",
     "  psim schema > scenario.schema.json\n", [](CLI::App*, Asked&) {},
     [](const Asked&) { return print(scenario_schema().dump(2) + "\n"); }},
    {"list", groups::simulate, "List the scenarios that come with psim, models and topics.", "  psim list\n",
     [](CLI::App*, Asked&) {}, [](const Asked&) { return print(list()); }},
    {"help", groups::learn, "Explain a command: psim help run.", "  psim help run\n",
     [](CLI::App*, Asked&) {}, [](const Asked&) { return print(""); }},
};

}  // namespace

std::string about_subcommand(std::string_view name) {
  const std::span<const Subcommand> all[] = {subcommands, calibrate_subcommands(), understand_subcommands(),
                                             play_subcommands(), lab_subcommands()};
  for (const std::span<const Subcommand> some : all) {
    for (const Subcommand& one : some) {
      if (one.name == name)
        return fmt::format("psim {}, a subcommand:\n  {}\n  psim help {} has its options\n", name,
                           one.description, name);
    }
  }
  return {};
}

}  // namespace psim::cli

int psim::command_line(int argc, char** argv) {
  using namespace psim::cli;
  keep_standard_streams();
  end_at_interrupt();
  std::signal(SIGXFSZ, SIG_IGN);  // a file at its size limit is like a full disk: an error message
  CLI::App app{"psim: a deterministic simulator of parameter-server training, with real gradients.", "psim"};
  app.require_subcommand(1);
  app.footer(general);
  app.set_version_flag("--version", fmt::format("psim {} ({})", psim::version_text(), psim::cpu_family()));
  Asked asked;
  const Subcommand* chosen = nullptr;  // none: the user only asked for help
  const auto add = [&](const Subcommand& one) {
    CLI::App* sub = app.add_subcommand(one.name, one.description)->group(one.group);
    sub->footer(fmt::format("Examples:\n{}\n`psim --help` lists the exit codes.", one.examples));
    one.add_options(sub, asked);
    sub->callback([&] { chosen = &one; });
  };
  const std::span all(subcommands);
  std::ranges::for_each(all.first(2), add);  // run and compare first, then the subcommands for their results
  std::ranges::for_each(calibrate_subcommands(), add);
  std::ranges::for_each(understand_subcommands(), add);
  std::ranges::for_each(all.subspan(2, all.size() - 4), add);
  std::ranges::for_each(play_subcommands(), add);
  std::ranges::for_each(lab_subcommands(), add);
  std::ranges::for_each(all.last(2), add);
  return guarded([&] {
    check_additions();
    numerics::level();  // refuses a wrong name now, not within a run
    if (argc == 1) return print(first_words);
    parse(app, {argv + 1, argv + argc});
    return chosen == nullptr ? done : chosen->answer(asked);
  });
}
