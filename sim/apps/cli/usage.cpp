#include "sim/apps/cli/usage.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <sstream>
#include <string_view>
#include <utility>

#include "analysis/word_docs.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/subcommand.hpp"
#include "sim/runs/answer.hpp"
#include "sim/scenario/fields/field_list.hpp"
#include "sim/scenario/text/diagnostics.hpp"
#include "sim/scenario/text/synonyms.hpp"

namespace psim::cli {
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

// What `command` needs; an unknown command needs what psim run needs.
const CommandWords& words_of(std::string_view command) {
  const auto found = std::ranges::find(command_words(), command, &CommandWords::name);
  return found == command_words().end() ? command_words().front() : *found;
}

// Commands and options that people know from other programs, and psim's own in their place.
struct Habit {
  std::string_view kind, words, help;  // `words`: separated by blanks
};
constexpr std::string_view habit_text =
#include "sim/apps/cli/habits.txt.inc"
    ;
constexpr auto habits = analysis::text_rows<Habit, 3, analysis::row_count(habit_text)>(habit_text);

// Empty: no habit has this word.
std::string habit(std::string_view kind, std::string_view word) {
  for (const Habit& one : habits) {
    if (one.kind == kind &&
        fmt::format(" {} ", one.words).find(fmt::format(" {} ", word)) != std::string::npos)
      return fmt::format("write {}", one.help);
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
    const CommandWords& words = words_of(name);
    const std::string flag = required_flag(command, error.what());
    return {fmt::format("psim {} needs {}", name, flag.empty() ? words.needs : flag),
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

}  // namespace

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

}  // namespace psim::cli
