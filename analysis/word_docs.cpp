#include "analysis/word_docs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "analysis/causes/graph.hpp"
#include "analysis/causes/main_cause.hpp"
#include "sim/record/summary_schema.hpp"

namespace psim::analysis {
namespace {

constexpr std::string_view word_text =
#include "analysis/word_docs.txt.inc"
    ;
constexpr auto of_words = text_rows<FieldDoc, 3, row_count(word_text)>(word_text);

// Whether the rows of `where` are the rows of these names.
constexpr bool explains(const auto& names, std::string_view where) {
  const auto is_named = [&](const FieldDoc& one) {
    return one.where != where || std::ranges::find(names, one.name) != names.end();
  };
  return std::ranges::all_of(of_words, is_named) &&
         std::ranges::count(of_words, where, &FieldDoc::where) == std::ssize(names);
}
static_assert(explains(kind_names, "psim why") && explains(message_names, "kinds of messages") &&
              explains(task_names, "kinds of tasks"));

constexpr std::string_view study_field_text =
#include "analysis/study/field_docs.txt.inc"
    ;
constexpr auto of_study = text_rows<FieldDoc, 3, row_count(study_field_text)>(study_field_text);

std::string_view kept(std::string text) {
  static std::set<std::string> texts;
  return *texts.insert(std::move(text)).first;
}

void add(std::span<const SummaryKey> keys, std::string_view where, std::vector<FieldDoc>& docs) {
  for (const SummaryKey& key : keys) {
    const bool is_new = std::ranges::find(docs, key.doc, &FieldDoc::doc) == docs.end();
    if (!key.doc.empty() && is_new) docs.push_back({key.name, where, key.doc});
  }
  for (const SummaryKey& key : keys) add(key.of, kept(fmt::format("summary.json, {}", key.name)), docs);
}

}  // namespace

constinit const std::span<const FieldDoc> study_field_docs = of_study;
std::span<const FieldDoc> word_docs() { return of_words; }

std::vector<FieldDoc> summary_docs() {
  std::vector<FieldDoc> docs;
  add(summary_keys, "summary.json", docs);
  return docs;
}

std::vector<FieldDoc> suspect_docs() {
  std::vector<FieldDoc> docs;
  for (const SuspectDoc& suspect : suspects)
    docs.push_back({suspect.name, "psim why --json, verdict", suspect.doc});
  return docs;
}

}  // namespace psim::analysis
