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

// In the order of Kind.
constexpr FieldDoc of_causes[] = {
    {"idle", "psim why",
     "Nothing happened until a set date: a start, a deadline, a window, the end of a fault. At the end of a "
     "stuck run: nothing happened any more."},
    {"compute", "psim why", "A worker computed."},
    {"network", "psim why", "A message was on its way."},
    {"service", "psim why",
     "A server or the storage worked on a message, or the message waited there in a queue."},
    {"timeout", "psim why", "Silence, until a timeout ended it (recovery.timeout)."},
    {"down", "psim why",
     "A node was down, or a fault delayed a message. In a time line: the node was down, had left or had not "
     "joined."},
};

static_assert(std::ranges::equal(kind_names, of_causes, {}, {}, &FieldDoc::name));

constexpr std::string_view word_text =
#include "analysis/word_docs.txt.inc"
    ;
constexpr auto of_words = text_rows<FieldDoc, 3, row_count(word_text)>(word_text);

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
std::span<const FieldDoc> cause_docs() { return of_causes; }
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
