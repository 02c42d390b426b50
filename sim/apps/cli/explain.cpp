// psim explain and psim list.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <regex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/page/page.hpp"
#include "analysis/study/table_columns.hpp"
#include "analysis/word_docs.hpp"
#include "model/base/table.hpp"
#include "model/base/unicode.hpp"
#include "model/data/text.hpp"
#include "sim/apps/cli/command.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/subcommand.hpp"
#include "sim/protocol/task_dag.hpp"
#include "sim/record/event.hpp"
#include "sim/record/event_fields.hpp"
#include "sim/runs/answer.hpp"
#include "sim/runs/files.hpp"
#include "sim/runs/process.hpp"
#include "sim/runs/record_run.hpp"
#include "sim/runs/request.hpp"
#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/field_list.hpp"
#include "sim/scenario/reference/reference.hpp"
#include "sim/scenario/spec/faults.hpp"
#include "sim/scenario/spec/presets.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim::cli {

// The words of docs/glossary.md, for `psim explain`.

namespace {

constexpr std::array languages{"English", "German", "Chinese", "Thai"};

using Row = std::array<std::string, languages.size() + 1>;  // and the meaning

// Next to the scenarios: in docs/ of a checkout, or in psim's installation.
fs::path glossary_file() {
  const fs::path home = scenario_folder().parent_path(), installed = home / "glossary.md";
  std::error_code error;
  return fs::exists(installed, error) ? installed : home / "docs" / "glossary.md";
}

// The rows of its tables: a cell for each language and a cell for the meaning.
std::vector<Row> rows() {
  std::vector<Row> all;
  std::ifstream file(glossary_file());
  for (std::string line; std::getline(file, line);) {
    Row row;
    std::size_t cells = 0, at = 1;
    for (std::size_t end; (end = line.find('|', at)) != std::string::npos; at = end + 1) {
      if (cells < row.size()) row[cells] = trim(std::string_view(line).substr(at, end - at));
      ++cells;
    }
    if (cells == row.size() && row[0] != languages[0] && !row[0].starts_with("---")) all.push_back(row);
  }
  return all;
}

// "step, iteration" and "synchronous (bsp)" are two names each.
std::vector<std::string> names_of(const std::string& cell) {
  static const std::regex name("[^,()]+");
  std::vector<std::string> names;
  for (std::sregex_iterator one(cell.begin(), cell.end(), name), end; one != end; ++one)
    names.emplace_back(trim(one->str()));
  std::erase(names, "");
  return names;
}

std::string plain(std::string_view name) {
  std::string out(name);
  std::ranges::transform(out, out.begin(), [](unsigned char c) {
    return c == '-' || c == '_'   ? ' '
           : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a')
                                  : static_cast<char>(c);
  });
  return out;
}

// The text without Markdown's marks. A link becomes the address of its page.
std::string as_text(const std::string& markdown) {
  static const std::regex link("\\[([^\\]]*)\\]\\(([^)#]*)[^)]*\\)");
  std::string text = std::regex_replace(markdown, link, "$1 (docs/$2)");
  std::erase(text, '`');
  return text;
}

}  // namespace

// The meaning of a word, with its names in other languages. `word` may be in any of these languages. Empty if
// the glossary lacks the word or does not exist.
std::string explain_word(std::string_view word) {
  for (const Row& row : rows()) {
    const auto is_called_so = [&](const std::string& cell) {
      return plain(cell) == plain(word) ||
             std::ranges::count(names_of(cell), plain(word),
                                [](const std::string& one) { return plain(one); }) > 0;
    };
    if (std::none_of(row.begin(), row.end() - 1, is_called_so)) continue;
    std::string out = fmt::format("{}: a word of the field\n  {}\n", row[0], as_text(row.back()));
    std::string others;
    for (std::size_t i = 1; i < languages.size(); ++i) {
      if (row[i] != "–") others += fmt::format("{}{}: {}", others.empty() ? "" : "   ", languages[i], row[i]);
    }
    return others.empty() ? out : out + fmt::format("  {}\n", others);
  }
  return {};
}

