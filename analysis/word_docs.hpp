// The meanings of words in sentences, drawings and documents, and of columns of tables. `psim explain` prints
// them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
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

// Tables as texts: a row begins with "- ", and " | " separates fields. The last field may continue on the
// next lines. A line that begins with "# " is a comment.

inline constexpr std::string_view row_begins = "\n- ", remark_begins = "\n# ", field_ends = " | ";

consteval std::size_t row_count(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(row_begins, at)) != text.npos; ++at) ++count;
  return count;
}

// Builds each `Row` from its fields, in order; fields refer to the text.
template <class Row, std::size_t Fields, std::size_t Rows>
consteval std::array<Row, Rows> text_rows(std::string_view text) {
  std::array<Row, Rows> rows;
  for (Row& row : rows) {
    text.remove_prefix(text.find(row_begins) + row_begins.size());
    std::string_view rest = text.substr(0, std::min(text.find(row_begins), text.find(remark_begins)));
    if (rest.ends_with('\n')) rest.remove_suffix(1);
    std::array<std::string_view, Fields> fields;
    for (std::size_t i = 0; i + 1 < Fields; ++i) {
      fields[i] = rest.substr(0, rest.find(field_ends));
      rest.remove_prefix(fields[i].size() + field_ends.size());
    }
    fields.back() = rest;
    row = std::apply([](auto... field) { return Row{field...}; }, fields);
  }
  return rows;
}

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
