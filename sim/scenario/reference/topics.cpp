#include "sim/scenario/reference/topics.hpp"

#include "sim/scenario/text/diagnostics.hpp"

namespace psim {
namespace {

constexpr std::string_view page =
#include "sim/scenario/reference/topics.txt.inc"
    ;

// "# NAME ALIASES: TITLE", the text, and an empty line before the next.
std::vector<Topic> read(std::string_view rest) {
  std::vector<Topic> found;
  take_until(rest, "# ");
  while (!rest.empty()) {
    std::string_view text = take_until(rest, "\n\n# "), title = take_until(text, "\n");
    std::string_view aliases = take_until(title, ": ");
    const std::string_view name = take_until(aliases, " ");
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
