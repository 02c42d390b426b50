// Vector graphics in millimetres: documents, and texts of limited width.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace psim::analysis {

// A mark in every document, by which psim recognizes its own files.
inline constexpr std::string_view svg_mark = "<!-- psim export -->";

inline constexpr double text_mm = 2.5, line_mm = text_mm + 1;

// A document of this size with `body` in it. It embeds the letters that texts of psim need.
std::string svg_document(double width_mm, double height_mm, const std::string& body);
// `anchor`: start, middle or end.
std::string svg_text(double x, double y, const std::string& text, const char* anchor = "start");

// The approximate width of `text`.
double text_width(const std::string& text);
// `text`, cut to about `width_mm`; an ellipsis shows the cut.
std::string fitted(const std::string& text, double width_mm);
// `text` in lines of at most this width, broken at spaces. A longer word is cut, as above.
std::vector<std::string> wrapped_in_mm(const std::string& text, double width_mm);

}  // namespace psim::analysis
