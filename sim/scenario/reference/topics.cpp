#include "sim/scenario/reference/topics.hpp"

#include <algorithm>

namespace psim {
namespace {

constexpr std::string_view page =
#include "sim/scenario/reference/topics.txt.inc"
    ;

// What stands before the first `mark` in `text`, which loses both.
std::string_view taken(std::string_view& text, std::string_view mark) {
  const std::size_t end = std::min(text.find(mark), text.size());
  const std::string_view before = text.substr(0, end);
  text.remove_prefix(std::min(end + mark.size(), text.size()));
  return before;
}

// "# NAME ALIASES: TITLE", the text, and an empty line before the next.
std::vector<Topic> read(std::string_view rest) {
  std::vector<Topic> found;
  taken(rest, "# ");
  while (!rest.empty()) {
    std::string_view text = taken(rest, "\n\n# "), title = taken(text, "\n");
    std::string_view aliases = taken(title, ": ");
    const std::string_view name = taken(aliases, " ");
    found.push_back({.name = name, .aliases = aliases, .title = title, .text = text});
  }
  return found;
}

}  // namespace

const std::vector<Topic>& topics() {
  static const std::vector<Topic> all = read(page.substr(0, page.find_last_not_of('\n') + 1));
  return all;
}

}  // namespace psim
