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
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "model/numerics/product.hpp"
#include "sim/apps/cli/command.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/recipe.hpp"
#include "sim/apps/cli/shelf.hpp"
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

// The options of this room's commands.
struct Asked {
  Command command;
  StudyCommand study;
  ShelfCommand shelf;
  std::string directory;
  std::vector<std::string> words;
  bool reference = false;
};

const Subcommand core_table[] = {
    command<Asked>(
        "run",
        [](CLI::App* app, Asked& a) {
          add_run_options(app, a.command);
          app->add_option("--context", a.command.context, "SimGrid's context factory; never changes results.")
              ->check(one_of(context_factories()));
          app->add_flag(
                 "--no-files", a.command.no_files,
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
        }),
    command<Asked>(
        "compare",
        [](CLI::App* app, Asked& a) {
          add_run_options(app, a.command);
          app->add_option("-j,--jobs", a.command.jobs, "Processes at the same time; 0: one per core.")
              ->check(whole(0, 1024));
          app->add_option("--seeds", a.command.seeds,
                          "Seeds for every run: their number (10 means 1 to 10), or a list such as 1,2,3 or "
                          "1-5,9. One "
                          "seed is --seed.")
              ->transform(seed_list());
          app->add_option(
                 "--slice", a.study.slice,
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
        [](const Asked& a) { return compare(complete(a.command, "none"), a.study); }),
    command<Asked>(
        "merge",
        [](CLI::App* app, Asked& a) {
          app->add_option("study", a.directory, "The study's folder.")->required();
          app->add_flag("--json", a.command.json, "Print one JSON document.");
          add_report_options(app, a.study);
        },
        [](const Asked& a) { return merge(a.directory, a.study, a.command.json); }),
    command<Asked>(
        "check", [](CLI::App* app, Asked& a) { add_scenario_options(app, a.command); },
        [](const Asked& a) { return check(complete(a.command, "none")); }),
    command<Asked>(
        "replay",
        [](CLI::App* app, Asked& a) {
          app->add_option("directory", a.directory, "A run or study: its path, its name, or `latest`.")
              ->required();
          app->add_option("--threads", a.command.threads, "Threads for gradients; 0: all cores.")
              ->check(whole(0, 1024));
        },
        [](const Asked& a) { return replay(a.directory, a.command); }),
    command<Asked>(
        "studies",
        [](CLI::App* app, Asked& a) {
          add_shelf_options(
              app, a.shelf,
              "Which studies to list, or what to do with a study: its name, path, or `latest`.");
        },
        [](const Asked& a) { return studies(a.shelf); }),
    command<Asked>(
        "runs",
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
        [](const Asked& a) { return runs(a.shelf); }),
    command<Asked>(
        "verify",
        [](CLI::App* app, Asked& a) {
          app->add_option("directory", a.directory, "A run with its events: its path, its name, or `latest`.")
              ->required();
          app->add_flag("--json", a.command.json, "Print one JSON document.");
        },
        [](const Asked& a) { return verify(a.directory, a.command.json); }),
    command<Asked>(
        "explain",
        [](CLI::App* app, Asked& a) {
          app->add_option("name", a.words,
                          "For example ssp, cluster.workers, unit, tasks ssp, time to target.")
              ->expected(0, 4);
          app->add_flag("--reference", a.reference, "Print docs/scenario.md.");
        },
        [](const Asked& a) {
          return print(a.reference ? scenario_reference() : a.words.empty() ? list() : explain(a.words));
        }),
    command<Asked>(
        "schema", [](CLI::App*, Asked&) {},
        [](const Asked&) { return print(scenario_schema().dump(2) + "\n"); }),
    command<Asked>(
        "list", [](CLI::App*, Asked&) {}, [](const Asked&) { return print(list()); }),
    command<Asked>(
        "help", [](CLI::App*, Asked&) {}, [](const Asked&) { return print(""); }),
};

}  // namespace

std::vector<Room> core_rooms() { return {core_table, understand_subcommands(), new_subcommands()}; }

namespace {

constexpr std::string_view command_text =
#include "sim/apps/cli/commands.txt.inc"
    ;

std::vector<std::string> parts_of(std::string_view line) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t end = std::min(line.find(" | ", at), line.size());
    parts.emplace_back(line.substr(at, end - at));
    at = end + 3;
  }
  return parts;
}

// Becomes the program with all rooms, which stands beside this one.
int become_further(char** argv, const std::string& command) {
  const fs::path further = fs::read_symlink("/proc/self/exe").parent_path() / "psim-further";
  std::fflush(nullptr);
  execv(further.c_str(), argv);
  throw Refused(fmt::format("this build has no {}: {}", command, std::strerror(errno)),
                "./psim builds what a command needs; cmake --build builds all");
}

}  // namespace

const std::vector<CommandWords>& command_words() {
  static const std::vector<CommandWords> all = [] {
    std::vector<CommandWords> read;
    std::istringstream lines{std::string(command_text)};
    for (std::string line; std::getline(lines, line);) {
      if (line.empty() || line.front() == '#') continue;
      if (line.front() == ' ') {
        read.back().examples += line + "\n";
        continue;
      }
      const std::vector<std::string> parts = parts_of(line);
      if (line.starts_with("needs: ")) {
        read.back().needs = parts[0].substr(7);
        read.back().example = parts[1];
      } else {
        read.push_back({.name = parts[0], .group = parts[2], .description = parts[3], .examples = {}});
      }
    }
    return read;
  }();
  return all;
}

std::string about_subcommand(std::string_view name) {
  for (const CommandWords& one : command_words()) {
    if (one.name == name)
      return fmt::format("psim {}, a subcommand:\n  {}\n  psim help {} has its options\n", name,
                         one.description, name);
  }
  return {};
}

int command_line(int argc, char** argv, const std::vector<Room>& rooms) {
  keep_standard_streams();
  end_at_interrupt();
  std::signal(SIGXFSZ, SIG_IGN);  // a file at its size limit is like a full disk: an error message
  CLI::App app{"psim: a deterministic simulator of parameter-server training, with real gradients.", "psim"};
  app.require_subcommand(1);
  app.footer(general);
  app.set_version_flag("--version", fmt::format("psim {} ({})", version_text(), cpu_family()));
  std::function<int()> chosen;  // none: the user only asked for help
  std::string missing;          // a command without code here
  const std::string_view first = argc > 1 ? argv[1] : "",
                         asked = first == "help" && argc > 2 ? argv[2] : first;
  for (const CommandWords& words : command_words()) {
    CLI::App* sub = app.add_subcommand(words.name, words.description)->group(words.group);
    sub->footer(fmt::format("Examples:\n{}\n`psim --help` lists the exit codes.", words.examples));
    const Subcommand* code = nullptr;
    for (const Room room : rooms) {
      const auto found = std::ranges::find(room, words.name, &Subcommand::name);
      if (found != room.end()) code = &*found;
    }
    if (code == nullptr && words.name == asked) missing = words.name;
    if (code == nullptr) continue;
    sub->callback([&chosen, answer = code->begin(sub)] { chosen = answer; });
  }
  return guarded([&] {
    if (!missing.empty()) return become_further(argv, missing);
    check_additions();
    numerics::level();  // refuses a wrong name now, not within a run
    if (argc == 1) return print(first_words);
    parse(app, {argv + 1, argv + argc});
    return chosen ? chosen() : done;
  });
}

}  // namespace psim::cli
