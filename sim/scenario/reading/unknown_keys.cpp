#include "sim/scenario/reading/unknown_keys.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/scenario/reading/reader_text.hpp"
#include "sim/scenario/reference/reference.hpp"
#include "sim/scenario/text/synonyms.hpp"

namespace psim {

// The hint for an unknown `key` of table `path`, which is described as `as`. Marks the field that the user
// probably meant as wrong.
std::string UnknownKeys::advice(const std::string& path, const std::string& as, const std::string& key,
                                bool is_table) {
  if (const std::string_view advice = advice_on(key); !advice.empty()) return std::string(advice);
  for (const std::string_view meaning : meanings(key)) {
    const std::vector<std::string> here = keys_of(described_.fields, as);
    if (is_table || std::ranges::find(here, meaning) == here.end()) continue;
    reading_.wrong.insert(path.empty() ? std::string(meaning) : fmt::format("{}.{}", path, meaning));
    return fmt::format("did you mean `{}`?", meaning);
  }
  std::vector<std::string> homes;
  for (const std::string& known : is_table ? described_.tables : described_.fields) {
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

  std::vector<std::string> keys = keys_of(described_.fields, as);
  const std::vector<std::string> tables = keys_of(described_.tables, as);
  keys.insert(keys.end(), tables.begin(), tables.end());
  if (const std::string near = nearest(key, keys); !near.empty()) {
    reading_.wrong.insert(path.empty() ? near : fmt::format("{}.{}", path, near));
    return fmt::format("did you mean `{}`?", near);
  }
  std::string home = is_table ? "" : home_of_key(key);
  for (const std::string_view meaning : meanings(key)) {
    if (home.empty() && !is_table) home = home_of_key(meaning);
    if (home.empty() && std::ranges::count(described_.fields, meaning) > 0)
      home = fmt::format("`{}` belongs in the first lines, above all tables", meaning);
  }
  return home.empty() ? fmt::format("known here: {}", fmt::join(keys, ", ")) : home;
}

// Of a --set: "`learning_rate` belongs in [training]" -> "write training.learning_rate".
std::string UnknownKeys::in_a_set(const std::string& help, std::size_t source) const {
  constexpr std::string_view middle = "` belongs in [";
  const std::size_t at = help.find(middle), end = help.find(']', std::min(at, help.size()));
  const std::vector<Source>& sources = diagnostics_.sources();
  if (source >= sources.size() || sources[source].name != "--set" || at == std::string::npos) return help;
  const std::string field =
      help.substr(at + middle.size(), end - at - middle.size()) + "." + help.substr(1, at - 1);
  return std::ranges::count(described_.fields, field) > 0 ? "write " + field : help;
}

void UnknownKeys::report(const toml::table& table, const std::string& path, const std::string& as) {
  const auto inside = [](const std::string& outer, std::string_view key) {
    return outer.empty() ? std::string(key) : fmt::format("{}.{}", outer, key);
  };
  const auto known = [](const std::vector<std::string>& paths, const std::string& one) {
    return std::ranges::find(paths, one) != paths.end();
  };
  for (auto&& [key, node] : table) {
    const std::string name(key.str());
    const std::string inner = inside(path, name), inner_as = inside(as, name);
    if (known(described_.fields, inner_as) || reading_.wrong.contains(inner)) continue;
    if (!known(described_.tables, inner_as)) {
      const bool is_table = node.is_table() || node.is_array_of_tables();
      const std::string where = path.empty() ? "at the top" : "in " + header_of(path);
      diagnostics_.add({"unknown-key", place_of(key.source()),
                        fmt::format("unknown {} `{}` {}", is_table ? "table" : "key", name, where),
                        "not known here",
                        in_a_set(advice(path, as, name, is_table), place_of(key.source()).source)});
    } else if (const toml::array* elements = node.as_array()) {
      for (std::size_t i = 0; i < elements->size(); ++i) {
        if (const toml::table* element = elements->get(i)->as_table())
          report(*element, fmt::format("{}.{}", inner, i), inner_as + ".0");
      }
    } else if (node.is_table()) {
      report(*node.as_table(), inner, inner_as);
    }
  }
}

}  // namespace psim