// The English words, for suggestions.
std::vector<std::string> glossary_words() {
  std::vector<std::string> words;
  for (const Row& row : rows()) std::ranges::move(names_of(row[0]), std::back_inserter(words));
  return words;
}

// Every word that psim prints, with the text of its declaration: columns of tables, names in files and in
// --json, kinds of messages, events, units, words of the glossary, subcommands.

namespace {

using analysis::ColumnDoc;
using analysis::FieldDoc;

std::vector<FieldDoc> all_docs() {
  std::vector<FieldDoc> all;
  const auto add = [&all](std::span<const FieldDoc> docs) {
    std::ranges::copy(docs, std::back_inserter(all));
  };
  add(analysis::study_field_docs);
  for (const analysis::TableColumn& column : analysis::table_columns()) {
    const bool is_known = column.key == nullptr || column.key == column.name.name() ||
                          std::ranges::count(all, std::string_view(column.key), &FieldDoc::name) > 0;
    if (!is_known) all.push_back({column.key, "study.json, runs.csv", column.name.doc()});
  }
  add(analysis::summary_docs());
  add(analysis::fact_docs());
  add(analysis::word_docs());
  add(analysis::suspect_docs());
  return all;
}

std::string indented(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '\n' ? "\n  " : std::string(1, c);
  return out;
}

// On a command line a name may have hyphens instead of blanks, and may omit units such as "[%]": then it
// needs no quotes.
std::string spaced(std::string_view name) {
  std::string out(name);
  std::erase_if(out, [](char c) { return c == '[' || c == ']' || c == '(' || c == ')'; });
  std::ranges::replace_if(
      out, [](char c) { return c == '-' || c == '_'; }, ' ');
  return out;
}

void add_columns(std::string_view name, std::vector<std::string>& texts) {
  for (const ColumnDoc& column : analysis::column_docs) {
    const std::string heading = analysis::heading_of(column);
    if (spaced(name) != spaced(column.name) && spaced(name) != spaced(heading)) continue;
    texts.push_back(
        fmt::format("{}, {}:\n  {}\n", heading,
                    column.where.empty() ? "where psim prints it" : fmt::format("in {}", column.where),
                    indented(column.doc)));
  }
}

void add_docs(std::string_view name, std::vector<std::string>& texts) {
  for (const FieldDoc& doc : all_docs()) {
    const std::string known = spaced(doc.name);
    if (known == spaced(name) || known == spaced(name) + " s")
      texts.push_back(fmt::format("{}, in {}:\n  {}\n", doc.name, doc.where, indented(doc.doc)));
  }
}

}  // namespace

// The meanings of the word: a text for each place where psim prints it. Empty for other words.
std::vector<std::string> texts_of_word(std::string_view name) {
  std::vector<std::string> texts{explain_word(name)};
  add_columns(name, texts);
  add_docs(name, texts);
  texts.push_back(explain_event(name));
  texts.push_back(explain_unit(name));
  std::erase(texts, "");
  // Names with an underscore belong to files.
  if (texts.empty() || name.find('_') != std::string_view::npos) texts.push_back(explain_event_column(name));
  texts.push_back(about_subcommand(name));
  std::erase(texts, "");
  return texts;
}

// All these words except units, for suggestions.
std::vector<std::string> printed_words() {
  std::vector<std::string> words = glossary_words();
  for (const ColumnDoc& column : analysis::column_docs) words.emplace_back(column.name);
  for (const FieldDoc& doc : all_docs()) words.emplace_back(doc.name);
  std::ranges::move(event_words(), std::back_inserter(words));
  return words;
}

// Graphs of tasks as text.

// The error for an unknown name; suggests one of `names`.
Refused nothing_called(const std::string& name, const std::vector<std::string>& names, std::string_view help);

