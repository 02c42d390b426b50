// Vector graphics in millimetres: documents, and texts that have room.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace psim::analysis {

// In every document, so that psim knows its own.
inline constexpr std::string_view svg_mark = "<!-- psim export -->";

inline constexpr double text_mm = 2.5, line_mm = text_mm + 1;

// A document of this size with `body` in it. Its font is embedded, as far as psim's own texts need it.
std::string svg_document(double width_mm, double height_mm, const std::string& body);
// `anchor`: start, middle or end.
std::string svg_text(double x, double y, const std::string& text, const char* anchor = "start");

// About as wide as `text` is.
double text_width(const std::string& text);
// `text`, cut so that it is about `width_mm` wide at most; an ellipsis shows the cut.
std::string fitted(const std::string& text, double width_mm);
// `text` in lines of that width at most, parted at blanks. A longer word is cut, as above.
std::vector<std::string> wrapped_in_mm(const std::string& text, double width_mm);

}  // namespace psim::analysis
