// psim's command line: what can be asked for, and who answers.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <system_error>

#include "sim/cli/command.hpp"
#include "sim/cli/fuzz.hpp"
#include "sim/cli/interrupt.hpp"
#include "sim/cli/run_folder.hpp"
#include "sim/cli/talk.hpp"
#include "sim/cli/usage.hpp"
#include "sim/record/summary.hpp"
#include "sim/scenario/reference/reference.hpp"
#include "sim/scenario/spec/units.hpp"

namespace {

using psim::cli::Command;

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

// "1,2,3"
CLI::Validator seed_list() {
  const auto check = [](const std::string& text) -> std::string {
    const bool good = !text.empty() && text.find_first_not_of("0123456789, ") == std::string::npos &&
                      std::isdigit(static_cast<unsigned char>(text.back())) != 0;
    return good ? "" : fmt::format("`{}` is not a list of seeds such as 1,2,3", text);
  };
  return {check, ""};
}

CLI::Validator not_empty() {
  return {[](const std::string& text) { return std::string(text.empty() ? "it names no folder" : ""); }, ""};
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
  app->add_option("scenario", c.scenario,
                  "The scenario file (TOML), or the name of one that comes with psim.")
      ->required();
  app->add_option("overrides", c.more_sets, "More overrides after the file: table.key=value.");
  app->add_option("--set", c.sets, "Override a field: table.key=value. May be repeated.")
      ->take_all()
      ->allow_extra_args(false);
  app->add_option("--seed", c.seed, "Override the scenario's seed.")->check(whole(0, 9'000'000'000'000'000));
  app->add_option("--data-dir", c.data_dirs,
                  "Where to look for data files first; then PSIM_DATA and the scenario's folder.")
      ->allow_extra_args(false);
}

// Overrides that stand alone come after those of --set; a scenario may be named without folder and ending.
Command complete(Command c) {
  c.scenario = psim::cli::find_scenario(c.scenario);
  c.sets.insert(c.sets.end(), c.more_sets.begin(), c.more_sets.end());
  c.more_sets.clear();
  return c;
}

void add_run_options(CLI::App* app, Command& c) {
  add_scenario_options(app, c);
  app->add_option("-o,--out", c.out, "Where to write, instead of runs/.")->check(not_empty());
  app->add_option("--threads", c.threads, "Threads for gradients; 0 means all cores. Never changes results.")
      ->check(whole(0, 1024));
  app->add_flag("--json", c.json, "Print one JSON document; writes no files unless --out is given.");
  app->add_flag("--force", c.force,
                "Run again even if the run exists, and even if memory seems too small; overwrite --out.");
  app->add_option("--trace", c.trace, "What run.db keeps: none, steps or events.")
      ->check(one_of({"none", "steps", "events"}));
}

void add_fuzz_options(CLI::App* app, psim::cli::FuzzCommand& f) {
  app->add_option("--seed", f.seed, "The seed of all draws.")->check(whole(0, 9'000'000'000'000'000));
  app->add_option("--runs", f.runs, "Number of scenarios; 1000 if --for is not given either.")
      ->check(whole(1, 1'000'000'000));
  app->add_option("--for", f.seconds, "How long to run, for example 10min.")->transform(duration());
  app->add_option("--first", f.first, "Number of the first run.")->check(whole(0, 1'000'000'000));
  app->add_option("-j,--jobs", f.jobs, "Runs at once; 0 means one per core.")->check(whole(0, 1024));
  app->add_option("-o,--out", f.out, "Where to write failing scenarios, instead of fuzz-failures/.")
      ->check(not_empty());
}

int print_schema() {
  fmt::print("{}\n", psim::scenario_schema().dump(2));
  return psim::cli::done;
}

// The message for an answer that stdout does not take.
std::string lost_answer(int error) {
  return error == EBADF ? "stdout is closed: the answer cannot be written"
                        : fmt::format("the answer cannot be written to stdout: {}", std::strerror(error));
}

int guarded(const std::function<int()>& action) {
  try {
    const int code = action();
    if (std::fflush(stdout) != 0) throw std::runtime_error(lost_answer(errno));
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
  } catch (const std::system_error& error) {
    const bool of_stdout = std::string_view(error.what()).starts_with("cannot write to file");  // fmt::print
    psim::cli::say("error: {}\n", of_stdout ? lost_answer(error.code().value()) : error.what());
    return psim::cli::our_fault;
  } catch (const std::exception& error) {
    psim::cli::say("error: {}\n", error.what());
    return psim::cli::our_fault;
  }
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
  CLI::App* fuzz =
      app.add_subcommand("fuzz", "Run random scenarios with failures, and shrink those that go wrong.");
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
      app.add_subcommand("compare", "Run a scenario's [compare] axes and seeds, and compare the results.");
  add_run_options(compare, c);
  compare->add_option("-j,--jobs", c.jobs, "Processes at once; 0 means one per core.")->check(whole(0, 1024));
  compare->add_option("--seeds", c.seeds, "Seeds for every run, for example 1,2,3.")->check(seed_list());
  compare->callback([&] { code = guarded([&] { return cli::compare(complete(c)); }); });
  CLI::App* check =
      app.add_subcommand("check", "Check a scenario and print it with every default written out.");
  add_scenario_options(check, c);
  check->callback([&] { code = guarded([&] { return cli::check(complete(c)); }); });
  add_commands_on_runs(app, c, directory, code);
  CLI::App* explain =
      app.add_subcommand("explain", "Explain a consistency model, a preset, a field, a measure or an error.");
  explain->add_option("name", words, "For example ssp, cluster.workers, unit, tasks ssp, time to target.")
      ->expected(0, 4);
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

  app.add_subcommand("help", "Explain a command: psim help run.");
  cli::add_examples(app);
  const std::optional<int> usage = cli::parse(app, {argv + 1, argv + argc});
  return usage ? guarded([&] { return *usage; }) : code;
}
