#include "analysis/render/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>

#include "model/base/unicode.hpp"

namespace psim::analysis {
namespace {

using Columns = std::span<const TextColumn* const>;

constexpr std::size_t gap = 2;            // between columns
constexpr std::size_t longest_word = 14;  // a longer word may be broken

// The first code point of `text`; an invalid byte stands for itself.
CodePoint first_of(std::string_view text) {
  const CodePoint code = first_code_point(text);
  return code.bytes > 0 ? code : CodePoint{.value = 0, .bytes = 1, .columns = 1};
}

// The number of bytes of the code points that fit into `width`, at least one code point.
std::size_t bytes_of(std::string_view text, std::size_t width) {
  std::size_t at = 0, used = 0;
  while (at < text.size()) {
    const CodePoint code = first_of(text.substr(at));
    if (at > 0 && used + code.columns > width) break;
    used += code.columns;
    at += code.bytes;
  }
  return at;
}

std::size_t longest_word_of(std::string_view text) {
  std::size_t longest = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    longest = std::max(longest, width_of(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return longest;
}

std::size_t natural(const TextColumn& column) {
  std::size_t width = longest_word_of(column.heading);
  for (const std::string& cell : column.cells) width = std::max(width, width_of(cell));
  return width;
}

std::size_t least(const TextColumn& column) {
  std::size_t width = longest_word_of(column.heading);
  for (const std::string& cell : column.cells) width = std::max(width, longest_word_of(cell));
  return column.is_text ? std::min(width, longest_word) : width;
}

std::vector<std::size_t> widths_of(Columns columns, std::size_t (*width)(const TextColumn&)) {
  std::vector<std::size_t> widths;
  for (const TextColumn* column : columns) widths.push_back(width(*column));
  return widths;
}

std::size_t sum_of(const std::vector<std::size_t>& widths) {
  return std::accumulate(widths.begin(), widths.end(), gap * (widths.size() - 1));
}

// Breaks headings only if the table is too wide otherwise. Then the widest columns become narrower until all
// fit.
std::vector<std::size_t> fitted(Columns columns, std::size_t width) {
  std::vector<std::size_t> widths =
      widths_of(columns, [](const TextColumn& one) { return std::max(natural(one), width_of(one.heading)); });
  if (sum_of(widths) <= width) return widths;
  widths = widths_of(columns, natural);
  while (sum_of(widths) > width) {
    std::size_t widest = columns.size();
    for (const bool texts_only : {true, false}) {
      for (std::size_t i = 0; i < columns.size(); ++i) {
        if (widths[i] <= least(*columns[i]) || (texts_only && !columns[i]->is_text)) continue;
        if (widest == columns.size() || widths[i] > widths[widest]) widest = i;
      }
      if (widest < columns.size()) break;
    }
    if (widest == columns.size()) break;
    --widths[widest];
  }
  return widths;
}

// One row, with the lines that its longest cell needs.
std::string text_row(Columns columns, const std::vector<std::size_t>& widths, const auto& cell,
                     bool at_bottom) {
  std::vector<std::vector<std::string>> parts;
  std::size_t height = 1;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    parts.push_back(wrapped(cell(*columns[i]), widths[i]));
    height = std::max(height, parts.back().size());
  }
  std::string out;
  for (std::size_t line = 0; line < height; ++line) {
    std::string whole;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::size_t skip = at_bottom ? height - parts[i].size() : 0;
      const std::string text =
          line >= skip && line - skip < parts[i].size() ? parts[i][line - skip] : std::string();
      const std::string pad(widths[i] - width_of(text), ' ');
      whole += (i > 0 ? std::string(gap, ' ') : "") + (columns[i]->is_text ? text + pad : pad + text);
    }
    whole.erase(whole.find_last_not_of(' ') + 1);
    out += whole + "\n";
  }
  return out;
}

std::string render_text(Columns columns, std::span<const std::size_t> breaks, std::size_t width,
                        std::span<const std::size_t> bold) {
  const std::vector<std::size_t> widths = fitted(columns, width);
  std::string out = text_row(
      columns, widths, [](const TextColumn& c) { return c.heading; }, true);
  for (std::size_t i = 0; i < columns.size(); ++i)
    out += (i > 0 ? std::string(gap, ' ') : "") + std::string(widths[i], '-');
  out += "\n";
  for (std::size_t row = 0; row < columns.front()->cells.size(); ++row) {
    if (std::ranges::find(breaks, row) != breaks.end()) out += "\n";
    std::string text = text_row(
        columns, widths, [row](const TextColumn& c) { return c.cells[row]; }, false);
    if (std::ranges::find(bold, row) != bold.end()) {
      text.insert(0, "\033[1m");
      text.insert(text.size() - 1, "\033[0m");  // before the end of the line
    }
    out += text;
  }
  return out;
}

std::string markdown(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') out += "&lt;";
    else if (c == '&') out += "&amp;";
    else if (std::string_view("\\|*_`[]~$").find(c) != std::string_view::npos) out += {'\\', c};
    else out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string render_markdown(Columns columns) {
  const auto row = [&](const auto& cell) {
    std::string line = "|";
    for (const TextColumn* column : columns) line += fmt::format(" {} |", markdown(cell(*column)));
    return line + "\n";
  };
  std::string out = row([](const TextColumn& c) { return c.heading; }) + "|";
  for (const TextColumn* column : columns) out += column->is_text ? ":---|" : "---:|";
  out += "\n";
  for (std::size_t i = 0; i < columns.front()->cells.size(); ++i)
    out += row([i](const TextColumn& c) { return c.cells[i]; });
  return out;
}

std::string render_latex(Columns columns, std::span<const std::size_t> breaks) {
  const auto row = [&](const auto& cell) {
    std::string line;
    for (const TextColumn* column : columns) line += (line.empty() ? "  " : " & ") + latex(cell(*column));
    return line + " \\\\\n";
  };
  std::string out = "% needs \\usepackage{booktabs}\n\\begin{tabular}{";
  for (const TextColumn* column : columns) out += column->is_text ? 'l' : 'r';
  out += "}\n  \\toprule\n" + row([](const TextColumn& c) { return c.heading; }) + "  \\midrule\n";
  for (std::size_t i = 0; i < columns.front()->cells.size(); ++i) {
    if (std::ranges::find(breaks, i) != breaks.end()) out += "  \\midrule\n";
    out += row([i](const TextColumn& c) { return c.cells[i]; });
  }
  return out + "  \\bottomrule\n\\end{tabular}\n";
}

}  // namespace

std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const CodePoint code = first_of(text);
    width += code.columns;
    text.remove_prefix(code.bytes);
  }
  return width;
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    const bool is_first = lines.back().empty();
    if (width_of(lines.back()) + (is_first ? 0 : 1) + width_of(word) <= width) {
      lines.back() += (is_first ? "" : " ") + std::string(word);
      continue;
    }
    if (!is_first) lines.emplace_back();
    while (width_of(word) > width) {
      const std::size_t bytes = bytes_of(word, width);
      lines.back() = word.substr(0, bytes);
      lines.emplace_back();
      word.remove_prefix(bytes);
    }
    lines.back() = word;
  }
  return lines;
}

