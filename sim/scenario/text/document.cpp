#include "sim/scenario/text/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "model/base/unicode.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim {
namespace {

// A syntax error in a text.
struct Flaw {
  std::size_t begin = 0, end = 0;
  std::string message, label, help;
};

// The description of toml++ in psim's words.
std::string in_our_words(std::string_view description) {
  if (const std::size_t colon = description.find(": ");
      description.starts_with("Error while") && colon != std::string_view::npos)
    description.remove_prefix(colon + 2);
  std::string out(description);
  constexpr std::pair<std::string_view, std::string_view> words[] = {
      {"could not determine value type", "expected a value"},
      {"explicitly ", ""},
      {"saw '\\n'", "saw the end of the line"},
      {"saw '\\r'", "saw the end of the line"},
      {"'", "`"}};
  for (const auto& [theirs, ours] : words) {
    for (std::size_t at = out.find(theirs); at != std::string::npos; at = out.find(theirs, at + ours.size()))
      out.replace(at, theirs.size(), ours);
  }
  return out;
}

// The hint for a constant of another language.
std::string constant_for(std::string_view word) {
  constexpr std::string_view names[] = {"true", "yes", "on", "false", "no", "off", "none", "null", "nil"};
  constexpr std::string_view ours[] = {"write true", "write false", "leave the line out for the default"};
  for (std::size_t i = 0; i < std::size(names); ++i) {
    if (std::ranges::equal(word, names[i], {}, [](unsigned char c) { return std::tolower(c); }))
      return std::string(ours[i / 3]);
  }
  return "";
}

// Examines one syntax error. The parser stopped at `stop`, in the line from `line_begin` to `line_end`.
class Examiner {
 public:
  Examiner(std::string_view text, std::size_t stop, std::string_view description)
      : text_(text), description_(description), stop_(stop) {
    line_begin_ = stop == 0 ? 0 : text.rfind('\n', stop - 1) + 1;
    line_end_ = std::min(text.find('\n', stop), text.size());
    while (line_end_ > std::max(line_begin_, stop) && blank(text[line_end_ - 1])) --line_end_;
    first_ = line_begin_;
    while (first_ < line_end_ && blank(text[first_])) ++first_;
    open_ = open_in(text.substr(0, stop));
  }

  Flaw flaw() const {
    Flaw flaw{.begin = stop_,
              .end = stop_ + 1,
              .message = "not valid TOML",
              .label = in_our_words(description_),
              .help = {}};
    if (says("utf-8")) return not_utf8(flaw);
    if (says("unknown escape sequence")) {
      flaw.begin = stop_ - 1;
      flaw.label = "unknown escape sequence";
      flaw.help = "write a text with backslashes in single quotes: 'C:\\data'";
      return flaw;
    }
    if (const std::size_t bytes = first_code_point(text_.substr(stop_)).bytes; bytes > 1) {
      flaw.end = stop_ + bytes;
      flaw.label = "only quoted texts and comments may contain this character";
      return flaw;
    }
    if (unclosed_text(flaw) || header(flaw) || unclosed_bracket(flaw) || twice(flaw)) return flaw;
    if (says("expected '=', saw ':'")) flaw.help = "TOML writes key = value, and tables as [name]";
    if (says("value type") && text_.substr(stop_).starts_with('('))
      flaw.help = "write a list in square brackets: [1, 2]";
    if (says("expected '='") || says("control character")) return flaw;
    word(flaw);
    return flaw;
  }

 private:
  bool says(std::string_view words) const { return description_.find(words) != std::string_view::npos; }
  bool at_line_end() const {
    return text_.substr(stop_, line_end_ - std::min(stop_, line_end_)).find_first_not_of(" \t\r") ==
           std::string_view::npos;
  }
  std::uint32_t line_number(std::size_t offset) const { return place_in(text_, offset, offset, 0).line; }

