// All errors of a user's input together, in file order, each with its place, a caret and a hint. While there
// is a diagnostic, psim runs and writes nothing.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace psim {

// A text that a user wrote: the scenario file, one --set argument, or some lines of a file.
struct Source {
  std::string name;  // shown before line and column
  std::string text;
  std::uint32_t first_line = 1;  // of the text in the file `name`
  bool has_columns = true;       // columns of the text equal columns of the file

  bool operator==(const Source&) const = default;
};

// A region of a source. Lines and columns count from 1 (columns in code points); line 0 means the source as a
// whole.
struct Place {
  std::size_t source = 0;
  std::uint32_t line = 0, column = 0;
  std::uint32_t end_line = 0, end_column = 0;
};

struct Diagnostic {
  std::string code;  // the kind of error, for `psim explain CODE`
  Place place;
  std::string message;    // lower case, no full stop, names in backticks
  std::string label;      // beside the caret
  std::string help;       // how to correct it
  std::string note = {};  // in which of several readings psim found it
};

class Diagnostics {
 public:
  std::size_t add_source(Source source);
  void add(Diagnostic diagnostic) { list_.push_back(std::move(diagnostic)); }
  // A note, such as about a field without effect. Notes do not prevent a run.
  void note(Diagnostic diagnostic) { notes_.push_back(std::move(diagnostic)); }
  // Adds the note to each diagnostic without a note.
  void annotate(const std::string& note);
  bool empty() const { return list_.empty(); }
  std::size_t count() const { return list_.size(); }
  const std::vector<Diagnostic>& list() const { return list_; }
  const std::vector<Source>& sources() const { return sources_; }

  // The whole report, in source and file order.
  std::string render() const;
  std::string render_notes() const;

 private:
  std::string render(const Diagnostic& diagnostic, const char* kind) const;
  std::string render_first(std::vector<Diagnostic> list, const char* kind) const;
  std::vector<Source> sources_;
  std::vector<Diagnostic> list_, notes_;
};

// Whether the text can be printed on one line: it has no line break or other control character for a
// terminal.
bool fits_in_a_line(std::string_view text);
std::uint32_t code_points(std::string_view text);
// The place of bytes `begin` to `end` of a source's text.
Place place_in(std::string_view text, std::size_t begin, std::size_t end, std::size_t source);
// The index of the byte at a line and column of a source's text, at most the end of the text.
std::size_t offset_in(std::string_view text, std::uint32_t line, std::uint32_t column);

// Edit distance with transpositions (optimal string alignment), for "did you mean".
std::size_t edit_distance(std::string_view a, std::string_view b);
// The candidate with the same meaning as `word` (synonyms.hpp), or the nearest candidate if the difference
// can be a typing error, or an empty text. Ignores case.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

// "did you mean `workers`?" for the nearest name; `otherwise` if no name is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates,
                         const std::string& otherwise);

// "3 workers", "1 worker", "2 copies", "2 pushes"; "there are only 3 workers".
std::string counted(std::int64_t count, std::string_view what);
std::string there_are(std::int64_t count, std::string_view what);

// Numbers as texts.

// The number that the whole text represents; nothing if the text is not a number.
template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && stop == end ? std::optional(number) : std::nullopt;
}

// Cuts a text at marks.

// Removes the text before the first `mark`, and the mark, from `text`. Returns the removed text without the
// mark.
inline std::string_view take_until(std::string_view& text, std::string_view mark) {
  const std::size_t end = std::min(text.find(mark), text.size());
  const std::string_view before = text.substr(0, end);
  text.remove_prefix(std::min(end + mark.size(), text.size()));
  return before;
}

}  // namespace psim
