#include "sim/scenario/text/diagnostics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "model/base/unicode.hpp"
#include "sim/scenario/text/synonyms.hpp"

namespace psim {
namespace {

std::string_view line_of(std::string_view text, std::uint32_t line) {
  std::size_t begin = 0;
  for (std::uint32_t i = 1; i < line; ++i) {
    begin = text.find('\n', begin);
    if (begin == std::string_view::npos) return {};
    ++begin;
  }
  std::string_view rest = text.substr(begin);
  rest = rest.substr(0, rest.find('\n'));
  if (rest.ends_with('\r')) rest.remove_suffix(1);
  return rest;
}

struct CodeRange {
  char32_t first, last;
};

template <std::size_t N>
bool within(const std::array<CodeRange, N>& ranges, char32_t code) {
  return std::ranges::any_of(
      ranges, [code](const CodeRange& range) { return code >= range.first && code <= range.last; });
}

// Control characters, and marks that change the direction of writing. A terminal may react to them.
constexpr std::array<CodeRange, 7> unsafe{{{0, 0x1F},
                                           {0x7F, 0x9F},
                                           {0x61C, 0x61C},
                                           {0x200B, 0x200F},
                                           {0x2028, 0x202E},
                                           {0x2060, 0x206F},
                                           {0xFEFF, 0xFEFF}}};

// One code point, or one invalid byte, as a terminal may show it.
struct Glyph {
  std::string_view shown;
  std::size_t bytes;
  std::size_t cells;
};

Glyph glyph_at(std::string_view text) {
  const CodePoint code = first_code_point(text);
  if (code.bytes == 0) return {"?", 1, 1};
  if (code.value == '\t') return {"\t", 1, 1};
  if (within(unsafe, code.value)) return {"?", code.bytes, 1};
  return {text.substr(0, code.bytes), code.bytes, code.columns};
}

std::string printable(std::string_view text) {
  constexpr std::size_t longest = 600;
  std::string out;
  while (!text.empty()) {
    if (out.size() >= longest) return out + " ...";
    const Glyph glyph = glyph_at(text);
    out += glyph.shown;
    text.remove_prefix(glyph.bytes);
  }
  return out;
}

// The part of a line around a region, and the line of carets below it, in the same columns.
struct Excerpt {
  std::string text, carets;
};

Excerpt excerpt(std::string_view line, std::uint32_t column, std::uint32_t end_column) {
  constexpr std::uint32_t before = 60, most = 140;
  const std::uint32_t first = column > most ? column - before : 1;
  Excerpt out;
  if (first > 1) out = {"... ", "    "};
  std::string carets;
  std::uint32_t at = 1;
  for (; !line.empty() && at < first + most; ++at) {
    const Glyph glyph = glyph_at(line);
    line.remove_prefix(glyph.bytes);
    if (at < first) continue;
    out.text += glyph.shown;
    if (at < column) out.carets += glyph.shown == "\t" ? "\t" : std::string(glyph.cells, ' ');
    else if (at < end_column) carets += std::string(glyph.cells, '^');
  }
  if (!line.empty()) out.text += " ...";
  if (column > at) out.carets.append(column - at, ' ');
  out.carets += carets.empty() ? "^" : carets;
  return out;
}

}  // namespace

std::uint32_t code_points(std::string_view text) {
  return static_cast<std::uint32_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

Place place_in(std::string_view text, std::size_t begin, std::size_t end, std::size_t source) {
  const std::size_t line_begin = begin == 0 ? 0 : text.rfind('\n', begin - 1) + 1;
  const auto line = static_cast<std::uint32_t>(1 + std::ranges::count(text.substr(0, line_begin), '\n'));
  const std::uint32_t column = 1 + code_points(text.substr(line_begin, begin - line_begin));
  return {.source = source,
          .line = line,
          .column = column,
          .end_line = line,
          .end_column = column + code_points(text.substr(begin, end - begin))};
}

std::size_t offset_in(std::string_view text, std::uint32_t line, std::uint32_t column) {
  std::size_t offset = 0;
  for (std::uint32_t at = 1; at < line; ++at) {
    const std::size_t end = text.find('\n', offset);
    if (end == std::string_view::npos) return text.size();
    offset = end + 1;
  }
  for (std::uint32_t at = 1; at < column && offset < text.size(); ++at) {
    offset += std::max<std::size_t>(1, first_code_point(text.substr(offset)).bytes);
  }
  return std::min(offset, text.size());
}

std::size_t Diagnostics::add_source(Source source) {
  sources_.push_back(std::move(source));
  return sources_.size() - 1;
}

void Diagnostics::annotate(const std::string& note) {
  for (Diagnostic& one : list_) {
    if (one.note.empty()) one.note = note;
  }
}

std::string Diagnostics::render(const Diagnostic& d, const char* kind) const {
  const Source& source = sources_[d.place.source];
  std::string out = fmt::format("{}[{}]: {}\n", kind, d.code, printable(d.message));
  if (d.place.line == 0) {
    out += fmt::format(" --> {}\n", printable(source.name));
    if (!d.label.empty()) out += fmt::format("  = note: {}\n", printable(d.label));
    if (!d.note.empty()) out += fmt::format("  = note: {}\n", printable(d.note));
    if (!d.help.empty()) out += fmt::format("  = help: {}\n", printable(d.help));
    return out;
  }
  const std::string number = std::to_string(d.place.line + source.first_line - 1);
  const std::string pad(number.size(), ' ');
  const std::uint32_t end = d.place.end_line > d.place.line ? UINT32_MAX : d.place.end_column;
  const Excerpt shown = excerpt(line_of(source.text, d.place.line), d.place.column, end);
  out += fmt::format("{}--> {}:{}{}\n", pad, printable(source.name), number,
                     source.has_columns ? fmt::format(":{}", d.place.column) : "");
  out += fmt::format("{} |\n{} | {}\n", pad, number, shown.text);
  out += fmt::format("{} | {}{}{}\n", pad, shown.carets, d.label.empty() ? "" : " ", printable(d.label));
  if (!d.note.empty()) out += fmt::format("{} = note: {}\n", pad, printable(d.note));
  if (!d.help.empty()) out += fmt::format("{} = help: {}\n", pad, printable(d.help));
  return out;
}

// In source and file order.
std::string Diagnostics::render_first(std::vector<Diagnostic> list, const char* kind) const {
  std::ranges::stable_sort(
      list, {}, [](const Diagnostic& d) { return std::tuple(d.place.source, d.place.line, d.place.column); });
  std::string out;
  constexpr std::size_t most = 100;
  for (std::size_t i = 0; i < std::min(most, list.size()); ++i) out += render(list[i], kind) + "\n";
  if (list.size() > most) out += fmt::format("... and {} more\n", list.size() - most);
  return out;
}

std::string Diagnostics::render() const {
  const auto before = [](const Diagnostic& a, const Diagnostic& b) {
    return std::tuple(a.place.source, a.place.line, a.place.column) <
           std::tuple(b.place.source, b.place.line, b.place.column);
  };
  const auto first = std::ranges::min_element(list_, before);
  return render_first(list_, "error") + fmt::format("{} error{}; nothing was run   next: psim explain {}\n",
                                                    list_.size(), list_.size() == 1 ? "" : "s",
                                                    first == list_.end() ? "" : first->code);
}

std::string Diagnostics::render_notes() const { return render_first(notes_, "note"); }

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, last(b.size() + 1), current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      current[j] =
          std::min({last[j] + 1, current[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1] ? 1U : 0U)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before[j - 2] + 1);
      }
    }
    before = last;
    std::swap(last, current);
  }
  return last[b.size()];
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr std::size_t longest_word = 100;  // longer than any name
  if (word.size() > longest_word) return {};
  const auto lower = [](std::string_view text) { return in_small_letters(std::string(text)); };
  for (const std::string_view meaning : meanings(lower(word))) {
    if (std::ranges::find(candidates, meaning) != candidates.end()) return std::string(meaning);
  }
  std::string best;
  std::size_t best_distance = (word.size() <= 3 ? 1 : std::max<std::size_t>(2, word.size() / 3)) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(lower(word), lower(candidate));
    if (distance < best_distance && distance < std::max(word.size(), candidate.size())) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates,
                         const std::string& otherwise) {
  const std::string near = nearest(word, candidates);
  return near.empty() ? otherwise : fmt::format("did you mean `{}`?", near);
}

bool fits_in_a_line(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = first_code_point(text).bytes;
    if (bytes == 0 || within(unsafe, first_code_point(text).value)) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

std::string counted(std::int64_t count, std::string_view what) {
  if (count != 1 && what.ends_with('y') && !what.ends_with("ay"))
    return fmt::format("{} {}ies", count, what.substr(0, what.size() - 1));
  const bool hisses = what.ends_with('s') || what.ends_with("sh");
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : hisses ? "es" : "s");
}

std::string there_are(std::int64_t count, std::string_view what) {
  return fmt::format("there {} only {}", count == 1 ? "is" : "are", counted(count, what));
}

}  // namespace psim
