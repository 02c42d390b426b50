// Everything that is wrong with a user's input, all at once, in file order, each with the place, a caret
// and a hint. Nothing runs and nothing is written while there is a diagnostic.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace psim {

// A piece of text that a user wrote: the scenario file, or one --set argument.
struct Source {
  std::string name;  // shown before line and column
  std::string text;
};

// A region of a source. Lines and columns count from 1 (columns in code points); line 0 is "the source as a whole".
struct Place {
  std::size_t source = 0;
  std::uint32_t line = 0, column = 0;
  std::uint32_t end_line = 0, end_column = 0;
};

struct Diagnostic {
  std::string code;     // what kind of error, for `psim explain CODE`
  Place place;
  std::string message;  // lower case, no full stop, names in backticks
  std::string label;    // beside the caret
  std::string help;     // how to mend it
};

class Diagnostics {
 public:
  std::size_t add_source(Source source);
  void add(Diagnostic diagnostic) { list_.push_back(std::move(diagnostic)); }
  bool empty() const { return list_.empty(); }
  std::size_t count() const { return list_.size(); }

  // The whole report, in source and file order.
  std::string render() const;

 private:
  std::string render(const Diagnostic& diagnostic) const;
  std::vector<Source> sources_;
  std::vector<Diagnostic> list_;
};

// Edit distance with transpositions (optimal string alignment), for "did you mean".
std::size_t edit_distance(std::string_view a, std::string_view b);
// The candidate nearest to `word`, when it is near enough to be a typing error; else empty.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace psim