  Flaw not_utf8(Flaw flaw) const {
    std::size_t at = line_begin_;
    while (at < text_.size() && first_code_point(text_.substr(at)).bytes > 0)
      at += first_code_point(text_.substr(at)).bytes;
    flaw.begin = at;
    flaw.end = at + 1;
    flaw.message = "the text is not UTF-8";
    flaw.label = "not UTF-8 from here on";
    flaw.help = "save the file as UTF-8";
    return flaw;
  }

  bool unclosed_text(Flaw& flaw) const {
    if (open_.empty() || (text_[open_.back()] != '"' && text_[open_.back()] != '\'')) return false;
    const std::size_t open = open_.back();
    const bool triple = text_.substr(open, 3) == std::string(3, text_[open]);
    if (triple ? stop_ < text_.size() : !at_line_end()) return false;
    flaw.begin = open;
    flaw.end = triple ? open + 3 : std::max(line_end_, open + 1);
    flaw.message = "a text is not closed";
    flaw.label = "opened here";
    flaw.help = triple ? fmt::format("close it with {}", text_.substr(open, 3))
                       : fmt::format("close it with {} on the same line", text_[open]);
    return true;
  }

  bool header(Flaw& flaw) const {
    const bool inside = !open_.empty() && open_.front() != first_;
    if (inside || first_ >= text_.size() || text_[first_] != '[') return false;
    flaw.begin = first_;
    flaw.end = std::max(line_end_, first_ + 1);
    flaw.message = "not a table's header";
    flaw.help = "write [name] or [[name]] on a separate line";
    if (!says("cannot redefine")) return true;
    const std::string_view whole = text_.substr(first_, flaw.end - first_);
    const std::string_view name = whole.substr(0, whole.find(']') + (whole.starts_with("[[") ? 2 : 1));
    flaw.message = fmt::format("{} is given twice", name);
    flaw.help = "put all fields of a table below one header";
    const std::size_t before = text_.substr(0, line_begin_).rfind(name);
    flaw.label = before == std::string_view::npos
                     ? "it already has a value"
                     : fmt::format("first given in line {}", line_number(before));
    return true;
  }

  bool unclosed_bracket(Flaw& flaw) const {
    if (open_.empty()) return false;
    const std::size_t open = open_.back();
    const std::string_view line = text_.substr(first_, line_end_ - std::min(first_, line_end_));
    const std::size_t equals = line.find('=');
    const bool statement =
        open < line_begin_ &&
        (line.starts_with('[') || (equals != std::string_view::npos && line.find_first_of("[{\"'") > equals));
    if (!statement && !at_line_end() && stop_ < text_.size()) return false;
    const bool list = text_[open] == '[';
    flaw.begin = open;
    flaw.end = open + 1;
    flaw.message = list ? "a list is not closed" : "an inline table is not closed";
    flaw.label = "opened here";
    flaw.help = list ? "close it with ]" : "close it with } on the same line";
    return true;
  }

  bool twice(Flaw& flaw) const {
    if (!says("cannot redefine")) return false;
    const std::size_t quote = description_.find('\'');
    std::string_view name = description_.substr(quote + 1, description_.rfind('\'') - quote - 1);
    if (name.find('.') != std::string_view::npos) name.remove_prefix(name.rfind('.') + 1);
    const std::size_t at = text_.substr(0, stop_).rfind(name);
    if (at == std::string_view::npos || at < line_begin_) return false;
    flaw.begin = at;
    flaw.end = at + name.size();
    flaw.message = fmt::format("`{}` is given twice", name);
    flaw.label = "it already has a value";
    flaw.help = "keep one of them";
    for (std::size_t end = line_begin_; end > 0;) {  // back to the table's header
      const std::size_t begin = end == 1 ? 0 : text_.rfind('\n', end - 2) + 1;
      const std::string_view line = text_.substr(begin, end - begin);
      const std::string_view rest = line.substr(std::min(line.find_first_not_of(" \t"), line.size()));
      if (rest.starts_with('[')) break;
      if (rest.starts_with(name) && rest.find_first_not_of(" \t", name.size()) == rest.find('='))
        flaw.label = fmt::format("first given in line {}", line_number(begin));
      end = begin;
    }
    return true;
  }

