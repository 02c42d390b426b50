#include "sim/scenario/reading/reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "model/base/unicode.hpp"
#include "sim/scenario/fields/field_list.hpp"
#include "sim/scenario/fields/fields.hpp"
#include "sim/scenario/reference/reference.hpp"
#include "sim/scenario/text/diagnostics.hpp"
#include "sim/scenario/text/synonyms.hpp"
#include "sim/scenario/text/toml_text.hpp"

namespace psim {

// Texts of the reader about types, ranges, units and names.

// The smallest value of a scenario other than 0. The inverse of a smaller value is not a number.
constexpr double least_number = 1e-30;

inline std::string_view kind_of(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table: return "a table";
    case toml::node_type::array: return "a list";
    case toml::node_type::string: return "a text";
    case toml::node_type::integer: return "an integer";
    case toml::node_type::floating_point: return "a number";
    case toml::node_type::boolean: return "true or false";
    default: return "a date or time";
  }
}

template <class Quantity>
std::string unit_names() {
  std::vector<std::string_view> names;
  for (const UnitName& unit : Unit<Quantity>::names) names.push_back(unit.name);
  return fmt::format("units: {}", fmt::join(names, ", "));
}

// The units of other programs, and what they are here: a suffix in lower case, and the end of psim's name.
struct ForeignUnit {
  std::string_view suffix, ours;
  double times = 1;
};
constexpr ForeignUnit foreign_units[] = {{"bits/s", "bps"},
                                         {"bit/s", "bps"},
                                         {"bits", "bps"},
                                         {"bit", "bps"},
                                         {"bytes/s", "Bps"},
                                         {"byte/s", "Bps"},
                                         {"bytes", "B"},
                                         {"byte", "B"},
                                         {"flops/s", "f"},
                                         {"flop/s", "f"},
                                         {"flops", "f"},
                                         {"flop", "f"},
                                         {"seconds", "s"},
                                         {"second", "s"},
                                         {"secs", "s"},
                                         {"sec", "s"},
                                         {"minutes", "min"},
                                         {"minute", "min"},
                                         {"mins", "min"},
                                         {"hours", "h"},
                                         {"hour", "h"},
                                         {"hrs", "h"},
                                         {"hr", "h"},
                                         {"watts", "W"},
                                         {"watt", "W"},
                                         {"days", "h", 24},
                                         {"day", "h", 24},
                                         {"d", "h", 24},
                                         {"tb", "GB", 1e3},
                                         {"tib", "GiB", 1024},
                                         {"pf", "Tf", 1e3},
                                         {"m", "min"},
                                         {"be", "bps"},
                                         {"kib/s", "kBps", 1.024},
                                         {"mib/s", "MBps", 1.048576},
                                         {"gib/s", "GBps", 1.073741824}};

// "10Gbit/s" -> "10Gbps", "16Gi" -> "16GiB", "5 msec" -> "5ms"; empty: unknown.
inline std::string meant_quantity(std::string_view text, std::span<const UnitName> names) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  std::erase(unit, ' ');
  if (error != std::errc{} || unit.empty() || number - number != 0) return {};
  for (const auto& [word, letter] : {std::pair{"milli", "m"},
                                     {"micro", "u"},
                                     {"µ", "u"},
                                     {"nano", "n"},
                                     {"kilo", "k"},
                                     {"mega", "M"},
                                     {"giga", "G"},
                                     {"tera", "T"}}) {
    if (in_small_letters(unit).starts_with(word)) unit.replace(0, std::string_view(word).size(), letter);
  }
  std::vector<std::pair<std::string, double>> forms{{unit, 1}};
  for (const ForeignUnit& one : foreign_units) {
    if (!in_small_letters(unit).ends_with(one.suffix)) continue;
    const std::string prefix = unit.substr(0, unit.size() - one.suffix.size());
    if (one.times == 1 || prefix.empty()) forms.emplace_back(prefix + std::string(one.ours), one.times);
  }
  for (std::size_t i = 0, count = forms.size(); i < count; ++i) {
    std::string form = forms[i].first;
    if (form.ends_with("/s")) form.resize(form.size() - 2);
    for (const char* more : {"ps", "B", "bps", "f"}) forms.emplace_back(form + more, forms[i].second);
  }
  for (const std::size_t any_case : {std::size_t{0}, std::size_t{1}, unit.size() + 4}) {  // first letters
    for (const auto& [form, times] : forms) {
      for (const UnitName& ours : names) {
        const std::size_t exact = std::min({any_case, form.size(), ours.name.size()});
        if (in_small_letters(form) == in_small_letters(std::string(ours.name)) &&
            form.substr(exact) == ours.name.substr(exact))
          return shortest(number * times) + std::string(ours.name);
      }
    }
  }
  return {};
}

