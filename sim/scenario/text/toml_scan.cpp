#include "sim/scenario/text/toml_scan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "model/nesting.hpp"
#include "model/unicode.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim {
namespace {

// Copies a text of several lines. After a backslash at the end of a line toml++ accepts ASCII only (see
// below), so other characters are escaped there.
void copy_text(std::string_view text, std::string& out) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t bytes = first_code_point(text.substr(i)).bytes;
    std::size_t k = i;
    while (bytes > 1 && k > 0 && (blank(text[k - 1]) || text[k - 1] == '\n')) --k;
    const std::size_t spaces = i - k;
    while (bytes > 1 && k > 0 && text[k - 1] == '\\') --k;
    const bool escaped = (i - spaces - k) % 2 == 1;
    if (escaped && spaces == 0) out += '?';  // always an error
    else if (escaped)
      out += fmt::format("\\U{:08X}", static_cast<std::uint32_t>(first_code_point(text.substr(i)).value));
    else out += text.substr(i, std::max<std::size_t>(bytes, 1));
    i += std::max<std::size_t>(bytes, 1);
  }
}

}  // namespace

bool blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::vector<std::size_t> open_in(std::string_view text) {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (begins_quoted(text[i])) {
      const std::size_t next = behind_quoted(text, i);
      if (next == std::string_view::npos) return open.push_back(i), open;
      i = next - 1;
    } else if (text[i] == '[' || text[i] == '{') {
      open.push_back(i);
    } else if ((text[i] == ']' || text[i] == '}') && !open.empty()) {
      open.pop_back();
    }
  }
  return open;
}

std::string in_ascii(std::string_view text) {
  std::string out;
  bool number = false;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const bool first = i == 0 || blank(text[i - 1]) ||
                       std::string_view("\n=,[{").find(text[i - 1]) != std::string_view::npos;
    if (first) number = std::string_view("0123456789+-.").find(c) != std::string_view::npos;
    if (blank(c) || std::string_view("\n],}#").find(c) != std::string_view::npos) number = false;
    const bool skipped = !number && begins_quoted(c);
    const std::size_t bytes = first_code_point(text.substr(i)).bytes;
    const std::size_t next = skipped ? behind_quoted(text, i) : i + std::max<std::size_t>(bytes, 1);
    if (skipped && text.substr(i, 3) == "\"\"\"") copy_text(text.substr(i, next - i), out);
    else out.append(!skipped && bytes > 1 ? "?" : text.substr(i, next - i));
    if (next == std::string_view::npos) break;
    i = next;
  }
  return out;
}

}  // namespace psim