  // An invalid value: a word without quotes, or an impossible number.
  void word(Flaw& flaw) const {
    const auto ends = [](char c) {
      return blank(c) || std::string_view(",[]{}()=#\"'\n").find(c) != std::string_view::npos;
    };
    std::size_t begin = std::min(stop_, line_end_), end = begin;
    while (begin > line_begin_ && !ends(text_[begin - 1])) --begin;
    while (end < line_end_ && !ends(text_[end])) ++end;
    const std::string_view token = text_.substr(begin, end - begin);
    if (token.empty()) {
      if (at_line_end()) flaw.message = "a value is missing";
      return;
    }
    flaw.begin = begin;
    flaw.end = end;
    if (says("expected comma")) {
      flaw.message = "a comma is missing";
      flaw.label = fmt::format("expected `,` or `{}` before this", says("']'") ? ']' : '}');
    } else if (says("comment or whitespace") && stop_ == begin) {
      flaw.label = "nothing may follow the value";
      flaw.help = "write one field per line, and texts in quotes";
    } else if (token.find_first_not_of("0123456789+-._eE") == std::string_view::npos ||
               (token[0] == '0' && token.find_first_of("xob") == 1)) {
      flaw.message = "not a number";
      const std::size_t more = std::min(text_.find_first_not_of("0123456789", end + 1), text_.size());
      if (end < line_end_ && text_[end] == ',' && more > end + 1) {
        flaw.end = more;
        flaw.label = "a comma in a number";
        flaw.help =
            fmt::format("write {}.{}, with a decimal point", token, text_.substr(end + 1, more - end - 1));
      }
      if (says("64 bits"))
        flaw.message = "the number is too large", flaw.label = "at most 9223372036854775807";
      else if (const auto number = number_in<double>(token.substr(token[0] == '+' ? 1 : 0));
               number && flaw.help.empty())
        flaw.help = fmt::format("write {}", *number);
    } else if (const std::string constant = constant_for(token); !constant.empty()) {
      flaw.message = fmt::format("`{}` is not a value", token);
      flaw.label = constant;
    } else {
      flaw.message = fmt::format("`{}` is not a value", token);
      flaw.label = "a text needs quotes";
      flaw.help = fmt::format("write \"{}\"", token);
    }
  }

  std::string_view text_, description_;
  std::size_t stop_, line_begin_, line_end_, first_;
  std::vector<std::size_t> open_;
};

}  // namespace

Place place_of(const toml::source_region& region) {
  Place place{.line = region.begin.line,
              .column = region.begin.column,
              .end_line = region.end.line,
              .end_column = region.end.column};
  if (region.path)
    std::from_chars(region.path->data(), region.path->data() + region.path->size(), place.source);
  return place;
}

namespace {

Diagnostic too_deep(std::string_view text, const DeepPlace& place, std::size_t source) {
  return {"syntax", place_in(text, place.begin, place.end, source),
          place.key ? "a key has too many parts" : "brackets are nested too deeply",
          fmt::format("at most {}", place.key ? most_parts : most_brackets),
          place.key ? "fields of a scenario are at most a few tables deep, such as cluster.network.latency"
                    : "a value of a scenario is at most a list of lists"};
}

}  // namespace

ParsedText parse_text(std::string_view text, std::size_t source) {
  if (const std::optional<DeepPlace> deep = first_too_deep(text))
    return {.root = {}, .problem = too_deep(text, *deep, source)};
  try {
    return {.root = toml::parse(in_ascii(text), std::to_string(source))};
  } catch (const toml::parse_error& error) {
    const std::size_t stop = offset_in(text, error.source().begin.line, error.source().begin.column);
    const Flaw flaw = Examiner(text, stop, error.description()).flaw();
    return {.root = {},
            .problem = Diagnostic{"syntax", place_in(text, flaw.begin, flaw.end, source), flaw.message,
                                  flaw.label, flaw.help}};
  }
}

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
