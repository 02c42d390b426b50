#include "analysis/render/html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/render/svg_chart.hpp"

namespace psim::analysis {

std::string head(std::string_view heading, std::string_view doc, const char* classes) {
  return fmt::format("<th scope=\"col\" class=\"{}\" title=\"{}\">{}</th>", classes, escaped(doc),
                     escaped(heading));
}

std::string head(ColumnName name, const char* classes) { return head(name.heading(), name.doc(), classes); }

std::string script_json(const Json& json) {
  std::string out;
  for (const char c : json.dump(-1, ' ', false, Json::error_handler_t::replace)) {
    if (c == '<') out += "\\u003c";
    else out += c;
  }
  return out;
}

std::string shown(const Json& value, const Shape& shape) {
  if (!value.is_number()) return value.is_string() ? value.get<std::string>() : "-";
  const double exact = value.get<double>();
  const double number = shape.is_inverse ? shape.scale / exact : exact * shape.scale;
  if (value.is_number_integer() && shape.scale == 1 && !shape.is_inverse && shape.decimals < 0)
    return fmt::format("{}{}", value.dump(), shape.unit);
  int decimals = shape.decimals;
  if (decimals < 0) {
    const double size = std::abs(number);
    decimals =
        size > 0 ? std::clamp(shape.digits - 1 - static_cast<int>(std::floor(std::log10(size))), 0, 9) : 0;
  }
  return fmt::format("{:.{}f}{}", number, decimals, shape.unit);
}

const Json& Numbers::at(const std::string& path) const {
  static const Json none;
  const Json::json_pointer place(path);
  return document_.contains(place) ? document_.at(place) : none;
}

std::string Numbers::operator()(const std::string& path, const Shape& shape, std::string_view doc) const {
  const Json& value = at(path);
  return fmt::format(
      "<data value=\"{0}\" data-path=\"{1}\" data-scale=\"{2}{3}\" title=\"{4}{0}\">{5}</data>",
      escaped(value.is_string() ? value.get<std::string>() : value.dump()), escaped(path),
      shape.is_inverse ? "/" : "", shape.scale, doc.empty() ? "" : escaped(doc) + "&#10;",
      escaped(shown(value, shape)));
}

std::string Numbers::told(const std::string& path, const std::string& text, std::string_view doc) const {
  return fmt::format("<data value=\"{0}\" data-path=\"{1}\" title=\"{2}{0}\">{3}</data>", at(path).dump(),
                     escaped(path), doc.empty() ? "" : escaped(doc) + "&#10;", escaped(text));
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default:
        if (static_cast<unsigned char>(c) >= ' ' || c == '\n' || c == '\t') out += c;
    }
  }
  return out;
}

namespace {

constexpr int box_width = 1000, box_height = 1000;  // of the view box that is stretched over a figure

}  // namespace

Scale::Scale(double low, double high, bool is_log) : low_(low), high_(high), is_log_(is_log && low > 0) {
  if (!(high_ > low_)) {  // a single value goes to the middle
    const double room = is_log_ ? low_ / 2 : std::max(1e-9, std::abs(low_) / 2);
    low_ -= room;
    high_ += room;
  }
}

double Scale::share(double value) const {
  const double share =
      is_log_ ? std::log(value / low_) / std::log(high_ / low_) : (value - low_) / (high_ - low_);
  return std::clamp(share, 0.0, 1.0);
}

std::vector<double> Scale::ticks() const {
  constexpr int most = 6;
  if (is_log_) {
    std::vector<double> all;
    const std::vector<double> steps =
        high_ / low_ > 100 ? std::vector<double>{1} : std::vector<double>{1, 2, 5};
    for (double ten = std::pow(10, std::floor(std::log10(low_))); ten <= high_; ten *= 10) {
      for (const double step : steps) {
        if (step * ten >= low_ && step * ten <= high_) all.push_back(step * ten);
      }
    }
    return all;
  }
  return psim::analysis::ticks(low_, high_, most);
}

std::string x_ticks(const Scale& scale) {
  std::string out;
  for (const double tick : scale.ticks())
    out += fmt::format("<span class=\"xtick\" style=\"left:{:.2f}%\">{:.4g}</span>", 100 * scale.share(tick),
                       tick);
  return out;
}

Figure::Figure(Scale x, Scale y, std::string x_name, std::string y_name)
    : x_(x), y_(y), x_name_(std::move(x_name)), y_name_(std::move(y_name)) {}

std::string Figure::points(const Dots& line) const {
  std::string out;
  for (const auto& [x, y] : line)
    out += fmt::format("{:.1f},{:.1f} ", box_width * x_.share(x), box_height * (1 - y_.share(y)));
  return out;
}

void Figure::add_line(std::size_t series, const Dots& line) {
  shapes_ += fmt::format("<polyline class=\"line s{}\" points=\"{}\"/>", series % 8, points(line));
}

void Figure::add_band(std::size_t series, const Dots& outline) {
  shapes_ += fmt::format("<polygon class=\"band s{}\" points=\"{}\"/>", series % 8, points(outline));
}

void Figure::add_at(double x, double y, const std::string& content) {
  content_ += fmt::format("<span class=\"at\" style=\"left:{:.2f}%;bottom:{:.2f}%\">{}</span>",
                          100 * x_.share(x), 100 * y_.share(y), content);
}

void Figure::add_date(double x, const std::string& name) {
  shapes_ += fmt::format("<line class=\"date\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"0\" y2=\"{1}\"/>",
                         box_width * x_.share(x), box_height);
  content_ +=
      fmt::format("<span class=\"dated\" style=\"left:{:.2f}%\">{}</span>", 100 * x_.share(x), escaped(name));
}

void Figure::add_end(std::size_t series, double y, const std::string& name) {
  ends_.push_back({series, y_.share(y), name});
}

std::string Figure::html(const std::string& name) const {
  std::string out = fmt::format(
      "<div class=\"plot\" role=\"img\" aria-label=\"{}\"><div class=\"area\">"
      "<svg viewBox=\"0 0 {} {}\" preserveAspectRatio=\"none\" aria-hidden=\"true\">",
      escaped(name), box_width, box_height);
  std::string labels;
  for (const double tick : y_.ticks()) {
    const double at = y_.share(tick);
    out += fmt::format("<line class=\"grid\" x1=\"0\" x2=\"{0}\" y1=\"{1:.1f}\" y2=\"{1:.1f}\"/>", box_width,
                       box_height * (1 - at));
    labels += fmt::format("<span class=\"ytick\" style=\"bottom:{:.2f}%\">{:.4g}</span>", 100 * at, tick);
  }
  labels += x_ticks(x_);
  std::vector<End> ends = ends_;  // from bottom to top; no name covers the name before it
  std::ranges::sort(ends, {}, &End::share);
  constexpr double room = 0.075;
  double lowest = -std::numeric_limits<double>::infinity();
  for (const End& end : ends) {
    lowest = std::max(end.share, lowest + room);
    labels += fmt::format("<span class=\"end s{}\" style=\"bottom:{:.2f}%\"><b>{}</b> {}</span>",
                          end.series % 8, 100 * lowest, letter_of(end.series), escaped(end.name));
  }
  return out + fmt::format("{}</svg>{}{}</div><p class=\"yname\">{}</p><p class=\"xname\">{}</p></div>",
                           shapes_, content_, labels, escaped(y_name_), escaped(x_name_));
}

}  // namespace psim::analysis
