// What words mean that psim prints in sentences, drawings and documents, beside the columns of tables
// (columns.hpp): `psim explain` knows them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace psim::analysis {

struct FieldDoc {
  std::string_view name, where, doc;
};

// What the time between an event and its cause went into.
std::span<const FieldDoc> cause_docs();
std::span<const FieldDoc> word_docs();
// The names in a study's files, beside those of summaries. docs/results.md has them in their order.
extern const std::span<const FieldDoc> study_field_docs;
// The keys of a run's summary.
std::vector<FieldDoc> summary_docs();
// The kinds of main causes.
std::vector<FieldDoc> suspect_docs();

}  // namespace psim::analysis