namespace {

// A picture of the tasks of `row`'s model; empty if they form no fixed graph.
std::string picture_of(const ConsistencyRow& row) {
  constexpr std::int64_t workers = 3, clocks = 4;
  const ConsistencySpec spec{.model = row.name, .staleness = 1, .k = 2};
  const bool bounded = row.gate == Gate::staleness;
  const std::optional<Program> program = program_of(make_rule(spec, workers));
  if (!program) return "";
  return fmt::format("\n{}{}. When a worker may start clock t: {}\n{}", row.name,
                     bounded ? " with staleness 1" : "", row.may_start,
                     draw_pulls(TaskDag(*program, clocks), clocks));
}

// The dependencies between tasks under a consistency model; under all models if `model` is empty.
std::string explain_models(const std::string& model) {
  std::string pictures, others;
  std::vector<std::string> names;
  for (const ConsistencyRow& row : all_rows<ConsistencyRow>()) {
    names.emplace_back(row.name);
    if (row.has_tasks()) continue;
    if (!model.empty() && !answers_to(row, model)) continue;
    const std::string picture = row.has_own_logic() ? std::string() : picture_of(row);
    pictures += picture;
    if (picture.empty())
      others += fmt::format(
          "\n{}: no fixed graph.\n  when a worker may start clock t: {}\n  a server applies:                "
          "{}\n",
          row.name, row.may_start, row.applies);
  }
  if (pictures.empty() && others.empty())
    throw nothing_called(model, names, "or a scenario with [[task]]; `psim list` shows the models");
  return fmt::format(
      "tasks: what each pull waits for, with 3 workers in their first 4 clocks\n\n"
      "A consistency model is a set of dependencies between tasks; without them all tasks run at once\n"
      "(Li et al., OSDI 2014). w.t stands for worker w at clock t, and * for every worker. A push waits for\n"
      "the pull of its clock. `push`: the push has arrived. `applied`: it is in the weights. `update` t:\n"
      "the one update of clock t.\n{}{}",
      pictures, others);
}

// The tasks of a scenario.
std::string explain_program(const std::string& path) {
  constexpr std::int64_t clocks = 2;
  const Scenario scenario = load_for_run({.scenario = path}).scenario;
  if (scenario.tasks.empty()) {
    const std::string model(name_of(scenario.consistency.model));
    return fmt::format("{} has no [[task]]; it trains under {}\n\n{}", path, model, explain_models(model));
  }
  const Program program = parse_program(scenario.tasks, scenario.cluster.workers).program;
  return fmt::format(
      "tasks of {}: each runs once a clock, or once for each unit of a clock, when all its requirements\n"
      "are done. NAME[-1] is the task of the previous clock; \"all NAME\" are the tasks of all units.\n\n{}\n"
      "  in {} clocks: {}\n",
      path, draw_program(program), clocks, sizes_of(TaskDag(program, clocks)));
}

}  // namespace

Refused nothing_called(const std::string& name, const std::vector<std::string>& names,
                       std::string_view help) {
  std::string longer;  // the shortest name that begins with it
  for (const std::string& one : names) {
    if (name.size() > 3 && one.starts_with(name) && (longer.empty() || one.size() < longer.size()))
      longer = one;
  }
  return {fmt::format("psim cannot explain `{}`", name),
          longer.empty() ? did_you_mean(name, names, std::string(help))
                         : fmt::format("did you mean `{}`? psim explain {}", longer, shell_word(longer))};
}

// The output of `psim explain tasks WHAT`. `what`: a consistency model, a scenario with its own tasks, or
// empty for all models. Throws Refused for anything else.
std::string explain_tasks(const std::string& what) {
  const auto is_model = [&](const ConsistencyRow& row) { return answers_to(row, what); };
  const bool is_name = std::ranges::any_of(all_rows<ConsistencyRow>(), is_model);
  if (what.empty() || (is_name && what != "tasks")) return explain_models(what);
  try {
    return explain_program(find_scenario(what));
  } catch (const Refused&) {
    return explain_models(what);
  }
}

