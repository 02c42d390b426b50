#include "sim/scenario/definition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "model/table.hpp"
#include "sim/scenario/axis_text.hpp"
#include "sim/scenario/fields/fields.hpp"
#include "sim/scenario/override.hpp"
#include "sim/scenario/spec/presets.hpp"

namespace psim {
namespace {

// The sentence of each field, and of each name that it may have.
class Docs final : public FieldVisitor {
 public:
  struct Entry {
    std::string_view doc;
    std::vector<Choice> choices;
  };
  std::map<std::string, Entry> fields;

  void field(std::string_view key, FieldTarget target, FieldInfo info) override {
    const auto* choice = std::get_if<ChoiceField>(&target);
    fields[path_ + std::string(key)] = {info.doc,
                                        choice == nullptr ? std::vector<Choice>{} : choice->choices};
  }
  void table(std::string_view key, std::string_view, const std::function<void()>& content, bool*) override {
    enter(key, content);
  }
  void tables(std::string_view key, std::string_view, std::size_t,
              const std::function<void(std::size_t)>& resize, const std::function<void(std::size_t)>& element,
              const FieldInfo&) override {
    resize(1);
    enter(key, [&] { element(0); });
  }

 private:
  void enter(std::string_view key, const std::function<void()>& content) {
    const std::string outer = path_;
    path_ += std::string(key) + ".";
    content();
    path_ = outer;
  }
  std::string path_;
};

const Docs& all_docs() {
  static const Docs docs = [] {
    Docs all;
    Scenario defaults;
    describe(all, defaults);
    return all;
  }();
  return docs;
}

// "straggler.0.slowdown" is described as "straggler.slowdown".
std::string without_numbers(const std::string& path) {
  std::string out;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    if (part.find_first_not_of("0123456789") != std::string::npos) out += (out.empty() ? "" : ".") + part;
    begin = end + 1;
  }
  return out;
}

std::string doc_of_value(const std::string& field, const std::string& value) {
  if (field == "consistency.model") {
    const auto row = std::ranges::find_if(all_rows<ConsistencyRow>(),
                                          [&](const ConsistencyRow& one) { return answers_to(one, value); });
    return row == all_rows<ConsistencyRow>().end()
               ? ""
               : fmt::format("a worker may start clock t when: {}{}; a server applies: {}", row->may_start,
                             row->has_schedule() ? " (s: the staleness)" : "", row->applies);
  }
  if (field == "preset") {
    const auto preset = std::ranges::find_if(all_rows<PresetTable>(),
                                             [&](const PresetTable& one) { return answers_to(one, value); });
    return preset == all_rows<PresetTable>().end() ? "" : std::string(preset->doc);
  }
  const auto found = all_docs().fields.find(field);
  if (found == all_docs().fields.end()) return "";
  for (const Choice& choice : found->second.choices) {
    const std::string names = fmt::format(" {} {} ", choice.name, choice.aliases);
    if (names.find(fmt::format(" {} ", value)) != std::string::npos) return std::string(choice.doc);
  }
  return "";
}

void add(std::vector<Definition>& all, const std::string& key, const toml::node& value) {
  if (const toml::table* table = value.as_table()) {
    for (auto&& [name, inner] : *table) add(all, fmt::format("{}.{}", key, name.str()), inner);
  } else if (value.is_array_of_tables()) {
    for (const toml::node& element : *value.as_array()) add(all, key, element);
  } else {
    const std::string field = without_numbers(key), text = label_of(value);
    Definition one{.field = field, .value = text, .doc = doc_of_value(field, text)};
    one.of_value = !one.doc.empty();
    const auto found = all_docs().fields.find(field);
    if (!one.of_value && found != all_docs().fields.end()) one.doc = found->second.doc;
    all.push_back(std::move(one));
  }
}

}  // namespace

std::vector<Definition> definitions(const AxisValue& value) {
  std::vector<Definition> all;
  for (const std::string& set : value.sets) {
    const std::size_t equals = set.find('=');
    const std::string key = set.substr(0, equals);
    toml::table parsed = toml::parse("value = " + set.substr(equals + 1));
    toml::table root;
    root.insert(key, *parsed.get("value"));
    expand_consistency(root);
    add(all, key, *root.get(key));
  }
  return all;
}

}  // namespace psim