std::string paragraph(std::string_view text, std::size_t width) {
  std::string out;
  for (const std::string& line : wrapped(text, width)) out += line + "\n";
  return out;
}

std::string size_text(double bytes) {
  if (bytes < 9999.5) return fmt::format("{:.4g} B", bytes);
  for (const char* unit : {"kB", "MB", "GB"}) {
    bytes /= 1000;
    if (bytes < 999.5) return fmt::format("{:.3g} {}", bytes, unit);
  }
  return fmt::format("{:.{}f} TB", bytes / 1000, bytes < 99'950 ? 1 : 0);
}

void add_row(std::vector<TextColumn>& columns, std::vector<std::string> cells) {
  for (std::size_t i = 0; i < columns.size(); ++i) columns[i].cells.push_back(std::move(cells[i]));
}

std::size_t natural_width(Columns columns) { return sum_of(widths_of(columns, natural)); }
std::size_t least_width(Columns columns) { return sum_of(widths_of(columns, least)); }

std::string render(Columns columns, std::span<const std::size_t> breaks, TableFormat format,
                   std::size_t width, std::span<const std::size_t> bold) {
  switch (format) {
    case TableFormat::markdown: return render_markdown(columns);
    case TableFormat::latex: return render_latex(columns, breaks);
    case TableFormat::text: break;
  }
  return render_text(columns, breaks, width, bold);
}

std::string render(std::span<const TextColumn> columns, std::size_t width) {
  std::vector<const TextColumn*> all;
  for (const TextColumn& column : columns) all.push_back(&column);
  return render(all, {}, TableFormat::text, width);
}

std::string render_line(std::string_view text, TableFormat format, std::size_t width) {
  if (format == TableFormat::markdown) return fmt::format("\n{}\n", markdown(text));
  if (format == TableFormat::latex) return fmt::format("% {}\n", text);
  return paragraph(text, width);
}

std::string latex(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 16> escapes{{
      {"\\", "\\textbackslash{}"},
      {"{", "\\{"},
      {"}", "\\}"},
      {"&", "\\&"},
      {"%", "\\%"},
      {"$", "\\$"},
      {"#", "\\#"},
      {"_", "\\_"},
      {"~", "\\textasciitilde{}"},
      {"^", "\\textasciicircum{}"},
      {"<", "\\textless{}"},
      {">=", "$\\ge$"},
      {">", "\\textgreater{}"},
      {"|", "\\textbar{}"},
      {"\"", "''"},
      {"±", "$\\pm$"},
  }};
  std::string out;
  while (!text.empty()) {
    const auto found =
        std::ranges::find_if(escapes, [&](const auto& escape) { return text.starts_with(escape.first); });
    if (found == escapes.end()) {
      out += text.front() == '\n' ? ' ' : text.front();
      text.remove_prefix(1);
    } else {
      out += found->second;
      text.remove_prefix(found->first.size());
    }
  }
  return out;
}

namespace {

struct Bounds {
  double low = HUGE_VAL, high = -HUGE_VAL;
  void add(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  double at(double value) const { return high > low ? (value - low) / (high - low) : 0.5; }
};

// The height of the curve at x, interpolated; none before its first point and after its last.
double height_at(const Points& points, double x) {
  const auto after = std::ranges::lower_bound(points, x, {}, [](const auto& p) { return p.first; });
  if (after == points.end()) return NAN;
  if (after->first <= x) return after->second;
  if (after == points.begin()) return NAN;
  const auto before = after - 1;
  return before->second +
         (after->second - before->second) * (x - before->first) / (after->first - before->first);
}

double scaled(double y, bool logarithmic) { return logarithmic ? std::log10(y) : y; }

char mark_of(std::size_t i) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  return letters[i % letters.size()];
}

constexpr std::array<const char*, 6> colours{"\033[34m", "\033[33m", "\033[32m",
                                             "\033[31m", "\033[35m", "\033[36m"};

// The drawing: each character with its owner.
struct Area {
  struct Place {
    int owner = -1;
    char mark = ' ';
  };
  Bounds x, y;
  bool logarithmic = true;
  std::size_t width, height;
  std::vector<std::vector<Place>> places = {};

  // The row of a value; a value outside the area goes to its edge.
  std::size_t row_of(double value) const {
    const double share = std::clamp(y.at(value), 0.0, 1.0);
    return static_cast<std::size_t>(std::lround((1 - share) * static_cast<double>(height - 1)));
  }
  double x_of(std::size_t column) const {
    const double share = static_cast<double>(column) / static_cast<double>(width - 1);
    return std::min(x.high, x.low + (x.high - x.low) * share);
  }
};

// Losses span decades, so the axis is logarithmic if all values are positive.
Area area_of(const std::vector<Series>& series, const ChartOptions& options) {
  Area area{.width = static_cast<std::size_t>(options.width),
            .height = static_cast<std::size_t>(options.height)};
  for (const Series& s : series) {
    for (const auto& [px, py] : s.points) {
      area.x.add(px);
      if (std::isfinite(py)) area.logarithmic = area.logarithmic && py > 0;
    }
  }
  for (const Series& s : series) {
    for (const auto& point : s.points) area.y.add(scaled(point.second, area.logarithmic));
  }
  area.places.assign(area.height, std::vector<Area::Place>(area.width));
  return area;
}

void draw_curve(Area& area, const Series& s, std::size_t i, std::size_t number_of_series) {
  std::pair<std::size_t, std::size_t> last;
  bool drawn = false;
  for (std::size_t column = 0; column < area.width; ++column) {
    const double py = scaled(height_at(s.points, area.x_of(column)), area.logarithmic);
    if (!std::isfinite(py)) continue;
    last = {area.row_of(py), column};
    drawn = true;
    Area::Place& place = area.places[last.first][column];
    // Where curves meet, they take turns column by column.
    const bool is_free = place.owner < 0 || place.mark == '.';
    if (is_free || (place.mark != '!' && column % number_of_series == i))
      place = {.owner = static_cast<int>(i), .mark = mark_of(i)};
  }
  if (s.breaks_off && drawn)
    area.places[last.first][last.second] = {.owner = static_cast<int>(i), .mark = '!'};
}

void draw_band(Area& area, const Series& s, std::size_t i) {
  for (std::size_t column = 0; column < area.width; ++column) {
    const double low = height_at(s.low, area.x_of(column)), high = height_at(s.high, area.x_of(column));
    if (!std::isfinite(low) || !std::isfinite(high)) continue;
    const double least = area.logarithmic && low <= 0 ? area.y.low : scaled(low, area.logarithmic);
    const double most = scaled(high, area.logarithmic);
    if (most < area.y.low || least > area.y.high) continue;
    for (std::size_t row = area.row_of(most); row <= area.row_of(least); ++row) {
      Area::Place& place = area.places[row][column];
      if (place.owner < 0) place = {.owner = static_cast<int>(i), .mark = '.'};
    }
  }
}

}  // namespace

std::string chart(const std::vector<Series>& series, const ChartOptions& options) {
  Area area = area_of(series, options);
  const auto& [x, y, positive, width, height, places] = area;
  if (!(x.high > x.low) || !(y.high >= y.low)) return {};
  for (std::size_t i = 0; i < series.size(); ++i) draw_band(area, series[i], i);
  for (std::size_t i = 0; i < series.size(); ++i) draw_curve(area, series[i], i, series.size());
  std::string out = fmt::format("{:>10}{}\n", options.y_label, positive ? " (log scale)" : "");
  for (std::size_t row = 0; row < height; ++row) {
    const double py = y.high - (y.high - y.low) * static_cast<double>(row) / static_cast<double>(height - 1);
    const bool labelled = row == 0 || row + 1 == height || row == height / 2;
    out += labelled ? fmt::format("{:>10.4g} |", positive ? std::pow(10.0, py) : py)
                    : fmt::format("{:>10} |", "");
    std::string line;
    for (const Area::Place& place : places[row]) {
      if (place.owner < 0 || !options.colour) line += place.mark;
      else
        line += fmt::format("{}{}\033[0m", colours[static_cast<std::size_t>(place.owner) % colours.size()],
                            place.mark);
    }
    while (line.ends_with(' ')) line.pop_back();
    out += line + "\n";
  }
  out += fmt::format("{:>10} +{}\n", "", std::string(width, '-'));
  const std::string left = fmt::format("{:.4g}", x.low),
                    right = fmt::format("{:.4g} {}", x.high, options.x_label);
  out += fmt::format(
      "{:>12}{}{}{}\n", "", left,
      std::string(width > left.size() + right.size() ? width - left.size() - right.size() : 1, ' '), right);
  for (std::size_t i = 0; i < series.size(); ++i)
    out += fmt::format("{:>12}{} = {}\n", "", mark_of(i), series[i].name);
  return out;
}

}  // namespace psim::analysis
