// Tables as texts: a row begins with "- ", and " | " separates fields. The last field may continue on the
// next lines. A line that begins with "# " is a comment.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>

namespace psim::analysis {

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

}  // namespace psim::analysis
