// Everything that is wrong with a user's input, all at once, in file order, each with the place, a caret
// and a hint. Nothing runs and nothing is written while there is a diagnostic.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace psim {

// A piece of text that a user wrote: the scenario file, one --set argument, or some lines of a file.
struct Source {
  std::string name;  // shown before line and column
  std::string text;
  std::uint32_t first_line = 1;  // of the text in the file that `name` is
  bool has_columns = true;       // those of the text are those of the file
};

// A region of a source. Lines and columns count from 1 (columns in code points); line 0 is "the source as a
// whole".
struct Place {
  std::size_t source = 0;
  std::uint32_t line = 0, column = 0;
  std::uint32_t end_line = 0, end_column = 0;
};

struct Diagnostic {
  std::string code;  // what kind of error, for `psim explain CODE`
  Place place;
  std::string message;    // lower case, no full stop, names in backticks
  std::string label;      // beside the caret
  std::string help;       // how to mend it
  std::string note = {};  // in which of several readings it came up
};

class Diagnostics {
 public:
  std::size_t add_source(Source source);
  void add(Diagnostic diagnostic) { list_.push_back(std::move(diagnostic)); }
  // Of what changes nothing: it is said, and keeps nothing from running.
  void note(Diagnostic diagnostic) { notes_.push_back(std::move(diagnostic)); }
  // Says of each where it came up, where nothing is said yet.
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

// Whether it can stand in a line of output: no line break, nor another code that a terminal acts on.
bool fits_in_a_line(std::string_view text);
std::uint32_t code_points(std::string_view text);
// The place of bytes `begin` to `end` of a source's text.
Place place_in(std::string_view text, std::size_t begin, std::size_t end, std::size_t source);
// The byte of a source's text at a line and column, at most the text's end.
std::size_t offset_in(std::string_view text, std::uint32_t line, std::uint32_t column);

// Edit distance with transpositions (optimal string alignment), for "did you mean".
std::size_t edit_distance(std::string_view a, std::string_view b);
// The candidate that `word` stands for by its meaning (synonyms.hpp), or else the nearest one, when it is
// near enough to be a typing error; else empty. Upper and lower case are the same letter.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

// "did you mean `workers`?" of the nearest one; `otherwise` where none is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates,
                         const std::string& otherwise);

// "3 workers", "1 worker"; "there are only 3 workers".
std::string counted(std::int64_t count, std::string_view what);
std::string there_are(std::int64_t count, std::string_view what);

}  // namespace psim
