// Every column and line that psim's tables, summaries and reports show to people, with what it holds
// (columns.txt). Printers take their headings from here, so `psim explain` knows all of them: another name
// does not compile.
#pragma once

#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>

#include "analysis/text_rows.hpp"

namespace psim::analysis {

struct ColumnDoc {
  std::string_view name;
  std::string_view unit;   // as the heading of a column shows it; empty where cells carry their own, or none
  std::string_view where;  // of a name that two tables use: which of them; empty: wherever psim prints it
  std::string_view doc;
};

inline constexpr std::string_view column_text =
#include "analysis/columns.txt.inc"
    ;
inline constexpr auto column_docs = text_rows<ColumnDoc, 4, row_count(column_text)>(column_text);

// The place of `name` in column_docs, of those called so the one of that table; behind the end if there is
// none.
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

// The name of one of them; of no other text.
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
