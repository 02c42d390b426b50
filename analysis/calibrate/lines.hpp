// The lines of a log that is a text, the numbers in them, and what psim says about its columns.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/calibrate/input_stream.hpp"
#include "analysis/calibrate/step_log.hpp"

namespace psim::calibrate {

using Cells = std::vector<std::string_view>;

// The number that the whole cell is.
std::optional<double> number_in(std::string_view cell);

// "`compute_s`, `loss`"
std::string listed(const Cells& names);

// Two columns of a table for one thing.
LogError two_columns(const std::string& path, std::string_view one, std::string_view other);

// Notes the columns that psim does not use.
void note_ignored(const std::string& path, const Cells& columns, ClusterLog& log);

// The lines of a file with content.
class Lines {
 public:
  explicit Lines(const std::string& path) : path_(path), in_(path) {}

  // The next line that is no comment.
  bool next();
  // The next line, comments included.
  bool next_of_any_kind();

  bool is_comment() const { return text_.front() == '#'; }
  std::string_view text() const { return text_; }
  std::string place() const;

 private:
  std::string path_, line_;
  InputStream in_;
  std::string_view text_;
  std::size_t number_ = 0;
};

}  // namespace psim::calibrate