namespace {

// A value for a field that has no default.
std::string example_of(std::string_view key) {
  constexpr std::pair<std::string_view, std::string_view> examples[] = {
      {"k", "6"}, {"backup", "2"}, {"window", "\"20ms\""}, {"deadline", "\"100ms\""}, {"max_staleness", "8"}};
  const auto found = std::ranges::find(examples, key, &std::pair<std::string_view, std::string_view>::first);
  return std::string(found != std::end(examples) ? found->second : "[[1000, 1]]");
}

// The fields of [consistency] that have an effect under one model, as lines of a scenario.
std::string own_fields(std::string_view model) {
  std::string lines;
  for (const DescribedField& field : all_fields().fields) {
    if (field.table != "consistency" || field.info.when_key != "model" ||
        std::ranges::count(field.info.when, model) == 0)
      continue;
    const std::string value = field.value.value_or(example_of(field.key));
    const std::string line =
        fmt::format("{}{} = {}", field.key == number_field(model) ? "" : "# ", field.key, value);
    lines += fmt::format("  {:<26} # {}{}\n", line, field.key == "staleness" ? "s: " : "", field.info.doc);
  }
  return lines;
}

std::string explain_model(const ConsistencyRow& row) {
  std::string out = fmt::format("{}: a consistency model", row.name);
  if (!row.aliases.empty()) out += fmt::format(" (also called {})", row.aliases);
  return out + fmt::format(
                   "\n  when a worker may start clock t: {}\n  a server applies:                {}\n  late "
                   "pushes:                     {}\n  source:                          {}\n"
                   "\nIn a scenario:\n  [consistency]\n  model = \"{}\"\n{}",
                   row.may_start, row.applies, row.late, row.source.empty() ? "the scenario" : row.source,
                   row.name, own_fields(row.name));
}

std::string explain_filter(const FilterRow& row) {
  std::string out = fmt::format("{}: a message filter", row.name);
  if (!row.aliases.empty()) out += fmt::format(" (also called {})", row.aliases);
  out += fmt::format(
      "\n  sends:          {}\n  takes:          {}\n  on pulls:       {}\n  on phantoms:    {}"
      "\n  error feedback: {}\n  source:         {}\n\nIn a scenario:\n",
      row.doc, row.wire, row.push_only ? "no" : "yes", row.needs_numbers ? "no" : "yes",
      in_words(row.error_feedback), row.source);
  if (row.stage == FilterStage::keys) out += "  [messages]\n  keys = \"per-value\"\n";
  out += fmt::format("  [[filter]]\n  kind = \"{}\"\n", row.name);
  for (const Setting* setting : row.settings) {
    if (setting->required) out += fmt::format("  {} = {}\n", setting->key, setting->draws.front());
  }
  return out;
}

bool is_number(std::string_view word) {
  return word.find_first_not_of("0123456789") == std::string_view::npos;
}

// The comment at the top of a scenario, and the path of the file.
std::string explain_scenario(const fs::path& scenario) {
  std::string out =
      fmt::format("{}: a scenario that comes with psim, {}\n\n", scenario.stem().string(), scenario.string());
  std::ifstream file(scenario);
  for (std::string line; std::getline(file, line) && line.starts_with('#');)
    out += line.substr(std::min<std::size_t>(line.starts_with("# ") ? 2 : 1, line.size())) + "\n";
  return out;
}

std::string title_of(const fs::path& scenario) {
  std::ifstream file(scenario);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("title")) continue;
    const std::size_t begin = line.find('"'), end = line.rfind('"');
    if (begin < end) return line.substr(begin + 1, end - begin - 1);
  }
  return {};
}

// "compare.consistency": an axis, or a field that [tune] tunes, is a field with a list of values.
std::string explain_list_of(std::string_view name) {
  for (const std::string_view table : {"compare.", "tune."}) {
    if (!name.starts_with(table) || !explain_field(name).empty()) continue;
    std::string field(name.substr(table.size()));
    std::erase(field, '"');
    const std::string text = explain_field(field);
    if (text.empty()) return {};
    const std::string_view what =
        table == "tune." ? "values that [tune] tries for every arm" : "an axis of [compare]";
    return fmt::format("{}: {}, a list of values of\n\n{}", name, what, text);
  }
  return {};
}

