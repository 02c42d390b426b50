// psim's command line: its subcommands, their options, and mistakes in what the user types.
#include <fmt/format.h>
#include <fmt/ranges.h>
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
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "model/base/table.hpp"
#include "model/base/text_rows.hpp"
#include "model/numerics/product.hpp"
#include "sim/apps/cli/command.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/shelf.hpp"
#include "sim/apps/cli/study_report.hpp"
#include "sim/apps/cli/subcommand.hpp"
#include "sim/cluster/platform.hpp"
#include "sim/record/run_file.hpp"
#include "sim/record/summary.hpp"
#include "sim/runs/answer.hpp"
#include "sim/runs/files.hpp"
#include "sim/runs/interrupt.hpp"
#include "sim/scenario/additions.hpp"
#include "sim/scenario/fields/field_list.hpp"
#include "sim/scenario/reference/reference.hpp"
#include "sim/scenario/text/diagnostics.hpp"
#include "sim/scenario/text/synonyms.hpp"

namespace psim::cli {

namespace {

// The words of every command, whether this program has its code or not.
struct CommandWords {
  std::string_view name, room;
  std::string_view needs, example;  // what the command misses without arguments
  std::string_view group, description, examples;
};
constexpr std::string_view command_text =
#include "sim/apps/cli/commands.txt.inc"
    ;
constexpr auto command_rows = text_rows<CommandWords, 7, row_count(command_text)>(command_text);

// Options and the commands that have them; no commands: all that have no row of their own.
struct OptionHelp {
  std::string_view names, commands, help;
};
constexpr std::string_view option_text =
#include "sim/apps/cli/options.txt.inc"
    ;
constexpr auto option_rows = text_rows<OptionHelp, 3, row_count(option_text)>(option_text);

}  // namespace

std::string option_help(std::string_view command, std::string_view names) {
  const OptionHelp* found = nullptr;
  for (const OptionHelp& one : option_rows) {
    if (one.names != names) continue;
    if (lists(one.commands, command) || (one.commands.empty() && found == nullptr)) found = &one;
  }
  if (found == nullptr) throw std::logic_error(fmt::format("no help of {} of psim {}", names, command));
  return std::string(found->help);
}

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
  option(app, "scenario", c.scenario)->required();
  option(app, "overrides", c.more_sets);
  option(app, "--set", c.sets)->take_all()->allow_extra_args(false);
  option(app, "--seed", c.seed)->check(whole(0, 9'000'000'000'000'000));
  option(app, "--data-dir", c.data_dirs)->allow_extra_args(false);
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
  option(app, "-o,--out", c.out)->check(not_empty("folder"));
  option(app, "--threads", c.threads)->check(whole(0, 1024));
  option(app, "--json", c.json);
  option(app, "--force", c.force);
  option(app, "--trace", c.trace)->check(one_of({trace_names.begin(), trace_names.end()}));
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
  option(app, "--baseline", s.baseline);
  option(app, "--columns", s.columns)->delimiter(',')->allow_extra_args(false);
  option(app, "--wide", s.wide);
  option(app, "--markdown", s.markdown);
  option(app, "--latex", s.latex);
  option(app, "--report", s.page);
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

void add_shelf_options(CLI::App* app, ShelfCommand& s) {
  option(app, "words", s.words)->type_name("[PATTERN] | rename OLD NEW | remove NAME...");
  option(app, "--in", s.in)->check(not_empty("folder"));
  option(app, "--json", s.json);
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
          option(app, "--context", a.command.context)->check(one_of(context_factories()));
          option(app, "--no-files", a.command.no_files)->excludes("--data-dir");
          option(app, "--progress", a.command.progress)->check(one_of({"auto", "json"}));
          option(app, "--answer", a.command.answer)->excludes("--json");
        },
        [](const Asked& a) {
          if (!a.command.answer) return run(complete(a.command, ""));
          return answer([&a] { return complete(a.command, ""); });
        }),
    command<Asked>(
        "compare",
        [](CLI::App* app, Asked& a) {
          add_run_options(app, a.command);
          option(app, "-j,--jobs", a.command.jobs)->check(whole(0, 1024));
          option(app, "--seeds", a.command.seeds)->transform(seed_list());
          option(app, "--slice", a.study.slice)->check(not_empty("slice such as 3/8"));
          option(app, "--until-ci", a.study.until_ci)->transform(percentage(1e-6, 1));
          option(app, "--count", a.study.count);
          option(app, "--recipe", a.study.recipe)->check(one_of(recipe_names()));
          option(app, "--slices", a.study.slices)->check(whole(1, 10'000));
          add_report_options(app, a.study);
          add_limits_of_study_options(app);
        },
        [](const Asked& a) { return compare(complete(a.command, "none"), a.study); }),
    command<Asked>(
        "merge",
        [](CLI::App* app, Asked& a) {
          option(app, "study", a.directory)->required();
          option(app, "--json", a.command.json);
          add_report_options(app, a.study);
        },
        [](const Asked& a) { return merge(a.directory, a.study, a.command.json); }),
    command<Asked>(
        "check", [](CLI::App* app, Asked& a) { add_scenario_options(app, a.command); },
        [](const Asked& a) { return check(complete(a.command, "none")); }),
    command<Asked>(
        "replay",
        [](CLI::App* app, Asked& a) {
          option(app, "directory", a.directory)->required();
          option(app, "--threads", a.command.threads)->check(whole(0, 1024));
        },
        [](const Asked& a) { return replay(a.directory, a.command); }),
    command<Asked>(
        "studies", [](CLI::App* app, Asked& a) { add_shelf_options(app, a.shelf); },
        [](const Asked& a) { return studies(a.shelf); }),
    command<Asked>(
        "runs",
        [](CLI::App* app, Asked& a) {
          add_shelf_options(app, a.shelf);
          option(app, "--study", a.shelf.study);
          option(app, "--where", a.shelf.wheres)->take_all()->allow_extra_args(false);
        },
        [](const Asked& a) { return runs(a.shelf); }),
    command<Asked>(
        "explain",
        [](CLI::App* app, Asked& a) {
          option(app, "name", a.words)->expected(0, 4);
          option(app, "--reference", a.reference);
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

// Becomes the program with all rooms, which stands beside this one.
int become_further(char** argv, const std::string& command) {
  const fs::path further = fs::read_symlink("/proc/self/exe").parent_path() / "psim-further";
  std::fflush(nullptr);
  execv(further.c_str(), argv);
  throw Refused(fmt::format("this build has no {}: {}", command, std::strerror(errno)),
                "./psim builds what a command needs; cmake --build builds all");
}

}  // namespace

std::string about_subcommand(std::string_view name) {
  for (const CommandWords& one : command_rows) {
    if (one.name == name)
      return fmt::format("psim {}, a subcommand:\n  {}\n  psim help {} has its options\n", name,
                         one.description, name);
  }
  return {};
}

// Parses the command line, and describes mistakes in it.

namespace {

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  return names;
}

void add_flags(const CLI::Option& option, std::vector<std::string>& names) {
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) add_flags(*option, names);
  return names;
}

// The given subcommand, or else psim itself.
const CLI::App& command_of(const CLI::App& app) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  return chosen.empty() ? app : *chosen.front();
}

// What `command` needs: a scenario, if its row names nothing.
CommandWords words_of(std::string_view command) {
  const auto found = std::ranges::find(command_rows, command, &CommandWords::name);
  CommandWords words = found == command_rows.end() ? CommandWords{} : *found;
  if (words.needs.empty()) words.needs = "a scenario file", words.example = "scenarios/quickstart.toml";
  return words;
}

// Commands and options that people know from other programs, and psim's own in their place.
struct Habit {
  std::string_view kind, words, help;  // `words`: separated by blanks
};
constexpr std::string_view habit_text =
#include "sim/apps/cli/habits.txt.inc"
    ;
constexpr auto habits = text_rows<Habit, 3, row_count(habit_text)>(habit_text);

// Empty: no habit has this word.
std::string habit(std::string_view kind, std::string_view word) {
  for (const Habit& one : habits) {
    if (one.kind == kind && lists(one.words, word)) return fmt::format("write {}", one.help);
  }
  return {};
}

bool is_repeated(const std::string& table) {
  const std::vector<DescribedTable>& tables = all_fields().tables;
  const auto found = std::ranges::find(tables, table, &DescribedTable::path);
  return found != tables.end() && found->repeated;
}

// "write --set cluster.workers=16" for --workers 16; empty if no field has this name, or another name for it.
std::string as_field(std::string name, const std::string& value) {
  std::ranges::replace(name, '-', '_');
  std::vector<std::string_view> keys = meanings(name);
  keys.push_back(name);
  for (const std::string_view key : keys) {
    const auto field = std::ranges::find_if(all_fields().fields, [&](const DescribedField& one) {
      return one.key == key && !is_repeated(one.table);
    });
    if (field != all_fields().fields.end()) return fmt::format("write --set {}={}", field->path(), value);
  }
  return {};
}

// The error for `word`, which no option of `command` takes; `next`: the word behind it.
Refused unexpected(const CLI::App& app, const CLI::App& command, const std::string& word,
                   const std::string& next) {
  const std::string asked = command.get_name() == app.get_name() ? "psim" : "psim " + command.get_name();
  if (!word.starts_with('-'))
    return {fmt::format("unexpected argument `{}`", word),
            fmt::format("`{} --help` lists its arguments", asked)};
  const std::string flag = word.substr(0, word.find('='));
  Refused advice(fmt::format("{} has no option `{}`", asked, flag),
                 fmt::format("`{} --help` lists its options", asked));
  std::vector<std::string> owners;
  for (const CLI::App* other : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (std::ranges::count(flags_of(*other), flag) > 0) owners.push_back("psim " + other->get_name());
  }
  const std::string near = nearest(flag, flags_of(command)), name = flag.substr(flag.find_first_not_of('-'));
  const std::string value = word.size() > flag.size() ? word.substr(flag.size() + 1) : next;
  const bool has_value = !value.empty() && !value.starts_with('-');
  std::string field, usual = habit("option", name);
  if (command.get_option_no_throw("--set") != nullptr) field = as_field(name, has_value ? value : "VALUE");
  if (!usual.empty()) advice.help = usual;
  else if (owners.size() == 1 && field.empty())
    advice.help = fmt::format("it is an option of {0}: {0} {1} {2}{3}", owners.front(),
                              words_of(owners.front().substr(5)).example, flag, has_value ? " " + value : "");
  else if (!field.empty()) advice.help = field;
  else if (!owners.empty()) advice.help = fmt::format("it is an option of {}", fmt::join(owners, ", "));
  else if (!near.empty()) advice.help = fmt::format("did you mean `{}`?", near);
  return advice;
}

// The error for an option without a value, or with several values.
Refused mismatch(const CLI::App& command, const std::string& what) {
  const std::string name = what.substr(0, what.find(':'));
  const CLI::Option* option = command.get_option_no_throw(name);
  const std::string help = fmt::format("`psim {} --help` lists the options", command.get_name());
  if (option == nullptr || option->count() < 2) return {"an option needs a value: " + name, help};
  return {fmt::format("{} is given {} times", name, option->count()),
          name == "--seed" ? "for several seeds use `psim compare FILE --seeds 1,2,3`" : "give it once"};
}

// "-o FOLDER", if what is missing is an option and no argument.
std::string required_flag(const CLI::App& command, const std::string& what) {
  if (!what.starts_with('-')) return {};
  const CLI::Option* option = command.get_option_no_throw(what.substr(0, what.find(' ')));
  if (option == nullptr || option->get_snames().empty()) return what.substr(0, what.find(' '));
  return fmt::format("-{} {}", option->get_snames().front(), option->get_type_name());
}

Refused usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = command_of(app);
  const std::string name = command.get_name();
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    const CommandWords words = words_of(name);
    const std::string flag = required_flag(command, error.what());
    return {fmt::format("psim {} needs {}", name, flag.empty() ? words.needs : std::string_view(flag)),
            fmt::format("for example psim {} {}", name, words.example)};
  }
  if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr) return {error.what(), "remove one of them"};
  if (dynamic_cast<const CLI::RequiresError*>(&error) != nullptr)
    return {error.what(), "it has no effect alone"};
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) return mismatch(command, error.what());
  // A validator may end its message with a help.
  const std::string what = error.what();
  for (const char* begin : {": did you mean ", ": write "}) {
    if (const std::size_t at = what.rfind(begin); at != std::string::npos)
      return {what.substr(0, at), what.substr(at + 2)};
  }
  return {what, fmt::format("`psim {} --help` lists the options", name)};
}