inline bool named(const Choice& choice, std::string_view name) {
  const std::vector<std::string> names = all_names({choice});
  return std::ranges::find(names, name) != names.end();
}

inline std::string range_text(const FieldInfo& info, std::string_view unit) {
  const bool low = info.min > -HUGE_VAL, high = info.max < HUGE_VAL;
  const auto shown = [unit](double bound) {
    const bool whole = bound == std::floor(bound) && std::abs(bound) < 1e16;
    return (whole ? fmt::format("{:.0f}", bound) : shortest(bound)) + std::string(unit);
  };
  const std::string min = shown(info.min), max = shown(info.max);
  const std::string at_least = fmt::format("{} {}", info.above_min ? "above" : "at least", min);
  const std::string at_most = fmt::format("{} {}", info.below_max ? "below" : "at most", max);
  if (low && high && !info.above_min && !info.below_max) return fmt::format("between {} and {}", min, max);
  if (low && high) return at_least + " and " + at_most;
  return low ? at_least : high ? at_most : "finite";
}

// "Number of workers." -> "number of workers"
inline std::string as_hint(std::string_view sentence) {
  if (sentence.ends_with('.')) sentence.remove_suffix(1);
  std::string out(sentence);
  if (!out.empty() && out[0] >= 'A' && out[0] <= 'Z') out[0] = static_cast<char>(out[0] - 'A' + 'a');
  return out;
}

// The hint for "0,2": a number with a decimal comma, or several values.
inline std::string with_decimal_point(std::string text, bool whole) {
  const std::size_t comma = text.find(',');
  if (comma == std::string::npos || text.find_first_not_of("0123456789,. +-eE") != std::string::npos)
    return "";
  const std::string list = text;
  text[comma] = '.';
  return number_in<double>(text) && !whole
             ? fmt::format("a decimal point: {}; or, for `psim compare`, a list: [{}]", text, list)
             : fmt::format("for `psim compare`, a list: [{}]", list);
}

// The hint for a value of the wrong type where a number or true or false is expected.
inline std::string mend(const toml::node& node, bool whole = false) {
  if (const auto text = node.value_exact<std::string>()) {
    const auto number = number_in<double>(*text);
    const bool plain = number || *text == "true" || *text == "false";
    const bool digits = text->find_first_not_of("+-0123456789") == std::string::npos;
    if (plain && digits && std::abs(*number) > 9.2e18)
      return "the number is too large: at most 9223372036854775807";
    const bool is_toml = !number || (text->front() != '.' && text->back() != '.');
    if (plain) return fmt::format("write {} without quotes", is_toml ? *text : fmt::format("{}", *number));
    return with_decimal_point(*text, whole);
  }
  const auto number = node.value_exact<double>();
  return number && *number == std::floor(*number) && std::abs(*number) < 1e15
             ? fmt::format("write {}", *number)
             : "";
}

// "straggler.0" -> "[[straggler]]", "cluster" -> "[cluster]"
inline bool is_number(std::string_view part) {
  return part.find_first_not_of("0123456789") == std::string_view::npos;
}

// "question.0.misconceptions" is [[question.misconceptions]] below its [[question]].
inline std::string without_numbers(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    const std::string_view part = take_until(path, ".");
    if (!is_number(part)) out += fmt::format("{}{}", out.empty() ? "" : ".", part);
  }
  return out;
}

inline std::string header_of(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  const bool is_element = dot != std::string::npos && is_number(std::string_view(path).substr(dot + 1));
  return fmt::format(fmt::runtime(is_element ? "[[{}]]" : "[{}]"), without_numbers(path));
}

inline std::string_view last_part(std::string_view path) { return path.substr(path.rfind('.') + 1); }

