// Cuts a text at marks.
#pragma once

#include <algorithm>
#include <string_view>

namespace psim {

// Removes the text before the first `mark`, and the mark, from `text`. Returns the removed text without the
// mark.
inline std::string_view take_until(std::string_view& text, std::string_view mark) {
  const std::size_t end = std::min(text.find(mark), text.size());
  const std::string_view before = text.substr(0, end);
  text.remove_prefix(std::min(end + mark.size(), text.size()));
  return before;
}

}  // namespace psim
