// What the names in a study's files mean, beside those of summaries: `psim explain` knows them, and
// docs/results.md has them in their order.
#pragma once

#include <string_view>

#include "analysis/text_rows.hpp"

namespace psim::analysis {

struct FieldDoc {
  std::string_view name, where, doc;
};

inline constexpr std::string_view study_field_text =
#include "analysis/study/field_docs.txt.inc"
    ;
inline constexpr auto study_field_docs = rows_of<FieldDoc, 3, row_count(study_field_text)>(study_field_text);

}  // namespace psim::analysis