// The errors for those of the `words` that no option takes: for all flags, or else for the first word.
std::vector<Refused> unexpected_words(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App& command = command_of(app);
  std::vector<Refused> all;
  const std::vector<std::string> left = app.remaining(true);
  for (const std::string& word : left) {
    if (word.find_first_not_of('-') == std::string::npos || !word.starts_with('-')) continue;
    const auto place = std::ranges::find(words, word);
    const bool is_last = place == words.end() || std::next(place) == words.end();
    all.push_back(unexpected(app, command, word, is_last ? std::string() : *std::next(place)));
  }
  if (all.empty() && !left.empty()) all.push_back(unexpected(app, command, left.front(), {}));
  return all;
}

// Removes the option that a validator has refused ("--jobs: `x` is ..."), with its values.
void remove_option(const CLI::App& app, const std::string& what, std::vector<std::string>& words) {
  const CLI::App& command = command_of(app);
  const CLI::Option* option = command.get_option_no_throw(what.substr(0, what.find(':')));
  if (option == nullptr) return;
  std::vector<std::string> names;
  add_flags(*option, names);
  for (std::size_t i = 0; i < words.size();) {
    const std::string& word = words[i];
    const auto is_it = [&](const std::string& name) {
      return word.starts_with(name) &&
             (!name.starts_with("--") || word.size() == name.size() || word[name.size()] == '=');
    };
    const auto name = std::ranges::find_if(names, is_it);
    if (name == names.end()) {
      ++i;
      continue;
    }
    const std::size_t count = word == *name && i + 1 < words.size() ? 2 : 1;
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(i),
                words.begin() + static_cast<std::ptrdiff_t>(i + count));
  }
}

