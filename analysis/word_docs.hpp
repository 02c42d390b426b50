// The meanings of words in sentences, drawings and documents, in addition to columns of tables (columns.hpp).
// `psim explain` prints them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace psim::analysis {

struct FieldDoc {
  std::string_view name, where, doc;
};

// How the time between an event and its cause was spent.
std::span<const FieldDoc> cause_docs();
std::span<const FieldDoc> word_docs();
// The names in the files of a study, in addition to those of summaries; in the order of docs/results.md.
extern const std::span<const FieldDoc> study_field_docs;
// The keys of a run's summary.
std::vector<FieldDoc> summary_docs();
// The kinds of main causes.
std::vector<FieldDoc> suspect_docs();

}  // namespace psim::analysis
