#include "analysis/render/html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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

}  // namespace psim::analysis
