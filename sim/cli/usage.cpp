#include "sim/cli/usage.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

#include "sim/cli/command.hpp"
#include "sim/cli/talk.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim::cli {
namespace {

struct Examples {
  std::string_view command, text;
};

constexpr const char* general =
    "Examples:\n"
    "  psim compare stragglers                    four ways to live with a slow worker\n"
    "  psim run quickstart --set consistency.model=asp --seed 7\n"
    "  psim explain ssp\n"
    "  psim help run                              a command's options and more examples\n\n"
    "Exit codes: 0 done, 1 the answer is no (target missed, digest differs), 2 bad input or usage,\n"
    "3 psim's fault or the machine's, 130 stopped by Ctrl-C, 143 by SIGTERM.";

constexpr std::array<Examples, 10> examples{{
    {"run",
     "  psim run quickstart                                the scenario of this name that comes with psim\n"
     "  psim run my.toml --set cluster.workers=16 --seed 7\n"
     "  psim run my.toml --set 'model.layers=[64, 10]'     a list: in quotes, for the shell\n"
     "  psim run my.toml --json | jq .final\n"
     "  psim run my.toml --trace events --out here         then: psim verify here\n"},
    {"compare",
     "  psim compare stragglers                            the scenario's own axes\n"
     "  psim compare my.toml --seeds 1,2,3                 every run with three seeds\n"
     "  psim compare my.toml --set 'cluster.workers=[4, 8, 16]'\n"
     "  psim compare my.toml --set 'consistency=[bsp, ssp 3, asp]'\n"
     "  psim compare my.toml --json | jq .aggregates\n"},
    {"check",
     "  psim check my.toml                                 also checks every run of [compare]\n"
     "  psim check my.toml --set cluster.servers=4\n"},
    {"replay", "  psim replay runs/latest\n"},
    {"verify", "  psim run server_crash --trace events\n  psim verify runs/latest\n"},
    {"explain",
     "  psim explain ssp                                   a model, filter or preset\n"
     "  psim explain cluster.workers                       a field\n"
     "  psim explain cluster                               a table and its fields\n"
     "  psim explain tasks ssp                             what each pull waits for\n"
     "  psim explain wait                                  a measure\n"},
    {"fuzz",
     "  psim fuzz --runs 100 --seed 7\n"
     "  psim fuzz --for 10min --out failures\n"},
    {"schema", "  psim schema > scenario.schema.json\n"},
    {"list", "  psim list\n"},
    {"help", "  psim help run\n"},
}};

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  return names;
}

// The subcommand that was probably meant, when the first word is none.
int unknown_command(const std::vector<std::string>& names, const std::string& word) {
  const std::string near = nearest(word, names);
  say("error: there is no command `{}`\n  = help: {}\n", word,
      near.empty() ? fmt::format("commands: {}", fmt::join(names, ", "))
                   : fmt::format("did you mean `psim {}`?", near));
  return bad_input;
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
  const std::string near = nearest(flag, flags_of(command));
  if (!owners.empty()) advice.help = fmt::format("it is an option of {}", fmt::join(owners, ", "));
  else if (!near.empty()) advice.help = fmt::format("did you mean `{}`?", near);
  return advice;
}

// An option without its value, or with several.
Advice mismatch(const CLI::App& command, const std::string& what) {
  const std::string name = what.substr(0, what.find(':'));
  const CLI::Option* option = command.get_option_no_throw(name);
  const std::string help = fmt::format("`psim {} --help` lists the options", command.get_name());
  if (option == nullptr || option->count() < 2) return {"an option needs a value: " + name, help};
  return {fmt::format("{} is given {} times", name, option->count()),
          name == "--seed" ? "several seeds are for `psim compare FILE --seeds 1,2,3`" : "give it once"};
}

int usage_error(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) {  // --help, --version
    std::ostringstream text, nothing;
    app.exit(error, text, nothing);
    fmt::print("{}", text.str());
    return done;
  }
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  Advice advice{error.what(), fmt::format("`psim {}--help` lists the options",
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
    advice = mismatch(command, error.what());
  }
  say("error: {}\n  = help: {}\n", advice.message, advice.help);
  return bad_input;
}

}  // namespace

void add_examples(CLI::App& app) {
  app.footer(general);
  for (const Examples& one : examples)
    app.get_subcommand(std::string(one.command))
        ->footer(fmt::format("Examples:\n{}\n`psim --help` lists the exit codes.", one.text));
}

std::optional<int> parse(CLI::App& app, std::vector<std::string> words) {
  const std::vector<std::string> commands = command_names(app);
  if (!words.empty() && words[0] == "help") {  // psim help run = psim run --help
    words.erase(words.begin());
    words.resize(std::min<std::size_t>(words.size(), 1));
    words.emplace_back("--help");
  }
  if (!words.empty() && !words[0].starts_with('-') && std::ranges::count(commands, words[0]) == 0)
    return unknown_command(commands, words[0]);
  std::ranges::reverse(words);  // as CLI11 wants them
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error);
  }
  return std::nullopt;
}

}  // namespace psim::cli
