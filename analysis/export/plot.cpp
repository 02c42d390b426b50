#include "analysis/export/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/export/exports.hpp"

namespace psim::analysis {
namespace {

constexpr double text_mm = 2.5;

struct Range {
  double low = 0, high = 1;
};

Range range_of(const Plot& plot, double std::pair<double, double>::*value) {
  Range range{HUGE_VAL, -HUGE_VAL};
  for (const Line& line : plot.lines) {
    for (const auto& point : line.points) {
      range.low = std::min(range.low, point.*value);
      range.high = std::max(range.high, point.*value);
    }
  }
  if (!(range.low <= range.high)) return {};
  if (range.low == range.high) return {range.low - 0.5, range.high + 0.5};
  return range;
}

class Chart {
 public:
  Chart(const Plot& plot, double width)
      : plot_(plot),
        width_(width),
        height_(width * 0.55 + legend_height()),
        right_(width - 3),
        bottom_(height_ - 9 - legend_height()) {
    x_ = range_of(plot, &std::pair<double, double>::first);
    y_ = range_of(plot, &std::pair<double, double>::second);
    if (!plot.logarithmic) {
      y_.low = std::min(y_.low, 0.0);
      y_.high += 0.05 * (y_.high - y_.low);
    }
  }

  std::string document() const {
    std::string body = axes();
    for (std::size_t i = 0; i < plot_.lines.size(); ++i) body += curve(plot_.lines[i], i);
    return svg_document(width_, height_, body + legend());
  }

 private:
  std::size_t legend_rows() const {
    const auto named = static_cast<std::size_t>(
        std::ranges::count_if(plot_.lines, [](const Line& line) { return !line.name.empty(); }));
    return (named + in_a_row() - 1) / in_a_row();
  }
  std::size_t in_a_row() const { return static_cast<std::size_t>(std::max(1.0, (width_ - left) / 28)); }
  double legend_height() const {
    const auto rows = static_cast<double>(legend_rows());
    return rows > 0 ? 2 + rows * (text_mm + 1) : 0;
  }

  double x(double value) const { return left + (right_ - left) * (value - x_.low) / (x_.high - x_.low); }
  double y(double value) const {
    const auto place = [this](double v) { return plot_.logarithmic ? std::log10(v) : v; };
    const double share = (place(value) - place(y_.low)) / (place(y_.high) - place(y_.low));
    return bottom_ - (bottom_ - top) * share;
  }

  std::vector<double> y_ticks() const {
    if (!plot_.logarithmic) return ticks(y_.low, y_.high, 5);
    std::vector<double> all;
    for (int e = static_cast<int>(std::ceil(std::log10(y_.low))); std::pow(10.0, e) <= y_.high; ++e)
      all.push_back(std::pow(10.0, e));
    return all.size() > 1 ? all : ticks(y_.low, y_.high, 5);  // within a decade
  }

  std::string axes() const {
    std::string out = fmt::format(
        "<path d=\"M{:.2f} {:.2f}V{:.2f}H{:.2f}\" fill=\"none\" stroke=\"#000\" stroke-width=\"0.2\"/>\n",
        left, top, bottom_, right_);
    for (const double value :
         ticks(x_.low, x_.high, std::clamp(static_cast<int>((right_ - left) / 10), 2, 6))) {
      out += fmt::format("<path d=\"M{0:.2f} {1:.2f}v1\" stroke=\"#000\" stroke-width=\"0.2\"/>\n", x(value),
                         bottom_);
      out += svg_text(x(value), bottom_ + 1.2 + text_mm, fmt::format("{:.6g}", value), "middle");
    }
    for (const double value : y_ticks()) {
      out += fmt::format("<path d=\"M{:.2f} {:.2f}H{:.2f}\" stroke=\"#ccc\" stroke-width=\"0.1\"/>\n", left,
                         y(value), right_);
      out += svg_text(left - 1, y(value) + text_mm / 3, fmt::format("{:.6g}", value), "end");
    }
    out += svg_text((left + right_) / 2, bottom_ + 2.6 + 2 * text_mm, plot_.x_label, "middle");
    out += svg_text(left, top - 1.5, fitted(plot_.y_label, right_ - left));
    const double free = right_ - left - 0.6 * text_mm * static_cast<double>(plot_.y_label.size() + 2);
    if (free < 8) return out;
    return out + svg_text(right_, top - 1.5, fitted(plot_.title, free), "end");
  }

