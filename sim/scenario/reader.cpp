#include "sim/scenario/reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <type_traits>

#include "sim/scenario/reference.hpp"

namespace psim {
namespace {

std::string_view kind_of(const toml::node& node) {
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

std::vector<std::string> all_names(const std::vector<Choice>& choices) {
  std::vector<std::string> names;
  for (const Choice& choice : choices) {
    names.emplace_back(choice.name);
    std::string_view aliases = choice.aliases;
    while (!aliases.empty()) {
      const std::size_t space = std::min(aliases.find(' '), aliases.size());
      names.emplace_back(aliases.substr(0, space));
      aliases.remove_prefix(std::min(space + 1, aliases.size()));
    }
  }
  return names;
}

bool named(const Choice& choice, std::string_view name) {
  const std::vector<std::string> names = all_names({choice});
  return std::ranges::find(names, name) != names.end();
}

std::string range_text(const FieldInfo& info) {
  const bool low = info.min > -HUGE_VAL, high = info.max < HUGE_VAL;
  const std::string at_least = fmt::format("{} {}", info.above_min ? "above" : "at least", info.min);
  const std::string at_most = fmt::format("{} {}", info.below_max ? "below" : "at most", info.max);
  if (low && high && !info.above_min && !info.below_max) return fmt::format("between {} and {}", info.min, info.max);
  if (low && high) return at_least + " and " + at_most;
  return low ? at_least : at_most;
}

}  // namespace

Reader::Reader(const Document& document, Diagnostics& diagnostics) : document_(document), diagnostics_(diagnostics) {
  frames_.push_back({.table = &document.root, .path = "", .keys = {}, .choices = {}});
}

std::string Reader::path_of(std::string_view key) const {
  const std::string& path = frames_.back().path;
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

const toml::node* Reader::find(std::string_view key) {
  Frame& frame = frames_.back();
  frame.keys.emplace_back(key);
  const toml::node* node = frame.table == nullptr ? nullptr : frame.table->get(key);
  if (node != nullptr) places_[path_of(key)] = document_.place(node->source());
  return node;
}

void Reader::wrong_type(const toml::node& node, std::string_view key, std::string_view wanted, std::string help) {
  diagnostics_.add({.code = "wrong-type",
                    .place = document_.place(node.source()),
                    .message = fmt::format("`{}` has the wrong type", path_of(key)),
                    .label = fmt::format("this is {}, expected {}", kind_of(node), wanted),
                    .help = std::move(help)});
}

bool Reader::in_range(const toml::node& node, std::string_view key, double value, std::string_view shown, const FieldInfo& info) {
  const bool low = info.above_min ? value > info.min : value >= info.min;
  const bool high = info.below_max ? value < info.max : value <= info.max;
  if (low && high) return true;
  diagnostics_.add({.code = "out-of-range", .place = document_.place(node.source()), .message = fmt::format("`{}` is {}", path_of(key), shown),
                    .label = "must be " + range_text(info), .help = {}});
  return false;
}

// A field that belongs to another choice than the one made is a contradiction, unless the choice was
// changed from outside (--set, an axis): then the file's field is just not used.
bool Reader::applies(std::string_view key, const toml::node& node, const FieldInfo& info) {
  if (info.when.empty()) return true;
  const Frame::Chosen& chosen = frames_.back().choices.find(info.when_key)->second;
  if (chosen.name.empty()) return true;
  if (std::ranges::find(info.when, chosen.name) != info.when.end()) return true;
  const Place place = document_.place(node.source());
  if (chosen.source > place.source) return false;
  diagnostics_.add({.code = "no-meaning",
                    .place = place,
                    .message = fmt::format("`{}` has no meaning here", path_of(key)),
                    .label = fmt::format("{} is {}", info.when_key, chosen.name),
                    .help = fmt::format("`{}` goes with {} = {}; remove it or change `{}`", key, info.when_key,
                                        fmt::join(info.when, " | "), info.when_key)});
  return false;
}

template <class Quantity>
bool Reader::read_quantity(const toml::node& node, std::string_view key, Quantity& out, const FieldInfo& info) {
  using U = Unit<Quantity>;
  const std::string wanted = fmt::format("{} such as \"{}\"", U::what, U::example);
  const auto text = node.value_exact<std::string>();
  if (!text) {
    if (!node.is_number()) return wrong_type(node, key, wanted), false;
    diagnostics_.add({.code = "unit", .place = document_.place(node.source()), .message = fmt::format("`{}` needs a unit", path_of(key)),
                      .label = "expected " + wanted, .help = unit_names<Quantity>()});
    return false;
  }
  const std::optional<double> value = parse_quantity(*text, U::names);
  if (!value) {
    diagnostics_.add({.code = "unit", .place = document_.place(node.source()), .message = fmt::format("`{}` is not {}", path_of(key), U::what),
                      .label = "expected " + wanted, .help = unit_names<Quantity>()});
    return false;
  }
  if (!in_range(node, key, *value, fmt::format("\"{}\"", *text), info)) return false;
  out.value = *value;
  return true;
}

void Reader::read_choice(const toml::node& node, std::string_view key, ChoiceField& choice, Frame::Chosen& chosen) {
  chosen = {.name = {}, .source = document_.place(node.source()).source};
  const auto text = node.value_exact<std::string>();
  if (!text) return wrong_type(node, key, "a name in quotes");
  for (std::size_t i = 0; i < choice.choices.size(); ++i) {
    if (!named(choice.choices[i], *text)) continue;
    choice.set(i);
    chosen.name = choice.choices[i].name;
    return;
  }
  const std::vector<std::string> names = all_names(choice.choices);
  const std::string near = nearest(*text, names);
  diagnostics_.add({.code = "unknown-name", .place = document_.place(node.source()), .message = fmt::format("`{}` is \"{}\"", path_of(key), *text),
                    .label = fmt::format("must be one of: {}", fmt::join(names, ", ")),
                    .help = near.empty() ? "" : fmt::format("did you mean \"{}\"?", near)});
}

template <class T>
void Reader::read(const toml::node& node, std::string_view key, T& out, const FieldInfo& info) {
  if constexpr (std::is_same_v<T, bool>) {
    const auto value = node.value_exact<bool>();
    if (!value) return wrong_type(node, key, "true or false");
    out = *value;
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    const auto value = node.value_exact<std::int64_t>();
    if (!value) return wrong_type(node, key, "an integer");
    if (in_range(node, key, static_cast<double>(*value), fmt::to_string(*value), info)) out = *value;
  } else if constexpr (std::is_same_v<T, double>) {
    const auto value = node.value<double>();
    if (!value || !node.is_number()) return wrong_type(node, key, "a number");
    if (in_range(node, key, *value, fmt::to_string(*value), info)) out = *value;
  } else if constexpr (std::is_same_v<T, std::string>) {
    const auto value = node.value_exact<std::string>();
    if (!value) return wrong_type(node, key, "a text in quotes");
    out = *value;
  } else if constexpr (std::is_same_v<T, Period>) {
    const auto text = node.value_exact<std::string>();
    static constexpr UnitName updates[] = {{"updates", 1, 1}, {"update", 1, 1}};
    const std::optional<double> count = text ? parse_quantity(*text, updates) : std::nullopt;
    if (!count) {
      if (read_quantity(node, key, out.time, {.doc = {}, .min = 0, .max = 1e9, .above_min = true})) out.updates = 0;
    } else if (in_range(node, key, *count, fmt::format("\"{}\"", *text), {.doc = {}, .min = 1, .max = 1e12})) {
      out.updates = static_cast<std::int64_t>(*count);
    }
  } else if constexpr (std::is_same_v<T, Speeds>) {
    std::vector<FlopsPerSecond> values;
    const auto one = [&](const toml::node& element) {
      FlopsPerSecond speed;
      if (read_quantity(element, key, speed, info)) values.push_back(speed);
    };
    const toml::array* list = node.as_array();
    if (list == nullptr) one(node);
    else for (const toml::node& element : *list) one(element);
    if (!values.empty()) out.values = values;
  } else if constexpr (requires { typename T::value_type; }) {  // lists, nested
    const toml::array* list = node.as_array();
    if (list == nullptr) return wrong_type(node, key, "a list");
    out.clear();
    for (const toml::node& element : *list) {
      out.emplace_back();
      read(element, key, out.back(), info);
    }
  } else {
    read_quantity(node, key, out, info);
  }
}

template <class T>
void Reader::read(const toml::node& node, std::string_view key, std::optional<T>& out, const FieldInfo& info) {
  T value{};
  const std::size_t before = diagnostics_.count();
  read(node, key, value, info);
  if (diagnostics_.count() == before) out = value;
}

void Reader::field(std::string_view key, FieldTarget target, FieldInfo info) {
  const toml::node* node = find(key);
  if (ChoiceField* choice = std::get_if<ChoiceField>(&target)) {
    Frame::Chosen chosen{.name = std::string(choice->choices[choice->get()].name), .source = 0};
    if (node != nullptr && applies(key, *node, info)) read_choice(*node, key, *choice, chosen);
    frames_.back().choices[std::string(key)] = chosen;
    return;
  }
  if (node == nullptr) {
    if (info.required && frames_.back().table != nullptr) {
      diagnostics_.add({.code = "missing", .place = document_.place(frames_.back().table->source()),
                        .message = fmt::format("`{}` is missing", path_of(key)), .label = {}, .help = std::string(info.doc)});
    }
    return;
  }
  if (!applies(key, *node, info)) return;
  std::visit([&](auto& out) {
    if constexpr (std::is_pointer_v<std::remove_reference_t<decltype(out)>>) read(*node, key, *out, info);
  }, target);
}

void Reader::table(std::string_view key, std::string_view, const std::function<void()>& fields) {
  const toml::node* node = find(key);
  if (node != nullptr && !node->is_table()) wrong_type(*node, key, "a table", fmt::format("write [{}] and its fields below", path_of(key)));
  frames_.push_back({.table = node == nullptr ? nullptr : node->as_table(), .path = path_of(key), .keys = {}, .choices = {}});
  fields();
  report_unknown({});
  frames_.pop_back();
}

void Reader::tables(std::string_view key, std::string_view, std::size_t, const std::function<void(std::size_t)>& resize,
                    const std::function<void(std::size_t)>& element) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  const toml::array* list = node->as_array();
  if (list == nullptr) return wrong_type(*node, key, "a list of tables", fmt::format("write [[{}]] with double brackets", key));
  resize(list->size());
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string path = fmt::format("{}.{}", path_of(key), i);
    const toml::node& item = *list->get(i);
    if (!item.is_table()) {
      wrong_type(item, key, "a table", fmt::format("write [[{}]] with double brackets", key));
      continue;
    }
    frames_.push_back({.table = item.as_table(), .path = path, .keys = {}, .choices = {}});
    element(i);
    report_unknown({});
    frames_.pop_back();
  }
}

void Reader::report_unknown(const std::vector<std::string>& also_known) {
  const Frame& frame = frames_.back();
  if (frame.table == nullptr) return;
  for (auto&& [key, node] : *frame.table) {
    const std::string name(key.str());
    if (std::ranges::find(frame.keys, name) != frame.keys.end()) continue;
    if (std::ranges::find(also_known, name) != also_known.end()) continue;
    const std::string near = nearest(name, frame.keys);
    std::string help = near.empty() ? home_of_key(name) : fmt::format("did you mean `{}`?", near);
    if (help.empty()) help = fmt::format("known keys: {}", fmt::join(frame.keys, ", "));
    const std::string where = frame.path.empty() ? "at the top of the file" : fmt::format("in [{}]", frame.path);
    diagnostics_.add({.code = "unknown-key", .place = document_.place(key.source()), .message = fmt::format("unknown {} `{}` {}", node.is_table() ? "table" : "key", name, where),
                      .label = "not known here", .help = help});
  }
}

void Reader::finish(const std::vector<std::string>& also_known) { report_unknown(also_known); }

}  // namespace psim
