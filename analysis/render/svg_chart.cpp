#include "analysis/render/svg_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <sstream>
#include <string_view>
#include <utility>

#include "analysis/render/html.hpp"

namespace psim::analysis {
namespace {

std::string svg_element(double width_mm, double height_mm, const std::string& body,
                        const std::string& style = "") {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.2f}mm\" height=\"{1:.2f}mm\" viewBox=\"0 0 "
      "{0:.2f} {1:.2f}\" font-family=\"'psim Sans', 'DejaVu Sans', Verdana, Arial, sans-serif\" "
      "font-size=\"{2}\">\n{4}<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{3}</svg>\n",
      width_mm, height_mm, text_mm, body, style);
}

struct Range {
  double low = 0, high = 1;
};

struct Ranges {
  Range x, y;
};

// The ranges of everything that the plot shows.
Ranges ranges_of(const Plot& plot) {
  constexpr Range nothing{HUGE_VAL, -HUGE_VAL};
  Ranges ranges{nothing, nothing};
  const auto add = [&](double x, double y) {
    ranges.x = {std::min(ranges.x.low, x), std::max(ranges.x.high, x)};
    ranges.y = {std::min(ranges.y.low, y), std::max(ranges.y.high, y)};
  };
  for (const Line& line : plot.lines) {
    for (const auto& [x, y] : line.points) add(x, y);
    for (const BandPart& part : line.band) add(part.x, part.low), add(part.x, part.high);
  }
  for (const Spot& spot : plot.spots) add(0, 0), add(1.1 * spot.x, 1.1 * spot.y);
  for (Range* range : {&ranges.x, &ranges.y}) {
    if (!(range->low <= range->high)) *range = {};
    if (range->low == range->high) *range = {range->low - 0.5, range->high + 0.5};
  }
  return ranges;
}

// The place of `value` on an axis from 0 to 1.
double share(double value, const Range& axis, bool logarithmic) {
  const auto place = [=](double v) { return logarithmic ? std::log10(v) : v; };
  return (place(value) - place(axis.low)) / (place(axis.high) - place(axis.low));
}

// The powers of ten on an axis, if there are two.
std::vector<double> decades(const Range& axis) {
  std::vector<double> all;
  for (int e = static_cast<int>(std::ceil(std::log10(axis.low))); std::pow(10.0, e) <= axis.high; ++e)
    all.push_back(std::pow(10.0, e));
  return all.size() > 1 ? all : std::vector<double>{};
}

class Chart {
 public:
  Chart(const Plot& plot, double width) : plot_(plot), width_(width), right_(width - 3) {
    const double y_label = text_width(plot.y_label) + text_width("  ");
    is_title_beside_ = y_label + text_width(plot.title) <= right_ - left;
    if (!is_title_beside_) title_ = wrapped_in_mm(plot.title, right_ - left);
    const double title = line_mm * static_cast<double>(title_.size());
    top_ = 6 + title;
    bottom_ = top_ + std::max(0.55 * width, 40.0) - 15;
    ranges_ = ranges_of(plot);
    if (!plot.logarithmic) {
      Range& y = ranges_.y;
      y = {std::min(y.low, 0.0), std::max(y.high, plot.least_top)};
      y.high += 0.05 * (y.high - y.low);
    }
    for (std::size_t i = 0; i < plot.lines.size(); ++i) {
      if (!plot.lines[i].name.empty()) legend_.push_back({plot.lines[i].name, i});
    }
    place_names();
  }

  std::string body() const {
    std::string body = axes();
    for (const Line& line : plot_.lines) body += band(line);
    for (std::size_t i = 0; i < plot_.lines.size(); ++i) body += curve(plot_.lines[i], i);
    return body + spots() + legend();
  }
  double height() const {
    const auto rows = static_cast<double>((legend_.size() + in_a_row() - 1) / in_a_row());
    return bottom_ + 9 + (rows > 0 ? 2 + rows * line_mm : 0);
  }

 private:
  struct Entry {
    std::string name;
    std::size_t number;  // of its line or mark
  };

  // The width of an entry in the legend: its line and its name.
  double entry_width() const {
    double widest = 28;
    for (const Entry& entry : legend_) widest = std::max(widest, 8 + text_width(entry.name));
    return std::min(widest, width_ - 2);
  }
  double legend_left() const { return std::min(left, width_ - entry_width()); }
  std::size_t in_a_row() const {
    return static_cast<std::size_t>(std::max(1.0, (width_ - legend_left()) / entry_width()));
  }