inline std::string parent_of(const std::string& path) {
  return path.substr(0, path.find('.') == std::string::npos ? 0 : path.rfind('.'));
}

// The last parts of the `paths` that are directly in table `parent`.
inline std::vector<std::string> keys_of(const std::vector<std::string>& paths, const std::string& parent) {
  std::vector<std::string> keys;
  for (const std::string& path : paths) {
    if (parent_of(path) == parent) keys.emplace_back(last_part(path));
  }
  return keys;
}

Reader::Reader(const Document& document, Diagnostics& diagnostics)
    : document_(document),
      diagnostics_(diagnostics),
      is_whole_(diagnostics.empty()),
      unused_(document, reading_) {
  frames_.push_back(
      {.table = &document.root, .preset = document.preset ? &document.preset->rows : nullptr, .path = ""});
  if (document.preset) {
    reading_.preset = document.preset->name;
    reading_.preset_source = document.preset->source;
  }
  reading_.complete = document.complete;
}

std::string Reader::path_of(std::string_view key) const {
  const std::string& path = frames_.back().path;
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

std::string Reader::described_as(std::string_view key) const {
  const std::string& as = frames_.back().as;
  return as.empty() ? std::string(key) : fmt::format("{}.{}", as, key);
}

void Reader::describe(std::vector<std::string>& paths, std::string_view key) const {
  std::string path = described_as(key);
  const bool is_of_list = path.find(".0.") != std::string::npos;
  if (!is_of_list || std::ranges::find(paths, path) == paths.end()) paths.push_back(std::move(path));
}

std::string Reader::path_of_choice(std::string_view key) const {
  return key.find('.') == std::string_view::npos ? path_of(key) : std::string(key);
}

const toml::node* Reader::find(std::string_view key) {
  const toml::table* table = frames_.back().table;
  return remember(key, table == nullptr ? nullptr : table->get(key));
}

const toml::node* Reader::find_or_preset(std::string_view key) {
  const toml::node* node = find(key);
  const toml::table* preset = frames_.back().preset;
  return node != nullptr || preset == nullptr ? node : remember(key, preset->get(key));
}

const toml::node* Reader::remember(std::string_view key, const toml::node* node) {
  if (node != nullptr) reading_.places[path_of(key)] = place_of(node->source());
  return node;
}

void Reader::refuse(std::string code, const toml::node& node, std::string_view key, std::string message,
                    std::string label, std::string help) {
  reading_.wrong.insert(path_of(key));
  diagnostics_.add(
      {std::move(code), place_of(node.source()), std::move(message), std::move(label), std::move(help)});
}

void Reader::wrong_type(const toml::node& node, std::string_view key, std::string_view wanted,
                        std::string help) {
  if (node.is_array() && wanted != "a list" && wanted != "a table")
    help += (help.empty() ? "" : "; ") +
            std::string("only `psim compare` accepts a list, and runs each of its values");
  refuse("wrong-type", node, key, fmt::format("`{}` has the wrong type", path_of(key)),
         fmt::format("this is {}, expected {}", kind_of(node), wanted), std::move(help));
}

bool Reader::in_range(const toml::node& node, std::string_view key, double value, std::string_view shown,
                      const FieldInfo& info, std::string_view unit) {
  const bool low = info.above_min ? value > info.min : value >= info.min;
  const bool high = info.below_max ? value < info.max : value <= info.max;
  const bool counts = !std::isfinite(info.min) || value == 0 || std::abs(value) >= least_number;
  if (low && high && std::isfinite(value)) {
    if (counts) return true;
    refuse("out-of-range", node, key, fmt::format("`{}` is {}", path_of(key), shown),
           fmt::format("must be {}at least {}{}", info.above_min ? "" : "0, or ", least_number, unit));
    return false;
  }
  refuse("out-of-range", node, key, fmt::format("`{}` is {}", path_of(key), shown),
         "must be " + range_text(info, unit));
  return false;
}

// The place of the field's name, or of its value if another source gave the value; the name keeps its first
// place.
Place Reader::place_of_key(std::string_view key, const toml::node& node) const {
  const Place name = place_of(frames_.back().table->find(key)->first.source());
  return name.source == place_of(node.source()).source ? name : place_of(node.source());
}

// A field that belongs to another choice is a contradiction. Exception: if --set or an axis changes the
// choice, psim ignores the file's field, and writes a note if the change is a --set. psim always ignores a
// preset's field.
bool Reader::applies(std::string_view key, const toml::node& node, const FieldInfo& info) {
  if (info.when.empty()) return true;
  const std::string choice = path_of_choice(info.when_key);
  const Chosen& chosen = choices_.at(choice);
  if (!chosen.meant) return false;
  if (chosen.name.empty()) return true;
  if (std::ranges::find(info.when, chosen.name) != info.when.end()) return true;
  const std::size_t source = place_of(node.source()).source;
  if (reading_.preset_source == source) return false;
  if (const std::size_t by = unused_.rank(chosen.source); by > source) {
    unused_.lose(path_of(key), by);
    return false;
  }
  const std::string by_preset =
      reading_.preset_source == chosen.source ? fmt::format(" by preset {}", reading_.preset) : "";
  const std::string others = fmt::format("{}", fmt::join(info.when, " | "));
  pending_.push_back({choice,
                      {.code = "no-meaning",
                       .place = place_of_key(key, node),
                       .message = fmt::format("`{}` has no meaning here", path_of(key)),
                       .label = fmt::format("{} is {}{}", info.when_key, chosen.name, by_preset),
                       .help = fmt::format("`{}` belongs to {} = {}; remove it or change `{}`", key,
                                           info.when_key, others, info.when_key)}});
  return false;
}

void Reader::remember_need(std::string_view key, const toml::node& node, const FieldInfo& info) {
  const toml::table* table = frames_.back().table;
  if (!info.need.met || table == nullptr || !table->contains(key)) return;  // also for a preset
  unused_.remember(path_of(key), place_of_key(key, node), place_of(node.source()).source, info.need);
}

template <class Quantity>
bool Reader::read_quantity(const toml::node& node, std::string_view key, Quantity& out, const FieldInfo& info,
                           std::string_view also) {
  using U = Unit<Quantity>;
  const std::string wanted = fmt::format("{} such as \"{}\"{}", U::what, U::example, also);
  const auto text = node.value_exact<std::string>();
  if (!text && !node.is_number()) return wrong_type(node, key, wanted), false;
  const std::optional<double> value = text ? parse_quantity(*text, U::names) : std::nullopt;
  if (!value) {
    const std::string what = text ? fmt::format("is not {}", U::what) : "needs a unit";
    const auto number = text ? number_in<double>(*text) : node.value<double>();
    const bool is_usual = number && *number >= 1 && *number < 1000 && *number == std::floor(*number);
    const std::string_view unit = U::example.substr(U::example.find_first_not_of("0123456789"));
    const std::string meant = is_usual ? shortest(*number) + std::string(unit)
                              : number ? format_quantity(Quantity{*number})
                              : text   ? meant_quantity(*text, U::names)
                                       : std::string();
    refuse("unit", node, key, fmt::format("`{}` {}", path_of(key), what), "expected " + wanted,
           (meant.empty() ? "" : fmt::format("{} \"{}\"; ", number ? "write for example" : "write", meant)) +
               unit_names<Quantity>());
    return false;
  }
  if (!in_range(node, key, *value, fmt::format("\"{}\"", *text), info, U::names[0].name)) return false;
  out.value = *value;
  return true;
}

// Whether the value is a number of `what` as a text, such as "10 updates". Reports a wrong number.
bool Reader::read_count(const toml::node& node, std::string_view key, std::string_view what,
                        std::int64_t& out) {
  const UnitName names[] = {{what, 1, 1}, {what.substr(0, what.size() - 1), 1, 1}};
  const auto text = node.value_exact<std::string>();
  const std::optional<double> count = text ? parse_quantity(*text, names) : std::nullopt;
  if (!count) return false;
  if (!in_range(node, key, *count, fmt::format("\"{}\"", *text), {.doc = {}, .min = 1, .max = 1e12}))
    return true;
  if (*count != std::floor(*count))
    refuse("out-of-range", node, key, fmt::format("`{}` is \"{}\"", path_of(key), *text),
           fmt::format("must be a whole number of {}", what));
  else out = static_cast<std::int64_t>(*count);
  return true;
}

template <class AnyPeriod>
void Reader::read_period(const toml::node& node, std::string_view key, AnyPeriod& out) {
  constexpr bool counts_samples = std::is_same_v<AnyPeriod, EvaluationPeriod>;
  if (read_count(node, key, "updates", out.updates)) return;
  if constexpr (counts_samples)
    if (read_count(node, key, "samples", out.samples)) return;
  read_quantity(node, key, out.time, {.doc = {}, .min = 0, .max = 1e9, .above_min = true},
                counts_samples ? ", \"10 updates\" or \"5000 samples\"" : " or \"10 updates\"");
}

namespace {

// The hint for a wrong name: "ssp3" is a model with its number.
std::string meant_choice(const std::string& text, std::string_view path, const ChoiceField& choice) {
  const std::string name = in_small_letters(text);
  if (const std::string_view advice = advice_on(name); !advice.empty()) return std::string(advice);
  const std::size_t digit = std::min(name.find_first_of("0123456789"), name.size());
  const std::string number = name.substr(digit, name.find_first_not_of("0123456789", digit) - digit);
  const std::size_t letter = name.substr(0, digit).find_last_not_of(" -_=:(");
  const std::string model =
      nearest(name.substr(0, letter == std::string::npos ? 0 : letter + 1), all_names(choice.choices));
  const DescribedField* count = all_fields().find(fmt::format("consistency.{}", number_field(model)));
  if (path == "consistency.model" && !number.empty() && count != nullptr &&
      std::ranges::count(count->info.when, model) > 0)
    return fmt::format("write model = \"{0}\" and {1} = {2}, or --set 'consistency={0} {2}'", model,
                       count->key, number);
  const std::string near = nearest(text, all_names(choice.choices));
  return near.empty() ? "" : fmt::format("did you mean \"{}\"?", near);
}

}  // namespace

void Reader::read_choice(const toml::node& node, std::string_view key, ChoiceField& choice, Chosen& chosen) {
  chosen = {.name = {}, .source = place_of(node.source()).source};
  std::vector<std::string_view> names;
  for (const Choice& one : choice.choices) names.push_back(one.name);
  const auto text = node.value_exact<std::string>();
  if (!text)
    return wrong_type(node, key, "a name in quotes", fmt::format("one of: {}", fmt::join(names, ", ")));
  for (std::size_t i = 0; i < choice.choices.size(); ++i) {
    if (!named(choice.choices[i], *text)) continue;
    choice.set(i);
    chosen.name = choice.choices[i].name;
    return;
  }
  refuse("unknown-name", node, key, fmt::format("`{}` is \"{}\"", path_of(key), *text),
         fmt::format("must be one of: {}", fmt::join(names, ", ")),
         meant_choice(*text, path_of(key), choice));
}

template <class T>
void Reader::read(const toml::node& node, std::string_view key, T& out, const FieldInfo& info) {
  if constexpr (std::is_same_v<T, bool>) {
    const auto value = node.value_exact<bool>();
    if (!value) return wrong_type(node, key, "true or false", node.is_string() ? mend(node) : "");
    out = *value;
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    const auto value = node.value_exact<std::int64_t>();
    if (!value) return wrong_type(node, key, "an integer", mend(node, true));
    if (in_range(node, key, static_cast<double>(*value), fmt::to_string(*value), info)) out = *value;
  } else if constexpr (std::is_same_v<T, double>) {
    const auto value = node.value<double>();
    if (!value || !node.is_number()) return wrong_type(node, key, "a number", mend(node));
    if (in_range(node, key, *value, fmt::to_string(*value), info)) out = *value;
  } else if constexpr (std::is_same_v<T, std::string>) {
    const auto value = node.value_exact<std::string>();
    const auto number = node.value_exact<std::int64_t>();
    if (!value && !(number && info.or_number)) return wrong_type(node, key, "a text in quotes");
    out = value ? *value : std::to_string(*number);
  } else if constexpr (std::is_base_of_v<Period, T>) {
    read_period(node, key, out);
  } else if constexpr (std::is_same_v<T, Speeds>) {
    std::vector<FlopsPerSecond> values;
    const auto one = [&](const toml::node& element) {
      FlopsPerSecond speed;
      if (read_quantity(element, key, speed, info)) values.push_back(speed);
    };
    const toml::array* list = node.as_array();
    if (list == nullptr) one(node);
    else if (list->empty())
      refuse("out-of-range", node, key, fmt::format("`{}` is empty", path_of(key)),
             "must have one value for all nodes, or one for each node");
    else
      for (const toml::node& element : *list) one(element);
    if (!values.empty()) out.values = values;
  } else if constexpr (requires { typename T::value_type; }) {  // lists, nested
    const toml::array* list = node.as_array();
    if (list == nullptr && info.or_one) return read(node, key, out.emplace_back(), info);
    if (list == nullptr) {
      const bool has_hint =
          std::is_same_v<T, std::vector<std::int64_t>> && (node.is_integer() || node.is_string());
      const std::string values = node.is_integer() ? toml_of(node) : "1, 2, 3";
      return wrong_type(node, key, "a list", has_hint ? fmt::format("write {} = [{}]", key, values) : "");
    }
    const std::size_t fewest = std::max<std::size_t>(info.fewest, info.required ? 1 : 0);
    if (list->size() < fewest && (is_whole_ || list->empty()))
      return refuse(
          "out-of-range", node, key,
          fmt::format("`{}` {}", path_of(key), list->empty() ? "is empty" : "is too short"),
          fmt::format("must have at least {}", counted(static_cast<std::int64_t>(fewest), "element")),
          fewest > 1 ? as_hint(info.doc) : "");
    out.clear();
    for (std::size_t i = 0; i < list->size(); ++i) {
      out.emplace_back();
      read(*list->get(i), fmt::format("{}.{}", key, i), out.back(), info);
    }
  } else {
    read_quantity(node, key, out, info);
  }
}

template <class T>
void Reader::read(const toml::node& node, std::string_view key, std::optional<T>& out,
                  const FieldInfo& info) {
  T value{};
  const std::size_t before = diagnostics_.count();
  read(node, key, value, info);
  if (diagnostics_.count() == before) out = value;
}

void Reader::field(std::string_view key, FieldTarget target, FieldInfo info) {
  describe(described_.fields, key);
  const toml::node* node = find_or_preset(key);
  if (node == nullptr && info.required && frames_.back().table != nullptr) {
    pending_.push_back({path_of(key),
                        {.code = "missing",
                         .place = place_of(frames_.back().table->source()),
                         .message = fmt::format("`{}` is missing", path_of(key)),
                         .label = "must be given here",
                         .help = fmt::format("`{}`: {}", key, as_hint(info.doc))}});
  }
  if (ChoiceField* choice = std::get_if<ChoiceField>(&target)) {
    Chosen chosen{.name = {}, .source = 0};
    if (!info.required) chosen.name = choice->choices[choice->get()].name;
    if (node != nullptr) {
      chosen.meant = applies(key, *node, info);
      if (chosen.meant) {
        read_choice(*node, key, *choice, chosen);
        remember_need(key, *node, info);
      }
    }
    choices_[path_of(key)] = chosen;
    return;
  }
  if (node == nullptr || !applies(key, *node, info)) return;
  remember_need(key, *node, info);
  std::visit(
      [&](auto& out) {
        if constexpr (std::is_pointer_v<std::remove_reference_t<decltype(out)>>) read(*node, key, *out, info);
      },
      target);
}

void Reader::table(std::string_view key, std::string_view, const std::function<void()>& fields, bool* given) {
  describe(described_.tables, key);
  const toml::node* node = find(key);
  if (given != nullptr) *given = node != nullptr;
  if (node != nullptr && !node->is_table()) {
    const std::vector<std::string> before = keys_of(described_.fields, frames_.back().as);
    const std::string near = node->is_array_of_tables() ? "" : nearest(key, before), home = home_of_key(key);
    if (!near.empty()) reading_.wrong.insert(path_of(near));
    std::string help =
        near.empty() ? home.empty() ? "" : home + "; or " : fmt::format("did you mean `{}`? ", near);
    wrong_type(*node, key, "a table", help + fmt::format("write [{}] and its fields below", path_of(key)));
  }
  const toml::table* outer = frames_.back().preset;
  frames_.push_back({.table = node == nullptr ? nullptr : node->as_table(),
                     .preset = outer == nullptr ? nullptr : outer->get_as<toml::table>(key),
                     .path = path_of(key),
                     .as = described_as(key)});
  fields();
  frames_.pop_back();
}

void Reader::tables(std::string_view key, std::string_view, std::size_t,
                    const std::function<void(std::size_t)>& resize,
                    const std::function<void(std::size_t)>& element, const FieldInfo& info) {
  describe(described_.tables, key);
  const toml::node* node = find_or_preset(key);
  if (node == nullptr) return;
  const std::string help =
      fmt::format("write [[{}]] with double brackets, and its fields below", without_numbers(path_of(key)));
  const toml::array* list = node->as_array();
  if (list == nullptr) return wrong_type(*node, key, "a list of tables", help);
  const bool used = applies(key, *node, info);
  resize(list->size());
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string name = fmt::format("{}.{}", key, i);
    const toml::node& item = *list->get(i);
    if (!item.is_table()) {
      wrong_type(item, name, "a table", help);
      continue;
    }
    frames_.push_back(
        {.table = item.as_table(), .preset = nullptr, .path = path_of(name), .as = described_as(key) + ".0"});
    element(i);
    frames_.pop_back();
  }
  if (!used) resize(0);
}

