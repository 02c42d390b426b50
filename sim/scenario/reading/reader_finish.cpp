// What only the whole description tells: keys that nobody knows, and fields that change nothing.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/scenario/reading/reader.hpp"
#include "sim/scenario/reading/reader_text.hpp"
#include "sim/scenario/reference/reference.hpp"
#include "sim/scenario/text/synonyms.hpp"

namespace psim {

// What to do with an unknown `key` of table `path`, which was described as `described`. The field that was
// probably meant counts as wrong.
std::string Reader::advice(const std::string& path, const std::string& described, const std::string& key,
                           bool is_table) {
  for (const std::string_view meaning : meanings(key)) {
    const std::vector<std::string> here = keys_of(fields_, described);
    if (is_table || std::ranges::find(here, meaning) == here.end()) continue;
    reading_.wrong.insert(path.empty() ? std::string(meaning) : fmt::format("{}.{}", path, meaning));
    return fmt::format("did you mean `{}`?", meaning);
  }
  std::vector<std::string> homes;
  for (const std::string& known : is_table ? tables_ : fields_) {
    if (last_part(known) != key) continue;
    reading_.wrong.insert(known);
    const std::string home = parent_of(known);
    homes.push_back(is_table       ? fmt::format("[{}]", known)
                    : home.empty() ? "the first lines, above all tables"
                                   : header_of(home));
  }
  const std::string all_homes = fmt::format("{}", fmt::join(homes, " or "));
  if (!homes.empty())
    return is_table ? fmt::format("write {}", all_homes) : fmt::format("`{}` belongs in {}", key, all_homes);

  std::vector<std::string> keys = keys_of(fields_, described);
  const std::vector<std::string> tables = keys_of(tables_, described);
  keys.insert(keys.end(), tables.begin(), tables.end());
  if (const std::string near = nearest(key, keys); !near.empty()) {
    reading_.wrong.insert(path.empty() ? near : fmt::format("{}.{}", path, near));
    return fmt::format("did you mean `{}`?", near);
  }
  std::string home = is_table ? "" : home_of_key(key);
  for (const std::string_view meaning : meanings(key)) {
    if (home.empty() && !is_table) home = home_of_key(meaning);
  }
  return home.empty() ? fmt::format("known here: {}", fmt::join(keys, ", ")) : home;
}

void Reader::report_unknown(const toml::table& table, const std::string& path, const std::string& described) {
  const auto inside = [](const std::string& outer, std::string_view key) {
    return outer.empty() ? std::string(key) : fmt::format("{}.{}", outer, key);
  };
  const auto known = [](const std::vector<std::string>& paths, const std::string& one) {
    return std::ranges::find(paths, one) != paths.end();
  };
  for (auto&& [key, node] : table) {
    const std::string name(key.str());
    const std::string inner = inside(path, name), inner_described = inside(described, name);
    if (known(fields_, inner_described) || reading_.wrong.contains(inner)) continue;
    if (!known(tables_, inner_described)) {
      const bool is_table = node.is_table() || node.is_array_of_tables();
      const std::string where = path.empty() ? "at the top" : "in " + header_of(path);
      diagnostics_.add({"unknown-key", place_of(key.source()),
                        fmt::format("unknown {} `{}` {}", is_table ? "table" : "key", name, where),
                        "not known here", advice(path, described, name, is_table)});
    } else if (const toml::array* elements = node.as_array()) {
      for (std::size_t i = 0; i < elements->size(); ++i) {
        if (const toml::table* element = elements->get(i)->as_table())
          report_unknown(*element, fmt::format("{}.{}", inner, i), inner_described + ".0");
      }
    } else if (node.is_table()) {
      report_unknown(*node.as_table(), inner, inner_described);
    }
  }
}

bool Reader::is_set(std::size_t source) const {
  return std::ranges::find(document_.sets, source) != document_.sets.end();
}

// As with choices, what a later source decides takes away an earlier one's meaning, which is said of --set
// only; and what an axis varies, that of any other.
void Reader::report_needs() {
  for (const Needy& one : needy_) {
    if (one.need.met() || !reading_.reliable(one.path)) continue;
    const auto quiet = [&](std::string_view key) {
      const auto varies = [&](const std::string& axis) {
        return (axis + ".").starts_with(std::string(key) + ".") ||
               (std::string(key) + ".").starts_with(axis + ".");
      };
      if (std::ranges::any_of(document_.axes, varies)) return true;
      const auto place = reading_.places.find(std::string(key));
      if (place == reading_.places.end()) return !reading_.reliable(std::string(key));
      const std::size_t source = place->second.source;
      if (is_set(source)) undone_[source].push_back(one.path);
      return is_set(source) || rank(source) > rank(one.source) || !reading_.reliable(std::string(key));
    };
    if (std::ranges::any_of(one.need.keys, quiet)) continue;
    diagnostics_.note({.code = "no-meaning",
                       .place = one.place,
                       .message = fmt::format("`{}` changes nothing here", one.path),
                       .label = fmt::format("only {}", one.need.text),
                       .help = fmt::format("remove it, or change `{}`", fmt::join(one.need.keys, "` or `"))});
  }
}

void Reader::report_undone() {
  for (const auto& [source, fields] : undone_) {
    const std::string& set = diagnostics_.sources()[source].text;
    const std::uint32_t end = 1 + code_points(std::string_view(set).substr(0, set.find('=')));
    diagnostics_.note({.code = "no-meaning",
                       .place = {.source = source, .line = 1, .column = 1, .end_line = 1, .end_column = end},
                       .message = fmt::format("`{}` {} nothing any more", fmt::join(fields, "`, `"),
                                              fields.size() == 1 ? "changes" : "change"),
                       .label = "because of this",
                       .help = {}});
  }
}

void Reader::finish(const std::vector<std::string>& also_known) {
  fields_.insert(fields_.end(), also_known.begin(), also_known.end());
  report_unknown(document_.root, "", "");
  for (Pending& pending : pending_) {
    if (reading_.reliable(pending.depends_on)) diagnostics_.add(std::move(pending.diagnostic));
  }
  report_needs();
  if (document_.complete) report_undone();
}

}  // namespace psim
