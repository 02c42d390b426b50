#include "analysis/summary_docs.hpp"

#include <fmt/format.h>

#include <set>
#include <span>
#include <string>

#include "sim/record/summary_schema.hpp"

namespace psim::analysis {
namespace {

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

std::vector<FieldDoc> summary_docs() {
  std::vector<FieldDoc> docs;
  add(summary_keys, "summary.json", docs);
  return docs;
}

}  // namespace psim::analysis