void Reader::finish(const std::vector<std::string>& also_known) {
  described_.fields.insert(described_.fields.end(), also_known.begin(), also_known.end());
  UnknownKeys(described_, reading_, diagnostics_).report(document_.root);
  settle();
  unused_.report(diagnostics_);
}

void Reader::settle() {
  for (Pending& pending : pending_) {
    if (reading_.reliable(pending.depends_on)) diagnostics_.add(std::move(pending.diagnostic));
  }
}

// The hint for an unknown `key` of table `path`, which is described as `as`. Marks the field that the user
// probably meant as wrong.
std::string UnknownKeys::advice(const std::string& path, const std::string& as, const std::string& key,
                                bool is_table) {
  if (const std::string_view advice = advice_on(key); !advice.empty()) return std::string(advice);
  for (const std::string_view meaning : meanings(key)) {
    const std::vector<std::string> here = keys_of(described_.fields, as);
    if (is_table || std::ranges::find(here, meaning) == here.end()) continue;
    reading_.wrong.insert(path.empty() ? std::string(meaning) : fmt::format("{}.{}", path, meaning));
    return fmt::format("did you mean `{}`?", meaning);
  }
  std::vector<std::string> homes;
  for (const std::string& known : is_table ? described_.tables : described_.fields) {
    if (last_part(known) != key) continue;
    reading_.wrong.insert(known);
    const std::string home = parent_of(known);
    homes.push_back(is_table       ? fmt::format("[{}]", known)
                    : home.empty() ? "the first lines, above all tables"
                                   : header_of(home));
  }
  const std::string all_homes = fmt::format("{}", fmt::join(homes, " or "));
  if (!homes.empty())
    return is_table ? fmt::format("write {}", all_homes) : fmt::format("`{}` belongs in {}", key, all_homes);

  std::vector<std::string> keys = keys_of(described_.fields, as);
  const std::vector<std::string> tables = keys_of(described_.tables, as);
  keys.insert(keys.end(), tables.begin(), tables.end());
  if (const std::string near = nearest(key, keys); !near.empty()) {
    reading_.wrong.insert(path.empty() ? near : fmt::format("{}.{}", path, near));
    return fmt::format("did you mean `{}`?", near);
  }
  std::string home = is_table ? "" : home_of_key(key);
  for (const std::string_view meaning : meanings(key)) {
    if (home.empty() && !is_table) home = home_of_key(meaning);
    if (home.empty() && std::ranges::count(described_.fields, meaning) > 0)
      home = fmt::format("`{}` belongs in the first lines, above all tables", meaning);
  }
  return home.empty() ? fmt::format("known here: {}", fmt::join(keys, ", ")) : home;
}