  // Names of marks stand next to them or, without room, in the legend.
  void place_names() {
    std::vector<MarkedName> names;
    for (const Spot& spot : plot_.spots) names.push_back({spot.name, x(spot.x), y(spot.y)});
    labels_ = labels_of(names, spot_mm, {left, top_ - 1, width_ - 1, bottom_});
    if (labels_) return;
    for (std::size_t i = 0; i < plot_.spots.size(); ++i) legend_.push_back({plot_.spots[i].name, i});
  }

  double x(double value) const {
    return left + (right_ - left) * share(value, ranges_.x, plot_.logarithmic_x);
  }
  double y(double value) const {
    return bottom_ - (bottom_ - top_) * share(value, ranges_.y, plot_.logarithmic);
  }

  std::vector<double> x_ticks() const {
    const auto& [low, high] = ranges_.x;
    const std::vector<double> powers = plot_.logarithmic_x ? decades(ranges_.x) : std::vector<double>{};
    if (!powers.empty()) return powers;
    return ticks(low, high, std::clamp(static_cast<int>((right_ - left) / 10), 2, 6));
  }
  std::vector<double> y_ticks() const {
    const auto& [low, high] = ranges_.y;
    if (!plot_.logarithmic) return ticks(low, high, 5);
    std::vector<double> all = decades(ranges_.y);
    if (!all.empty()) return all;
    for (const double value : ticks(low, high, 5)) {
      if (all.empty() || y(all.back()) - y(value) > line_mm) all.push_back(value);
    }
    return all;
  }

  std::string axes() const {
    std::string out = fmt::format(
        "<path d=\"M{:.2f} {:.2f}V{:.2f}H{:.2f}\" fill=\"none\" stroke=\"#000\" stroke-width=\"0.2\"/>\n",
        left, top_, bottom_, right_);
    for (const double value : x_ticks()) {
      out += fmt::format("<path d=\"M{0:.2f} {1:.2f}v1\" stroke=\"#000\" stroke-width=\"0.2\"/>\n", x(value),
                         bottom_);
      const std::string text = fmt::format("{:.6g}", value);
      // A long number at the right end stays in the picture.
      const double most = plot_.logarithmic_x ? width_ - text_width(text) / 2 : width_;
      out += svg_text(std::min(x(value), most), bottom_ + 1.2 + text_mm, text, "middle");
    }
    for (const double value : y_ticks()) {
      out += fmt::format("<path d=\"M{:.2f} {:.2f}H{:.2f}\" stroke=\"#ccc\" stroke-width=\"0.1\"/>\n", left,
                         y(value), right_);
      out += svg_text(left - 1, y(value) + text_mm / 3, fmt::format("{:.6g}", value), "end");
    }
    out += svg_text((left + right_) / 2, bottom_ + 2.6 + 2 * text_mm, plot_.x_label, "middle");
    out += svg_text(left, top_ - 1.5, fitted(plot_.y_label, right_ - left));
    if (is_title_beside_) return out + svg_text(right_, top_ - 1.5, plot_.title, "end");
    double line = 1 + text_mm;
    for (const std::string& part : title_) {
      out += svg_text(left, line, part);
      line += line_mm;
    }
    return out;
  }

  // The upper edge forwards, then the lower one backwards.
  std::string band(const Line& line) const {
    if (line.band.empty()) return "";
    std::string path;
    for (const BandPart& part : line.band)
      path += fmt::format("{}{:.2f} {:.2f}", path.empty() ? "M" : "L", x(part.x), y(part.high));
    for (auto part = line.band.rbegin(); part != line.band.rend(); ++part)
      path += fmt::format("L{:.2f} {:.2f}", x(part->x), y(part->low));
    return fmt::format("<path d=\"{}Z\" fill=\"{}\" fill-opacity=\"0.16\"/>\n", path,
                       arm_colours[line.arm.value_or(0) % std::size(arm_colours)]);
  }

  std::string curve(const Line& line, std::size_t number) const {
    if (line.points.empty()) return "";
    std::string path;
    for (const auto& [px, py] : line.points) {
      if (path.empty()) path = fmt::format("M{:.2f} {:.2f}", x(px), y(py));
      else if (line.is_step) path += fmt::format("H{:.2f}V{:.2f}", x(px), y(py));
      else path += fmt::format("L{:.2f} {:.2f}", x(px), y(py));
    }
    return fmt::format("<path d=\"{}\" fill=\"none\" {} stroke-width=\"0.35\"/>\n", path,
                       stroke(line, number));
  }
  static std::string stroke(const Line& line, std::size_t number) {
    return arm_stroke(line.arm.value_or(number));
  }

