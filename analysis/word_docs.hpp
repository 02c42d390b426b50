// The meanings of words in sentences, drawings and documents, and of columns of tables. `psim explain` prints
// them.
#pragma once

#include <cstddef>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/text_rows.hpp"

namespace psim::analysis {

struct FieldDoc {
  std::string_view name, where, doc;
};

// The words of word_docs.txt.
std::span<const FieldDoc> word_docs();
// The names in the files of a study, in addition to those of summaries; in the order of docs/results.md.
extern const std::span<const FieldDoc> study_field_docs;
// The keys of a run's summary.
std::vector<FieldDoc> summary_docs();
// The kinds of main causes.
std::vector<FieldDoc> suspect_docs();

// All columns and lines of the tables, summaries and reports that psim shows to people, with their meanings
// (columns.txt). Printers take their headings from here, so `psim explain` knows every heading: an unknown
// name does not compile.
struct ColumnDoc {
  std::string_view name;
  std::string_view unit;   // as in the heading; empty: no unit, or each cell has its own
  std::string_view where;  // which table, if two tables use the name; empty: every table
  std::string_view doc;
};

inline constexpr std::string_view column_text =
#include "analysis/columns.txt.inc"
    ;
inline constexpr auto column_docs = text_rows<ColumnDoc, 4, row_count(column_text)>(column_text);

// The index of `name` in column_docs for the table `where`; the size of column_docs if there is no such
// column.
constexpr std::size_t place_of_column(std::string_view name, std::string_view where = "") {
  std::size_t place = 0;
  while (place < std::size(column_docs) &&
         (column_docs[place].name != name || column_docs[place].where != where))
    ++place;
  return place;
}

// "compute [%]"
inline std::string heading_of(const ColumnDoc& column) {
  return std::string(column.name) + (column.unit.empty() ? "" : " ") + std::string(column.unit);
}

// The name of a column in column_docs. Any other text does not compile.
class ColumnName {
 public:
  consteval ColumnName(const char* name, const char* where = "") : place_(place_of_column(name, where)) {
    if (place_ == std::size(column_docs)) throw "not in column_docs";
  }
  constexpr std::string_view name() const { return column_docs[place_].name; }
  constexpr std::string_view doc() const { return column_docs[place_].doc; }
  std::string heading() const { return heading_of(column_docs[place_]); }

 private:
  std::size_t place_;
};

}  // namespace psim::analysis
