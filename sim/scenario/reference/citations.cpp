#include "sim/scenario/reference/citations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "sim/protocol/filter_rows.hpp"
#include "sim/scenario/fields/field_list.hpp"
#include "sim/scenario/fields/meaningful.hpp"
#include "sim/scenario/fields/toml_text.hpp"
#include "sim/scenario/spec/presets.hpp"

namespace psim {
namespace {

std::vector<const Reference*> published_in(std::string_view text) {
  std::vector<const Reference*> found = references_in(text);
  const auto has_year = [text](std::string_view name) {
    return name.find_first_of("0123456789") != std::string_view::npos &&
           text.find(name) != std::string_view::npos;
  };
  std::erase_if(found, [&](const Reference* one) { return std::ranges::none_of(one->cited, has_year); });
  return found;
}

// The source of the row that a field chooses; nothing if the row has no source.
std::optional<std::string> source_of(const std::string& path, std::string_view name) {
  const auto in_rows = [&](const auto& rows) -> std::optional<std::string> {
    const auto row = std::ranges::find_if(rows, [&](const auto& one) { return one.name == name; });
    return row == rows.end() ? std::nullopt : std::optional(std::string(row->source));
  };
  if (path == "consistency.model") return in_rows(all_rows<ConsistencyRow>());
  if (path == "filter.kind") return in_rows(all_rows<FilterRow>());
  if (path != "preset") return std::nullopt;
  std::string sources;
  for (const PresetTable& table : all_rows<PresetTable>()) {
    if (table.name != name) continue;
    for (const PresetRow& row : table.rows) sources += fmt::format("{}; ", row.source);
  }
  return sources;
}

class CitationCollector final : public MeaningfulFields {
 public:
  std::vector<Citation> found;

 private:
  void on_field(std::string_view key, const FieldTarget& target, const FieldInfo& info) override {
    const std::string path = path_of(key), value = toml_text(target).value_or("");
    const DescribedField* usual = is_in_array_ ? nullptr : all_fields().find(path);
    const bool is_default = usual != nullptr && usual->value.value_or("") == value;
    if (const auto* choice = std::get_if<ChoiceField>(&target)) {
      const Choice& chosen = choice->choices[choice->get()];
      const std::optional<std::string> source = source_of(path, chosen.name);
      const std::vector<const Reference*> references = source       ? references_in(*source)
                                                       : is_default ? published_in(chosen.doc)
                                                                    : references_in(chosen.doc);
      if (!references.empty() || path == "data.source")
        found.push_back({fmt::format("{} = {}", path, chosen.name), references});
    } else if (!is_default && !is_in_array_) {
      const std::vector<const Reference*> references = published_in(info.doc);
      if (!references.empty()) found.push_back({fmt::format("{} = {}", path, value), references});
    }
  }
  void on_table(bool is_element, const std::function<void()>& fields) override {
    const bool outer = std::exchange(is_in_array_, is_in_array_ || is_element);
    fields();
    is_in_array_ = outer;
  }
  bool is_in_array_ = false;
};

}  // namespace

std::vector<Citation> citations_of(const Scenario& scenario) {
  Scenario copy = scenario;
  CitationCollector collector;
  describe(collector, copy);
  return std::move(collector.found);
}

}  // namespace psim
