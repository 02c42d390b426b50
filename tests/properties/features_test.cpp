// docs/features.md says of each feature what one sees of it, in a sentence with numbers.
// tests/features/claims.json says which runs a sentence is about and how its numbers follow from their
// summaries. Here the runs are made, and the page must have the sentences that they give.
// PSIM_UPDATE_FEATURES=1 writes them into the page instead.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim::test;

namespace {

const std::filesystem::path page = source_folder() / "docs/features.md";

// As spaces part them that stand in no quotes.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  bool in_quotes = false, in_word = false;
  for (const char c : text) {
    if (c == '"') in_quotes = !in_quotes;
    if (c == ' ' && !in_quotes) {
      in_word = false;
      continue;
    }
    if (!std::exchange(in_word, true)) words.emplace_back();
    words.back() += c;
  }
  return words;
}

// One psim run a command line.
const Json& summary_of(const std::string& arguments) {
  static std::map<std::string, Json> known;
  const auto [at, is_new] = known.try_emplace(arguments);
  if (!is_new) return at->second;
  TemporaryFolder folder;
  std::vector<std::string> words = words_of(arguments);
  words.insert(words.begin(), "run");
  words.insert(words.end(), {"--json", "--trace", "none"});
  const Outcome outcome = psim::test::psim(words, folder.path(), {}, 600);
  INFO("psim run " << arguments << "\n" << outcome.err);
  REQUIRE((outcome.code == 0 || outcome.code == 1));
  return at->second = Json::parse(outcome.out);
}

// Products and quotients, from left to right, of numbers and of a summary's numbers: 100 * a/time/wait_share.
// A letter stands for a run, what follows it for a place in the summary; of a list the length counts.
double value_of(const std::string& formula, const std::map<char, const Json*>& runs) {
  std::istringstream in(formula);
  double value = 1;
  std::string sign = "*";
  for (std::string word; in >> word; in >> sign) {
    INFO(formula << ": " << word);
    const auto run = runs.find(word.front());
    double factor = 0;
    if (run == runs.end()) {
      factor = std::stod(word);
    } else {
      const Json& found = run->second->at(Json::json_pointer(word.substr(1)));
      factor = found.is_array() ? static_cast<double>(found.size()) : found.get<double>();
    }
    REQUIRE((sign == "*" || sign == "/"));
    value = sign == "*" ? value * factor : value / factor;
  }
  return value;
}

// "{:,.0f}" is a whole number with commas; all else is {fmt}'s.
std::string written(const std::string& format, double number) {
  if (format != "{:,.0f}") return fmt::format(fmt::runtime(format), number);
  std::string digits = fmt::format("{:.0f}", number);
  for (std::size_t place = digits.size(); place > 3; place -= 3) digits.insert(place - 3, ",");
  return digits;
}

std::string sentence_of(const Json& claim) {
  std::map<char, const Json*> runs;
  for (const auto& [letter, arguments] : claim["runs"].items())
    runs[letter.front()] = &summary_of(arguments.get<std::string>());
  std::string sentence = claim["sees"];
  std::size_t from = 0;
  for (const Json& formula : claim["numbers"]) {
    const std::size_t begin = sentence.find('{', from), end = sentence.find('}', begin) + 1;
    const double value = value_of(formula.get<std::string>(), runs);
    const std::string text = written(sentence.substr(begin, end - begin), value);
    sentence.replace(begin, end - begin, text);
    from = begin + text.size();
  }
  return sentence;
}

// The row of the page whose feature is `feature`, with `sentence` in its second cell.
std::string row_with(const std::string& row, const std::string& sentence) {
  const std::size_t begin = row.find(" | ") + 3, end = row.find(" | ", begin);
  return row.substr(0, begin) + sentence + row.substr(end);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

void check_part(std::size_t part, std::size_t parts) {
  const Json claims = Json::parse(content(source_folder() / "tests/features/claims.json"));
  std::vector<std::string> lines = lines_of(content(page));
  const bool updates = std::getenv("PSIM_UPDATE_FEATURES") != nullptr;
  for (std::size_t i = part; i < claims.size(); i += parts) {
    const std::string feature = claims[i]["feature"];
    INFO(feature);
    const auto row = std::ranges::find_if(
        lines, [&](const std::string& line) { return line.starts_with("| " + feature); });
    REQUIRE(row != lines.end());
    const std::string expected = row_with(*row, sentence_of(claims[i]));
    if (!updates) CHECK(*row == expected);
    *row = expected;
  }
  if (!updates) return;
  std::ofstream out(page);
  for (const std::string& line : lines) out << line << '\n';
}

}  // namespace

TEST_CASE("features: what one sees, first third", "[features][slow]") { check_part(0, 3); }
TEST_CASE("features: what one sees, second third", "[features][slow]") { check_part(1, 3); }
TEST_CASE("features: what one sees, last third", "[features][slow]") { check_part(2, 3); }

TEST_CASE("features: every row says what one sees, and every sentence is a claim", "[features]") {
  const Json claims = Json::parse(content(source_folder() / "tests/features/claims.json"));
  for (const std::string& line : lines_of(content(page))) {
    if (!line.starts_with("| ") || line.starts_with("| feature ")) continue;
    INFO(line);
    CHECK(std::ranges::count_if(claims, [&](const Json& claim) {
            return line.starts_with("| " + claim["feature"].get<std::string>());
          }) == 1);
  }
}
