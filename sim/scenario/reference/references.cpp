#include "sim/scenario/reference/references.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>

#include "sim/scenario/text/take_until.hpp"

namespace psim {
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
