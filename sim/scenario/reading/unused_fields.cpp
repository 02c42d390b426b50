#include "sim/scenario/reading/unused_fields.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace psim {

bool UnusedFields::is_set(std::size_t source) const {
  return std::ranges::find(document_.sets, source) != document_.sets.end();
}

bool UnusedFields::is_varied(std::string_view key) const {
  return std::ranges::any_of(document_.axes, [key](const std::string& axis) {
    return (axis + ".").starts_with(std::string(key) + ".") ||
           (std::string(key) + ".").starts_with(axis + ".");
  });
}

// As with choices, a later source can take away the meaning of a field from an earlier source; psim notes it
// for --set only. An axis can take away the meaning of a field from any source.
bool UnusedFields::is_quiet(const Needy& needy, std::string_view key) {
  if (is_varied(key)) return true;
  const auto place = reading_.places.find(std::string(key));
  if (place == reading_.places.end()) return !reading_.reliable(std::string(key));
  const std::size_t source = place->second.source;
  lose(needy.path, source);
  return is_set(source) || rank(source) > rank(needy.source) || !reading_.reliable(std::string(key));
}

void UnusedFields::report(Diagnostics& diagnostics) {
  for (const Needy& one : needy_) {
    if (one.need.met() || !reading_.reliable(one.path)) continue;
    if (std::ranges::any_of(one.need.keys, [&](std::string_view key) { return is_quiet(one, key); }))
      continue;
    diagnostics.note({.code = "no-meaning",
                      .place = one.place,
                      .message = fmt::format("`{}` has no effect here", one.path),
                      .label = fmt::format("only {}", one.need.text),
                      .help = fmt::format("remove it, or change `{}`", fmt::join(one.need.keys, "` or `"))});
  }
  if (!document_.complete) return;
  for (const auto& [source, fields] : undone_) {
    const std::string& set = diagnostics.sources()[source].text;
    const std::uint32_t end = 1 + code_points(std::string_view(set).substr(0, set.find('=')));
    diagnostics.note({.code = "no-meaning",
                      .place = {.source = source, .line = 1, .column = 1, .end_line = 1, .end_column = end},
                      .message = fmt::format("`{}` {} no effect any more", fmt::join(fields, "`, `"),
                                             fields.size() == 1 ? "has" : "have"),
                      .label = "with this override",
                      .help = {}});
  }
}

}  // namespace psim
