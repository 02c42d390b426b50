#include "sim/scenario/reference/citations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "sim/protocol/filter.hpp"
#include "sim/scenario/fields/field_list.hpp"
#include "sim/scenario/fields/fields.hpp"
#include "sim/scenario/fields/meaningful.hpp"
#include "sim/scenario/spec/presets.hpp"
#include "sim/scenario/text/diagnostics.hpp"

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

namespace {

constexpr std::string_view bibliography =
#include "sim/scenario/reference/references.bib.inc"
    ;

constexpr std::string_view version_mark = "VERSION";

std::vector<std::string_view> parts_of(std::string_view text, std::string_view mark) {
  std::vector<std::string_view> parts;
  while (!text.empty()) parts.push_back(take_until(text, mark));
  return parts;
}

// "  title        = {A Bridging Model},"
std::pair<std::string_view, std::string_view> field_in(std::string_view line) {
  std::string_view name = take_until(line, " = {");
  name.remove_prefix(2);
  const std::size_t end = line.rfind('}');
  if (end == std::string_view::npos) throw std::logic_error("references.bib: " + std::string(name));
  return {name.substr(0, name.find(' ')), line.substr(0, end)};
}

// Entries in the format of the file: one line for the key, for each field and for the end.
std::vector<Reference> read_references(std::string_view rest) {
  std::vector<Reference> all;
  take_until(rest, "\n@");
  while (!rest.empty()) {
    std::string_view entry = take_until(rest, "\n@");
    entry = entry.substr(0, entry.find("\n}") + 1);
    Reference one{.type = take_until(entry, "{"), .key = take_until(entry, ",\n"), .cited = {}, .fields = {}};
    for (const std::string_view line : parts_of(entry, "\n")) {
      const auto [name, value] = field_in(line);
      if (name == "cited") one.cited = parts_of(value, "; ");
      else one.fields.emplace_back(name, value);
    }
    all.push_back(std::move(one));
  }
  return all;
}

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// Whether `text` has the words `part`; "MXNet" is not in "MXNetX".
bool has_words(std::string_view text, std::string_view part) {
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
    const std::size_t end = at + part.size();
    const bool begins = at == 0 || !is_letter(text[at - 1]);
    if (begins && (end == text.size() || !is_letter(text[end]))) return true;
  }
  return false;
}

std::string with_version(std::string_view text, std::string_view version) {
  std::string out(text);
  if (const std::size_t at = out.find(version_mark); at != std::string::npos)
    out.replace(at, version_mark.size(), version);
  return out;
}

// "Ho, Qirong and Cipar, James and others" as people write it: "Qirong Ho, James Cipar, et al."
std::string people(const Reference& reference) {
  std::string out;
  for (const Author& author : authors_of(reference))
    out += fmt::format("{}{}{}{}", out.empty() ? "" : ", ", author.given, author.given.empty() ? "" : " ",
                       author.family);
  if (reference.field("author").ends_with(" and others")) out += ", et al.";
  return out.ends_with('.') ? out : out + ".";
}

}  // namespace

std::string_view Reference::field(std::string_view name) const {
  const auto found = std::ranges::find(fields, name, &std::pair<std::string_view, std::string_view>::first);
  return found == fields.end() ? std::string_view() : found->second;
}

const std::vector<Reference>& references() {
  static const std::vector<Reference> all = read_references(bibliography);
  return all;
}

std::vector<const Reference*> references_in(std::string_view text) {
  std::vector<const Reference*> found;
  for (const Reference& one : references()) {
    if (std::ranges::any_of(one.cited, [text](std::string_view name) { return has_words(text, name); }))
      found.push_back(&one);
  }
  return found;
}

std::vector<Author> authors_of(const Reference& reference) {
  std::vector<Author> authors;
  for (std::string_view name : parts_of(reference.field("author"), " and ")) {
    if (name == "others") continue;
    if (name.starts_with('{')) name = name.substr(1, name.size() - 2);
    const std::string_view family = take_until(name, ", ");
    authors.push_back({.family = std::string(family), .given = std::string(name)});
  }
  return authors;
}

std::string reference_text(const Reference& reference, std::string_view version) {
  std::string out = fmt::format("{} {}.", people(reference), reference.field("title"));
  std::string venue;
  for (const char* name : {"journal", "booktitle", "howpublished", "publisher", "note", "year", "url"}) {
    const std::string value = with_version(reference.field(name), version);
    if (value.empty()) continue;
    venue += (venue.empty() ? "" : ", ") + value;
    if (std::string_view(name) != "journal") continue;
    venue += fmt::format(" {}", reference.field("volume"));
    if (const std::string_view number = reference.field("number"); !number.empty())
      venue += fmt::format("({})", number);
  }
  if (const std::string_view doi = reference.field("doi"); !doi.empty())
    venue += fmt::format(", https://doi.org/{}", doi);
  return venue.empty() ? out : fmt::format("{} {}.", out, venue);
}

std::string bibtex(const Reference& reference, std::string_view version) {
  std::string out = fmt::format("@{}{{{}", reference.type, reference.key);
  for (const auto& [name, value] : reference.fields)
    out += fmt::format(",\n  {:<12} = {{{}}}", name, with_version(value, version));
  return out + "\n}\n";
}

}  // namespace psim