// Parses `words`, removes wrong words and repeats this until the rest is correct. Returns all mistakes.
// Empty: the words are a correct command line, or ask for help.
std::vector<Refused> wrong_with(CLI::App& app, std::vector<std::string> words) {
  std::vector<Refused> all;
  for (;;) {
    const std::size_t before = words.size();
    try {
      app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 needs them reversed
      return all;
    } catch (const CLI::ParseError& error) {
      if (error.get_exit_code() == 0) {  // --help, --version
        std::ostringstream text, nothing;
        app.exit(error, text, nothing);
        fmt::print("{}", text.str());
        return {};
      }
      if (const std::vector<Refused> unknown = unexpected_words(app, words); !unknown.empty()) {
        all.insert(all.end(), unknown.begin(), unknown.end());
        for (const std::string& word : app.remaining(true)) std::erase(words, word);
      } else {
        all.push_back(usage_error(app, error));
        if (dynamic_cast<const CLI::ValidationError*>(&error) != nullptr)
          remove_option(app, error.what(), words);
      }
    }
    if (words.size() == before) return all;
  }
}

// Parses the words, or prints the help that they ask for. Throws Refused or Invalid with all mistakes in the
// words.
void parse(CLI::App& app, std::vector<std::string> words) {
  const std::vector<std::string> commands = command_names(app);
  if (!words.empty() && words[0] == "help") {  // psim help run = psim run --help
    words.erase(words.begin());
    words.resize(std::min<std::size_t>(words.size(), 1));
    words.emplace_back("--help");
  }
  if (!words.empty() && !words[0].starts_with('-') && std::ranges::count(commands, words[0]) == 0) {
    const std::string near = nearest(words[0], commands), usual = habit("command", words[0]);
    const bool is_file = words[0].ends_with(".toml");
    throw Refused(fmt::format("unknown command `{}`", words[0]),
                  is_file          ? fmt::format("write psim run {0}, or psim compare {0}", words[0])
                  : !usual.empty() ? usual
                  : !near.empty()  ? fmt::format("did you mean `psim {}`?", near)
                                   : fmt::format("commands: {}", fmt::join(commands, ", ")));
  }
  Refusals wrong;
  for (const Refused& one : wrong_with(app, std::move(words))) wrong.check([&] { throw one; });
  wrong.throw_if_any();
}

}  // namespace

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
  for (const CommandWords& words : command_rows) {
    CLI::App* sub = app.add_subcommand(std::string(words.name), std::string(words.description))
                        ->group(std::string(words.group));
    sub->footer(fmt::format("Examples:\n{}\n\n`psim --help` lists the exit codes.", words.examples));
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
