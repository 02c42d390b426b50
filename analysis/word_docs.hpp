// What words mean that psim prints in sentences, drawings and documents, beside the columns of tables
// (columns.hpp) and the names in the files of a study and a run: `psim explain` knows them.
#pragma once

#include <span>
#include <vector>

#include "analysis/study/field_docs.hpp"

namespace psim::analysis {

// What the time between an event and its cause went into.
std::span<const FieldDoc> cause_docs();
std::span<const FieldDoc> word_docs();
// The kinds of main causes.
std::vector<FieldDoc> suspect_docs();

}  // namespace psim::analysis