  std::string legend() const {
    std::string out;
    for (std::size_t i = 0; i < legend_.size(); ++i) {
      const auto& [name, number] = legend_[i];
      const double px = legend_left() + entry_width() * static_cast<double>(i % in_a_row());
      const double py = bottom_ + 11.5 + static_cast<double>(i / in_a_row()) * line_mm;
      if (plot_.spots.empty())
        out += fmt::format("<path d=\"M{:.2f} {:.2f}h4\" {} stroke-width=\"0.5\"/>\n", px, py - text_mm / 3,
                           stroke(plot_.lines[number], number));
      else out += mark(plot_.spots[number], px + 2, py - text_mm / 3);
      out += svg_text(px + 5, py, fitted(name, entry_width() - 5));
    }
    return out;
  }

  // A mark; with its letter if names are in the legend.
  std::string mark(const Spot& spot, double px, double py) const {
    const char* colour = arm_colours[spot.arm % std::size(arm_colours)];
    const std::string circle = fmt::format(
        "<circle cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"{}\" fill=\"{}\" stroke=\"{}\" stroke-width=\"0.35\"/>\n",
        px, py, labels_ ? spot_mm : 1.6 * spot_mm, spot.is_filled ? colour : "#fff", colour);
    if (labels_) return circle;
    return fmt::format("{}<g fill=\"{}\">{}</g>\n", circle, spot.is_filled ? "#fff" : colour,
                       svg_text(px, py + text_mm / 3, spot.letter, "middle"));
  }

  std::string spots() const {
    std::string marks, names;
    for (std::size_t i = 0; i < plot_.spots.size(); ++i) {
      const Spot& spot = plot_.spots[i];
      const double px = x(spot.x), py = y(spot.y);
      marks += mark(spot, px, py);
      if (!labels_) continue;
      const Label& label = (*labels_)[i];
      if (label.is_far)
        names +=
            fmt::format("<path d=\"M{:.2f} {:.2f}L{:.2f} {:.2f}\" stroke=\"#999\" stroke-width=\"0.15\"/>\n",
                        px, py, label.x, label.y);
      names += svg_text(label.x, label.y + text_mm / 3, spot.name, label.anchor);
    }
    return names + marks;
  }

  static constexpr double left = 14, spot_mm = 1;
  const Plot& plot_;
  double width_, right_, top_ = 0, bottom_ = 0;
  bool is_title_beside_ = false;    // the label of the y axis stands next to it
  std::vector<std::string> title_;  // otherwise above it, in these lines
  Ranges ranges_;
  std::optional<std::vector<Label>> labels_;  // of the spots
  std::vector<Entry> legend_;
};

}  // namespace

std::string svg(const Plot& plot, double width_mm) {
  const Chart chart(plot, width_mm);
  return svg_document(width_mm, chart.height(), chart.body());
}

std::string svg_within_page(const Plot& plot) {
  constexpr double width_mm = 160;
  const Chart chart(plot, width_mm);
  return svg_element(width_mm, chart.height(), chart.body());
}

namespace {

// A possible place of a name, relative to its mark.
struct Shift {
  double across = 0, down = 0;
  bool is_right = true;
};

// The near ones first.
std::vector<Shift> shifts() {
  std::vector<Shift> all;
  for (int column = 0; column < 12; ++column) {
    for (int row = -60; row <= 60; ++row) {
      for (const bool is_right : {true, false}) all.push_back({column * 4.0, row * line_mm / 5, is_right});
    }
  }
  std::ranges::stable_sort(all, {}, [](const Shift& s) { return std::hypot(s.across, s.down); });
  return all;
}

// Whether the line from (x, y) to (to_x, to_y) crosses the box.
bool crosses(double x, double y, double to_x, double to_y, const Box& box) {
  constexpr int places = 40;
  for (int i = 0; i <= places; ++i) {
    const double share = static_cast<double>(i) / places;
    const double px = x + share * (to_x - x), py = y + share * (to_y - y);
    if (box.left < px && px < box.right && box.top < py && py < box.bottom) return true;
  }
  return false;
}

struct Leader {
  double x, y, to_x, to_y;
};

}  // namespace

bool Box::meets(const Box& other) const {
  return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
}

bool Box::holds(const Box& other) const {
  return left <= other.left && other.right <= right && top <= other.top && other.bottom <= bottom;
}

