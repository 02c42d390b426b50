// psim's command line: what can be asked for, and who answers.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <sstream>
#include <stdexcept>

#include "sim/cli/command.hpp"
#include "sim/cli/fuzz.hpp"
#include "sim/cli/interrupt.hpp"
#include "sim/cli/run_folder.hpp"
#include "sim/cli/talk.hpp"
#include "sim/record/summary.hpp"
#include "sim/scenario/diagnostics.hpp"
#include "sim/scenario/reference.hpp"
#include "sim/scenario/units.hpp"

namespace {

using psim::cli::Command;

constexpr const char* footer =
    "Examples:\n"
    "  psim compare scenarios/stragglers.toml     three ways to live with a slow worker\n"
    "  psim run scenarios/quickstart.toml --set consistency.model=asp --seed 7\n"
    "  psim run scenarios/quickstart.toml --json | jq .final\n"
    "  psim explain ssp\n\n"
    "Exit codes: 0 done, 1 the answer is no (target missed, digest differs), 2 bad input or usage,\n"
    "3 psim's fault or the machine's, 130 interrupted.";

// Like CLI::Range, which takes "1e3" and cuts off what does not fit.
CLI::Validator whole(std::int64_t least, std::int64_t most) {
  const auto check = [least, most](const std::string& text) -> std::string {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool good =
        error == std::errc{} && end == text.data() + text.size() && value >= least && value <= most;
    return good ? "" : fmt::format("`{}` is not an integer from {} to {}", text, least, most);
  };
  return {check, ""};
}

// "10min" becomes its seconds.
CLI::Validator duration() {
  const auto check = [](std::string& text) -> std::string {
    const auto seconds = psim::parse_quantity(text, psim::Unit<psim::Seconds>::names);
    if (!seconds || *seconds <= 0) return fmt::format("`{}` is not a duration such as 10min", text);
    text = psim::shortest(*seconds);
    return "";
  };
  return {check, ""};
}

CLI::Validator one_of(const std::vector<std::string>& names) {
  const auto check = [names](const std::string& text) -> std::string {
    return std::ranges::count(names, text) > 0
               ? ""
               : fmt::format("`{}` is not one of {}", text, fmt::join(names, ", "));
  };
  return {check, fmt::format("{}", fmt::join(names, "|"))};
}

void add_scenario_options(CLI::App* app, Command& c) {
  app->add_option("scenario", c.scenario, "The scenario file (TOML).")->required();
  app->add_option("overrides", c.more_sets, "After the file: more overrides, table.key=value each.");
  app->add_option("--set", c.sets, "Override a field: table.key=value. May be repeated.")
      ->take_all()
      ->allow_extra_args(false);
  app->add_option("--seed", c.seed, "Override the scenario's seed.")->check(whole(0, 9'000'000'000'000'000));
  app->add_option("--data-dir", c.data_dirs,
                  "Where data files are looked for first; then PSIM_DATA and the scenario's folder.")
      ->allow_extra_args(false);
}

// Overrides that stand alone come after those of --set.
Command complete(Command c) {
  c.sets.insert(c.sets.end(), c.more_sets.begin(), c.more_sets.end());
  c.more_sets.clear();
  return c;
}

void add_run_options(CLI::App* app, Command& c) {
  add_scenario_options(app, c);
  app->add_option("-o,--out", c.out, "Where to write, instead of runs/.");
  app->add_option("--threads", c.threads, "Threads for gradients; 0 means all cores. Never changes results.")
      ->check(whole(0, 1024));
  app->add_flag("--json", c.json, "Print one JSON document; writes no files unless --out is given.");
  app->add_flag("--force", c.force, "Run again even if the run exists, and even if memory seems too small; overwrite --out.");
  app->add_option("--trace", c.trace, "What run.db keeps: none, steps or events.")
      ->check(one_of({"none", "steps", "events"}));
}

void add_fuzz_options(CLI::App* app, psim::cli::FuzzCommand& f) {
  app->add_option("--seed", f.seed, "What all draws come from.")->check(whole(0, 9'000'000'000'000'000));
  app->add_option("--runs", f.runs, "How many scenarios; 1000 when --for is not given either.")
      ->check(whole(1, 1'000'000'000));
  app->add_option("--for", f.seconds, "For how long, for example 10min.")->transform(duration());
  app->add_option("--first", f.first, "Number of the first run.")->check(whole(0, 1'000'000'000));
  app->add_option("-j,--jobs", f.jobs, "Runs at once; 0 means one per core.")->check(whole(0, 1024));
  app->add_option("-o,--out", f.out, "Where scenarios that fail are written, instead of fuzz-failures/.");
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  return names;
}

// The subcommand that was probably meant, when the first word is none.
int unknown_command(const std::vector<std::string>& names, const std::string& word) {
  const std::string near = psim::nearest(word, names);
  psim::cli::say("error: there is no command `{}`\n  = help: {}\n", word,
                 near.empty() ? fmt::format("commands: {}", fmt::join(names, ", "))
                              : fmt::format("did you mean `psim {}`?", near));
  return psim::cli::bad_input;
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

struct Advice {
  std::string message, help;
};

// What to say about `word`, which no option of `command` takes.
Advice unexpected(const CLI::App& app, const CLI::App& command, const std::string& word) {
  const std::string asked = command.get_name() == app.get_name() ? "psim" : "psim " + command.get_name();
  if (!word.starts_with('-'))
    return {fmt::format("`{}` is one argument too many", word),
            fmt::format("`{} --help` shows what it takes", asked)};
  const std::string flag = word.substr(0, word.find('='));
  Advice advice{fmt::format("{} has no option `{}`", asked, flag),
                fmt::format("`{} --help` lists its options", asked)};
  std::vector<std::string> owners;
  for (const CLI::App* other : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (std::ranges::count(flags_of(*other), flag) > 0) owners.push_back("psim " + other->get_name());
  }
  const std::string near = psim::nearest(flag, flags_of(command));
  if (!owners.empty()) advice.help = fmt::format("it is an option of {}", fmt::join(owners, ", "));
  else if (!near.empty()) advice.help = fmt::format("did you mean `{}`?", near);
  return advice;
}

int print_schema() {
  fmt::print("{}\n", psim::scenario_schema().dump(2));
  return psim::cli::done;
}

int guarded(const std::function<int()>& action) {
  try {
    const int code = action();
    if (std::fflush(stdout) != 0) throw std::runtime_error("the answer cannot be written: is the disk full?");
    return code;
  } catch (const psim::cli::Interrupted& interrupt) {
    psim::cli::say("{}{}\n", isatty(STDERR_FILENO) != 0 ? "\r\033[K" : "", interrupt.message);
    return 128 + interrupt.signal;
  } catch (const psim::cli::Refused& refusal) {
    psim::cli::say("error: {}\n  = help: {}\n", refusal.what(), refusal.help);
    return psim::cli::bad_input;
  } catch (const std::filesystem::filesystem_error& error) {
    psim::cli::say("error: {}: {}\n  = help: --out names another folder to write to\n",
                   error.path1().string(), error.code().message());
    return psim::cli::bad_input;
  } catch (const std::exception& error) {
    psim::cli::say("error: {}\n", error.what());
    return psim::cli::our_fault;
  }
}

// --help and --version.
int print_help(const CLI::App& app, const CLI::ParseError& asked) {
  return guarded([&] {
    std::ostringstream text, nothing;
    app.exit(asked, text, nothing);
    fmt::print("{}", text.str());
    return psim::cli::done;
  });
}

int usage_error(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return print_help(app, error);
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  Advice advice{error.what(), fmt::format("`psim {}--help` shows what is possible",
                                          chosen.empty() ? "" : command.get_name() + " ")};
  std::vector<std::string> left = app.remaining(true);  // of "--flag value", the flag is not always first
  std::ranges::stable_partition(left, [](const std::string& word) { return word.starts_with('-'); });
  if (!left.empty()) {
    advice = unexpected(app, command, left.front());
  } else if (chosen.empty()) {
    advice = {"psim needs a command",
              fmt::format("commands: {}; `psim --help` explains them", fmt::join(command_names(app), ", "))};
  } else if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    const bool of_run = command.get_name() == "replay" || command.get_name() == "verify";
    advice = {
        fmt::format("psim {} needs a {}", command.get_name(), of_run ? "run's folder" : "scenario file"),
        fmt::format("for example psim {} {}", command.get_name(),
                    of_run ? "runs/latest" : "scenarios/quickstart.toml")};
  } else if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    advice.message = "an option lacks its value: " + advice.message.substr(0, advice.message.find(':'));
  }
  psim::cli::say("error: {}\n  = help: {}\n", advice.message, advice.help);
  return psim::cli::bad_input;
}

// What looks at a finished run again.
void add_commands_on_runs(CLI::App& app, Command& c, std::string& directory, int& code) {
  namespace cli = psim::cli;
  CLI::App* replay = app.add_subcommand("replay", "Run a finished run again and compare, event by event.");
  replay->add_option("directory", directory, "The run, for example runs/latest.")->required();
  replay->add_option("--threads", c.threads, "Threads for gradients; 0 means all cores.")
      ->check(whole(0, 1024));
  replay->callback([&] { code = guarded([&] { return cli::replay(directory, c.threads); }); });
  CLI::App* verify = app.add_subcommand(
      "verify", "Check that a finished run kept the promises of its consistency model and of replication.");
  verify->add_option("directory", directory, "The run, recorded with --trace events.")->required();
  verify->add_flag("--json", c.json, "Print one JSON document.");
  verify->callback([&] { code = guarded([&] { return cli::verify(directory, c.json); }); });
}

void add_fuzz(CLI::App& app, psim::cli::FuzzCommand& f, int& code) {
  CLI::App* fuzz = app.add_subcommand(
      "fuzz", "Run random scenarios with failures, and look for the smallest that goes wrong.");
  add_fuzz_options(fuzz, f);
  fuzz->callback([&] {
    if (f.runs == 0 && f.seconds == 0) f.runs = 1000;
    code = guarded([&] { return psim::cli::fuzz(f); });
  });
}

}  // namespace

int main(int argc, char** argv) {
  namespace cli = psim::cli;
  cli::keep_standard_streams();
  cli::end_at_interrupt();
  CLI::App app{"psim: a deterministic simulator of parameter-server training, with real gradients.", "psim"};
  app.footer(footer);
  app.require_subcommand(1);
  app.set_version_flag("--version",
                       fmt::format("psim {} ({})", psim::version_text(), psim::instruction_set()));

  Command c;
  std::string directory;
  std::vector<std::string> words;
  bool reference = false;
  int code = 0;
  CLI::App* run = app.add_subcommand("run", "Run a scenario.");
  add_run_options(run, c);
  run->add_option("--context", c.context, "SimGrid's context factory; never changes results.")
      ->check(one_of({"raw", "boost", "ucontext", "thread"}));
  run->callback([&] { code = guarded([&] { return cli::run(complete(c)); }); });
  CLI::App* compare =
      app.add_subcommand("compare", "Run a scenario's [compare] axes and seeds, and put them side by side.");
  add_run_options(compare, c);
  compare->add_option("-j,--jobs", c.jobs, "Processes at once; 0 means one per core.")->check(whole(0, 1024));
  compare->callback([&] { code = guarded([&] { return cli::compare(complete(c)); }); });
  CLI::App* check =
      app.add_subcommand("check", "Check a scenario and print it with every default written out.");
  add_scenario_options(check, c);
  check->callback([&] { code = guarded([&] { return cli::check(complete(c)); }); });
  add_commands_on_runs(app, c, directory, code);
  CLI::App* explain =
      app.add_subcommand("explain", "Explain a consistency model, a preset, a field, a measure or an error.");
  explain->add_option("name", words, "For example ssp, cluster.workers, unit, tasks ssp.")->expected(0, 2);
  explain->add_flag("--reference", reference, "Print docs/scenario.md.");
  explain->callback([&] {
    code = guarded([&] {
      return reference ? cli::reference() : words.empty() ? cli::list() : cli::explain(words);
    });
  });
  psim::cli::FuzzCommand f;
  add_fuzz(app, f, code);
  app.add_subcommand("schema", "Print the JSON Schema of scenario files, for editors.")->callback([&] {
    code = guarded(print_schema);
  });
  app.add_subcommand("list", "List the scenarios that come with psim, models and topics.")->callback([&] {
    code = guarded(cli::list);
  });

  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const std::vector<std::string> commands = command_names(app);
  if (!arguments.empty() && !arguments[0].starts_with('-') &&
      std::ranges::find(commands, arguments[0]) == commands.end()) {
    return unknown_command(commands, arguments[0]);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error);
  }
  return code;
}