// Of a --set: "`learning_rate` belongs in [training]" -> "write training.learning_rate".
std::string UnknownKeys::in_a_set(const std::string& help, std::size_t source) const {
  constexpr std::string_view middle = "` belongs in [";
  const std::size_t at = help.find(middle), end = help.find(']', std::min(at, help.size()));
  const std::vector<Source>& sources = diagnostics_.sources();
  if (source >= sources.size() || sources[source].name != "--set" || at == std::string::npos) return help;
  const std::string field =
      help.substr(at + middle.size(), end - at - middle.size()) + "." + help.substr(1, at - 1);
  return std::ranges::count(described_.fields, field) > 0 ? "write " + field : help;
}

void UnknownKeys::report(const toml::table& table, const std::string& path, const std::string& as) {
  const auto inside = [](const std::string& outer, std::string_view key) {
    return outer.empty() ? std::string(key) : fmt::format("{}.{}", outer, key);
  };
  const auto known = [](const std::vector<std::string>& paths, const std::string& one) {
    return std::ranges::find(paths, one) != paths.end();
  };
  for (auto&& [key, node] : table) {
    const std::string name(key.str());
    const std::string inner = inside(path, name), inner_as = inside(as, name);
    if (known(described_.fields, inner_as) || reading_.wrong.contains(inner)) continue;
    if (!known(described_.tables, inner_as)) {
      const bool is_table = node.is_table() || node.is_array_of_tables();
      const std::string where = path.empty() ? "at the top" : "in " + header_of(path);
      diagnostics_.add({"unknown-key", place_of(key.source()),
                        fmt::format("unknown {} `{}` {}", is_table ? "table" : "key", name, where),
                        "not known here",
                        in_a_set(advice(path, as, name, is_table), place_of(key.source()).source)});
    } else if (const toml::array* elements = node.as_array()) {
      for (std::size_t i = 0; i < elements->size(); ++i) {
        if (const toml::table* element = elements->get(i)->as_table())
          report(*element, fmt::format("{}.{}", inner, i), inner_as + ".0");
      }
    } else if (node.is_table()) {
      report(*node.as_table(), inner, inner_as);
    }
  }
}