std::optional<std::vector<Label>> labels_of(const std::vector<MarkedName>& names, double radius,
                                            const Box& area) {
  const std::vector<Shift> candidates = shifts();
  const double gap = radius + 0.8;
  std::vector<Box> marks, texts;
  std::vector<Leader> leaders;
  for (const auto& [name, x, y] : names) marks.push_back({x - radius, y - radius, x + radius, y + radius});
  std::vector<Label> labels;
  for (const auto& [name, x, y] : names) {
    const double width = text_width(name);
    const auto fits = [&, x = x, y = y](const Shift& shift) {
      const double near = shift.is_right ? x + gap + shift.across : x - gap - shift.across;
      const double middle = y + shift.down, begin = shift.is_right ? near : near - width;
      const Box box{begin, middle - line_mm / 2, begin + width, middle + line_mm / 2};
      const auto meets = [&](const Box& other) { return box.meets(other); };
      return area.holds(box) && std::ranges::none_of(marks, meets) && std::ranges::none_of(texts, meets) &&
             std::ranges::none_of(texts,
                                  [&](const Box& other) { return crosses(x, y, near, middle, other); }) &&
             std::ranges::none_of(leaders,
                                  [&](const Leader& l) { return crosses(l.x, l.y, l.to_x, l.to_y, box); });
    };
    const auto found = std::ranges::find_if(candidates, fits);
    if (found == candidates.end()) return std::nullopt;
    const double near = found->is_right ? x + gap + found->across : x - gap - found->across;
    const double middle = y + found->down, begin = found->is_right ? near : near - width;
    texts.push_back({begin, middle - line_mm / 2, begin + width, middle + line_mm / 2});
    const bool is_far = std::hypot(found->across, found->down) > 1;
    if (is_far) leaders.push_back({x, y, near, middle});
    labels.push_back({near, middle, found->is_right ? "start" : "end", is_far});
  }
  return labels;
}

namespace {

constexpr double letter_mm = 0.6 * text_mm;  // of DejaVu Sans, on average

bool begins_letter(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80; }  // in UTF-8
std::ptrdiff_t letters_of(const std::string& text) { return std::ranges::count_if(text, begins_letter); }

}  // namespace

std::string fitted(const std::string& text, double width_mm) {
  const auto most = static_cast<std::ptrdiff_t>(std::max(1.0, width_mm / letter_mm));
  if (letters_of(text) <= most) return text;
  std::string out;
  std::ptrdiff_t letters = 0;
  for (const char c : text) {
    if (begins_letter(c) && ++letters == most) break;
    out += c;
  }
  return out + "\u2026";
}

double text_width(const std::string& text) { return letter_mm * static_cast<double>(letters_of(text)); }

std::vector<std::string> wrapped_in_mm(const std::string& text, double width_mm) {
  std::vector<std::string> lines;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::string longer = lines.empty() ? word : lines.back() + " " + word;
    if (!lines.empty() && text_width(longer) <= width_mm) lines.back() = longer;
    else lines.push_back(fitted(word, width_mm));
  }
  return lines;
}

std::string svg_text(double x, double y, const std::string& text, const char* anchor) {
  return fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     escaped(text));
}

// The letters of DejaVu Sans that charts need; other letters come from the fonts of the reader.
constexpr std::string_view font =
#include "analysis/render/font.inc"
    ;

std::string svg_document(double width_mm, double height_mm, const std::string& body) {
  return fmt::format("{}\n{}", svg_mark,
                     svg_element(width_mm, height_mm, body,
                                 fmt::format("<style>@font-face{{font-family:'psim "
                                             "Sans';src:url(data:font/ttf;base64,{})}}</style>\n",
                                             font)));
}

std::vector<double> ticks(double low, double high, int count) {
  std::vector<double> all;
  if (!(low < high) || count < 1) return {low};
  const double raw = (high - low) / count, power = std::pow(10.0, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw) {
      step = factor * power;
      break;
    }
  }
  for (double n = std::ceil(low / step - 1e-9); n * step <= high + 1e-9 * step; ++n)
    all.push_back(n * step + 0.0);  // not -0
  return all;
}

std::string arm_stroke(std::size_t arm) {
  constexpr const char* dashes[] = {"",
                                    "1.4 0.5",
                                    "0.5 0.3",
                                    "1.6 0.3 0.3 0.3",
                                    "2.4 0.4 0.8 0.4",
                                    "2.2 0.6",
                                    "0.2 0.4",
                                    "1 0.3 0.2 0.3 0.2 0.3"};
  constexpr std::size_t colours = std::size(arm_colours);
  const std::string_view dash = dashes[(arm + arm / colours) % std::size(dashes)];
  return fmt::format("stroke=\"{}\"{}", arm_colours[arm % colours],
                     dash.empty() ? "" : fmt::format(" stroke-dasharray=\"{}\"", dash));
}

std::string letter_of(std::size_t series) {
  constexpr std::size_t letters = 26;
  const auto letter = static_cast<char>('a' + series % letters);
  return series < letters ? std::string(1, letter) : letter_of(series / letters - 1) + letter;
}

const char* colour_of(Use use) {
  return std::ranges::find(use_colours, use, &std::pair<Use, const char*>::first)->second;
}

std::string latex_colour(std::string_view name, std::string_view colour) {
  std::string digits(colour.substr(1));
  for (char& c : digits) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return fmt::format("\\definecolor{{{}}}{{HTML}}{{{}}}", name, digits);
}

}  // namespace psim::analysis