std::string with_needs(const std::string& text, std::string_view name) {
  const std::string needs = explain_needs(name);
  return fmt::format("{}{}{}", text, needs.empty() || text.ends_with("\n\n") ? "" : "\n", needs);
}

// The text of a topic, with the kinds of faults instead of {kinds}.
std::string with_kinds(std::string_view text) {
  constexpr std::string_view mark = "{kinds}\n";
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return std::string(text);
  std::string lines;
  for (const FaultKindRow& row : all_rows<FaultKindRow>()) {
    lines += fmt::format("  {:<12} {:<22} {:<30} {}\n", row.name, row.whom, row.fields, row.over);
  }
  return std::string(text.substr(0, at)) + lines + std::string(text.substr(at + mark.size()));
}

// The entry of a topic's list that begins with `name`, with its further lines; empty: none.
std::string entry_in(std::string_view text, std::string_view name) {
  const std::string begin = fmt::format("\n  {}  ", name);
  std::size_t at = text.find(begin);
  if (at == std::string_view::npos) return {};
  std::string out;
  for (std::string_view rest = text.substr(at + begin.size());;) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    out += fmt::format("  {}\n", line.substr(std::min(line.find_first_not_of(' '), line.size())));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!rest.starts_with("   ")) return out;
  }
}

// The text if `name` is an alias of the topic or has an entry in its list.
std::string explain_alias(const Topic& topic, const std::string& name, const std::vector<std::string>& own) {
  const std::string entry = entry_in(topic.text, name);
  const std::string more = fmt::format("More: psim explain {} ({})\n", topic.name, topic.title);
  if (!entry.empty()) return fmt::format("{}:\n{}\n{}", name, entry, more);
  if (!own.empty()) return fmt::format("{}\n{}", fmt::join(own, "\n"), more);
  return {};
}

std::string explain_topic(const Topic& topic, const std::vector<std::string>& own) {
  return fmt::format("{}: {}\n\n{}\n{}{}", topic.name, topic.title, with_kinds(topic.text),
                     own.empty() ? "" : "\n", fmt::join(own, "\n"));
}

// The meaning of a name; empty if psim does not know it.
std::string explain_known(const std::string& name) {
  std::vector<std::string> found;
  const auto look_in = [&](const auto& rows, const auto& text_of) {
    for (const auto& row : rows) {
      if (answers_to(row, name)) found.push_back(text_of(row));
    }
  };
  look_in(all_rows<ConsistencyRow>(),
          [](const ConsistencyRow& row) { return with_needs(explain_model(row), row.name); });
  look_in(all_rows<FilterRow>(),
          [](const FilterRow& row) { return with_needs(explain_filter(row), row.name); });
  look_in(all_rows<PresetTable>(), [](const PresetTable& table) {
    return table.rows.empty() ? std::string() : explain_preset(table);
  });
  std::erase(found, "");
  if (!found.empty()) return found.front();
  std::vector<std::string> own = texts_of_word(name);
  for (const std::string& text : {explain_field(name), explain_choice(name), explain_list_of(name)}) {
    if (!text.empty()) own.push_back(text);
  }
  for (const Topic& topic : topics()) {
    if (topic.name == name) return explain_topic(topic, texts_of_word(name));
    if (!answers_to(topic, name)) continue;
    const std::string text = explain_alias(topic, name, own);
    return text.empty() ? explain_topic(topic, {}) : text;
  }
  for (const Topic& method : methods()) {
    if (answers_to(method, name)) return explain_topic(method, {});
  }
  if (!own.empty()) return with_needs(fmt::format("{}", fmt::join(own, "\n")), name);
  for (const fs::path& file : scenarios()) {
    if (file.stem() == name) return explain_scenario(file);
  }
  return {};
}