bool UnusedFields::is_set(std::size_t source) const {
  return std::ranges::find(document_.sets, source) != document_.sets.end();
}

bool UnusedFields::is_varied(std::string_view key) const {
  return std::ranges::any_of(document_.axes, [key](const std::string& axis) { return overlap(axis, key); });
}

// As with choices, a later source can take away the meaning of a field from an earlier source; psim notes it
// for --set only. An axis can take away the meaning of a field from any source.
bool UnusedFields::is_quiet(const Needy& needy, std::string_view key) {
  if (is_varied(key)) return true;
  const auto place = reading_.places.find(std::string(key));
  if (place == reading_.places.end()) return !reading_.reliable(std::string(key));
  const std::size_t source = place->second.source;
  lose(needy.path, source);
  return is_set(source) || rank(source) > rank(needy.source) || !reading_.reliable(std::string(key));
}

void UnusedFields::report(Diagnostics& diagnostics) {
  for (const Needy& one : needy_) {
    if (one.need.met() || !reading_.reliable(one.path)) continue;
    if (std::ranges::any_of(one.need.keys, [&](std::string_view key) { return is_quiet(one, key); }))
      continue;
    diagnostics.note({.code = "no-meaning",
                      .place = one.place,
                      .message = fmt::format("`{}` has no effect here", one.path),
                      .label = fmt::format("only {}", one.need.text),
                      .help = fmt::format("remove it, or change `{}`", fmt::join(one.need.keys, "` or `"))});
  }
  if (!document_.complete) return;
  for (const auto& [source, fields] : undone_) {
    const std::string& set = diagnostics.sources()[source].text;
    const std::uint32_t end = 1 + code_points(std::string_view(set).substr(0, set.find('=')));
    diagnostics.note({.code = "no-meaning",
                      .place = {.source = source, .line = 1, .column = 1, .end_line = 1, .end_column = end},
                      .message = fmt::format("`{}` {} no effect any more", fmt::join(fields, "`, `"),
                                             fields.size() == 1 ? "has" : "have"),
                      .label = "with this override",
                      .help = {}});
  }
}

bool Reading::by_preset(const std::string& path) const {
  const auto place = places.find(path);
  return place != places.end() && preset_source == place->second.source;
}

bool Reading::reliable(const std::string& path) const {
  const auto inner = wrong.lower_bound(path + ".");
  if (inner != wrong.end() && inner->starts_with(path + ".")) return false;
  for (std::string around = path; !around.empty(); around = parent_of(around)) {
    if (wrong.contains(around)) return false;
  }
  return complete || (given(path) && !by_preset(path));
}

}  // namespace psim
