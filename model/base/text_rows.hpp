// Tables as texts, which become arrays when psim is compiled: a row begins with "- ", and " | " separates
// fields. The last field may begin on the next line instead, and continue on further lines. A line that
// begins with "# " is a comment.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>

namespace psim {

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
    std::string_view rest = text.substr(0, text.find(row_begins));
    rest = rest.substr(0, rest.find(remark_begins));
    while (rest.ends_with('\n')) rest.remove_suffix(1);
    std::array<std::string_view, Fields> fields;
    for (std::size_t i = 0; i + 1 < Fields; ++i) {
      const std::size_t end = rest.find(field_ends), line = rest.find('\n');
      fields[i] = rest.substr(0, std::min(end, line));
      rest.remove_prefix(std::min(rest.size(), end < line          ? end + field_ends.size()
                                               : line == rest.npos ? line
                                                                   : line + 1));
    }
    fields.back() = rest;
    row = std::apply([](auto... field) { return Row{field...}; }, fields);
  }
  return rows;
}

}  // namespace psim
