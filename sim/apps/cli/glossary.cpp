#include "sim/apps/cli/glossary.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <regex>

#include "model/data/text.hpp"
#include "sim/apps/cli/command.hpp"
#include "sim/runs/shipped.hpp"

namespace psim::cli {
namespace {

constexpr std::array languages{"English", "German", "Chinese", "Thai"};

using Row = std::array<std::string, languages.size() + 1>;  // and the meaning

// Next to the scenarios: in docs/ of a checkout, or in psim's installation.
fs::path glossary_file() {
  const fs::path home = scenario_folder().parent_path(), installed = home / "glossary.md";
  std::error_code error;
  return fs::exists(installed, error) ? installed : home / "docs" / "glossary.md";
}

// The rows of its tables: a cell for each language and a cell for the meaning.
std::vector<Row> rows() {
  std::vector<Row> all;
  std::ifstream file(glossary_file());
  for (std::string line; std::getline(file, line);) {
    Row row;
    std::size_t cells = 0, at = 1;
    for (std::size_t end; (end = line.find('|', at)) != std::string::npos; at = end + 1) {
      if (cells < row.size()) row[cells] = trim(std::string_view(line).substr(at, end - at));
      ++cells;
    }
    if (cells == row.size() && row[0] != languages[0] && !row[0].starts_with("---")) all.push_back(row);
  }
  return all;
}

// "step, iteration" and "synchronous (bsp)" are two names each.
std::vector<std::string> names_of(const std::string& cell) {
  static const std::regex name("[^,()]+");
  std::vector<std::string> names;
  for (std::sregex_iterator one(cell.begin(), cell.end(), name), end; one != end; ++one)
    names.emplace_back(trim(one->str()));
  std::erase(names, "");
  return names;
}

std::string plain(std::string_view name) {
  std::string out(name);
  std::ranges::transform(out, out.begin(), [](unsigned char c) {
    return c == '-' || c == '_'   ? ' '
           : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a')
                                  : static_cast<char>(c);
  });
  return out;
}

// The text without Markdown's marks. A link becomes the address of its page.
std::string as_text(const std::string& markdown) {
  static const std::regex link("\\[([^\\]]*)\\]\\(([^)#]*)[^)]*\\)");
  std::string text = std::regex_replace(markdown, link, "$1 (docs/$2)");
  std::erase(text, '`');
  return text;
}

}  // namespace

std::string explain_word(std::string_view word) {
  for (const Row& row : rows()) {
    const auto is_called_so = [&](const std::string& cell) {
      return plain(cell) == plain(word) ||
             std::ranges::count(names_of(cell), plain(word),
                                [](const std::string& one) { return plain(one); }) > 0;
    };
    if (std::none_of(row.begin(), row.end() - 1, is_called_so)) continue;
    std::string out = fmt::format("{}: a word of the field\n  {}\n", row[0], as_text(row.back()));
    std::string others;
    for (std::size_t i = 1; i < languages.size(); ++i) {
      if (row[i] != "–") others += fmt::format("{}{}: {}", others.empty() ? "" : "   ", languages[i], row[i]);
    }
    return others.empty() ? out : out + fmt::format("  {}\n", others);
  }
  return {};
}

std::vector<std::string> glossary_words() {
  std::vector<std::string> words;
  for (const Row& row : rows()) std::ranges::move(names_of(row[0]), std::back_inserter(words));
  return words;
}

}  // namespace psim::cli
