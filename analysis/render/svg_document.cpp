#include "analysis/render/svg_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <string_view>

#include "analysis/render/markup.hpp"

namespace psim::analysis {
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
  return fmt::format(
      "{0}\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{1:.2f}mm\" height=\"{2:.2f}mm\" viewBox=\"0 0 "
      "{1:.2f} {2:.2f}\" font-family=\"'psim Sans', 'DejaVu Sans', Verdana, Arial, sans-serif\" "
      "font-size=\"{3}\">\n<style>@font-face{{font-family:'psim "
      "Sans';src:url(data:font/ttf;base64,{5})}}</style>\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"#fff\"/>\n{4}</svg>\n",
      svg_mark, width_mm, height_mm, text_mm, body, font);
}

}  // namespace psim::analysis