  std::string curve(const Line& line, std::size_t number) const {
    if (line.points.empty()) return "";
    std::string path;
    for (const auto& [px, py] : line.points) {
      if (path.empty()) path = fmt::format("M{:.2f} {:.2f}", x(px), y(py));
      else if (line.is_step) path += fmt::format("H{:.2f}V{:.2f}", x(px), y(py));
      else path += fmt::format("L{:.2f} {:.2f}", x(px), y(py));
    }
    return fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"0.35\"{}/>\n", path,
                       colour(number), number >= std::size(palette) ? " stroke-dasharray=\"1.5 0.7\"" : "");
  }
  static const char* colour(std::size_t number) { return palette[number % std::size(palette)]; }

  std::string legend() const {
    std::string out;
    std::size_t place = 0;
    for (std::size_t i = 0; i < plot_.lines.size(); ++i) {
      if (plot_.lines[i].name.empty()) continue;
      const double px = left + 28.0 * static_cast<double>(place % in_a_row());
      const double py = bottom_ + 11.5 + static_cast<double>(place / in_a_row()) * (text_mm + 1);
      out += fmt::format("<path d=\"M{:.2f} {:.2f}h4\" stroke=\"{}\" stroke-width=\"0.5\"/>\n", px,
                         py - text_mm / 3, colour(i));
      out += svg_text(px + 5, py, fitted(plot_.lines[i].name, 23));
      ++place;
    }
    return out;
  }

  static constexpr double left = 14, top = 6;
  const Plot& plot_;
  double width_, height_, right_, bottom_;
  Range x_, y_;
};

}  // namespace

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

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') out += "&amp;";
    else if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '"') out += "&quot;";
    else if (static_cast<unsigned char>(c) >= ' ') out += c;
  }
  return out;
}

std::string fitted(const std::string& text, double width_mm) {
  constexpr double letter = 0.6 * text_mm;  // DejaVu Sans, on average
  const auto most = static_cast<std::ptrdiff_t>(std::max(1.0, width_mm / letter));
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80; };  // UTF-8
  if (std::ranges::count_if(text, begins) <= most) return text;
  std::string out;
  std::ptrdiff_t letters = 0;
  for (const char c : text) {
    if (begins(c) && ++letters == most) break;
    out += c;
  }
  return out + "\u2026";
}

std::string svg_text(double x, double y, const std::string& text, const char* anchor) {
  return fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     escaped(text));
}

// DejaVu Sans, as far as charts need it; other letters come from the reader's fonts.
constexpr std::string_view font =
#include "analysis/export/font.inc"
    ;

std::string svg_document(double width_mm, double height_mm, const std::string& body) {
  return fmt::format(
      "{0}\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{1:.2f}mm\" height=\"{2:.2f}mm\" "
      "viewBox=\"0 0 {1:.2f} {2:.2f}\" font-family=\"'psim Sans', 'DejaVu Sans', Verdana, Arial, "
      "sans-serif\" "
      "font-size=\"{3}\">\n<style>@font-face{{font-family:'psim "
      "Sans';src:url(data:font/ttf;base64,{5})}}</style>\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"#fff\"/>\n{4}</svg>\n",
      svg_mark, width_mm, height_mm, text_mm, body, font);
}

std::string svg(const Plot& plot, double width_mm) { return Chart(plot, width_mm).document(); }

}  // namespace psim::analysis
