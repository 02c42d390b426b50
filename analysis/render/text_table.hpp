// Tables of texts, for a terminal, for Markdown and for LaTeX.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/columns.hpp"
#include "analysis/study/report.hpp"

namespace psim::analysis {

struct TextColumn {
  TextColumn(ColumnName name, bool text = false) : heading(name.heading()), is_text(text) {}
  // Of a column that a scenario or a run gives its name.
  static TextColumn called(std::string name, bool text = false) {
    TextColumn column("arm", text);
    column.heading = std::move(name);
    return column;
  }
  std::string heading;
  bool is_text = false;  // aligned to the left; numbers are aligned to the right
  std::vector<std::string> cells = {};
};

// Columns of a terminal that UTF-8 takes: two for a wide letter, none for an accent that joins the one
// before.
std::size_t width_of(std::string_view text);

// Lines of at most `width`, broken at spaces; a word that is longer is broken anywhere.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);
// These lines, each with its end.
std::string paragraph(std::string_view text, std::size_t width);

// Adds a cell to each column.
void add_row(std::vector<TextColumn>& columns, std::vector<std::string> cells);

// The width of these columns side by side: with no cell broken, and as narrow as their words allow.
std::size_t natural_width(std::span<const TextColumn* const> columns);
std::size_t least_width(std::span<const TextColumn* const> columns);

// `breaks`: rows before which a new group begins. A text is at most `width` wide if least_width is.
std::string render(std::span<const TextColumn* const> columns, std::span<const std::size_t> breaks,
                   TableFormat format, std::size_t width);

// All columns, for a terminal.
std::string render(std::span<const TextColumn> columns, std::size_t width);

// A sentence that stands outside the table, in the table's format.
std::string render_line(std::string_view text, TableFormat format, std::size_t width);

// Text with what LaTeX takes for commands made harmless.
std::string latex(std::string_view text);

}  // namespace psim::analysis