std::vector<std::string> known_names() {
  std::vector<std::string> names{"compatibility", "tables", "tasks", "units"};
  for (const ConsistencyRow& row : all_rows<ConsistencyRow>()) names.emplace_back(row.name);
  for (const FilterRow& row : all_rows<FilterRow>()) names.emplace_back(row.name);
  for (const PresetTable& row : all_rows<PresetTable>()) names.emplace_back(row.name);
  for (const Topic& topic : topics()) names.emplace_back(topic.name);
  for (const Topic& method : methods()) names.emplace_back(method.name);
  for (const fs::path& file : scenarios()) names.push_back(file.stem().string());
  std::ranges::move(field_names(), std::back_inserter(names));
  std::ranges::move(printed_words(), std::back_inserter(names));
  return names;
}

std::string explain_preset_called(const std::string& name) {
  std::vector<std::string> names;
  for (const PresetTable& table : all_rows<PresetTable>()) {
    if (answers_to(table, name)) return explain_preset(table);
    names.emplace_back(table.name);
  }
  throw nothing_called(name, names, fmt::format("presets: {}", fmt::join(names, ", ")));
}

}  // namespace

std::string explain(std::vector<std::string> words) {
  if (words.size() > 1 && is_number(words.back())) words.pop_back();  // "ssp 3"
  const std::string name = fmt::format("{}", fmt::join(words, " "));
  if (words.front() == "tasks") return explain_tasks(words.size() > 1 ? words[1] : "");
  if (words.front() == "preset" && words.size() > 1) return explain_preset_called(words[1]);
  if (name == "compatibility") return compatibility_page();
  if (name == "tables") return event_tables_page();
  if (name == "units") return fmt::format("units: the units of each quantity\n\n{}", unit_table());
  std::string text = explain_known(name);
  if (text.empty()) text = explain_known(in_small_letters(name));
  if (text.empty() && name.ends_with('s'))
    text = explain_known(in_small_letters(name.substr(0, name.size() - 1)));
  if (!text.empty()) return text;
  throw nothing_called(
      name, known_names(),
      "`psim list` shows models and topics; a field is written table.key, such as cluster.workers");
}

std::string list() {
  std::string out;
  const auto add = [&out]<class... Values>(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(out), format, std::forward<Values>(values)...);
  };
  const std::vector<fs::path> files = scenarios();
  if (files.empty())
    add("No scenarios are installed with psim; psim run FILE.toml runs your own scenario.\n");
  else add("Scenarios (psim run NAME, psim compare NAME, psim explain NAME):\n");
  for (const fs::path& file : files) add("  {:<20} {}\n", file.stem().string(), title_of(file));
  add("\nConsistency models (psim explain NAME): when a worker may start clock t\n");
  for (const ConsistencyRow& row : all_rows<ConsistencyRow>()) add("  {:<18} {}\n", row.name, row.may_start);
  add("\nMessage filters (psim explain NAME):\n");
  for (const FilterRow& row : all_rows<FilterRow>()) add("  {:<18} {}\n", row.name, row.doc);
  add("\nPresets, for `preset = \"NAME\"` at the top of a scenario (psim explain NAME):\n");
  for (const PresetTable& table : all_rows<PresetTable>()) add("  {:<24} {}\n", table.name, table.doc);
  add("\nMethods of papers, each as lines of a scenario (psim explain NAME):\n");
  for (const Topic& method : methods()) add("  {:<18} {}\n", method.name, method.title);
  add("\nTopics and errors (psim explain NAME):\n");
  for (const Topic& topic : topics()) add("  {:<18} {}\n", topic.name, topic.title);
  add("  {:<18} {}\n", "compatibility", "which features exclude each other, and why");
  add("  {:<18} {}\n", "tasks", "what each pull waits for, as a graph of tasks (psim explain tasks MODEL)");
  add("  {:<18} {}\n", "units", "units of durations, sizes, bandwidths and speeds");
  add("\nEvery word that psim prints: psim explain NAME, for example `per update`, reached, `same steps`\n");
  add("Names in its files and in --json: psim explain NAME, for example trustworthy, unused_at_end, "
      "on_path\n");
  add("Words of the field, also in German, Chinese and Thai: psim explain NAME, for example incast\n");
  add("\nFields: psim explain TABLE.KEY, for example cluster.network.share_spread; all of them: "
      "docs/scenario.md\n");
  return out;
}

}  // namespace psim::cli
