// Tables of texts, for a terminal, for Markdown and for LaTeX.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/study/report.hpp"
#include "analysis/word_docs.hpp"

namespace psim::analysis {

struct TextColumn {
  TextColumn(ColumnName name, bool text = false) : heading(name.heading()), is_text(text) {}
  // A column whose name comes from a scenario or a run.
  static TextColumn called(std::string name, bool text = false) {
    TextColumn column("arm", text);
    column.heading = std::move(name);
    return column;
  }
  std::string heading;
  bool is_text = false;  // aligned to the left; numbers are aligned to the right
  std::vector<std::string> cells = {};
};

// The width of UTF-8 text on a terminal: two for a wide letter, none for a combining accent.
std::size_t width_of(std::string_view text);

// Lines of at most `width`, broken at spaces; a longer word may be broken anywhere.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);
// The same lines as one text, each with a line end.
std::string paragraph(std::string_view text, std::size_t width);

// "280 B", "1.2 MB", "51.2 GB"
std::string size_text(double bytes);

// Adds a cell to each column.
void add_row(std::vector<TextColumn>& columns, std::vector<std::string> cells);

// The width of these columns side by side: natural_width breaks no cell, least_width breaks between words.
std::size_t natural_width(std::span<const TextColumn* const> columns);
std::size_t least_width(std::span<const TextColumn* const> columns);

// `breaks`: rows at which a new group begins. A text is at most `width` wide if least_width is; a terminal
// shows its rows `bold` in bold.
std::string render(std::span<const TextColumn* const> columns, std::span<const std::size_t> breaks,
                   TableFormat format, std::size_t width, std::span<const std::size_t> bold = {});

// All columns, for a terminal.
std::string render(std::span<const TextColumn> columns, std::size_t width);

// A sentence outside the table, in the format of the table.
std::string render_line(std::string_view text, TableFormat format, std::size_t width);

// Text with the commands of LaTeX escaped.
std::string latex(std::string_view text);

// Curves drawn with characters, for a terminal.

using Points = std::vector<std::pair<double, double>>;  // (x, y), x ascending

struct Series {
  std::string name;
  Points points;
  Points low = {}, high = {};  // a band around it, drawn with dots where no curve is
  bool breaks_off = false;     // marks its last point with `!`
};

struct ChartOptions {
  std::string x_label, y_label;
  int width = 72, height = 16;  // of the plotting area, in characters
  bool colour = false;
};

// The axes contain all curves; a band may reach beyond them. Every series has its own letter, so colour is
// never the only difference. Empty if there is nothing to draw.
std::string chart(const std::vector<Series>& series, const ChartOptions& options);

}  // namespace psim::analysis
